// Package nearest finds known words that resemble a misspelt word, for suggestions in
// messages. It must not know the meaning of the words. It is a separate package because
// config and schema both need it and must not import each other.
package nearest

import (
	"slices"
	"strings"
)

// FindNear returns the known words that are near to a misspelt word.
func FindNear(known []string, misspelt string) []string {
	return slices.DeleteFunc(slices.Clone(known), func(word string) bool {
		_, near := countEdits(word, misspelt)
		return !near
	})
}

// FindSuggestions returns the known words that are near to a misspelt word. If there are none
// and the misspelt word has at least two bytes, it returns the known words that begin with it.
func FindSuggestions(known []string, misspelt string) []string {
	if near := FindNear(known, misspelt); len(near) > 0 || len(misspelt) < 2 {
		return near
	}
	return slices.DeleteFunc(slices.Clone(known), func(word string) bool { return !strings.HasPrefix(word, strings.ToLower(misspelt)) })
}

// FindNearest returns the known word with the smallest distance to a misspelt word, or "" if
// no word is near.
func FindNearest(known []string, misspelt string) (nearest string) {
	leastEdits := 0
	for _, word := range known {
		if edits, near := countEdits(word, misspelt); near && (nearest == "" || edits < leastEdits) {
			nearest, leastEdits = word, edits
		}
	}
	return nearest
}

// countEdits returns the Levenshtein distance, in bytes, between two words in lower case. near reports
// whether the distance is at most 1, plus 1 for every five bytes of the misspelt word.
func countEdits(known, misspelt string) (edits int, near bool) {
	a, b := strings.ToLower(known), strings.ToLower(misspelt)
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
	return row[len(b)], row[len(b)] <= 1+len(misspelt)/5
}
