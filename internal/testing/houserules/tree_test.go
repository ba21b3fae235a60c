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

// module is the import path of the root package.
const module = "placementsync"

// tree contains the files that the rules check: the files of the project, or of a ruleCase.
type tree struct {
	textFiles []textFile // .go, .sql and .md files, including test data
	sources   []source   // .go files, without test data
	paths     []string   // of all files
}

// textFile is a file with its content.
type textFile struct {
	path    string // slash-separated, from the root
	content string
}

// source is a parsed Go file.
type source struct {
	textFile
	file *ast.File
	fset *token.FileSet
}

// finding is one violation of a rule.
type finding struct {
	path      string
	line      int
	violation string
	remedy    string
}

func (f finding) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", f.path, f.line, f.violation, f.remedy)
}

// projectTree reads the tree of the project.
func projectTree(t *testing.T) tree {
	t.Helper()
	root := os.DirFS(filepath.Join("..", "..", ".."))
	files := map[string]string{}
	var otherPaths []string
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && !isProjectFolder(name):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		case !slices.Contains([]string{".go", ".sql", ".md"}, path.Ext(name)), isTool(name):
			otherPaths = append(otherPaths, name)
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
	all.paths = append(all.paths, otherPaths...)
	return all
}

// isProjectFolder reports whether a folder is part of the project. Hidden folders and the folders that
// "make" or the program writes are not part of it.
func isProjectFolder(dir string) bool {
	isOutput := dir == "bin" || dir == "demo" || dir == "warehouse"
	return !isOutput && (dir == "." || !strings.HasPrefix(path.Base(dir), "."))
}

// isTool reports whether a file is Go code below deploy/, where packaging tools have their own
// modules.
func isTool(file string) bool { return path.Ext(file) == ".go" && strings.HasPrefix(file, "deploy/") }

// parseTree returns the tree of the given files.
func parseTree(t *testing.T, files map[string]string) tree {
	t.Helper()
	var all tree
	for name, content := range files {
		all.textFiles = append(all.textFiles, textFile{name, content})
		all.paths = append(all.paths, name)
	}
	slices.SortFunc(all.textFiles, func(a, b textFile) int { return strings.Compare(a.path, b.path) })
	for _, file := range all.textFiles {
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

// code iterates over the Go files other than tests.
func (t tree) code() iter.Seq[source] {
	return func(yield func(source) bool) {
		for _, s := range t.sources {
			if !s.isTest() && !yield(s) {
				return
			}
		}
	}
}

// packages groups the Go files other than tests by folder.
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

func (s source) finding(pos token.Pos, remedy, format string, args ...any) finding {
	return finding{s.path, s.line(pos), fmt.Sprintf(format, args...), remedy}
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

// importedName is a name of an imported package, such as Args of package os.
type importedName struct{ importPath, name string }

// uses iterates over expressions such as os.Args.
func (s source) uses() iter.Seq2[*ast.SelectorExpr, importedName] {
	names := s.importNames()
	return func(yield func(*ast.SelectorExpr, importedName) bool) {
		for node := range ast.Preorder(s.file) {
			selector, ok := node.(*ast.SelectorExpr)
			if !ok {
				continue
			}
			if x, ok := selector.X.(*ast.Ident); ok && names[x.Name] != "" {
				if !yield(selector, importedName{names[x.Name], selector.Sel.Name}) {
					return
				}
			}
		}
	}
}

// importNames maps the local names of imports to their paths.
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
func (t textFile) lines() int {
	return bytes.Count([]byte(strings.TrimSuffix(t.content, "\n")), []byte("\n")) + 1
}

// isWithin reports whether a path is one of the folders or below one of them.
func isWithin(name string, folders []string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool {
		return name == folder || strings.HasPrefix(name, folder+"/")
	})
}
