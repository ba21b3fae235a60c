// Package nearest finds known words that resemble a misspelt one, for suggestions in
// messages. It must not know the meaning of the words. It is a package of its own, because
// config and dictionary both need it and must not import each other.
package nearest

import (
	"slices"
	"strings"
)

// CountEdits returns the Levenshtein distance, in bytes, between a known word and the misspelt
// one in lower case. near reports whether it is small enough to suggest the known word: at most
// one, plus one for every five bytes of the misspelt word. Known words are ASCII.
func CountEdits(known, misspelt string) (edits int, near bool) {
	edits = editDistance(known, strings.ToLower(misspelt))
	return edits, edits <= 1+len(misspelt)/5
}

// FindAlike returns the known words that are near to a misspelt one.
func FindAlike(known []string, misspelt string) (alike []string) {
	for _, word := range known {
		if _, near := CountEdits(word, misspelt); near {
			alike = append(alike, word)
		}
	}
	return alike
}

// FindMeant returns the known words that are near to a misspelt one or, if there are none,
// those that begin with it. A single letter is too short for the latter.
func FindMeant(known []string, misspelt string) []string {
	if alike := FindAlike(known, misspelt); len(alike) > 0 || len(misspelt) < 2 {
		return alike
	}
	return slices.DeleteFunc(slices.Clone(known), func(word string) bool { return !strings.HasPrefix(word, strings.ToLower(misspelt)) })
}

// editDistance returns the Levenshtein distance between a and b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// FindNearest returns the known word that is nearest to a misspelt one. It is empty if no word
// is near.
func FindNearest(known []string, misspelt string) (nearest string) {
	least := 0
	for _, word := range known {
		if edits, near := CountEdits(word, misspelt); near && (nearest == "" || edits < least) {
			nearest, least = word, edits
		}
	}
	return nearest
}
