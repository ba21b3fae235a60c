package explore

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"placementsync/internal/query"
	"placementsync/internal/report"
	"placementsync/internal/testing/fixture"
	"placementsync/internal/testing/harness"
)

// oneVersion is a warehouse whose version a test replaces.
type oneVersion struct {
	Warehouse
	version *Version
}

// ShownVersion implements Warehouse.
func (w oneVersion) ShownVersion() (Version, error) { return *w.version, nil }

// TestOptionsOfTheReport compares the options. The report marks the week that has not ended in the time zone of the
// configuration.
func TestOptionsOfTheReport(t *testing.T) {
	notices := []report.Notice{{Title: "A night is held"}}
	cfg := Config{Program: "placementsync query", Settings: query.Settings{query.ScheduleTimezone: "Pacific/Honolulu"}}
	compare(t, "options", report.Options{Program: "placementsync query", QueryPages: "/explore/questions/", Notices: notices,
		Timezone: "Pacific/Honolulu"}, cfg.reportOptions(notices))
}

// TestSnapshotsAreOpenWhileRequestsUseThem borrows earlier snapshots, more sessions than there are, and a version that
// replaces another.
func TestSnapshotsAreOpenWhileRequestsUseThem(t *testing.T) {
	harness.Concurrent(t)
	const rows = `INSERT INTO meta.runs (run_id, snapshot_at, outcome) VALUES ('r1', '2026-11-01 02:00:00+00', 'complete'),
		('r1b', '2026-11-01 14:00:00+00', 'complete'), ('r2', '2026-11-02 02:00:00+00', 'complete'), ('r3', '2026-11-03 02:00:00+00', 'complete');`
	empty := fixture.NewEmptyCatalog(t)
	version := Version{Run: "r3", Catalog: empty.Fill(t, rows)}
	cfg := Config{Warehouse: oneVersion{version: &version}, MemoryLimit: "256MB", Threads: 1, Log: slog.New(slog.DiscardHandler)}
	p := &pool{cfg: cfg, turn: make(chan struct{}, 1)}
	defer p.removeAll()
	borrow := func(asOf, wantRun string) (*openSnapshot, *query.DB) {
		t.Helper()
		s, db, err := p.borrow(t.Context(), asOf)
		if err != nil || s.Run != wantRun {
			t.Fatalf("as of %q: got the snapshot %+v (%v), want %s", asOf, s, err, wantRun)
		}
		return s, db
	}
	isOpen := func(db *query.DB) bool {
		_, err := db.Collect(t.Context(), query.Text("SELECT 1"), nil, 1)
		return err == nil
	}

	first, firstDB := borrow("2026-11-01", "r1b")
	second, secondDB := borrow("2026-11-02", "r2")
	if _, _, err := p.borrow(t.Context(), "2026-11-03"); err == nil || !strings.Contains(err.Error(), "2 earlier snapshots are already open and in use") {
		t.Errorf("a third earlier snapshot was opened (%v), although requests use two", err)
	}
	p.giveBack(first, firstDB)
	third, thirdDB := borrow("2026-11-03", "r3")
	if isOpen(firstDB) || len(p.open) != 2 {
		t.Errorf("%d earlier snapshots are open, want that the unused one is closed", len(p.open))
	}
	if !isOpen(secondDB) {
		t.Error("an earlier snapshot was closed while a request uses it")
	}
	p.giveBack(third, thirdDB)
	p.giveBack(second, secondDB)
	if again, db := borrow("2026-11-01", "r1b"); !isOpen(db) {
		t.Error("the earlier snapshot is closed when it is requested again")
	} else {
		p.giveBack(again, db)
	}

	// A report reads an earlier snapshot with several queries, one after another.
	reader := &visit{explorer: &Explorer{pool: p}}
	for range maxSessions + 1 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		r, _, err := reader.runReportQuery(ctx, report.QuerySpec{Query: "snapshots", AsOf: time.Date(2026, 11, 1, 2, 0, 0, 0, time.UTC)})
		cancel()
		if err != nil || r.Rows[0].Get("run_id").Text != "r1" {
			t.Fatalf("the report read %+v (%v), want the snapshot r1", r.Rows, err)
		}
	}

	var newest *openSnapshot
	var sessions []*query.DB
	for range maxSessions {
		s, db := borrow("", "r3")
		newest, sessions = s, append(sessions, db)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for {
		_, _, err := p.borrow(ctx, "")
		if err == nil {
			t.Fatal("a request got a session although all are in use")
		}
		if strings.Contains(err.Error(), "free session") {
			break // the other error is that it did not even get its turn
		}
	}
	version = Version{Run: "r4", Catalog: empty.Fill(t, rows+"INSERT INTO meta.runs (run_id, snapshot_at) VALUES ('r4', '2026-11-04 02:00:00+00');")}
	replacing, db := borrow("", "r4")
	p.giveBack(replacing, db)
	if !isOpen(sessions[0]) {
		t.Error("the replaced snapshot was closed while requests read it")
	}
	for _, db := range sessions {
		p.giveBack(newest, db)
	}
	if isOpen(sessions[0]) {
		t.Error("the replaced snapshot is still open after its last request")
	}
}
