package houserules_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// row lists the packages of this project that the package in the folder dir may import.
type row struct {
	dir     string
	allowed []string
	why     string // the subject of the package, and the reason for the limit
}

// everything means all packages of the project.
const everything = "*"

// importTable lists the packages and their allowed imports. All other imports of the project's
// packages are forbidden, except those of testImports in tests.
func importTable() []row {
	return []row{
		{"internal/stream", nil, "describes endpoints as data; it imports no other package, so that every package may import it"},
		{"internal/nearest", nil, "finds the known word nearest to a misspelled one"},
		{"internal/plural", nil, "formats counts and sizes for messages"},
		{"internal/sqltext", nil, "writes SQL and its quotes, for any table and any statement"},
		{"internal/checksum", nil, "compares bytes with checksums; other packages read and repair the files"},
		{"internal/config", []string{"internal/nearest"}, "reads the configuration file; other packages have their own configuration structs, which `cmd/sync` fills"},
		{"internal/durable", nil, "renames, syncs and removes files of any content; trials make its steps fail"},
		{"internal/ledger", []string{"internal/plural"}, "contains the records of runs and the names of grades, so that the daemon can show runs without a database"},
		{"internal/page", []string{"internal/ledger", "internal/plural"}, "renders HTML pages; its callers provide the values"},
		{"internal/sim", nil, "serves the API for tests and demos; it shares no code with the client, because a mistake in common code would stay undetected"},
		{"internal/object", []string{"internal/checksum"}, "stores bytes under names, for backups, exports and lakes"},
		{"internal/testing/torture", nil, "stores the results of long tests; only tests import it"},
		{"internal/testing/escapes", nil, "contains SQL that must be refused; only tests import it"},
		{"internal/testing/pinned", nil, "installs other programs for comparisons; only tests import it"},
		{"internal/testing/s3sim", []string{"internal/testing/pinned"}, "provides S3 servers for tests; they share no code with `internal/object`, which they test"},
		{".", nil, "embeds the example of the configuration"},
		{"schema", nil, "embeds SQL"},
		{"queries", nil, "embeds SQL"},
		{"internal/dictionary", []string{"schema", "internal/nearest", "internal/sqltext", "internal/stream"}, "reads the definitions of tables and views from their SQL, without a database"},
		{"internal/fetch", []string{"internal/stream", "internal/durable", "internal/plural"}, "stores responses as bytes; only `internal/pipeline` connects the phases of a night"},
		{"internal/transform", []string{"internal/stream"}, "turns bytes into records without I/O, clock and cgo, so that its tests are pairs of files"},
		{"internal/warehouse", []string{"internal/checksum", "internal/dictionary", "internal/sqltext", "internal/stream", "internal/durable", "internal/ledger"}, "manages the warehouse folder and publishes versions; other packages fill, check and read them"},
		{"internal/testing/fixture", []string{"internal/dictionary", "internal/durable", "internal/sqltext", "internal/stream", "internal/warehouse"}, "creates catalogs for tests; only tests import it"},
		{"internal/integrity", []string{"internal/checksum", "internal/dictionary", "internal/durable", "internal/sqltext", "internal/stream", "internal/ledger", "internal/warehouse"}, "checks and repairs the files of a warehouse"},
		{"internal/load", []string{"internal/checksum", "internal/dictionary", "internal/sqltext", "internal/stream", "internal/ledger", "internal/warehouse"}, "stages rows and merges them; only `internal/pipeline` connects the phases of a night"},
		{"internal/lake", []string{"internal/checksum", "internal/dictionary", "internal/sqltext", "internal/stream", "internal/durable", "internal/warehouse", "internal/object"}, "writes published versions as Iceberg tables; it needs neither the service nor a night"},
		{"internal/webhook", []string{"internal/stream", "internal/durable"}, "receives events into an inbox in the warehouse folder; it needs neither tables nor a night"},
		{"internal/query", []string{"internal/checksum", "internal/dictionary", "internal/sqltext", "internal/stream", "internal/ledger", "internal/durable", "internal/nearest", "internal/object", "internal/plural", "queries"}, "reads and exports published snapshots; other packages create them"},
		{"internal/mcp", []string{"internal/dictionary", "internal/query"}, "serves assistants; its caller opens the snapshot and reads the configuration"},
		{"internal/dialect", []string{"queries", "internal/dictionary"}, "writes the views of mart for the engines of a lake; it needs neither a lake nor an engine"},
		{"internal/backup", []string{"internal/checksum", "internal/ledger", "internal/warehouse", "internal/object"}, "copies the files of a warehouse to a bucket and back; it needs neither a night nor the configuration"},
		{"internal/report", []string{"internal/ledger", "internal/query", "internal/page", "internal/plural"}, "writes a page with results of named queries; its caller opens the snapshots and reads the configuration"},
		{"internal/explore", []string{"internal/dictionary", "internal/sqltext", "internal/ledger", "internal/query", "internal/page", "internal/report", "internal/plural"}, "serves pages of the newest snapshot; its caller finds the snapshot and reads the configuration"},
		{"internal/checks", []string{"internal/nearest", "internal/stream", "internal/ledger", "internal/query"}, "runs checks on an open snapshot; it needs neither the warehouse folder nor a night"},
		{"internal/pipeline", []string{
			"internal/checksum", "internal/dictionary", "internal/stream", "internal/fetch", "internal/transform", "internal/warehouse", "internal/integrity", "internal/load",
			"internal/webhook", "internal/ledger", "internal/plural", "internal/query", "internal/checks",
		}, "runs one night; its configuration is an argument"},
		{"internal/notify", []string{"internal/ledger", "internal/plural"}, "sends alerts and heartbeats; its callers provide their content"},
		{"internal/watch", []string{"internal/ledger", "internal/warehouse", "internal/query", "internal/plural"}, "compares results of queries with conditions and stores its state in the warehouse folder; it needs no configuration, no receivers and no night"},
		{"internal/daemon", []string{"internal/integrity", "internal/ledger", "internal/page", "internal/query", "internal/warehouse", "internal/watch", "internal/webhook"}, "schedules nights and serves the status page and metrics; it runs a night through an interface, so that tests need no real night"},
		{"internal/testing/houserules", nil, "has only tests"},
		{"internal/testing/trials", []string{everything}, "has only tests, which run whole nights and read the results"},
		{"internal/testing/bench", nil, "has only tests, which measure nights of the program and of other programs"},
		{"internal/testing/enginetest", []string{"internal/dialect"}, "has only tests, which compute the views of mart in engines and in DuckDB"},
		{"internal/command", []string{
			"internal/nearest", "internal/config", "internal/dictionary", "internal/durable", "internal/ledger", "internal/stream", "internal/warehouse", "internal/object", "internal/query", "internal/checks", "internal/notify",
		}, "contains the common code of the programs below cmd; it must not import the lake, because `cmd/sync` would then contain the lake"},
		{"cmd/lake", []string{everything}, "wires the separate lake program; only its tests run nights"},
		{"cmd/sync", []string{everything}, "wires the program; only commands use arguments, environment, standard streams and exit codes"},
	}
}

// TestDocsImports compares the import table in the architecture with importTable.
func TestDocsImports(t *testing.T) {
	const file, begin, end = "../../../docs/ARCHITECTURE.md", "<!-- imports: written by make docs -->\n", "<!-- end of imports -->"
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, opened := strings.Cut(string(content), begin)
	_, after, closed := strings.Cut(rest, end)
	if !opened || !closed {
		t.Fatalf("%s lacks the line %q or %q, between which the import table is written", file, begin, end)
	}
	want := before + begin + importRows() + end + after
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(content) != want {
		t.Errorf("%s:1: the import table differs from importTable in %s: run make docs", file, importsFile)
	}
}

// importRows returns the import table as Markdown.
func importRows() string {
	var b strings.Builder
	b.WriteString("| package | may import | reason |\n|---|---|---|\n")
	for _, r := range importTable() {
		allowed := "none"
		switch {
		case slices.Contains(r.allowed, everything):
			allowed = "all"
		case len(r.allowed) > 0:
			allowed = "`" + strings.ReplaceAll(strings.Join(r.allowed, "`, `"), "internal/", "") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.dir, allowed, r.why)
	}
	return b.String()
}

// testImports returns the packages that all tests may import.
func testImports() []string {
	return []string{"internal/sim", "internal/sqltext", "internal/testing/s3sim", "internal/testing/torture", "internal/testing/pinned", "internal/testing/escapes", "internal/testing/fixture", "schema", "queries", "internal/config", "internal/dictionary", "internal/stream", "internal/warehouse", "internal/integrity", "internal/query"}
}

// checkProjectImports checks the imports of each package against the import table.
func checkProjectImports(t tree) []finding {
	var findings []finding
	table := importTable()
	for _, s := range t.sources {
		at := slices.IndexFunc(table, func(r row) bool { return r.dir == s.dir() })
		if at < 0 {
			findings = append(findings, s.finding(s.file.Package,
				"give it a row with a reason in internal/testing/houserules/imports_test.go, or move its code",
				"package %s is not in the import table", s.dir()))
			continue
		}
		findings = append(findings, table[at].findForbidden(s)...)
	}
	return findings
}

// projectFolder returns the folder of a package of this project.
func projectFolder(importPath string) (dir string, ok bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// findForbidden finds the imports of a file that its row does not allow.
func (r row) findForbidden(s source) []finding {
	allowed := r.allowed
	if s.isTest() {
		allowed = slices.Concat(allowed, testImports(), []string{r.dir})
	}
	var findings []finding
	for importPath, pos := range s.imports() {
		folder, ok := projectFolder(importPath)
		if ok && !slices.Contains(allowed, folder) && !slices.Contains(allowed, everything) {
			findings = append(findings, s.finding(pos, "move the code to a package that may import it, or take the value as an argument",
				"%[1]s must not import %[2]s (%[1]s %[3]s)", r.dir, folder, r.why))
		}
	}
	return findings
}

// checkImportTable finds permissions in importTable that no code uses, permissions to import a
// package whose row is further down, and packages in testImports that no test needs. In a package
// that has only tests, the tests count as code.
func checkImportTable(t tree) []finding {
	used, usedByTests := map[[2]string]bool{}, map[string]bool{}
	table := importTable()
	for _, s := range t.sources {
		at := slices.IndexFunc(table, func(r row) bool { return r.dir == s.dir() })
		for importPath := range s.imports() {
			folder, ok := projectFolder(importPath)
			if !ok || at < 0 {
				continue
			}
			isAllowed := slices.Contains(table[at].allowed, folder)
			used[[2]string{s.dir(), folder}] = used[[2]string{s.dir(), folder}] || !s.isTest() || !hasCode(t, s.dir())
			usedByTests[folder] = usedByTests[folder] || s.isTest() && !isAllowed && folder != s.dir()
		}
	}
	var findings []finding
	for at, r := range table {
		for _, allowed := range r.allowed {
			isAbove := slices.ContainsFunc(table[:at], func(other row) bool { return other.dir == allowed })
			if allowed != everything && !isAbove {
				findings = append(findings, finding{importsFile, 1, r.dir + " may import " + allowed + ", whose row is below", "move that row up, or remove the import from the table"})
			}
			if allowed != everything && !used[[2]string{r.dir, allowed}] {
				findings = append(findings, finding{importsFile, 1, r.dir + " may import " + allowed + ", but does not", "remove it from the table"})
			}
		}
	}
	for _, allowed := range testImports() {
		if !usedByTests[allowed] {
			findings = append(findings, finding{importsFile, 1, "tests may import " + allowed + ", but do not", "remove it from testImports"})
		}
	}
	return findings
}

const importsFile = "internal/testing/houserules/imports_test.go"

// hasCode reports whether a folder has Go files other than tests and doc.go.
func hasCode(t tree, dir string) bool {
	return slices.ContainsFunc(t.sources, func(s source) bool {
		return s.dir() == dir && !s.isTest() && len(s.file.Decls) > 0
	})
}

// TestUnusedImportsAreFound checks one permission in importTable. The permission is unused if no file
// imports the package, and also if only a test imports the package.
func TestUnusedImportsAreFound(t *testing.T) {
	const unused = "internal/config may import internal/nearest, but does not"
	isReported := func(files map[string]string) bool {
		return slices.ContainsFunc(checkImportTable(parseTree(t, files)), func(f finding) bool { return f.violation == unused })
	}
	if !isReported(nil) {
		t.Errorf("no file imports the package: got no finding %q, want it", unused)
	}
	if isReported(map[string]string{"internal/config/a.go": "package config\nimport _ \"placementsync/internal/nearest\""}) {
		t.Errorf("code imports the package: got the finding %q, want none", unused)
	}
	if !isReported(map[string]string{
		"internal/config/a.go":      "package config\nvar a int",
		"internal/config/a_test.go": "package config\nimport _ \"placementsync/internal/nearest\"",
	}) {
		t.Errorf("only a test imports the package: got no finding %q, want it", unused)
	}
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
			[]string{"internal/testing/trials", "internal/testing/bench", "internal/testing/enginetest", "cmd/sync"}, "the driver needs cgo, and DuckDB locks the files that it opens"},
		{"github.com/robfig/cron", []string{"internal/daemon", "internal/config"}, nil, "only the daemon has schedules"},
		{"github.com/prometheus", []string{"internal/daemon", "cmd/sync"}, nil, "only the daemon has metrics"},
		{"github.com/vbauerster/mpb", []string{"cmd/sync"}, nil, "only the command writes to terminals"},
		{"github.com/modelcontextprotocol", []string{"internal/mcp"}, []string{"cmd/sync"}, "one package implements the protocol"},
		{"github.com/goccy/go-yaml", []string{"internal/config"}, []string{"cmd/sync"}, "one package reads the file format"},
		{"github.com/spf13", []string{"internal/command", "cmd/sync", "cmd/lake"}, nil, "commands are parsed in one place"},
		{module + "/internal/lake", []string{"cmd/lake"}, nil, "placementsync must stay small and quick to build: it starts placementsync-lake for the lake"},
		{"github.com/apache/iceberg-go", []string{"internal/lake"}, []string{"cmd/lake"}, "it takes minutes to compile, so only the lake may import it"},
		{"github.com/jackc", []string{"internal/lake"}, nil, "Postgres is a catalog of the lake"},
		{"modernc.org", []string{"internal/lake"}, []string{"cmd/lake"}, "SQLite is a catalog of the lake"},
		{"log", []string{"internal/command"}, nil, "it is global: take a *slog.Logger"},
		{"github.com/google/go-cmp", nil, all, "it can panic, which is acceptable only in tests"},
		{"github.com/google/jsonschema-go", nil, []string{"cmd/sync"}, "only tests validate JSON schemas"},
		{"go.uber.org/goleak", nil, all, "it is for tests"},
		{"github.com/rogpeppe/go-internal", nil, all, "it is for tests"},
		{"github.com/stretchr/testify", nil, nil, "tests use the standard library and go-cmp"},
	}
}

// checkDependencies checks all imports against dependencies. It also finds impurePackages that the
// code of internal/transform imports.
func checkDependencies(t tree) []finding {
	var findings []finding
	for _, s := range t.sources {
		for importPath, pos := range s.imports() {
			for _, d := range dependencies() {
				if isWithin(importPath, []string{d.path}) && importPath != "log/slog" && !d.allows(s) {
					findings = append(findings, s.finding(pos, "move the code to a package that may import it",
						"%s must not import %s (%s)", s.dir(), importPath, d.why))
				}
			}
			if s.dir() == "internal/transform" && !s.isTest() && isWithin(importPath, impurePackages()) {
				findings = append(findings, s.finding(pos, "take the bytes or the value as an argument",
					"internal/transform must not import %s (it is pure: no I/O)", importPath))
			}
		}
	}
	return findings
}

func (d dependency) allows(s source) bool {
	if slices.Contains(d.code, s.dir()) {
		return true
	}
	return s.isTest() && (slices.Contains(d.tests, s.dir()) || slices.Contains(d.tests, everything))
}

// impurePackages returns packages for input, output and logging.
func impurePackages() []string {
	return []string{"os", "net", "io/fs", "syscall", "database", "path/filepath", "log/slog", "embed"}
}

func TestForbiddenProjectImportsAreFound(t *testing.T) {
	testRule(t, checkProjectImports, []ruleCase{
		{"fetch imports load", map[string]string{
			"internal/fetch/a.go": "package fetch\nimport (\n\t\"fmt\"\n\t\"placementsync/internal/stream\"\n\t\"placementsync/internal/load\"\n)",
		}, []string{"internal/fetch/a.go:5: internal/fetch must not import internal/load (internal/fetch stores responses as bytes; only"}},
		{"a test of fetch imports transform", map[string]string{
			"internal/fetch/a_test.go": "package fetch_test\nimport _ \"placementsync/internal/fetch\"\nimport _ \"placementsync/internal/sim\"\nimport _ \"placementsync/internal/transform\"",
		}, []string{"internal/fetch/a_test.go:4: internal/fetch must not import internal/transform"}},
		{"pipeline imports config", map[string]string{
			"internal/pipeline/a.go": "package pipeline\nimport \"placementsync/internal/config\"",
		}, []string{"internal/pipeline/a.go:2: internal/pipeline must not import internal/config"}},
		{"config imports the root package", map[string]string{
			"internal/config/a.go": "package config\nimport \"placementsync\"",
		}, []string{"internal/config/a.go:2: internal/config must not import . ("}},
		{"a package without a row", map[string]string{"internal/extra/a.go": "package extra"},
			[]string{"internal/extra/a.go:1: package internal/extra is not in the import table"}},
		{"cmd/sync may import all packages", map[string]string{
			"cmd/sync/a.go": "package main\nimport \"placementsync/internal/config\"",
		}, nil},
	})
}

func TestForbiddenDependenciesAreFound(t *testing.T) {
	testRule(t, checkDependencies, []ruleCase{
		{"the DuckDB driver in two forbidden packages", map[string]string{
			"internal/fetch/a.go":               "package fetch\nimport _ \"github.com/duckdb/duckdb-go/v2\"",
			"internal/load/a.go":                "package load\nimport _ \"github.com/duckdb/duckdb-go/v2\"",
			"internal/testing/trials/a_test.go": "package trials\nimport _ \"github.com/duckdb/duckdb-go/v2\"",
			"internal/pipeline/b.go":            "package pipeline\nimport _ \"github.com/duckdb/duckdb-go/v2\"",
		}, []string{"internal/fetch/a.go:2: internal/fetch must not import", "internal/pipeline/b.go:2: internal/pipeline must not import"}},
		{"log is forbidden, log/slog is allowed", map[string]string{
			"internal/fetch/a.go": "package fetch\nimport \"log\"\nimport \"log/slog\"",
		}, []string{"internal/fetch/a.go:2: internal/fetch must not import log (it is global: take a *slog.Logger)"}},
		{"go-cmp in code and in a test", map[string]string{
			"internal/fetch/a.go":      "package fetch\nimport \"github.com/google/go-cmp/cmp\"",
			"internal/fetch/a_test.go": "package fetch\nimport \"github.com/google/go-cmp/cmp\"",
		}, []string{"internal/fetch/a.go:2: internal/fetch must not import github.com/google/go-cmp/cmp (it can panic, which is acceptable only in tests)"}},
		{"os in the code and in a test of transform", map[string]string{
			"internal/transform/a.go":      "package transform\nimport \"os\"",
			"internal/transform/a_test.go": "package transform\nimport \"os\"",
		}, []string{"internal/transform/a.go:2: internal/transform must not import os (it is pure: no I/O)"}},
	})
}

// TestTransformNeedsNoCgo checks that internal/transform and its dependencies do not use cgo, so
// that the tests of transform run on a machine without a C compiler.
func TestTransformNeedsNoCgo(t *testing.T) {
	if packages := cgoPackages(t, module+"/internal/transform"); len(packages) > 0 {
		t.Errorf("internal/transform depends on cgo through %s, want no cgo: remove that import (go list -deps lists the dependencies)",
			strings.Join(packages, ", "))
	}
	if packages := cgoPackages(t, "github.com/duckdb/duckdb-go/v2"); len(packages) == 0 {
		t.Error("found no cgo in the DuckDB driver, want some")
	}
}

// cgoPackages lists the dependencies of importPath that use cgo. It leaves out the standard
// library, which can also be built without cgo.
func cgoPackages(t *testing.T, importPath string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", "duckdb_arrow",
		"-f", "{{if and .CgoFiles (not .Standard)}}{{.ImportPath}}{{end}}", importPath)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list the dependencies of %s: %v", importPath, err)
	}
	return strings.Fields(string(out))
}
