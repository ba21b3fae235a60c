package houserules_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the import path of the root.
const module = "placementsync"

// tree is what the rules look at: the project, or a few lines made up to break one.
type tree struct {
	texts   []text   // .go, .sql and .md files, test data included
	sources []source // .go files, test data excluded
	names   []string // of all files, whatever they hold
}

// text is a file as it is written.
type text struct {
	path    string // slash-separated, from the root
	content string
}

// source is a parsed Go file.
type source struct {
	text
	file *ast.File
	fset *token.FileSet
}

// finding is one breach of a rule.
type finding struct {
	path string
	line int
	what string // what is there
	do   string // what to do about it
}

func (f finding) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", f.path, f.line, f.what, f.do)
}

// projectTree reads the tree of the project.
func projectTree(t *testing.T) tree {
	t.Helper()
	root := os.DirFS(filepath.Join("..", "..", ".."))
	files := map[string]string{}
	var others []string
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && !isOurs(name):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		case !slices.Contains([]string{".go", ".sql", ".md"}, path.Ext(name)), isTool(name):
			others = append(others, name)
			return nil
		}
		content, err := fs.ReadFile(root, name)
		files[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatalf("read the project: %v", err)
	}
	all := parseTree(t, files)
	all.names = append(all.names, others...)
	return all
}

// isOurs tells folders that are written by hand from those that are made.
func isOurs(dir string) bool {
	made := dir == "bin" || dir == "demo" || dir == "warehouse"
	return !made && (dir == "." || !strings.HasPrefix(path.Base(dir), "."))
}

// isTool tells programs that pack this one from those of the module: they have modules
// of their own below deploy/.
func isTool(file string) bool { return path.Ext(file) == ".go" && strings.HasPrefix(file, "deploy/") }

// parseTree makes a tree of files by path.
func parseTree(t *testing.T, files map[string]string) tree {
	t.Helper()
	var all tree
	for name, content := range files {
		all.texts = append(all.texts, text{name, content})
		all.names = append(all.names, name)
	}
	slices.SortFunc(all.texts, func(a, b text) int { return strings.Compare(a.path, b.path) })
	for _, file := range all.texts {
		if path.Ext(file.path) != ".go" || slices.Contains(strings.Split(file.path, "/"), "testdata") {
			continue
		}
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, file.path, file.content, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("parse: %v", err)
		}
		all.sources = append(all.sources, source{file, parsed, fset})
	}
	return all
}

// code iterates over the files that are not tests.
func (t tree) code() iter.Seq[source] {
	return func(yield func(source) bool) {
		for _, s := range t.sources {
			if !s.isTest() && !yield(s) {
				return
			}
		}
	}
}

// packages groups the files that are not tests by folder.
func (t tree) packages() map[string][]source {
	groups := map[string][]source{}
	for s := range t.code() {
		groups[s.dir()] = append(groups[s.dir()], s)
	}
	return groups
}

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

func (s source) dir() string { return path.Dir(s.path) }

func (s source) line(pos token.Pos) int { return s.fset.Position(pos).Line }

func (s source) find(pos token.Pos, do, what string, args ...any) finding {
	return finding{s.path, s.line(pos), fmt.Sprintf(what, args...), do}
}

// imports iterates over the import paths and their positions.
func (s source) imports() iter.Seq2[string, token.Pos] {
	return func(yield func(string, token.Pos) bool) {
		for _, spec := range s.file.Imports {
			if name, err := strconv.Unquote(spec.Path.Value); err == nil && !yield(name, spec.Pos()) {
				return
			}
		}
	}
}

// uses iterates over the selectors that name something of an imported package, as
// import path and name.
func (s source) uses() iter.Seq2[*ast.SelectorExpr, [2]string] {
	names := s.importNames()
	return func(yield func(*ast.SelectorExpr, [2]string) bool) {
		for node := range ast.Preorder(s.file) {
			selector, ok := node.(*ast.SelectorExpr)
			if !ok {
				continue
			}
			if x, ok := selector.X.(*ast.Ident); ok && names[x.Name] != "" {
				if !yield(selector, [2]string{names[x.Name], selector.Sel.Name}) {
					return
				}
			}
		}
	}
}

// importNames maps the names that imports have in this file to their paths.
func (s source) importNames() map[string]string {
	names := map[string]string{}
	for _, spec := range s.file.Imports {
		importPath, _ := strconv.Unquote(spec.Path.Value)
		name := path.Base(importPath)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = importPath
	}
	return names
}

// lines counts the lines of a file as an editor does.
func (t text) lines() int {
	return bytes.Count([]byte(strings.TrimSuffix(t.content, "\n")), []byte("\n")) + 1
}

// within tells whether dir is one of the folders or lies below one.
func within(dir string, folders []string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool {
		return dir == folder || strings.HasPrefix(dir, folder+"/")
	})
}
