package houserules_test

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// row is a row of the import table in importsPage.
type row struct {
	dir     string
	allowed []string // folders of packages; everything means all packages of the project
	why     string   // the subject of the package, and the reason for the limit
}

const (
	importsPage = "docs/ARCHITECTURE.md"
	everything  = "all"
	trials      = "internal/testing/trials" // its row also holds for the packages below it
)

var importRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]+) \\| ([^|]+) \\|$")

// readImportTable reads the section "Who may import whom". Folders of the column "may import" leave out
// "internal/".
func readImportTable(t *testing.T) (table []row) {
	t.Helper()
	_, section, _ := strings.Cut(readFile(t, importsPage), "\n## Who may import whom\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, match := range importRow.FindAllStringSubmatch(section, -1) {
		r := row{dir: match[1], why: match[3]}
		for name := range strings.SplitSeq(match[2], ", ") {
			name = strings.Trim(name, "`")
			if _, err := os.Stat(root + "/internal/" + name); err == nil {
				name = "internal/" + name
			}
			if name != "none" {
				r.allowed = append(r.allowed, name)
			}
		}
		table = append(table, r)
	}
	if len(table) < 30 {
		t.Fatalf("%s: found %d rows of the import table, want at least 30", importsPage, len(table))
	}
	return table
}

// testImports returns the packages that all tests may import.
func testImports() []string {
	return []string{
		"internal/sim", "internal/sqltext", "internal/testing/harness", "internal/testing/s3sim", "internal/testing/torture", "internal/testing/pinned",
		"internal/testing/escapes", "internal/testing/fixture", "schema", "queries", "internal/config",
		"internal/stream", "internal/warehouse", "internal/repair", "internal/query", "internal/audit", "internal/dialect",
	}
}

// checkImports checks the imports of each package against the table. It finds permissions that no code uses, and
// permissions to import a package whose row is further down. In a package that has only tests, the tests count
// as code.
func checkImports(t *testing.T, project tree) {
	table := readImportTable(t)
	hasCode := map[string]bool{}
	for _, s := range project.sources {
		hasCode[s.dir()] = hasCode[s.dir()] || !s.isTest() && len(s.file.Decls) > 0
	}
	isUsed := map[[2]string]bool{}
	for _, s := range project.sources {
		at := slices.IndexFunc(table, func(r row) bool { return r.dir == s.dir() || r.dir == trials && isWithin(s.dir(), trials) })
		if at < 0 {
			t.Errorf("%s:1: package %s is not in the import table: give it a row with a reason in %s, or move its code", s.path, s.dir(), importsPage)
			continue
		}
		allowed := table[at].allowed
		if s.isTest() {
			allowed = slices.Concat(allowed, testImports(), []string{s.dir()})
		}
		for _, spec := range s.file.Imports {
			folder, isOwn := projectFolder(spec.Path.Value)
			if !isOwn {
				continue
			}
			if !slices.Contains(allowed, folder) && !slices.Contains(allowed, everything) {
				t.Errorf("%s:%d: %s must not import %s, because %[3]s %[5]s: move the code to a package that may import it, or take the value as an argument",
					s.path, s.line(spec.Pos()), s.dir(), folder, table[at].why)
			}
			if !s.isTest() || !hasCode[s.dir()] {
				isUsed[[2]string{s.dir(), folder}] = true
			}
		}
	}
	for at, r := range table {
		for _, allowed := range r.allowed {
			if allowed == everything {
				break
			}
			if !slices.ContainsFunc(table[:at], func(other row) bool { return other.dir == allowed }) {
				t.Errorf("%s: %s may import %s, which has no row above: move that row up, or remove the import from the table", importsPage, r.dir, allowed)
			}
			if !isUsed[[2]string{r.dir, allowed}] {
				t.Errorf("%s: %s may import %s, but does not: remove it from the table", importsPage, r.dir, allowed)
			}
		}
	}
}

// projectFolder returns the folder of a package of this project. quoted is an import path with its quotes.
func projectFolder(quoted string) (dir string, isOwn bool) {
	importPath, _ := strconv.Unquote(quoted)
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// dependency is an import path, with all paths below it, that only some packages may import.
type dependency struct {
	path  string
	code  []string // the packages that may import it in code and in tests
	tests []string // the packages that may import it only in tests
	why   string
}

func dependencies() []dependency {
	all := []string{everything}
	return []dependency{
		{"github.com/duckdb", []string{"internal/warehouse", "internal/load", "internal/query"},
			[]string{"internal/pipeline", trials, "schema", "internal/testing/bench", "internal/testing/enginetest", "cmd/sync"},
			"the driver needs cgo, and DuckDB locks the files that it opens"},
		{"github.com/robfig/cron", []string{"internal/daemon", "internal/config"}, nil, "only the daemon has schedules"},
		{"github.com/prometheus", []string{"internal/daemon", "cmd/sync"}, nil, "only the daemon has metrics"},
		{"github.com/vbauerster/mpb", []string{"cmd/sync"}, nil, "only the command writes to terminals"},
		{"github.com/modelcontextprotocol", []string{"internal/mcp"}, []string{"cmd/sync"}, "one package implements the protocol"},
		{"github.com/goccy/go-yaml", []string{"internal/config"}, []string{"cmd/sync"}, "one package reads the file format"},
		{"github.com/spf13", []string{"internal/cli", "cmd/sync", "lake/cmd/lake"}, nil, "commands are parsed in one place"},
		{"log", []string{"internal/cli"}, nil, "it is global: take a *slog.Logger"},
		{"github.com/google/go-cmp", nil, all, "it can panic, which is acceptable only in tests"},
		{"github.com/google/jsonschema-go", nil, []string{"cmd/sync"}, "only tests validate JSON schemas"},
		{"go.uber.org/goleak", nil, all, "it is for tests"},
		{"github.com/rogpeppe/go-internal", nil, all, "it is for tests"},
		{"github.com/stretchr/testify", nil, nil, "tests use the standard library and go-cmp"},
	}
}

func (d dependency) allows(s source) bool {
	if slices.Contains(d.code, s.dir()) {
		return true
	}
	isForTests := s.isTest() || isWithin(s.dir(), "internal/testing")
	return isForTests && slices.ContainsFunc(d.tests, func(dir string) bool { return dir == everything || isWithin(s.dir(), dir) })
}

// checkDependencies checks all imports against dependencies. Package transform must also not import packages for
// input, output and logging.
func checkDependencies(t *testing.T, project tree) {
	impure := []string{"os", "net", "io/fs", "syscall", "database", "path/filepath", "log/slog", "embed"}
	for _, s := range project.sources {
		for _, spec := range s.file.Imports {
			importPath, _ := strconv.Unquote(spec.Path.Value)
			for _, d := range dependencies() {
				if isWithin(importPath, d.path) && importPath != "log/slog" && !d.allows(s) {
					t.Errorf("%s:%d: %s must not import %s: %s", s.path, s.line(spec.Pos()), s.dir(), importPath, d.why)
				}
			}
			isImpure := slices.ContainsFunc(impure, func(folder string) bool { return isWithin(importPath, folder) })
			if s.dir() == "internal/transform" && !s.isTest() && isImpure {
				t.Errorf("%s:%d: transform must not import %s: take the bytes or the value as an argument", s.path, s.line(spec.Pos()), importPath)
			}
		}
	}
}

// TestTransformNeedsNoCgo checks that internal/transform and its dependencies do not use cgo, so that the tests of
// transform run on a machine without a C compiler. The standard library can also be built without cgo.
func TestTransformNeedsNoCgo(t *testing.T) {
	packages := func(importPath string) []string {
		const format = "{{if and .CgoFiles (not .Standard)}}{{.ImportPath}}{{end}}"
		return strings.Fields(string(run(t, "go", "list", "-deps", "-tags", "duckdb_arrow", "-f", format, importPath)))
	}
	if found := packages(module + "/internal/transform"); len(found) > 0 {
		t.Errorf("internal/transform depends on cgo through %s, want no cgo: remove that import", strings.Join(found, ", "))
	}
	if len(packages("github.com/duckdb/duckdb-go/v2")) == 0 {
		t.Error("found no cgo in the DuckDB driver, want some")
	}
}
