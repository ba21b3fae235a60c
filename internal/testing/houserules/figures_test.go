package houserules_test

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// figures are the counts of one package.
type figures struct {
	product, comments, tests int // lines; product lines are in files other than tests, and include comments
	functions, singleUses    int // singleUses counts unexported functions with one use in their package
	funcFields               int // struct fields with a function type
}

// TestFigures prints figures of the project, so that two commits can be compared. It never fails.
// Run it with make figures.
func TestFigures(t *testing.T) {
	if !testing.Verbose() {
		t.Skip("prints figures only with -v: run make figures")
	}
	project := projectTree(t)
	out := t.Output()
	printRow := func(name string, f figures) {
		fmt.Fprintf(out, "%-22s %7d %9d %7d %11d %10d %12d\n", name, f.product, f.comments, f.tests, f.functions, f.singleUses, f.funcFields)
	}
	byPackage := countFigures(project)
	var all figures
	fmt.Fprintf(out, "%-22s %7s %9s %7s %11s %10s %12s\n", "package", "product", "comments", "tests", "functions", "used once", "func fields")
	for _, dir := range slices.Sorted(maps.Keys(byPackage)) {
		f := byPackage[dir]
		printRow(dir, *f)
		all.add(*f)
	}
	printRow("all", all)
	fmt.Fprintf(out, "unexported functions with one use, of all functions: %d %%\n", 100*all.singleUses/max(1, all.functions))
	fmt.Fprintf(out, "terms of the glossary in docs/ARCHITECTURE.md: %d\n", countGlossary(project))
	fmt.Fprintf(out, "words of documentation written by hand: %d\n", countWords(project))
}

func (f *figures) add(o figures) {
	f.product += o.product
	f.comments += o.comments
	f.tests += o.tests
	f.functions += o.functions
	f.singleUses += o.singleUses
	f.funcFields += o.funcFields
}

func countFigures(project tree) map[string]*figures {
	byPackage, uses := map[string]*figures{}, map[string]map[string]int{}
	for s := range project.code() {
		if uses[s.dir()] == nil {
			uses[s.dir()] = map[string]int{}
		}
		for node := range ast.Preorder(s.file) {
			if id, ok := node.(*ast.Ident); ok {
				uses[s.dir()][id.Name]++
			}
		}
	}
	for _, s := range project.sources {
		f := byPackage[s.dir()]
		if f == nil {
			f = &figures{}
			byPackage[s.dir()] = f
		}
		if s.isTest() {
			f.tests += s.lines()
			continue
		}
		f.product += s.lines()
		for _, group := range s.file.Comments {
			f.comments += s.line(group.End()) - s.line(group.Pos()) + 1
		}
		for _, decl := range s.file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			f.functions++
			if !fn.Name.IsExported() && uses[s.dir()][fn.Name.Name] == 2 { // its declaration and one use
				f.singleUses++
			}
		}
		for node := range ast.Preorder(s.file) {
			fields, ok := node.(*ast.StructType)
			if !ok {
				continue
			}
			for _, field := range fields.Fields.List {
				if _, ok := field.Type.(*ast.FuncType); ok {
					f.funcFields += max(1, len(field.Names))
				}
			}
		}
	}
	return byPackage
}

// countGlossary counts the rows of the tables in the section Glossary.
func countGlossary(project tree) (terms int) {
	for _, text := range project.textFiles {
		if text.path != "docs/ARCHITECTURE.md" {
			continue
		}
		_, section, _ := strings.Cut(text.content, "\n## Glossary\n")
		section, _, _ = strings.Cut(section, "\n## ")
		for row := range strings.Lines(section) {
			if strings.HasPrefix(row, "| ") && !strings.HasPrefix(row, "| word ") {
				terms++
			}
		}
	}
	return terms
}

// importTableText matches the import table that "make docs" writes into docs/ARCHITECTURE.md.
var importTableText = regexp.MustCompile("(?s)<!-- imports: .*<!-- end of imports -->")

// countWords counts the words of README.md, docs and docs/guide, without generated pages and the
// import table. A word contains a letter or a digit, so the bars of tables are not counted.
func countWords(project tree) (words int) {
	generatedPages := []string{"docs/cli.md", "docs/tables.md", "docs/metrics.md", "docs/licenses.md", "docs/reliability.md"}
	for _, text := range project.textFiles {
		isDoc := text.path == "README.md" || slices.Contains([]string{"docs", "docs/guide"}, path.Dir(text.path))
		if !isDoc || path.Ext(text.path) != ".md" || slices.Contains(generatedPages, text.path) {
			continue
		}
		for word := range strings.FieldsSeq(importTableText.ReplaceAllString(text.content, "")) {
			if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
				words++
			}
		}
	}
	return words
}
