package houserules_test

import (
	"fmt"
	"go/ast"
	"strings"
	"testing"
)

// The largest allowed numbers of lines. A function is counted from func to its closing brace.
const (
	maxFunctionLines = 100
	maxFileLines     = 700
)

// checkSizes finds functions and files that exceed the limits.
func checkSizes(t tree) []finding {
	var findings []finding
	for _, s := range t.sources {
		if n := s.lines(); n > maxFileLines {
			findings = append(findings, finding{s.path, n, fmt.Sprintf("the file has %d lines, over %d", n, maxFileLines),
				"split it by subject"})
		}
		for _, decl := range s.file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := s.line(f.End()) - s.line(f.Pos()) + 1; n > maxFunctionLines {
				findings = append(findings, s.finding(f.Pos(), "move a part into a function with its own name",
					"%s has %d lines, over %d", f.Name.Name, n, maxFunctionLines))
			}
		}
	}
	return findings
}

func TestExceededSizesAreFound(t *testing.T) {
	function := func(lines int) string { return "func f() {" + strings.Repeat("\n", lines-1) + "}\n" }
	testRule(t, checkSizes, []ruleCase{
		{"a long function", map[string]string{"a/a.go": "package a\n" + function(maxFunctionLines+1)},
			[]string{"a/a.go:2: f has 101 lines, over 100"}},
		{"a long file", map[string]string{"a/a_test.go": "package a\n" + strings.Repeat("\n", maxFileLines-1) + "var x = 1\n"},
			[]string{"a/a_test.go:701: the file has 701 lines, over 700"}},
		{"a function of the largest allowed size", map[string]string{"a/a.go": "package a\n" + function(maxFunctionLines)}, nil},
	})
}
