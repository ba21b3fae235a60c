package houserules_test

import (
	"fmt"
	"go/ast"
	"strings"
	"testing"
)

// The largest allowed number of lines of a function, from func to its closing brace, and of a file.
const (
	longestFunction = 100
	longestFile     = 700
)

// checkSizes finds functions and files that exceed the limits.
func checkSizes(t tree) []finding {
	var found []finding
	for _, s := range t.sources {
		if n := s.lines(); n > longestFile {
			found = append(found, finding{s.path, n, fmt.Sprintf("the file has %d lines, over %d", n, longestFile),
				"split it by subject"})
		}
		for _, decl := range s.file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := s.line(f.End()) - s.line(f.Pos()) + 1; n > longestFunction {
				found = append(found, s.find(f.Pos(), "move a part with its own name into a function",
					"%s has %d lines, over %d", f.Name.Name, n, longestFunction))
			}
		}
	}
	return found
}

func TestExceededSizesAreFound(t *testing.T) {
	function := func(lines int) string { return "func f() {" + strings.Repeat("\n", lines-1) + "}\n" }
	testRule(t, checkSizes, []ruleCase{
		{"a long function", map[string]string{"a/a.go": "package a\n" + function(longestFunction+1)},
			[]string{"a/a.go:2: f has 101 lines, over 100"}},
		{"a long file", map[string]string{"a/a_test.go": "package a\n" + strings.Repeat("\n", longestFile-1) + "var x = 1\n"},
			[]string{"a/a_test.go:701: the file has 701 lines, over 700"}},
		{"as long as allowed", map[string]string{"a/a.go": "package a\n" + function(longestFunction)}, nil},
	})
}
