package houserules_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module is the import path of the root package.
const module = "placementsync"

// root is the path of the project's folder.
const root = "../../.."

// tree contains the files of the project.
type tree struct {
	texts   map[string]string // the content of .go, .sql and .md files by path, including test data
	sources []source          // .go files, without test data
	paths   []string          // of all files
}

// source is a parsed Go file. Its path is slash-separated, from the root.
type source struct {
	path string
	file *ast.File
	fset *token.FileSet
}

// readTree reads the files of the project. It leaves out hidden folders, folders that "make" or the program
// writes, and Go code below deploy/, which has its own modules.
func readTree(t *testing.T) tree {
	t.Helper()
	all := tree{texts: map[string]string{}}
	files := os.DirFS(root)
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		isOutput := slices.Contains([]string{"bin", "demo", "warehouse"}, name)
		isHidden := name != "." && strings.HasPrefix(entry.Name(), ".")
		if entry.IsDir() {
			if isOutput || isHidden {
				return fs.SkipDir
			}
			return nil
		}
		all.paths = append(all.paths, name)
		isTool := path.Ext(name) == ".go" && strings.HasPrefix(name, "deploy/")
		if isTool || !slices.Contains([]string{".go", ".sql", ".md"}, path.Ext(name)) {
			return nil
		}
		content, err := fs.ReadFile(files, name)
		all.texts[name] = string(content)
		if err != nil || path.Ext(name) != ".go" || strings.Contains(name, "testdata/") {
			return err
		}
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, name, content, parser.ParseComments|parser.SkipObjectResolution)
		all.sources = append(all.sources, source{name, parsed, fset})
		return err
	})
	if err != nil {
		t.Fatalf("read the project: %v", err)
	}
	return all
}

// has reports whether a file or folder exists.
func (t tree) has(name string) bool {
	return slices.ContainsFunc(t.paths, func(other string) bool { return other == name || strings.HasPrefix(other, name+"/") })
}

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

func (s source) dir() string { return path.Dir(s.path) }

func (s source) line(pos token.Pos) int { return s.fset.Position(pos).Line }

// isWithin reports whether a path is a folder or below it.
func isWithin(name, folder string) bool { return name == folder || strings.HasPrefix(name, folder+"/") }

// TestHouseRules checks the rules that concern all files.
func TestHouseRules(t *testing.T) {
	project := readTree(t)
	t.Run("imports", func(t *testing.T) { checkImports(t, project) })
	t.Run("dependencies", func(t *testing.T) { checkDependencies(t, project) })
	t.Run("quotes", func(t *testing.T) { checkQuotes(t, project) })
	t.Run("citations", func(t *testing.T) { checkCitations(t, project) })
	t.Run("links", func(t *testing.T) { checkLinks(t, project) })
	t.Run("race", func(t *testing.T) { checkRace(t, project) })
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func run(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("run %s: %v", filepath.Base(name), err)
	}
	return out
}
