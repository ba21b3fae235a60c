package query_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"placementsync/internal/query"
	"placementsync/internal/testing/harness"
)

// stoppingWriter cancels the query at its first row.
type stoppingWriter struct {
	stop  context.CancelFunc
	ended bool
}

func (*stoppingWriter) Begin([]query.Column) error { return nil }

func (w *stoppingWriter) Row([]query.Value) error {
	w.stop()
	return nil
}

func (w *stoppingWriter) End() error {
	w.ended = true
	return nil
}

// TestACutOffResultIsAnError cancels a query when a part of its result is written.
func TestACutOffResultIsAnError(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	w := &stoppingWriter{stop: stop}
	if _, err := openRace(t, "").Run(ctx, query.Text("FROM range(100000)"), nil, w); err == nil || w.ended {
		t.Errorf("got the error %v, and the end of the result: %t; want an error and no end", err, w.ended)
	}
}

// TestSpooledResultsAreDropped looks for the temporary table of the last result.
func TestSpooledResultsAreDropped(t *testing.T) {
	db := openRace(t, "")
	if _, err := runQuery(t, db, query.Text("FROM range(10)"), nil, query.CSV, query.Screen{}); err != nil {
		t.Fatal(err)
	}
	got, err := db.Collect(t.Context(), query.Text("SELECT table_name FROM duckdb_tables() WHERE temporary"), nil, 9)
	if err != nil || got.Total > 0 {
		t.Errorf("%d temporary tables stay in memory after a result (%v), want none", got.Total, err)
	}
}

// TestJobsLeaveNothing runs a job that writes a file. It checks that no temporary file of the job is left, and that
// the environment of its process contains no token.
func TestJobsLeaveNothing(t *testing.T) {
	harness.Concurrent(t)
	path, dir := createCatalog(t, ""), t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("PLACEMENTSYNC_TOKEN", "pc_hunter2")
	if _, file, err := runJob(t, query.Job{Catalog: path, SQL: "SELECT 1 AS a", Format: query.CSV}); err != nil || file != "a\r\n1\r\n" {
		t.Errorf("got %q and %v, want a row", file, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("after the job the temporary folder contains %v (%v), want no files", entries, err)
	}
	_, err := (query.Job{Catalog: path}).Run(t.Context(), []string{"/bin/sh", "-c", "export >&2; exit 1"}, nil)
	if crash, ok := errors.AsType[*query.CrashError](err); !ok || !strings.Contains(crash.Output, "TMPDIR=") || strings.Contains(crash.Output, "hunter2") {
		t.Errorf("got %#v, want an environment with TMPDIR and without the token", err)
	}
}

// TestWorkEndsWithItsParent runs the work of a child process with an input that ends after the job, as if the parent
// had ended. The endless statement must stop.
func TestWorkEndsWithItsParent(t *testing.T) {
	const endless = "SELECT count(*) FROM range(1000000000000) AS t(i) WHERE i % 7 = 3"
	text, err := json.Marshal(query.Job{Catalog: createCatalog(t, ""), SQL: endless, Timeout: 20 * time.Second, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := query.Work(t.Context(), bytes.NewReader(text), &out); err != nil || bytes.Contains(out.Bytes(), []byte("stopped after")) {
		t.Errorf("the statement ran until its time limit (%v), want that it ends with the parent", err)
	}
}
