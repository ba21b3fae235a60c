package nearest

import (
	"slices"
	"strings"
	"unicode"
)

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
				return !slices.ContainsFunc(knownWords, func(k string) bool { return isMatch(k, word) })
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
