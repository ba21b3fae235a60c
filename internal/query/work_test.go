package query_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/query"
	"placementsync/internal/testing/harness"
)

// workHere runs a job in this process, in a temporary folder. It returns the result as Job.Run reads it.
func workHere(t *testing.T, j query.Job) (query.Result, error) {
	t.Helper()
	j.MemoryLimit, j.Threads = "256MB", 1
	dir := t.TempDir()
	t.Chdir(dir)
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	in, parent := io.Pipe()
	defer parent.Close() // ends the goroutine of query.Work that still reads the pipe
	go parent.Write(text)
	var out bytes.Buffer
	if err := query.Work(t.Context(), in, &out); err != nil {
		t.Fatal(err)
	}
	output := filepath.Join(dir, "output")
	if err := os.WriteFile(output, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	j.Format = ""
	return j.Run(t.Context(), []string{"cat", output}, nil)
}

// TestWorkExplainsMistakes runs statements with mistakes, and compares the problems and positions.
func TestWorkExplainsMistakes(t *testing.T) {
	path := createCatalog(t, oneListing)
	const notFound = `Binder Error: Referenced column "nam" not found in FROM clause! Candidate bindings: "name", "domain_ranking", "domain_authority", "disclaimer_id", "placement_type"`
	long := strings.Repeat("'ä', ", 60)
	for _, c := range []struct {
		text, problem string
		line, column  int
	}{
		{"SELEC 1", `Parser Error: syntax error at or near "SELEC"`, 1, 1},
		{"SELECT 1,\n  nam FROM product_listings", notFound, 2, 3},
		{"SELECT " + long + "nam FROM product_listings", notFound, 1, len("SELECT ") + 5*60 + 1},
		{"SELECT 'ää', nam FROM product_listings", notFound, 1, 14},
		{"SELECT\n  CAST('x' || id AS INTEGER) FROM product_listings", "Conversion Error: Could not convert string 'xp1' to INT32", 2, 3},
		{"FROM range($n)", `parameter "n" has no value`, 0, 0},
		{"SELECT 'x'::INTEGER AS n", "Conversion Error: Could not convert string 'x' to INT32", 1, 11},
		{"DROP TABLE product_listings", "the SQL is refused: it writes, but the catalog is open read-only", 0, 0},
		{"-- param: x\nSELECT 1", `the statement:1: write a parameter as NAME TYPE DEFAULT -- MEANING, not "x"`, 0, 0},
	} {
		_, err := workHere(t, query.Job{Catalog: path, SQL: c.text, MaxRows: 3})
		want := &query.StatementError{Problem: c.problem, Line: c.line, Column: c.column}
		if e, ok := errors.AsType[*query.StatementError](err); !ok || !cmp.Equal(want, e) {
			t.Errorf("%s: got %#v, want %#v", c.text, e, want)
		}
	}
	_, err := workHere(t, query.Job{Catalog: filepath.Join(t.TempDir(), "nosuch"), SQL: "SELECT 1"})
	if e, ok := errors.AsType[*query.StatementError](err); !ok || !strings.HasSuffix(e.Problem, "the first run creates it") || query.IsUnreadable(err) {
		t.Errorf("no catalog: got %v, want that the first run creates it", err)
	}
	damaged := filepath.Join(t.TempDir(), "damaged")
	if err := os.WriteFile(damaged, []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := workHere(t, query.Job{Catalog: damaged, SQL: "SELECT 1"}); !query.IsUnreadable(err) {
		t.Errorf("a damaged catalog: got %v, want an error of an unreadable file", err)
	}
}

func TestWorkWritesResultsAndFiles(t *testing.T) {
	harness.Slow(t)
	path := createNightsCatalog(t)
	for _, c := range []struct {
		job   query.Job
		total int
		want  []string
	}{
		{query.Job{SQL: "SELECT id FROM product_listings ORDER BY id", MaxRows: 2}, 3, []string{"a", "c"}},
		{query.Job{SQL: "SELECT id FROM product_listings ORDER BY id", MaxRows: 3}, 3, []string{"a", "c", "d"}},
		{query.Job{SQL: "SELECT id FROM product_listings ORDER BY id; \r\n", MaxRows: 2}, 3, []string{"a", "c"}},
		{query.Job{SQL: "-- param: n BIGINT 9 -- rows\nFROM range($n)", MaxRows: 1}, 2, []string{"0"}}, // the total ends at MaxRows + 1
		{query.Job{SQL: "SELECT count(*) FROM product_listings", MaxRows: 2, AsOf: "2026-11-02"}, 1, []string{"4"}},
		{query.Job{SQL: "-- param: n BIGINT 9 -- rows\nFROM range($n)", Values: map[string]string{"n": "1"}, MaxRows: 2}, 1, []string{"0"}},
		{query.Job{SQL: "-- param: z TIMEZONE schedule.timezone -- zone\nSELECT $z", Settings: query.Settings{query.ScheduleTimezone: "Europe/Berlin"}, MaxRows: 1},
			1, []string{"Europe/Berlin"}},
	} {
		c.job.Catalog = path
		got, err := workHere(t, c.job)
		var values []string
		for _, r := range got.Rows {
			values = append(values, r.Values[0].Text)
		}
		if diff := cmp.Diff(c.want, values); err != nil || diff != "" || int(got.Total) != c.total {
			t.Errorf("%s: got %d rows, %v, want %d (-want +got):\n%s", c.job.SQL, got.Total, err, c.total, diff)
		}
	}
	got, err := workHere(t, query.Job{Catalog: path, SQL: "SELECT '=1' AS a FROM range(5)", Format: query.CSV, MaxRows: 2})
	file, readErr := os.ReadFile("result")
	if err := errors.Join(err, readErr); err != nil || got.Total != 5 || string(file) != "a\r\n"+strings.Repeat("'=1\r\n", 5) {
		t.Errorf("got %d rows, %v and the file %q, want five defused texts", got.Total, err, file)
	}
	if err := query.Work(t.Context(), strings.NewReader("no job"), io.Discard); err == nil || !strings.HasPrefix(err.Error(), "read the job: ") {
		t.Errorf("an unreadable job: got %v, want an error", err)
	}
}
