package houserules_test

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// figures are the counts of one package.
type figures struct{ product, tests, sql, longLines, hiddenChanges int }

// hiddenChange matches a condition that changes a variable, such as "if n++; n > limit {".
var hiddenChange = regexp.MustCompile(`^\s*(} else )?(if|switch) [^;"]*(\+\+|--|[^:=!<>]=[^=;][^;"]*);`)

// TestFigures prints lines of code, of tests and of SQL, so that two commits can be compared. It never fails. Run
// it with make figures.
func TestFigures(t *testing.T) {
	if !testing.Verbose() {
		t.Skip("prints figures only with -v: run make figures")
	}
	var all figures
	byPackage, words := map[string]figures{}, 0
	for name, text := range readTree(t).texts {
		dir := path.Dir(name)
		f := byPackage[dir]
		switch {
		case path.Ext(name) == ".md":
			words += documentWords(name, text)
			continue
		case path.Ext(name) == ".sql" && !strings.Contains(name, "testdata/"):
			f.sql += strings.Count(text, "\n")
		case strings.HasSuffix(name, "_test.go") || path.Ext(name) == ".go" && isWithin(dir, "internal/testing"):
			f.tests += strings.Count(text, "\n")
		case path.Ext(name) == ".go":
			f.product += strings.Count(text, "\n")
		}
		if path.Ext(name) == ".go" {
			for line := range strings.Lines(text) {
				if len(line) > 161 {
					f.longLines++
				}
				if hiddenChange.MatchString(line) {
					f.hiddenChanges++
				}
			}
		}
		byPackage[dir] = f
	}
	row := func(name string, f figures) {
		fmt.Fprintf(t.Output(), "%-28s %7d %7d %6d %6d %7d\n", name, f.product, f.tests, f.sql, f.longLines, f.hiddenChanges)
	}
	fmt.Fprintf(t.Output(), "%-28s %7s %7s %6s %6s %7s\n", "lines of", "product", "tests", "SQL", "> 160", "if x++;")
	for _, dir := range slices.Sorted(maps.Keys(byPackage)) {
		f := byPackage[dir]
		if f == (figures{}) {
			continue
		}
		row(dir, f)
		all.product += f.product
		all.tests += f.tests
		all.sql += f.sql
		all.longLines += f.longLines
		all.hiddenChanges += f.hiddenChanges
	}
	row("all", all)
	fmt.Fprintf(t.Output(), "words of documentation written by hand: %d\n", words)
}

// documentWords counts the words of README.md, docs and docs/guide, without generated pages.
func documentWords(name, text string) int {
	generated := []string{"docs/alarms.md", "docs/cli.md", "docs/tables.md", "docs/metrics.md", "docs/licenses.md"}
	if slices.Contains(generated, name) || name != "README.md" && path.Dir(name) != "docs" && path.Dir(name) != "docs/guide" {
		return 0
	}
	return len(regexp.MustCompile(`\S*[\pL\pN]\S*`).FindAllString(text, -1))
}
