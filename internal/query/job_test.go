package query_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/query"
	"placementsync/internal/testing/harness"
)

const maxRows = 3

// runJob runs a job in a child process, with the limit maxRows for a result. It returns the result, the written file
// and the error.
func runJob(t *testing.T, j query.Job) (query.Result, string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	j.MemoryLimit, j.Threads, j.MaxRows = "256MB", 1, maxRows
	if j.Timeout == 0 {
		j.Timeout = time.Minute
	}
	var file bytes.Buffer
	r, err := j.Run(t.Context(), []string{self, childArg}, &file)
	return r, file.String(), err
}

// TestJobsReturnResults compares results with those of the same process. TestWorkWritesResultsAndFiles has the other kinds of jobs.
func TestJobsReturnResults(t *testing.T) {
	harness.Concurrent(t)
	path := createNightsCatalog(t)
	const text = "SELECT id, 1.50::DECIMAL(9,2) AS n, NULL AS gone, ['a'] AS list FROM product_listings ORDER BY id"
	want, err := openAt(t, path).Collect(t.Context(), query.Text(text), nil, maxRows)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := runJob(t, query.Job{Catalog: path, SQL: text})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range want.Rows {
		if diff := cmp.Diff(r.Values, got.Rows[i].Values); diff != "" {
			t.Errorf("row %d (-without a child +in a child):\n%s", i, diff)
		}
	}
	for i, c := range want.Columns {
		if g := got.Columns[i]; g.Name != c.Name || g.Type != c.Type || g.Numeric != c.Numeric {
			t.Errorf("column %d is %v, want %v", i, g, c)
		}
	}
	if len(got.Sources) != 1 || got.Sources[0].Table != "product_listings" {
		t.Errorf("the sources are %v, want product_listings", got.Sources)
	}
	if _, file, err := runJob(t, query.Job{Catalog: path, SQL: "FROM range(5)", Format: query.Parquet}); err != nil || !strings.HasPrefix(file, "PAR1") {
		t.Errorf("the Parquet file is %.9q, %v, want PAR1", file, err)
	}
	if _, file, err := runJob(t, query.Job{Catalog: path, SQL: "FROM range(5)", Format: query.Excel}); err != nil || !strings.HasPrefix(file, "PK") {
		t.Errorf("the workbook is %.9q, %v, want PK", file, err)
	}
}

func TestJobsAreLimited(t *testing.T) {
	harness.Concurrent(t)
	path := createNightsCatalog(t)
	const endless = "SELECT count(*) FROM range(1000000000000) AS t(i) WHERE i % 7 = 3"
	if _, _, err := runJob(t, query.Job{Catalog: path, SQL: endless, Timeout: 200 * time.Millisecond}); err == nil || !strings.Contains(err.Error(), "stopped after 200ms") {
		t.Errorf("an endless statement: got %v, want the time limit", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("the browser is gone"))
	defer cancel()
	// DuckDB cannot interrupt this function call.
	const uninterruptible = "SELECT levenshtein(repeat('ab', 200000), repeat('ba', 200000))"
	if _, err := (query.Job{Catalog: path, SQL: uninterruptible}).Run(ctx, []string{self, childArg}, nil); err == nil || err.Error() != "the browser is gone" {
		t.Errorf("a cancelled job: got %v, want the cause", err)
	}
	var crash *query.CrashError
	crashing := []string{"sh", "-c", "echo broken >&2; kill -SEGV $$"}
	_, err = (query.Job{Catalog: path, SQL: "SELECT 1"}).Run(t.Context(), crashing, nil)
	if !errors.As(err, &crash) || crash.State != "signal: segmentation fault" || crash.Output != "broken\n" ||
		!strings.Contains(err.Error(), "ended without a result (signal: segmentation fault)") {
		t.Errorf("a crashed job: got %#v, want a CrashError", err)
	}
}

// TestTheOutputOfACrashIsCut runs a process that writes many errors.
func TestTheOutputOfACrashIsCut(t *testing.T) {
	_, err := (query.Job{SQL: "SELECT 1"}).Run(t.Context(), []string{"sh", "-c", "head -c 20000 /dev/zero >&2; exit 1"}, nil)
	if crash, ok := errors.AsType[*query.CrashError](err); !ok || len(crash.Output) != 16<<10 || crash.State != "exit status 1" {
		t.Errorf("got %T (%.200v), want a CrashError with the first 16 KiB", err, err)
	}
}

// TestJobsOfASnapshot checks that a job has the file, the earlier snapshot and the limits of the open catalog.
func TestJobsOfASnapshot(t *testing.T) {
	harness.Slow(t)
	path := createNightsCatalog(t)
	opts := query.Options{MemoryLimit: "256MB", Threads: 1, Timeout: time.Minute, Settings: query.Settings{"schedule.timezone": "UTC"}}
	for asOf, run := range map[string]string{"": "", "2026-11-01": "20261101T020000Z"} {
		opts.AsOf = asOf
		db, err := query.Open(t.Context(), path, opts)
		if err != nil {
			t.Fatal(err)
		}
		want := query.Job{Catalog: path, AsOf: run, SQL: "SELECT $a", Values: map[string]string{"a": "1"}, MaxRows: 7,
			MemoryLimit: "256MB", Threads: 1, Timeout: time.Minute, Settings: opts.Settings}
		if diff := cmp.Diff(want, db.NewJob(query.Text("SELECT $a"), map[string]string{"a": "1"}, 7)); diff != "" {
			t.Errorf("job as of %q (-want +got):\n%s", asOf, diff)
		}
		gotRun := ""
		if s := db.AsOf(); s != nil {
			gotRun = s.Run
		}
		if gotRun != run {
			t.Errorf("as of %q: the catalog has the snapshot %q, want %q", asOf, gotRun, run)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestJobsCannotFillTheDisk writes a file and spills rows beyond the limit.
func TestJobsCannotFillTheDisk(t *testing.T) {
	harness.Slow(t)
	path := createNightsCatalog(t)
	const random = "SELECT uuid()::VARCHAR AS a, uuid()::VARCHAR AS b FROM range(40000)"
	for name, j := range map[string]query.Job{
		"CSV":             {SQL: random, Format: query.CSV},
		"Excel":           {SQL: random, Format: query.Excel},
		"Parquet":         {SQL: random, Format: query.Parquet},
		"temporary files": {SQL: "SELECT max(a) FROM (SELECT repeat(uuid()::VARCHAR, 50) AS a FROM range(250000) ORDER BY a OFFSET 1)"},
	} {
		j.Catalog, j.DiskLimit = path, 1<<20
		_, file, err := runJob(t, j)
		if mistake, ok := errors.AsType[*query.StatementError](err); !ok || !strings.HasPrefix(mistake.Problem, "the result or its temporary files are larger than 1.0 MiB") {
			t.Errorf("%s: got %d bytes and %v, want the error of the limit", name, len(file), err)
		}
	}
	r, _, err := runJob(t, query.Job{Catalog: path, DiskLimit: 8 << 20, SQL: "SELECT current_setting('max_temp_directory_size')"})
	if err != nil || r.Rows[0].Values[0].Text != "8.0 MiB" {
		t.Errorf("a job may write temporary files of %v (%v), want 8.0 MiB", r.Rows, err)
	}
	t.Chdir(filepath.Dir(path))                                         // the process of the job has another working directory
	const wantBytes = len("\ufeffa,b\r\n") + 40_000*(2*36+len(",\r\n")) // a UUID has 36 characters
	if _, file, err := runJob(t, query.Job{Catalog: filepath.Base(path), DiskLimit: 8 << 20, SQL: random, Format: query.CSV, BOM: true}); err != nil || len(file) != wantBytes {
		t.Errorf("below the limit: got %d bytes and %v, want %d bytes", len(file), err, wantBytes)
	}
}
