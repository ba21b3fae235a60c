package mutants_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// place is the position of an operator in a package.
type place struct {
	file         string
	line, column int
}

// dropInvalid drops the mutants that replace + between strings by -. They do not compile, and
// gremlins would count them as noticed.
func dropInvalid(t *testing.T, name string, all []mutant) []mutant {
	t.Helper()
	concatenations := findConcatenations(t, name)
	return slices.DeleteFunc(all, func(m mutant) bool { return concatenations[place{m.File, m.Line, m.Column}] })
}

// findConcatenations returns the places where a package joins two strings with +.
func findConcatenations(t *testing.T, name string) map[place]bool {
	t.Helper()
	exports, pkg := listPackage(t, name)
	set := token.NewFileSet()
	var files []*ast.File
	for _, path := range pkg.GoFiles {
		f, err := parser.ParseFile(set, filepath.Join(pkg.Dir, path), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	cfg := types.Config{FakeImportC: true, Importer: importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	info := types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	if _, err := cfg.Check(pkg.ImportPath, set, files, &info); err != nil {
		t.Fatalf("check the types of %s: %v", pkg.ImportPath, err)
	}
	places := map[place]bool{}
	for expr, typed := range info.Types {
		binary, ok := expr.(*ast.BinaryExpr)
		if !ok || binary.Op != token.ADD {
			continue
		}
		if basic, ok := typed.Type.Underlying().(*types.Basic); ok && basic.Info()&types.IsString != 0 {
			at := set.Position(binary.OpPos)
			places[place{filepath.Base(at.Filename), at.Line, at.Column}] = true
		}
	}
	return places
}

// listedPackage is a package in the output of go list.
type listedPackage struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// listPackage returns a package, and the export files of its dependencies by import path.
func listPackage(t *testing.T, name string) (exports map[string]string, pkg listedPackage) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-tags", buildTag, "-json=ImportPath,Dir,Export,GoFiles", "./internal/"+name)
	cmd.Dir, cmd.Stderr = projectPath(), t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exports = map[string]string{}
	for packages := json.NewDecoder(out); ; {
		var listed listedPackage
		err := packages.Decode(&listed)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		exports[listed.ImportPath] = listed.Export
		pkg = listed // go list prints a package after its imports, so the last one is pkg
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("go list of the package %s: %v", name, err)
	}
	return exports, pkg
}

// TestFindConcatenations checks a package that joins strings and one that only adds numbers.
func TestFindConcatenations(t *testing.T) {
	if len(findConcatenations(t, "plural")) == 0 {
		t.Error("found no joined strings in internal/plural, want some")
	}
	if places := findConcatenations(t, "nearest"); len(places) > 0 {
		t.Errorf("found joined strings in internal/nearest at %v, want none", places)
	}
}
