package houserules_test

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// findHiddenState finds init functions and mutable package variables. The initialiser of a package
// variable must be a literal, a conversion or one of fixedCalls. No code may assign to the variable,
// increment it, delete from it, clear it or take its address.
func findHiddenState(t tree) []finding {
	var findings []finding
	for _, sources := range t.packages() {
		names := map[string]bool{}
		for _, s := range sources {
			for name, value := range packageVariables(s) {
				names[name.Name] = true
				findings = append(findings, checkInitialiser(s, name, value)...)
			}
		}
		for _, s := range sources {
			findings = append(findings, findInits(s)...)
			findings = append(findings, findWrites(s, names)...)
		}
	}
	return findings
}

func findInits(s source) []finding {
	var findings []finding
	for _, decl := range s.file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			findings = append(findings, s.finding(f.Pos(), "move its code to the function that needs it", "init functions are not allowed"))
		}
	}
	return findings
}

// fixedCalls returns the calls whose result is immutable.
func fixedCalls() []string {
	return []string{
		"errors.New", "fmt.Errorf", // sentinels
		"regexp.MustCompile", "strings.NewReplacer", "template.Must", // compiled once, safe for concurrent use
		"time.Date", "reflect.TypeFor", "netip.MustParseAddr", "netip.MustParsePrefix", // values
	}
}

// packageVariables maps the package variables of a file to their initialisers, or to nil. It omits
// blank names (interface assertions) and embedded files.
func packageVariables(s source) map[*ast.Ident]ast.Expr {
	variables := map[*ast.Ident]ast.Expr{}
	for _, decl := range s.file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.VAR {
			continue
		}
		for _, spec := range group.Specs {
			v := spec.(*ast.ValueSpec)
			for i, name := range v.Names {
				if name.Name != "_" && !isEmbed(group.Doc) && !isEmbed(v.Doc) {
					variables[name] = nil
					if i < len(v.Values) {
						variables[name] = v.Values[i]
					}
				}
			}
		}
	}
	return variables
}

func isEmbed(comments *ast.CommentGroup) bool {
	return comments != nil && slices.ContainsFunc(comments.List, func(c *ast.Comment) bool {
		return strings.HasPrefix(c.Text, "//go:embed ")
	})
}

// checkInitialiser returns a finding if the value of an initialiser is mutable.
func checkInitialiser(s source, name *ast.Ident, value ast.Expr) []finding {
	const remedy = "make it a field, or return it from a function"
	switch v := value.(type) {
	case nil:
		return []finding{s.finding(name.Pos(), remedy, "variable %s has no initial value, so it is meant to be changed", name.Name)}
	case *ast.UnaryExpr:
		if v.Op == token.AND {
			return []finding{s.finding(name.Pos(), remedy, "variable %s points to a mutable value", name.Name)}
		}
	case *ast.CompositeLit:
		if typeName := selectorName(v.Type); strings.HasPrefix(typeName, "sync.") || strings.HasPrefix(typeName, "atomic.") {
			return []finding{s.finding(name.Pos(), remedy, "variable %s is a mutable %s", name.Name, typeName)}
		}
	case *ast.CallExpr:
		if called := selectorName(v.Fun); !isConversion(v) && !slices.Contains(fixedCalls(), called) {
			return []finding{s.finding(name.Pos(), remedy+"; if the result is immutable, add the call to fixedCalls",
				"variable %s is the result of %s", name.Name, called)}
		}
	}
	return nil
}

// isConversion reports whether a call is a conversion such as []byte("text").
func isConversion(call *ast.CallExpr) bool {
	switch call.Fun.(type) {
	case *ast.ArrayType, *ast.ParenExpr, *ast.MapType:
		return true
	}
	return false
}

func selectorName(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return selectorName(e.X) + "." + e.Sel.Name
	case *ast.IndexExpr:
		return selectorName(e.X)
	case *ast.IndexListExpr:
		return selectorName(e.X)
	}
	return ""
}

// findWrites finds writes to package variables of this project. It ignores local variables with
// the same name.
func findWrites(s source, names map[string]bool) []finding {
	imports := s.importNames()
	var findings []finding
	for _, decl := range s.file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		local := declaredIn(f)
		for node := range ast.Preorder(f) {
			for _, target := range targets(node) {
				root, isQualified := rootOf(target)
				isOtherPackage := isQualified && strings.HasPrefix(imports[root.Name], module+"/")
				if (isOtherPackage || names[root.Name]) && !local[root.Name] {
					findings = append(findings, s.finding(target.Pos(), "pass the value instead",
						"%s writes to a package variable through %s", f.Name.Name, root.Name))
				}
			}
		}
	}
	return findings
}

// declaredIn collects the parameters and variables of f in any scope.
func declaredIn(f *ast.FuncDecl) map[string]bool {
	local := map[string]bool{}
	add := func(exprs ...ast.Expr) {
		for _, expr := range exprs {
			if name, ok := expr.(*ast.Ident); ok {
				local[name.Name] = true
			}
		}
	}
	for node := range ast.Preorder(f) {
		switch n := node.(type) {
		case *ast.Field:
			for _, name := range n.Names {
				add(name)
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				add(name)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				add(n.Key, n.Value)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				add(n.Lhs...)
			}
		}
	}
	return local
}

// targets returns the operands that a node writes to or takes the address of.
func targets(node ast.Node) []ast.Expr {
	switch n := node.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			return []ast.Expr{n.X}
		}
	case *ast.CallExpr:
		if called := selectorName(n.Fun); called == "delete" || called == "clear" {
			return n.Args[:1]
		}
	}
	return nil
}

// rootOf reduces x[i], x.f and *x to x. isQualified means that x is the operand of a selector,
// so it may be the name of a package.
func rootOf(expr ast.Expr) (root *ast.Ident, isQualified bool) {
	switch e := expr.(type) {
	case *ast.Ident:
		return e, false
	case *ast.IndexExpr:
		return rootOf(e.X)
	case *ast.StarExpr:
		return rootOf(e.X)
	case *ast.ParenExpr:
		return rootOf(e.X)
	case *ast.SelectorExpr:
		root, _ := rootOf(e.X)
		return root, root != nil
	}
	return &ast.Ident{}, false
}

func TestHiddenStateIsFound(t *testing.T) {
	hidden := func(name, declaration, violation string) ruleCase {
		return ruleCase{name, map[string]string{"a/a.go": "package a\n" + declaration}, []string{"a/a.go:2: " + violation}}
	}
	testRule(t, findHiddenState, []ruleCase{
		hidden("init", "func init() {}", "init functions are not allowed"),
		hidden("no initial value", "var mu sync.Mutex", "variable mu has no initial value, so it is meant to be changed"),
		hidden("a lock", "var mu = sync.Mutex{}", "variable mu is a mutable sync.Mutex"),
		hidden("a pointer", "var client = &http.Client{}", "variable client points to a mutable value"),
		hidden("a call", "var log = slog.New(nil)", "variable log is the result of slog.New"),
		hidden("a cache", "var cache = map[string]int{}; func f() { cache[\"a\"] = 1 }", "f writes to a package variable through cache"),
		hidden("a counter", "var n = 0; func f() { n++ }", "f writes to a package variable through n"),
		hidden("an address taken", "var n = 0; func f() *int { return &n }", "f writes to a package variable through n"),
		hidden("a cleared map", "var m = map[int]int{}; func f() { clear(m) }", "f writes to a package variable through m"),
		hidden("a variable of another package", "import \"placementsync/queries\"; func f() { queries.All[0] = 1 }", "f writes to a package variable through queries"),
	})
	testRule(t, findHiddenState, []ruleCase{{"immutable variables", map[string]string{
		"a/a.go": `package a
//go:embed *.sql
var files embed.FS
var (
	_ io.Reader = (*T)(nil)
	ErrGone     = errors.New("gone")
	word        = regexp.MustCompile("a")
	table       = map[string]int{"a": 1}
	version     = "dev"
	null        = []byte("null")
)
func f(word string) int { word += "x"; table := map[string]int{}; table[word]++; return table[word] }
func (t *T) init() {}
`,
		"a/a_test.go": "package a\nvar n int\nfunc f() { n++ }",
	}, nil}})
}
