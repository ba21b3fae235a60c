package sqlmutants_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"placementsync/internal/testing/sqlmutants"
)

// survivorsVar is the environment variable that restricts the trial to the survivors of the last
// one, after tests were added. "make mutants-sql SURVIVORS=1" sets it.
const survivorsVar = "PLACEMENTSYNC_MUTANTS_SURVIVORS"

// docsVar is the environment variable with the folder of docs/reliability.md. "make mutants" sets it.
const docsVar = "PLACEMENTSYNC_MUTANTS_DOCS"

// TestSQLMutants runs the tests of each SQL file with one mutant of the file after the other, and
// stores the mutants that no test notices. The mutants are written into the test programs, which
// contain the embedded file, because linking takes much longer than most tests.
func TestSQLMutants(t *testing.T) {
	docs := os.Getenv(docsVar)
	if docs == "" {
		t.Skip("run by make mutants")
	}
	stored, err := sqlmutants.Read(docs)
	must(t, err)
	programs := &programs{dir: t.TempDir(), baselines: map[suite]time.Duration{}}
	var storing sync.Mutex
	for _, name := range sqlFiles(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(stored, func(f sqlmutants.File) bool { return f.Name == name })
			var last *sqlmutants.File
			if i >= 0 && os.Getenv(survivorsVar) != "" {
				last = &stored[i]
			}
			result := tryMutants(t, programs, name, last)
			storing.Lock()
			defer storing.Unlock()
			must(t, sqlmutants.Keep(docs, result, func(name string) bool {
				_, err := os.Stat(inRoot(name))
				return err == nil
			}))
		})
	}
}

func inRoot(name string) string { return filepath.Join("..", "..", "..", filepath.FromSlash(name)) }

// sqlFiles returns the files with mutants. The tests of the lake take minutes to compile.
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

// suite is a part of the tests of a package.
type suite struct {
	pkg, run, skip string
	// keep means that the mutants do not change the empty catalog of package fixture. The test
	// program then creates it once.
	keep bool
}

// program identifies the test program of the suite.
func (s suite) program() string {
	name := strings.ReplaceAll(s.pkg, "/", "-")
	if s.keep {
		name += "-keep"
	}
	return name
}

// suitesOf returns the tests of a file, the fastest first.
func suitesOf(t *testing.T, name string) []suite {
	t.Helper()
	base := strings.TrimSuffix(path.Base(name), ".sql")
	switch path.Dir(name) {
	case "queries":
		return []suite{{pkg: "queries", run: "^TestQueries$/^" + base + "$", keep: true}}
	case "queries/checks":
		return []suite{{pkg: "internal/checks", run: "^TestChecks$/^" + base + "$", keep: true}}
	case "schema/mart":
		return []suite{{pkg: "queries", run: "^TestQueries$/^(" + strings.Join(readers(t, base), "|") + ")$"}}
	case "internal/load/sql":
		// The skipped test compares executed statements with the files, and would notice every mutant.
		return []suite{{pkg: "internal/load", skip: "^TestEveryStatementOfTheFilesRuns$"}}
	}
	return []suite{{pkg: path.Dir(path.Dir(name))}}
}

// readers returns the queries that read a view of mart, also through another view.
func readers(t *testing.T, view string) (names []string) {
	t.Helper()
	views := []string{view}
	reads := func(file string) bool {
		text, err := os.ReadFile(file)
		must(t, err)
		return slices.ContainsFunc(views, func(view string) bool { return regexp.MustCompile(`\bmart\.` + view + `\b`).Match(text) })
	}
	others, err := filepath.Glob(inRoot("schema/mart/*.sql"))
	must(t, err)
	for _, file := range others {
		if reads(file) {
			views = append(views, strings.TrimSuffix(filepath.Base(file), ".sql"))
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

// programs builds the test programs of packages, each once.
type programs struct {
	dir       string
	mutex     sync.Mutex
	baselines map[suite]time.Duration // the durations of suites without a mutant
}

// content returns the test program of a suite.
func (p *programs) content(t *testing.T, s suite) []byte {
	t.Helper()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	file := filepath.Join(p.dir, s.program())
	if _, err := os.Stat(file); err != nil {
		link := "-s -w"
		if s.keep {
			link += " -X placementsync/internal/testing/fixture.cacheFile=" + file + ".duckdb"
		}
		cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-tags", "duckdb_arrow", "-vet=off", "-ldflags", link, "-o", file, "./"+s.pkg)
		cmd.Dir = inRoot(".")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build the tests of %s: %v\n%s", s.pkg, err, out)
		}
	}
	content, err := os.ReadFile(file)
	must(t, err)
	return content
}

// limit returns the longest time of a suite with a mutant: ten times that without one. It fails if
// the tests fail without a mutant.
func (p *programs) limit(t *testing.T, s suite, c *carrier) time.Duration {
	t.Helper()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	took, known := p.baselines[s]
	if !known {
		begun := time.Now()
		if out, err := c.test(t, s, 10*time.Minute); err != nil {
			t.Fatalf("the tests fail without a mutant: %v\n%s", err, out)
		}
		took = time.Since(begun)
		p.baselines[s] = took
	}
	return 10*took + 10*time.Second
}

// carrier is a copy of a test program into which the mutants of one file are written.
type carrier struct {
	path   string
	places []int64 // of the text of the file
}

func newCarrier(t *testing.T, content []byte, sql string) *carrier {
	t.Helper()
	c := &carrier{path: filepath.Join(t.TempDir(), "program")}
	for at := 0; ; {
		i := bytes.Index(content[at:], []byte(sql))
		if i < 0 {
			break
		}
		c.places = append(c.places, int64(at+i))
		at += i + len(sql)
	}
	if len(c.places) == 0 {
		t.Fatal("the test program does not contain the text of the file")
	}
	must(t, os.WriteFile(c.path, content, 0o700))
	return c
}

// write writes a mutant. Meanwhile no process is started: it would inherit the open file until it
// executes its program, and a file that is open for writing cannot be executed.
func (c *carrier) write(t *testing.T, sql string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	f, err := os.OpenFile(c.path, os.O_WRONLY, 0)
	must(t, err)
	for _, place := range c.places {
		_, writeErr := f.WriteAt([]byte(sql), place)
		err = errors.Join(err, writeErr)
	}
	must(t, errors.Join(err, f.Close()))
}

// test runs a suite until its first failure.
func (c *carrier) test(t *testing.T, s suite, limit time.Duration) (output string, err error) {
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

// noSQL matches the errors of DuckDB for a mutant that is not a statement, which every test notices.
var noSQL = regexp.MustCompile(`(Parser|Binder) Error`)

var failure = regexp.MustCompile(`--- FAIL: (\S+)`)

// tryMutants runs the tests of a file with each of its mutants, or with each survivor of the last
// result.
func tryMutants(t *testing.T, programs *programs, name string, last *sqlmutants.File) sqlmutants.File {
	t.Helper()
	text, err := os.ReadFile(inRoot(name))
	must(t, err)
	sql := string(text)
	result := sqlmutants.File{Name: name, Date: time.Now().UTC().Format(time.DateOnly)}
	suites := suitesOf(t, name)
	carriers := map[string]*carrier{}
	for _, m := range sqlmutants.Find(sql) {
		s := m.Survivor(sql)
		if last != nil && !slices.ContainsFunc(last.Survivors, func(l sqlmutants.Survivor) bool { return l.Before == s.Before && l.After == s.After }) {
			continue
		}
		mutated, ok := m.Apply(sql)
		if !ok {
			t.Errorf("%s:%d: the mutant %s is too long for the file", name, s.Line, s.New)
			continue
		}
		outcome := "not noticed"
		for _, suite := range suites {
			c := carriers[suite.program()]
			if c == nil {
				c = newCarrier(t, programs.content(t, suite), sql)
				carriers[suite.program()] = c
			}
			c.write(t, sql)
			limit := programs.limit(t, suite, c)
			c.write(t, mutated)
			out, err := c.test(t, suite, limit)
			switch found := failure.FindAllStringSubmatch(out, -1); {
			case err == nil:
				continue
			case noSQL.MatchString(out):
				outcome = ""
			case len(found) > 0:
				outcome = "noticed by " + found[len(found)-1][1]
			default:
				outcome = "noticed: " + err.Error()
			}
			break
		}
		if outcome != "" {
			result.Mutants++
		}
		if outcome == "not noticed" {
			result.Survivors = append(result.Survivors, s)
		}
		t.Logf("%s:%d: %s -> %s: %s", name, s.Line, s.Old, s.New, outcome)
	}
	if last != nil {
		result.Mutants = last.Mutants
	}
	return result
}

// TestReasons fails if a reason explains no survivor.
func TestReasons(t *testing.T) {
	reasons, err := sqlmutants.Reasons()
	must(t, err)
	files, err := sqlmutants.Read(inRoot("docs"))
	must(t, err)
	for _, r := range sqlmutants.Stale(reasons, files) {
		t.Errorf("equivalent.txt: the tests notice the mutant, or it does not exist: remove the reason\n%s\n- %s\n+ %s", r.File, r.Before, r.After)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
