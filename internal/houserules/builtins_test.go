package houserules_test

import (
	"go/ast"
	"go/token"
	"slices"
	"testing"
)

// builtins are the predeclared names that code must not give to something else.
func builtins() []string {
	return []string{"any", "append", "cap", "clear", "close", "copy", "delete", "len", "make", "max", "min", "new", "print", "println", "recover", "panic"}
}

// shadows finds declarations that take the name of a builtin: below them the builtin
// cannot be used, and a reader takes one for the other. Methods and fields do no harm.
func shadows(t tree) []finding {
	var found []finding
	for _, s := range t.sources {
		for _, name := range declaredNames(s.file) {
			if slices.Contains(builtins(), name.Name) {
				found = append(found, s.find(name.Pos(), "give it a name of its own", "%s hides the builtin", name.Name))
			}
		}
	}
	return found
}

// declaredNames are the names that a file declares: functions, types, constants,
// variables, parameters, results and names of imports.
func declaredNames(file *ast.File) []*ast.Ident {
	var names []*ast.Ident
	fields := func(lists ...*ast.FieldList) {
		for _, list := range lists {
			if list == nil {
				continue
			}
			for _, field := range list.List {
				names = append(names, field.Names...)
			}
		}
	}
	defined := func(tok token.Token, exprs ...ast.Expr) {
		for _, expr := range exprs {
			if name, ok := expr.(*ast.Ident); ok && tok == token.DEFINE {
				names = append(names, name)
			}
		}
	}
	for node := range ast.Preorder(file) {
		switch n := node.(type) {
		case *ast.FuncDecl:
			if n.Recv == nil {
				names = append(names, n.Name)
			}
			fields(n.Recv, n.Type.TypeParams, n.Type.Params, n.Type.Results)
		case *ast.FuncLit:
			fields(n.Type.Params, n.Type.Results)
		case *ast.ValueSpec:
			names = append(names, n.Names...)
		case *ast.TypeSpec:
			names = append(names, n.Name)
			fields(n.TypeParams)
		case *ast.ImportSpec:
			if n.Name != nil {
				names = append(names, n.Name)
			}
		case *ast.AssignStmt:
			defined(n.Tok, n.Lhs...)
		case *ast.RangeStmt:
			defined(n.Tok, n.Key, n.Value)
		}
	}
	return names
}

func TestShadowedBuiltinsAreFound(t *testing.T) {
	mustCatch(t, shadows, []breach{
		{"declarations of all kinds", map[string]string{
			"a/a.go": "package a\nimport new \"errors\"\ntype any int\nfunc make(len int) (cap int) {\n\tmax, b := 1, 2\n\tfor min := range 3 {\n\t\t_ = min\n\t}\n\tvar copy = func(print string) {}\n\treturn\n}\nfunc (append T) m() {}\nconst clear = 1",
		}, []string{
			"a/a.go:12: append hides the builtin", "a/a.go:13: clear hides the builtin",
			"a/a.go:2: new hides the builtin", "a/a.go:3: any hides the builtin",
			"a/a.go:4: cap hides", "a/a.go:4: len hides", "a/a.go:4: make hides",
			"a/a.go:5: max hides", "a/a.go:6: min hides", "a/a.go:9: copy hides", "a/a.go:9: print hides",
		}},
		{"methods, fields and uses", map[string]string{
			"a/a.go": "package a\ntype t struct{ len, new int }\nfunc (x t) close() {}\nfunc f(x []int) { y := max(len(x), cap(x)); y = 2; x = append(x, y); for y = range 2 {} }",
		}, nil},
	})
}
