package houserules_test

import (
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRacedPackages compares the packages that start goroutines with the list in the Makefile.
func TestRacedPackages(t *testing.T) {
	project := projectTree(t)
	makefile, err := os.ReadFile(filepath.Join("..", "..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(makefile), "\nRACED := ")
	list, _, _ = strings.Cut(list, "\n")
	raced := strings.Fields(list)
	// make test runs parts of cmd/sync and sim with the race detector. The tests of lake are
	// trials.
	elsewhere := []string{"sim", "lake"}
	for _, sources := range project.packages() {
		for _, s := range sources {
			name, isInternal := strings.CutPrefix(filepath.Dir(s.path), "internal/")
			if !isInternal || strings.HasPrefix(name, "testing/") || strings.HasSuffix(s.path, "_test.go") || slices.Contains(elsewhere, name) {
				continue
			}
			if startsGoroutine(s) && !slices.Contains(raced, name) {
				t.Errorf("%s starts a goroutine: add %s to RACED in the Makefile", s.path, name)
			}
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
