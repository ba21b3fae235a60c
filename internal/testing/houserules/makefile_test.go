package houserules_test

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func readMakefile(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestMakefileSetsEachVariableOnce looks for variables that are set twice. All recipes use the last
// value of a variable, even recipes above it.
func TestMakefileSetsEachVariableOnce(t *testing.T) {
	lines := map[string]int{}
	for i, line := range strings.Split(readMakefile(t), "\n") {
		name := regexp.MustCompile(`^([A-Za-z_]+) *[:?]?=`).FindStringSubmatch(line)
		if name == nil {
			continue
		}
		if first, isSet := lines[name[1]]; isSet {
			t.Errorf("Makefile:%d sets %s, which line %d also sets: use another name", i+1, name[1], first)
		}
		lines[name[1]] = i + 1
	}
}

// TestConcurrentPackagesAreListed checks that each package below internal that starts goroutines is
// in one of two lists of the Makefile. For the packages in the first list, all tests run with the race
// detector. For the packages in the second list, only some tests run with it.
func TestConcurrentPackagesAreListed(t *testing.T) {
	var concurrent []string
	for _, variable := range []string{"CONCURRENT_PACKAGES", "PARTLY_CONCURRENT"} {
		_, list, _ := strings.Cut(readMakefile(t), "\n"+variable+" := ")
		list, _, _ = strings.Cut(list, "\n")
		for _, name := range strings.Fields(list) {
			concurrent = append(concurrent, strings.TrimPrefix(name, "internal/"))
		}
	}
	// The tests of lake run only in trials.
	exempt := []string{"lake"}
	for s := range projectTree(t).code() {
		name, isInternal := strings.CutPrefix(s.dir(), "internal/")
		if !isInternal || strings.HasPrefix(name, "testing/") || slices.Contains(exempt, name) {
			continue
		}
		if startsGoroutine(s) && !slices.Contains(concurrent, name) {
			t.Errorf("%s starts a goroutine: add %s to CONCURRENT_PACKAGES or PARTLY_CONCURRENT in the Makefile", s.path, name)
		}
	}
}

// TestConcurrentTestsExist checks that each pattern of CONCURRENT_TESTS matches a test, because tests
// are renamed.
func TestConcurrentTestsExist(t *testing.T) {
	_, patterns, _ := strings.Cut(readMakefile(t), "\nCONCURRENT_TESTS := ")
	patterns, _, _ = strings.Cut(patterns, "\n.PHONY")
	_, patterns, _ = strings.Cut(strings.ReplaceAll(patterns, "$\\\n\t", ""), ")$$|") // the first pattern names scripts
	files := projectTree(t).textFiles
	for pattern := range strings.SplitSeq(strings.TrimSpace(patterns), "|") {
		test := regexp.MustCompile(`(?m)^func Test\w*` + pattern + `\w*\(t \*testing\.T\)`)
		isTest := func(f textFile) bool { return strings.HasSuffix(f.path, "_test.go") && test.MatchString(f.content) }
		if !slices.ContainsFunc(files, isTest) {
			t.Errorf("no test matches %q of CONCURRENT_TESTS in the Makefile", pattern)
		}
	}
}

// startsGoroutine looks for go statements, and for the method Go of errgroup and sync.
func startsGoroutine(s source) bool {
	for node := range ast.Preorder(s.file) {
		switch n := node.(type) {
		case *ast.GoStmt:
			return true
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Go" {
				return true
			}
		}
	}
	return false
}
