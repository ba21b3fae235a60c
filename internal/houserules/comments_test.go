package houserules_test

import (
	"go/ast"
	"testing"
)

// packageComments wants exactly one package comment for each package.
func packageComments(t tree) []finding {
	var found []finding
	for dir, sources := range t.packages() {
		var documented []source
		for _, s := range sources {
			if s.file.Doc != nil {
				documented = append(documented, s)
			}
		}
		if len(documented) == 0 {
			found = append(found, sources[0].find(sources[0].file.Package,
				"say what it is for and what it must not know", "package %s has no comment", dir))
		}
		for _, s := range documented[min(1, len(documented)):] {
			found = append(found, s.find(s.file.Doc.Pos(), "unite them, or leave a blank line before the package clause",
				"package %s has another comment in %s", dir, documented[0].path))
		}
	}
	return found
}

// exportedNames wants a comment on every exported name outside of tests. The
// comment of a group counts for each of its constants and variables; Error and Unwrap
// are explained by package errors.
func exportedNames(t tree) []finding {
	var found []finding
	for s := range t.code() {
		for _, decl := range s.file.Decls {
			for _, name := range undocumented(decl) {
				found = append(found, s.find(name.Pos(), "say what it means, its unit and its errors",
					"%s is exported and has no comment", name.Name))
			}
		}
	}
	return found
}

func undocumented(decl ast.Decl) []*ast.Ident {
	var names []*ast.Ident
	switch d := decl.(type) {
	case *ast.FuncDecl:
		explained := d.Recv != nil && (d.Name.Name == "Error" || d.Name.Name == "Unwrap")
		if d.Doc == nil && !explained && d.Name.IsExported() && receiverIsExported(d) {
			names = append(names, d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			names = append(names, undocumentedIn(spec, d)...)
		}
	}
	return names
}

func undocumentedIn(spec ast.Spec, group *ast.GenDecl) []*ast.Ident {
	var names []*ast.Ident
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Doc == nil && group.Doc == nil && s.Name.IsExported() {
			names = append(names, s.Name)
		}
	case *ast.ValueSpec:
		for _, name := range s.Names {
			if s.Doc == nil && s.Comment == nil && group.Doc == nil && name.IsExported() {
				names = append(names, name)
			}
		}
	}
	return names
}

func receiverIsExported(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	for node := range ast.Preorder(f.Recv.List[0].Type) {
		if name, ok := node.(*ast.Ident); ok {
			return name.IsExported()
		}
	}
	return false
}

func TestPackageCommentsAreHeld(t *testing.T) {
	mustCatch(t, packageComments, []breach{
		{"none", map[string]string{"a/a.go": "package a", "a/a_test.go": "// Package a is tested.\npackage a"},
			[]string{"a/a.go:1: package a has no comment"}},
		{"two", map[string]string{"a/a.go": "// Package a is one.\npackage a", "a/b.go": "\n// Package a is two.\npackage a"},
			[]string{"a/b.go:2: package a has another comment in a/a.go"}},
		{"one", map[string]string{"a/a.go": "// Package a is one.\npackage a", "a/b.go": "package a"}, nil},
	})
}

func TestExportedNamesAreHeld(t *testing.T) {
	mustCatch(t, exportedNames, []breach{
		{"without comments", map[string]string{
			"a/a.go": "package a\nfunc F() {}\ntype T int\nconst C = 1\nvar V, w = 1, 2\nfunc (*T) M() {}\nfunc (G[K]) N() {}",
		}, []string{
			"a/a.go:2: F is exported and has no comment", "a/a.go:3: T is exported and has no comment",
			"a/a.go:4: C is exported and has no comment", "a/a.go:5: V is exported and has no comment",
			"a/a.go:6: M is exported and has no comment", "a/a.go:7: N is exported and has no comment",
		}},
		{"with comments, or hidden", map[string]string{
			"a/a.go":      "package a\n// F is.\nfunc F() {}\n// T and more.\nconst (\n\tC = 1\n\tD = 2\n)\ntype t int\nfunc (t) M() {}\nfunc (*E) Error() string { return \"\" }\nvar (\n\tE = 1 // is\n)",
			"a/a_test.go": "package a\nfunc TestX() {}",
		}, nil},
	})
}
