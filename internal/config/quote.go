package config

import (
	"path/filepath"
	"strings"
	"unicode"
)

// QuoteWord quotes a word of a command line, such as a path, for a shell if necessary.
func QuoteWord(word string) string {
	const plain = "._-+:,@%=/" + string(filepath.Separator)
	needsQuotes := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(plain, r)
	}
	if word != "" && !strings.ContainsFunc(word, needsQuotes) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
