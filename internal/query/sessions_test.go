package query_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/query"
)

// TestSessionsReadTheCatalog reads a table in two sessions, and sends a result as Parquet.
func TestSessionsReadTheCatalog(t *testing.T) {
	path := createCatalog(t, oneListing)
	db, err := query.Open(t.Context(), path, query.Options{MemoryLimit: "256MB", Threads: 1, Sessions: 2,
		Settings: query.Settings{"statuses.orders_ended": "lost"}})
	if err != nil {
		t.Fatal(err)
	}
	sessions := db.Sessions()
	if len(sessions) != 2 {
		t.Fatalf("got %d sessions, want 2", len(sessions))
	}
	for i, session := range sessions {
		got, err := runQuery(t, session, query.Text("SELECT count(*) AS n FROM product_listings"), nil, query.JSONL, query.Screen{})
		if want := "{\"n\":1}\n"; err != nil || got != want {
			t.Errorf("session %d: got %q, %v, want %q", i, got, err, want)
		}
		q := query.Query{Name: "q", SQL: "SELECT $s AS s", Params: []query.Param{{Name: "s", Type: "STATUSES", Default: "statuses.orders_ended"}}}
		if got, err := runQuery(t, session, q, nil, query.CSV, query.Screen{}); err != nil || got != "s\r\nlost\r\n" {
			t.Errorf("session %d: got %q, %v, want the configured statuses", i, got, err)
		}
	}
	var sent bytes.Buffer
	rows, err := sessions[1].Send(t.Context(), query.Text("FROM range($n::BIGINT) AS t(n)"), map[string]string{"n": "3"}, query.Output{Format: query.Parquet}, &sent)
	file := filepath.Join(t.TempDir(), "sent.parquet")
	if err := errors.Join(err, os.WriteFile(file, sent.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`{"n":0}` + "\n" + `{"n":1}` + "\n" + `{"n":2}` + "\n", `{"types":["BIGINT"]}` + "\n"}, readParquet(t, file)); rows != 3 || diff != "" {
		t.Errorf("got %d rows, want 3 (-want +got):\n%s", rows, diff)
	}
	if rows, err := db.Send(t.Context(), query.Text("SELECT error('late')"), nil, query.Output{Format: query.Parquet}, &sent); err == nil || rows != 0 || !strings.Contains(err.Error(), "late") {
		t.Errorf("a failing query: got %d rows, %v, want its error", rows, err)
	}
	if err := db.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	files, _ := os.ReadDir("/proc/self/fd") // only Linux has this folder
	for _, f := range files {
		if target, _ := os.Readlink("/proc/self/fd/" + f.Name()); target == path {
			t.Error("the catalog is still open after Close")
		}
	}
}
