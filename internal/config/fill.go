package config

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"
)

// Fill replaces the values at the given paths in the text of a configuration, and adjusts the gap before a
// comment. It keeps all other text. In values, ${NAME} is a variable; see [EscapeValue].
func Fill(data []byte, values map[string]string) ([]byte, error) {
	lines := bytes.SplitAfter(data, []byte("\n"))
	for _, path := range slices.Sorted(maps.Keys(values)) {
		_, line := scalarAt(data, path)
		if line == 0 || line > len(lines) { // the file may have line ends other than \n and \r\n
			return nil, fillErr(path)
		}
		text := lines[line-1]
		match := valueLine.FindSubmatch(text)
		if match == nil {
			return nil, fillErr(path)
		}
		key, old, gap, comment, end := match[1], match[2], match[3], match[4], match[5]
		value := []byte(quoteYAML(values[path]))
		if values[path] == "true" { // the value of a switch, not a text
			value = []byte("true")
		}
		if len(comment) > 0 { // keep the comment in its column if the value is short enough
			gap = bytes.Repeat([]byte(" "), max(1, len(old)+len(gap)-len(value)))
		}
		lines[line-1] = slices.Concat(key, value, gap, comment, end)
	}
	filled := bytes.Join(lines, nil)
	for path, want := range values {
		if got, _ := scalarAt(filled, path); got != want {
			return nil, fillErr(path)
		}
	}
	return filled, nil
}

// EscapeValue escapes the dollar signs of a text, which would begin variables.
func EscapeValue(text string) string { return strings.ReplaceAll(text, "$", "$$") }

// IsVariableName reports whether ${name} is a valid variable.
func IsVariableName(name string) bool { return variableName.MatchString(name) }

func fillErr(path string) error {
	return fmt.Errorf("fill in the configuration: the file has no line of the form \"key: value\" for %s: edit the file by hand", path)
}

var (
	// valueLine matches the key, the value, the gap before a comment, the comment, and the line end.
	valueLine = regexp.MustCompile(`^(\s*[a-z_]+:[ \t]+)("(?:[^"\\]|\\.)*"|'[^']*'|[^"'#\s]\S*)([ \t]*)(#[^\r\n]*)?([\r\n]*)$`)
	// plainValue matches values that need no quotes in YAML: a word (but see quoteYAML), an http(s) address, or a text
	// that begins with ${NAME}. The last character is not a colon.
	plainValue = regexp.MustCompile(`^(?:[a-z][a-z0-9_]*|(?:https?://|\$\{)[\w./:@%~${}=&?+-]*[\w/}])$`)
)

// quoteYAML quotes a value, unless every version of YAML reads the same text without quotes.
func quoteYAML(text string) string {
	hasOtherType := slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}, text)
	if plainValue.MatchString(text) && !hasOtherType {
		return text
	}
	return strconv.Quote(text)
}

// The line is 0 if the path does not exist, or if data is not a single valid YAML document.
func scalarAt(data []byte, path string) (text string, line int) {
	// The parser counts lines that end with \r\n twice.
	file, err := parser.ParseBytes(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), 0)
	query, pathErr := yaml.PathString("$." + path)
	if err != nil || pathErr != nil || len(file.Docs) != 1 {
		return "", 0
	}
	node, err := query.FilterFile(file)
	if err != nil {
		return "", 0
	}
	text, _, _ = scalarText(node)
	return text, lineOf(node)
}

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
