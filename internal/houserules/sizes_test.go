package houserules_test

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// Lines of a function, from its func to its closing brace, and of a file. The median and
// the share are those outside of tests.
const (
	longestFunction = 80
	medianFunction  = 14
	ninthFunction   = 40 // nine of ten are not longer
	longestFile     = 500
)

// sizes bounds all functions and files, and outside of tests how many may be long.
func sizes(t tree) []finding {
	var found []finding
	for _, s := range t.sources {
		if n := s.lines(); n > longestFile {
			found = append(found, finding{s.path, n, fmt.Sprintf("the file has %d lines, over %d", n, longestFile),
				"split it by subject"})
		}
	}
	var lengths []int
	for _, s := range t.sources {
		for f, n := range functionLengths(s) {
			if !s.isTest() {
				lengths = append(lengths, n)
			}
			if n > longestFunction {
				found = append(found, s.find(f.Pos(), "name its steps and make them functions",
					"%s has %d lines, over %d", f.Name.Name, n, longestFunction))
			}
		}
	}
	return append(found, distribution(lengths)...)
}

func functionLengths(s source) map[*ast.FuncDecl]int {
	lengths := map[*ast.FuncDecl]int{}
	for _, decl := range s.file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok {
			lengths[f] = s.line(f.End()) - s.line(f.Pos()) + 1
		}
	}
	return lengths
}

// distribution judges the functions of the project together, so that a few long
// ones are no fault, and many are.
func distribution(lengths []int) []finding {
	if len(lengths) == 0 {
		return nil
	}
	slices.Sort(lengths)
	var found []finding
	for _, limit := range []struct {
		share   float64
		at      int
		allowed int
	}{{0.5, (len(lengths) - 1) / 2, medianFunction}, {0.9, (len(lengths)*9 - 1) / 10, ninthFunction}} {
		if got := lengths[limit.at]; got > limit.allowed {
			found = append(found, finding{"go.mod", 1,
				fmt.Sprintf("%.0f %% of the functions have up to %d lines, over %d", 100*limit.share, got, limit.allowed),
				"shorten the longest"})
		}
	}
	return found
}

func TestSizesAreHeld(t *testing.T) {
	function := func(lines int) string { return "func f() {" + strings.Repeat("\n", lines-1) + "}\n" }
	short := strings.Repeat(function(3), 20)
	mustCatch(t, sizes, []breach{
		{"a long function", map[string]string{"a/a.go": "package a\n" + function(81) + short},
			[]string{"a/a.go:2: f has 81 lines, over 80"}},
		{"a long function of a test", map[string]string{"a/a_test.go": "package a\n" + function(81)},
			[]string{"a/a_test.go:2: f has 81 lines, over 80"}},
		{"a long file", map[string]string{"a/a_test.go": "package a\n" + strings.Repeat("\n", 499) + "var x = 1\n"},
			[]string{"a/a_test.go:501: the file has 501 lines, over 500"}},
		{"many middling functions", map[string]string{"a/a.go": "package a\n" + strings.Repeat(function(15), 3) + function(5)},
			[]string{"go.mod:1: 50 % of the functions have up to 15 lines, over 14"}},
		{"a tail of longish functions", map[string]string{"a/a.go": "package a\n" + short[:len(short)/2] + strings.Repeat(function(41), 2)},
			[]string{"go.mod:1: 90 % of the functions have up to 41 lines, over 40"}},
		{"as long as allowed", map[string]string{"a/a.go": "package a\n" + function(80) + short}, nil},
	})
}
