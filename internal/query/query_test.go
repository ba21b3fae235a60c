package query_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/query"
)

const oneListing = "INSERT INTO product_listings (id, name, country) VALUES ('p1', 'Robert''); DROP TABLE x; --', 'DE')"

func TestFilesCannotBeReadAsTables(t *testing.T) {
	_, err := runQuery(t, open(t, ""), query.Text("SELECT * FROM '/etc/passwd'"), nil, query.CSV, query.Screen{})
	if err == nil || strings.Contains(err.Error(), "root:") {
		t.Errorf("got %v, want an error without the content of the file", err)
	}
	_, err = runQuery(t, open(t, ""), query.Text("FROM read_text('/etc/passwd')"), nil, query.CSV, query.Screen{})
	refused, ok := errors.AsType[*query.RefusedError](err)
	const advice = "; save a result with -o FILE"
	if !ok || !strings.Contains(refused.Error(), advice+" (DuckDB: ") || strings.Contains(refused.Plain(), advice) {
		t.Errorf("got %v, want a refusal with advice for the command line only in its long text", err)
	}
}

func TestTimesAreUTCInAnyTimeZone(t *testing.T) {
	t.Setenv("TZ", "America/New_York")
	text := "SELECT date_trunc('month', TIMESTAMPTZ '2026-03-01 00:30:00+00')::VARCHAR AS month"
	withSessions, err := query.Open(t.Context(), createCatalog(t, ""), query.Options{Threads: 1, Sessions: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer withSessions.Close()
	for name, db := range map[string]*query.DB{"the catalog": open(t, ""), "a session": withSessions.Sessions()[1]} {
		got, err := runQuery(t, db, query.Text(text), nil, query.JSONL, query.Screen{})
		if want := "{\"month\":\"2026-03-01 00:00:00+00\"}\n"; err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
}

func TestErrorsOfDuckDBAreReturned(t *testing.T) {
	db := openRace(t, "")
	for sql, want := range map[string]string{
		"SELEC 1":                       "syntax error",
		"SELECT * FROM nowhere":         "nowhere does not exist",
		"SELECT 'x'::INTEGER":           "Could not convert string 'x'",
		"-- only a comment":             "empty query",
		"SELECT error('in the middle')": "in the middle",
	} {
		_, err := runQuery(t, db, query.Text(sql), nil, query.CSV, query.Screen{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "run query: ") {
			t.Errorf("%s: got %v, want %q", sql, err, want)
		}
	}
}

func TestOpenDoesNotCreateACatalog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.duckdb")
	_, err := query.Open(t.Context(), path, query.Options{})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want ErrNotExist", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("stat after Open: got %v, want ErrNotExist", err)
	}
}

func TestOpenFollowsAChangedSymlink(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "catalog.duckdb")
	moveLink := func(fixture string) {
		newLink := filepath.Join(dir, "new")
		if err := errors.Join(os.Symlink(createCatalog(t, fixture), newLink), os.Rename(newLink, link)); err != nil {
			t.Fatal(err)
		}
	}
	count := func(db *query.DB) string {
		got, err := runQuery(t, db, query.Text("SELECT count(*) AS n FROM product_listings"), nil, query.JSONL, query.Screen{})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	moveLink("")
	old := openAt(t, link)
	moveLink(oneListing)
	if diff := cmp.Diff([]string{"{\"n\":0}\n", "{\"n\":1}\n"}, []string{count(old), count(openAt(t, link))}); diff != "" {
		t.Errorf("counts of the old and the new handle (-want +got):\n%s", diff)
	}
}

func TestACancelledQueryStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w, err := query.NewWriter(query.Output{Format: query.CSV}, &strings.Builder{}, query.Screen{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = openRace(t, "").Run(ctx, query.Text("SELECT count(*) FROM range(1e12::BIGINT)"), nil, w)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestAWriterErrorEndsTheQuery(t *testing.T) {
	w, err := query.NewWriter(query.Output{Format: query.CSV}, brokenPipe{}, query.Screen{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = openRace(t, "").Run(t.Context(), query.Text("FROM range(100000)"), nil, w)
	if !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v, want os.ErrClosed", err)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestSpilledFilesAreRemoved(t *testing.T) {
	dir, file := t.TempDir(), createCatalog(t, "")
	t.Setenv("TMPDIR", dir)
	db, err := query.Open(t.Context(), file, query.Options{MemoryLimit: "40MB", Threads: 1, SpillLimit: "2GB"})
	if err != nil {
		t.Fatal(err)
	}
	text := "SELECT count(*) AS n FROM (SELECT DISTINCT md5(range::VARCHAR) FROM range(600000))"
	got, err := runQuery(t, db, query.Text(text), nil, query.JSONL, query.Screen{})
	if want := "{\"n\":600000}\n"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	text = "SELECT current_setting('memory_limit') AS m, current_setting('threads') AS t, current_setting('max_temp_directory_size') AS d, " +
		"starts_with(current_setting('temp_directory'), '" + dir + "') AS is_private"
	limits, err := runQuery(t, db, query.Text(text), nil, query.CSV, query.Screen{})
	if want := "m,t,d,is_private\r\n38.1 MiB,1,1.8 GiB,true\r\n"; err != nil || limits != want {
		t.Errorf("the limits are %q, %v, want %q", limits, err, want)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("after Close the temporary folder contains %v, %v, want no files", entries, err)
	}
}

func TestViewsMacrosAndMetadataAreReadable(t *testing.T) {
	db := open(t, "CREATE VIEW by_name AS SELECT name FROM product_listings;"+
		"CREATE SCHEMA history; CREATE VIEW history.listings AS FROM main.product_listings;"+
		"CREATE MACRO named(n) AS TABLE SELECT id FROM product_listings WHERE name = n;"+oneListing)
	for sql, want := range map[string]string{
		"SHOW TABLES":                                  "by_name",
		"DESCRIBE product_listings":                    "is_do_follow",
		"SUMMARIZE SELECT 1 AS a":                      "column_name",
		"EXPLAIN SELECT 1":                             "physical_plan",
		"FROM by_name":                                 "Robert",
		"SELECT id FROM history.listings":              "p1",
		"SELECT id FROM catalog.main.product_listings": "p1",
		"FROM named('Robert''); DROP TABLE x; --')":    "p1",
		"SELECT comment FROM duckdb_tables() WHERE table_name = 'product_listings'": "Purchasable placements",
	} {
		got, err := runQuery(t, db, query.Text(sql), nil, query.CSV, query.Screen{})
		if err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, %v, want a result with %q", sql, got, err, want)
		}
	}
}
