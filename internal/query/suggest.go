package query

import (
	"strings"

	"placementsync/internal/nearest"
)

// minPart is how long a part of a name has to be to stand for it.
const minPart = 3

// nearestNames picks the names that somebody may have meant: those that hold the
// text, or else those that differ from it in a few letters.
func nearestNames(names []string, text string) []string {
	text = strings.ToLower(text)
	var holding, alike []string
	for _, name := range names {
		if len(text) >= minPart && strings.Contains(name, text) {
			holding = append(holding, name)
		}
		if _, near := nearest.CountEdits(name, text); near {
			alike = append(alike, name)
		}
	}
	if len(holding) > 0 {
		return holding
	}
	return alike
}
