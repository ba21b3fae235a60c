// Package nearest finds known words that resemble a misspelt word, for suggestions in
// messages. It must not know the meaning of the words. It is a separate package because
// config and schema both need it and must not import each other.
package nearest

import (
	"slices"
	"strings"
	"unicode"
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

// Words returns the words of a text in lower case. A word consists of letters and digits.
func Words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// FindByWords returns the known texts that contain all words of a text, in any order: "acme" finds "Acme & Sons". If
// there are none, it returns those that contain a near word for each word of the text.
func FindByWords(known []string, text string) (matches []string, areExact bool) {
	words := Words(text)
	if len(words) == 0 {
		return nil, false
	}
	find := func(isMatch func(knownWord, word string) bool) []string {
		return slices.DeleteFunc(slices.Clone(known), func(name string) bool {
			knownWords := Words(name)
			return slices.ContainsFunc(words, func(word string) bool {
				return !slices.ContainsFunc(knownWords, func(knownWord string) bool { return isMatch(knownWord, word) })
			})
		})
	}
	if exact := find(func(knownWord, word string) bool { return knownWord == word }); len(exact) > 0 {
		return exact, true
	}
	const minLength = 4 // a shorter word is near to many others
	return find(func(knownWord, word string) bool {
		_, near := countEdits(knownWord, word)
		return knownWord == word || near && len(word) >= minLength
	}), false
}
