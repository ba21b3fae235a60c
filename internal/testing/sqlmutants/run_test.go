package sqlmutants_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"placementsync/internal/testing/sqlmutants"
)

// survivorsVar is the environment variable that restricts the measurement to the survivors of the
// previous measurement. "make mutants-sql SURVIVORS=1" sets it.
const survivorsVar = "PLACEMENTSYNC_MUTANTS_SURVIVORS"

// docsVar is the environment variable with the folder docs of the project. "make mutants-sql" sets
// it.
const docsVar = "PLACEMENTSYNC_MUTANTS_DOCS"

// padding follows each SQL file in the compiled test programs. It is longer than the difference in
// length between any mutant and its file.
const padding = "                                "

// TestSQLMutants runs the tests of each SQL file once for each mutant of the file, and stores the
// mutants that no test notices. A mutant is written over the SQL file and its padding inside the
// compiled test program, because linking a program for each mutant would take much longer than most
// tests.
func TestSQLMutants(t *testing.T) {
	docs := os.Getenv(docsVar)
	if docs == "" {
		t.Skip("takes hours: run make mutants-sql")
	}
	stored, err := sqlmutants.ReadResults(docs)
	must(t, err)
	programs := &testPrograms{dir: t.TempDir(), baselines: map[suite]time.Duration{}}
	programs.padFiles(t)
	var storing sync.Mutex
	for _, name := range sqlFiles(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(stored, func(f sqlmutants.FileResult) bool { return f.Name == name })
			var previous *sqlmutants.FileResult
			if i >= 0 && os.Getenv(survivorsVar) != "" {
				previous = &stored[i]
			}
			result := tryMutants(t, programs, name, previous)
			storing.Lock()
			defer storing.Unlock()
			must(t, sqlmutants.StoreResult(docs, result, func(file string) bool {
				_, err := os.Stat(inRoot(file))
				return err == nil
			}))
		})
	}
}

func inRoot(name string) string { return filepath.Join("..", "..", "..", filepath.FromSlash(name)) }

// sqlFiles returns the measured SQL files. It leaves out the files of the lake, whose tests take
// minutes to compile.
func sqlFiles(t *testing.T) (names []string) {
	t.Helper()
	for _, pattern := range []string{"internal/*/sql/*.sql", "queries/*.sql", "queries/checks/*.sql", "schema/mart/*.sql"} {
		paths, err := filepath.Glob(inRoot(pattern))
		must(t, err)
		for _, p := range paths {
			name, err := filepath.Rel(inRoot("."), p)
			must(t, err)
			if name = filepath.ToSlash(name); !strings.HasPrefix(name, "internal/lake/") {
				names = append(names, name)
			}
		}
	}
	return names
}

// suite is a part of the tests of the package in the folder pkg. run and skip are values of the flags
// -run and -skip of go test.
type suite struct {
	pkg, run, skip string
	// sharesCatalog means that the processes of the test program share the empty catalog of package
	// fixture, because the catalog does not depend on the mutants.
	sharesCatalog bool
}

// program returns the file name of the test program of the suite.
func (s suite) program() string {
	name := strings.ReplaceAll(s.pkg, "/", "-")
	if s.sharesCatalog {
		name += "-cache"
	}
	return name
}

// suitesOf returns the tests of an SQL file, the fastest first.
func suitesOf(t *testing.T, name string) []suite {
	t.Helper()
	base := strings.TrimSuffix(path.Base(name), ".sql")
	switch path.Dir(name) {
	case "queries":
		return []suite{{pkg: "queries", run: "^TestQueries$/^" + base + "$", sharesCatalog: true}}
	case "queries/checks":
		return []suite{{pkg: "internal/checks", run: "^TestChecks$/^" + base + "$", sharesCatalog: true}}
	case "schema/mart":
		return []suite{{pkg: "queries", run: "^TestMarts$/^" + base + "$"},
			{pkg: "queries", run: "^TestQueries$/^(" + strings.Join(queriesReading(t, base), "|") + ")$"}}
	case "internal/load/sql":
		// The skipped test compares executed statements with the files, and would notice every
		// mutant.
		return []suite{{pkg: "internal/load", skip: "^TestEveryStatementOfTheFilesRuns$"},
			{pkg: "internal/pipeline", run: "^Test(NightsFollow|Events|NightsReadTheRest|Refresh|ChangedDetails|Gate|Unread|Failed|Rebuild)"}}
	}
	return []suite{{pkg: path.Dir(path.Dir(name))}}
}

// queriesReading returns the queries that read a view of mart, directly or through another view.
func queriesReading(t *testing.T, view string) (names []string) {
	t.Helper()
	views := []string{view}
	reads := func(file string) bool {
		text, err := os.ReadFile(file)
		must(t, err)
		return slices.ContainsFunc(views, func(view string) bool { return regexp.MustCompile(`\bmart\.` + view + `\b`).Match(text) })
	}
	viewFiles, err := filepath.Glob(inRoot("schema/mart/*.sql"))
	must(t, err)
	for range viewFiles { // a view may read a view that follows in the alphabet
		for _, file := range viewFiles {
			if name := strings.TrimSuffix(filepath.Base(file), ".sql"); !slices.Contains(views, name) && reads(file) {
				views = append(views, name)
			}
		}
	}
	queries, err := filepath.Glob(inRoot("queries/*.sql"))
	must(t, err)
	for _, file := range queries {
		if reads(file) {
			names = append(names, strings.TrimSuffix(filepath.Base(file), ".sql"))
		}
	}
	return names
}

// testPrograms contains the test programs of the suites. Each is built at its first use.
type testPrograms struct {
	dir       string
	mutex     sync.Mutex
	baselines map[suite]time.Duration // the durations of suites without a mutant
}

// padFiles writes copies of the SQL files with padding at the end, and the overlay with which the go
// command compiles the copies in place of the files.
func (p *testPrograms) padFiles(t *testing.T) {
	t.Helper()
	copies := map[string]string{}
	for i, name := range sqlFiles(t) {
		sql, err := os.ReadFile(inRoot(name))
		must(t, err)
		file, err := filepath.Abs(inRoot(name))
		must(t, err)
		copies[file] = filepath.Join(p.dir, strconv.Itoa(i)+".sql")
		must(t, os.WriteFile(copies[file], append(sql, padding...), 0o600))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": copies})
	must(t, err)
	must(t, os.WriteFile(p.overlay(), overlay, 0o600))
}

func (p *testPrograms) overlay() string { return filepath.Join(p.dir, "overlay.json") }

// content returns the bytes of the test program of a suite.
func (p *testPrograms) content(t *testing.T, s suite) []byte {
	t.Helper()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	file := filepath.Join(p.dir, s.program())
	if _, err := os.Stat(file); err != nil {
		link := "-s -w"
		if s.sharesCatalog {
			link += " -X placementsync/internal/testing/fixture.cacheFile=" + file + ".duckdb"
		}
		cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-tags", "duckdb_arrow", "-vet=off", "-overlay", p.overlay(), "-ldflags", link, "-o", file, "./"+s.pkg)
		cmd.Dir = inRoot(".")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build the tests of %s: %v\n%s", s.pkg, err, out)
		}
	}
	content, err := os.ReadFile(file)
	must(t, err)
	return content
}

// limit returns the time limit of a suite with a mutant: ten times the duration without a mutant,
// plus ten seconds. The test fails if the suite fails without a mutant.
func (p *testPrograms) limit(t *testing.T, s suite, c *patchedProgram) time.Duration {
	t.Helper()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	took, known := p.baselines[s]
	if !known {
		startedAt := time.Now()
		if out, err := c.test(t, s, 10*time.Minute); err != nil {
			t.Fatalf("the tests fail without a mutant: %v\n%s", err, out)
		}
		took = time.Since(startedAt)
		p.baselines[s] = took
	}
	return 10*took + 10*time.Second
}

// patchedProgram is a copy of a test program into which the mutants of one SQL file are written.
// offsets are the positions of the SQL file in the program. size is the length of the file with the
// padding.
type patchedProgram struct {
	path    string
	offsets []int64
	size    int
}

func newPatchedProgram(t *testing.T, content []byte, sql string) *patchedProgram {
	t.Helper()
	padded := []byte(sql + padding)
	c := &patchedProgram{path: filepath.Join(t.TempDir(), "program"), size: len(padded)}
	for at := 0; ; {
		i := bytes.Index(content[at:], padded)
		if i < 0 {
			break
		}
		c.offsets = append(c.offsets, int64(at+i))
		at += i + len(padded)
	}
	if len(c.offsets) == 0 {
		t.Fatal("the test program does not contain the SQL file")
	}
	must(t, os.WriteFile(c.path, content, 0o700))
	return c
}

// write writes an SQL file, original or mutated, into the program. Meanwhile ForkLock prevents the
// start of a process: the new process would inherit the open file, and a program that is open for
// writing cannot be executed.
func (c *patchedProgram) write(t *testing.T, sql string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	f, err := os.OpenFile(c.path, os.O_WRONLY, 0)
	must(t, err)
	padded := sql + strings.Repeat(" ", c.size-len(sql))
	for _, offset := range c.offsets {
		_, writeErr := f.WriteAt([]byte(padded), offset)
		err = errors.Join(err, writeErr)
	}
	must(t, errors.Join(err, f.Close()))
}

// test runs a suite with the SQL file that was written last, until the first failure.
func (c *patchedProgram) test(t *testing.T, s suite, limit time.Duration) (output string, err error) {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(c.path), "run")
	must(t, err)
	defer func() { must(t, os.RemoveAll(dir)) }()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	args := []string{"-test.failfast"}
	if s.run != "" {
		args = append(args, "-test.run="+s.run)
	}
	if s.skip != "" {
		args = append(args, "-test.skip="+s.skip)
	}
	cmd := exec.CommandContext(ctx, c.path, args...)
	cmd.Dir = inRoot(s.pkg)
	cmd.WaitDelay = time.Second
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PLACEMENTSYNC_") }), "TMPDIR="+dir)
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && ctx.Err() == nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), err
}

// invalidSQL matches the errors of DuckDB for a mutant that is not valid SQL. Such mutants are not
// counted, because every test notices them.
var invalidSQL = regexp.MustCompile(`(Parser|Binder) Error`)

var failure = regexp.MustCompile(`--- FAIL: (\S+)`)

// tryMutants runs the tests of an SQL file with each of its mutants. If previous is not nil, it runs
// them only with the survivors of that result that equivalent.txt does not explain.
func tryMutants(t *testing.T, programs *testPrograms, name string, previous *sqlmutants.FileResult) sqlmutants.FileResult {
	t.Helper()
	text, err := os.ReadFile(inRoot(name))
	must(t, err)
	sql := string(text)
	const notNoticed, notCounted = "not noticed", "not valid SQL"
	result := sqlmutants.FileResult{Name: name, Date: time.Now().UTC().Format(time.DateOnly)}
	suites := suitesOf(t, name)
	reasons, err := sqlmutants.Reasons()
	must(t, err)
	patched := map[string]*patchedProgram{}
	for _, m := range sqlmutants.Find(sql) {
		s := m.Survivor(sql)
		if previous != nil && !slices.ContainsFunc(previous.Survivors, func(old sqlmutants.Survivor) bool { return old.Before == s.Before && old.After == s.After }) {
			continue
		}
		if previous != nil && slices.ContainsFunc(reasons, func(r sqlmutants.Reason) bool { return r.Explains(name, s) }) {
			result.Survivors = append(result.Survivors, s)
			continue
		}
		outcome := notNoticed
		for _, suite := range suites {
			c := patched[suite.program()]
			if c == nil {
				c = newPatchedProgram(t, programs.content(t, suite), sql)
				patched[suite.program()] = c
			}
			c.write(t, sql)
			limit := programs.limit(t, suite, c)
			c.write(t, m.Apply(sql))
			out, err := c.test(t, suite, limit)
			switch found := failure.FindAllStringSubmatch(out, -1); {
			case err == nil:
				continue
			case invalidSQL.MatchString(out):
				outcome = notCounted
			case len(found) > 0:
				outcome = "noticed by " + found[len(found)-1][1]
			default:
				outcome = "noticed: " + err.Error()
			}
			break
		}
		if outcome != notCounted {
			result.Mutants++
		}
		if outcome == notNoticed {
			result.Survivors = append(result.Survivors, s)
		}
		t.Logf("%s:%d: %s -> %s: %s", name, s.Line, s.Old, s.New, outcome)
	}
	if previous != nil {
		result.Mutants = previous.Mutants
	}
	return result
}

func TestReasonsBelongToSurvivors(t *testing.T) {
	reasons, err := sqlmutants.Reasons()
	must(t, err)
	files, err := sqlmutants.ReadResults(inRoot("docs"))
	must(t, err)
	for _, r := range sqlmutants.StaleReasons(reasons, files) {
		t.Errorf("equivalent.txt: this mutant is not among the stored survivors: remove its reason\n%s\n- %s\n+ %s", r.File, r.Before, r.After)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
