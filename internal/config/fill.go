package config

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Fill returns the text of a configuration in which the values at some paths are others,
// as if somebody had edited their lines. All else stays as it is, comments too. A value is
// written as the file has it: ${NAME} is a variable, see [EscapeValue].
func Fill(data []byte, values map[string]string) ([]byte, error) {
	lines := bytes.SplitAfter(data, []byte("\n"))
	for _, path := range slices.Sorted(maps.Keys(values)) {
		_, line := scalarAt(data, path)
		if line == 0 || line > len(lines) { // other ends of lines than \n and \r\n
			return nil, fillErr(path)
		}
		text := lines[line-1]
		match := valueLine.FindSubmatch(text)
		if match == nil {
			return nil, fillErr(path)
		}
		key, old, gap, comment, end := match[1], match[2], match[3], match[4], match[5]
		value := []byte(quoteScalar(values[path]))
		if len(comment) > 0 { // in its column, if that is free
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

// EscapeValue writes a text so that no dollar sign in it begins a variable.
func EscapeValue(text string) string { return strings.ReplaceAll(text, "$", "$$") }

// IsVariable reports whether a text can stand between ${ and }.
func IsVariable(name string) bool { return variableName.MatchString(name) }

func fillErr(path string) error {
	return fmt.Errorf("fill in the configuration: there is no line that gives %s a value and nothing else: edit the file", path)
}

var (
	// valueLine is a key with a value, the gap before a comment, the comment, and the end.
	valueLine = regexp.MustCompile(`^(\s*[a-z_]+:[ \t]+)("(?:[^"\\]|\\.)*"|'[^']*'|[^"'#\s]\S*)([ \t]*)(#[^\r\n]*)?([\r\n]*)$`)
	// plainValue needs no quotes in YAML, wherever a value may stand.
	plainValue = regexp.MustCompile(`^(?:true|(?:https?://|\$\{)[\w./:@%~${}=&?+-]*[\w/}])$`)
)

func quoteScalar(text string) string {
	if plainValue.MatchString(text) {
		return text
	}
	return strconv.Quote(text)
}

// scalarAt returns the text of the value at a path, and the line of its key; 0: there is
// none.
func scalarAt(data []byte, path string) (text string, line int) {
	// The parser counts lines that end with \r\n twice.
	file, err := parser.ParseBytes(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), 0)
	if err != nil || len(file.Docs) != 1 {
		return "", 0
	}
	node := ast.Node(file.Docs[0].Body)
	for key := range strings.SplitSeq(path, ".") {
		mapping, ok := node.(ast.MapNode)
		if !ok {
			return "", 0
		}
		node, line = nil, 0
		for entries := mapping.MapRange(); entries.Next(); {
			if entry := entries.KeyValue(); keyText(entry.Key) == key {
				node, line = entry.Value, lineOf(entry.Key)
			}
		}
	}
	text, _, _ = scalarText(node)
	return text, line
}
