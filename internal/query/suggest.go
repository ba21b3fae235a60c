package query

import (
	"strings"

	"placementsync/internal/nearest"
)

// telling is how long a part of a name has to be to stand for it.
const telling = 3

// meant picks the names that somebody may have meant: those that hold the
// text, or else those that differ from it in a few letters.
func meant(names []string, text string) []string {
	text = strings.ToLower(text)
	var holding, alike []string
	for _, name := range names {
		if len(text) >= telling && strings.Contains(name, text) {
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
