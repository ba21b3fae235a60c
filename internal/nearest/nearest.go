// Package nearest compares an unknown word with known ones, to suggest what somebody
// may have meant. It must not know what the words stand for.
package nearest

import (
	"slices"
	"strings"
)

// CountEdits counts the bytes to insert, remove or replace to turn a misspelt word, in lower
// case, into a known one. near reports that these are few enough to suggest the known
// word: at most one, and one more for every five bytes of the misspelt word. Both are
// compared byte by byte; known words are ASCII.
func CountEdits(known, misspelt string) (edits int, near bool) {
	edits = editDistance(known, strings.ToLower(misspelt))
	return edits, edits <= 1+len(misspelt)/5
}

// FindAlike picks the known words that a misspelt one is near to.
func FindAlike(known []string, misspelt string) (alike []string) {
	for _, word := range known {
		if _, near := CountEdits(word, misspelt); near {
			alike = append(alike, word)
		}
	}
	return alike
}

// FindMeant picks the known words that a misspelt one is near to or, where there is none,
// those that it is the beginning of. One letter says nothing.
func FindMeant(known []string, misspelt string) []string {
	if alike := FindAlike(known, misspelt); len(alike) > 0 || len(misspelt) < 2 {
		return alike
	}
	return slices.DeleteFunc(slices.Clone(known), func(word string) bool { return !strings.HasPrefix(word, strings.ToLower(misspelt)) })
}

// editDistance is that of Levenshtein.
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

// FindNearest picks the known word that a misspelt one is nearest to; empty: none is near.
func FindNearest(known []string, misspelt string) (nearest string) {
	least := 0
	for _, word := range known {
		if edits, near := CountEdits(word, misspelt); near && (nearest == "" || edits < least) {
			nearest, least = word, edits
		}
	}
	return nearest
}
