package query

import (
	"iter"
	"regexp"
	"strings"
)

// DuckDB lets SQL touch the paths of attached files whatever is switched off and
// locked: a COPY could write over the catalog, and an ATTACH after a DETACH could
// open it to writers. So statements that open files by name are told by their
// first word and refused before DuckDB sees them.

// opening are the first words of statements that open files or run what another
// statement has prepared, and what may stand before them.
var opening = map[string]bool{"COPY": true, "ATTACH": true, "DETACH": true, "EXPORT": true, "IMPORT": true, "INSTALL": true,
	"LOAD": true, "FORCE": true, "PREPARE": true, "EXECUTE": true}

// onlyReads refuses a text that holds a statement which opens files.
func onlyReads(text string) error {
	for statement, certain := range statements(text) {
		if !certain {
			return &RefusedError{Reason: refuseQuote}
		}
		if opens(statement) {
			return &RefusedError{Reason: refuseFiles}
		}
	}
	return nil
}

// word is enough to tell statements apart; what else stands between two words
// does not matter.
var word = regexp.MustCompile(`[A-Za-z0-9_]+`)

// opens reports whether a statement is one of opening. EXPLAIN ANALYZE does what
// it explains, so that such a word at any place of it will do.
func opens(statement string) bool {
	for i, found := range word.FindAllString(statement, -1) {
		explains := i > 0 || strings.EqualFold(found, "EXPLAIN")
		if opening[strings.ToUpper(found)] {
			return true
		}
		if !explains {
			return false
		}
	}
	return false
}

// statements yields the statements of a text without what is quoted or commented
// out. Where it is in doubt whether a quote has ended, it yields false; splitting
// too often does no harm, since DuckDB gets the text as a whole.
func statements(text string) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		var plain strings.Builder
		for len(text) > 0 {
			size, kind := lexeme(text)
			switch {
			case kind == unclear:
				yield("", false)
				return
			case kind == separator:
				if !yield(plain.String(), true) {
					return
				}
				plain.Reset()
			case kind == silent:
				plain.WriteByte(' ')
			default:
				plain.WriteString(text[:size])
			}
			text = text[size:]
		}
		yield(plain.String(), true)
	}
}

// The kinds of lexemes.
const (
	visible = iota
	silent  // quoted or commented out
	separator
	unclear
)

var (
	// An identifier goes on over dollar signs, which begin no quote then.
	identifier = regexp.MustCompile(`^[A-Za-z_\x{80}-\x{10FFFF}][A-Za-z0-9_$\x{80}-\x{10FFFF}]*`)
	numeral    = regexp.MustCompile(`^[0-9][0-9A-Za-z_.]*`)
	dollar     = regexp.MustCompile(`^\$(?:[A-Za-z_\x{80}-\x{10FFFF}][A-Za-z0-9_\x{80}-\x{10FFFF}]*)?\$`)
	lineEnd    = regexp.MustCompile(`[\r\n]|$`)
	foreign    = regexp.MustCompile(`[^\x00-\x7F]`)
)

// lexeme measures what a text begins with.
func lexeme(text string) (size, kind int) {
	switch {
	case text[0] == ';':
		return 1, separator
	case text[0] == '\'' || text[0] == '"':
		return until(text, text[:1], 1), silent
	case strings.HasPrefix(text, "--"):
		return lineEnd.FindStringIndex(text)[0], silent
	case strings.HasPrefix(text, "/*"):
		return comment(text), silent
	case text[0] == '$':
		return dollarQuote(text)
	}
	if digits := numeral.FindString(text); digits != "" {
		return plainUnless(len(digits), strings.IndexAny(text[len(digits):], `$'`) == 0)
	}
	return nameOrText(text)
}

func plainUnless(size int, doubtful bool) (int, int) {
	if doubtful {
		return 0, unclear
	}
	return max(1, size), visible
}

// dollarQuote measures a text such as $a$it's$a$. DuckDB takes some characters
// for spaces that could stand in such a mark.
func dollarQuote(text string) (size, kind int) {
	mark := dollar.FindString(text)
	if mark == "" {
		return 1, visible
	}
	if foreign.MatchString(mark) {
		return 0, unclear
	}
	return until(text, mark, len(mark)), silent
}

// nameOrText measures an identifier, or the E'text with \'escapes\” that an E begins.
// What looks like a letter may be a space to DuckDB, so that another word, or a
// quote with dollar signs, begins behind it.
func nameOrText(text string) (size, kind int) {
	name := identifier.FindString(text)
	quote := strings.HasPrefix(text[len(name):], "'")
	if quote && strings.EqualFold(name, "E") {
		return escaped(text), silent
	}
	escapes := quote && strings.HasSuffix(strings.ToUpper(name), "E") && strings.Contains(text[:until(text, "'", len(name)+1)], `\`)
	return plainUnless(len(name), escapes || foreign.MatchString(name) && strings.Contains(name, "$"))
}

// until finds the end of what a mark closes. A mark that stands twice closes and
// opens again, which comes to the same.
func until(text, mark string, from int) int {
	if at := strings.Index(text[from:], mark); at >= 0 {
		return from + at + len(mark)
	}
	return len(text)
}

// escaped measures a text such as E'it\'s'.
func escaped(text string) int {
	for i := 2; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '\'':
			return i + 1
		}
	}
	return len(text)
}

// comment measures a comment, which may hold others.
func comment(text string) int {
	depth := 0
	for i := 0; i+1 < len(text); i++ {
		switch text[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(text)
}
