package houserules_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// figures are what is counted of one folder.
type figures struct {
	code, tests                    int // lines
	functions, oneWord, calledOnce int
	statements                     int // SQL that is put together by Sprintf
}

// TestFigures prints the figures of the project by folder, for whoever compares two
// states of it: go test -run TestFigures -v ./internal/houserules.
func TestFigures(t *testing.T) {
	project := projectTree(t)
	byDir := map[string]*figures{}
	all := &figures{}
	uses := identifierUses(project)
	for _, s := range project.sources {
		if byDir[s.dir()] == nil {
			byDir[s.dir()] = &figures{}
		}
		for _, f := range []*figures{byDir[s.dir()], all} {
			f.count(s, uses[s.dir()])
		}
	}
	t.Logf("%-26s %6s %6s %5s %6s %5s %6s %6s", "folder", "code", "tests", "ratio", "funcs", "1word", "1use", "SQL")
	for _, dir := range slices.Sorted(maps.Keys(byDir)) {
		t.Log(byDir[dir].line(dir))
	}
	t.Log(all.line("all"))
	if all.functions == 0 || all.tests == 0 {
		t.Error("nothing was counted")
	}
	for _, r := range largestReceivers(project, 5) {
		t.Log(r)
	}
	for _, twins := range findTwins(project) {
		t.Log("twins: ", twins)
	}
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("README.md: %d words", len(strings.Fields(string(readme))))
}

func (f *figures) line(name string) string {
	share := func(n int) string { return fmt.Sprintf("%d %%", 100*n/max(1, f.functions)) }
	return fmt.Sprintf("%-26s %6d %6d %5.2f %6d %5s %6s %6d", name, f.code, f.tests,
		float64(f.tests)/float64(max(1, f.code)), f.functions, share(f.oneWord), share(f.calledOnce), f.statements)
}

var sqlText = regexp.MustCompile(`\b(SELECT|INSERT INTO|DELETE FROM|UPDATE|CREATE|DROP|ALTER|COPY|ATTACH|COMMENT ON|SET)\b`)

func (f *figures) count(s source, uses map[string]int) {
	if s.isTest() {
		f.tests += s.lines()
		return
	}
	f.code += s.lines()
	for fn := range functionLengths(s) {
		f.functions++
		if isOneWord(fn.Name.Name) {
			f.oneWord++
		}
		if !fn.Name.IsExported() && uses[fn.Name.Name] <= 2 { // itself and one other
			f.calledOnce++
		}
	}
	for selector, called := range s.uses() {
		if called == [2]string{"fmt", "Sprintf"} && sqlText.MatchString(firstText(s.file, selector)) {
			f.statements++
		}
	}
}

// firstText is the text of the first literal in the arguments of a call.
func firstText(file *ast.File, fun ast.Expr) string {
	text := ""
	for node := range ast.Preorder(file) {
		call, ok := node.(*ast.CallExpr)
		if !ok || call.Fun != fun || len(call.Args) == 0 {
			continue
		}
		for arg := range ast.Preorder(call.Args[0]) {
			if lit, ok := arg.(*ast.BasicLit); ok && lit.Kind == token.STRING && text == "" {
				text = lit.Value
			}
		}
	}
	return text
}

// identifierUses counts the identifiers of each folder's code by name.
func identifierUses(t tree) map[string]map[string]int {
	uses := map[string]map[string]int{}
	for s := range t.code() {
		if uses[s.dir()] == nil {
			uses[s.dir()] = map[string]int{}
		}
		for node := range ast.Preorder(s.file) {
			if id, ok := node.(*ast.Ident); ok {
				uses[s.dir()][id.Name]++
			}
		}
	}
	return uses
}

func largestReceivers(t tree, n int) []string {
	methods := map[string]int{}
	for s := range t.code() {
		for f := range functionLengths(s) {
			if f.Recv != nil {
				methods[s.dir()+"."+receiverName(f)]++
			}
		}
	}
	largest := slices.SortedFunc(maps.Keys(methods), func(a, b string) int { return methods[b] - methods[a] })
	lines := make([]string, 0, n)
	for _, name := range largest[:min(n, len(largest))] {
		lines = append(lines, fmt.Sprintf("receiver %s: %d methods", name, methods[name]))
	}
	return lines
}

// findTwins lists functions of six lines and more whose code is the same but for its
// names and literals.
func findTwins(t tree) []string {
	byShape := map[string][]string{}
	for s := range t.code() {
		for f, lines := range functionLengths(s) {
			if lines >= 6 && f.Body != nil {
				shape := shapeOf(f.Body)
				byShape[shape] = append(byShape[shape], fmt.Sprintf("%s:%d %s", s.path, s.line(f.Pos()), f.Name.Name))
			}
		}
	}
	var twins []string
	for _, places := range byShape {
		if len(places) > 1 {
			slices.Sort(places)
			twins = append(twins, strings.Join(places, " = "))
		}
	}
	slices.Sort(twins)
	return twins
}

// shapeOf writes code without its names and literals.
func shapeOf(body *ast.BlockStmt) string {
	var b strings.Builder
	for node := range ast.Preorder(body) {
		b.WriteString(reflect.TypeOf(node).String())
		switch n := node.(type) {
		case *ast.BinaryExpr:
			b.WriteString(n.Op.String())
		case *ast.AssignStmt:
			b.WriteString(n.Tok.String())
		case *ast.UnaryExpr:
			b.WriteString(n.Op.String())
		}
		b.WriteByte(' ')
	}
	return b.String()
}

func TestTwinsAreFound(t *testing.T) {
	twins := findTwins(parseTree(t, map[string]string{
		"a/a.go": "package a\nfunc f(x int) int {\n\tx++\n\tx++\n\tx++\n\treturn x + 1\n}\nfunc g(y int) int {\n\ty++\n\ty++\n\ty++\n\treturn y + 2\n}\nfunc h(y int) int {\n\ty++\n\ty++\n\ty++\n\treturn y - 2\n}",
	}))
	if want := []string{"a/a.go:2 f = a/a.go:8 g"}; !slices.Equal(twins, want) {
		t.Errorf("got %q, want %q", twins, want)
	}
}
