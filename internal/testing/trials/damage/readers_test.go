package damage_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"placementsync/internal/pipeline"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/torture"
	"placementsync/internal/testing/trials"
	"placementsync/internal/warehouse"
)

// Kinds of readers. A reader opens a connection in each round, except that keptOpen keeps one connection to the catalog.
const (
	catalog  = "catalog"
	keptOpen = "catalog, keeping a connection"
	parquet  = "Parquet"
)

// reader is a child process that reads a warehouse repeatedly, as a BI tool does.
type reader struct {
	Dir, Report, Kind string

	db   *sql.DB // nil without a connection
	seen observations
}

// observations is the report of a reader.
type observations struct {
	Rounds int
	// LastSeen contains, by run, the start of the last round that saw this run.
	LastSeen map[string]time.Time
	// Problems are the first five errors and inconsistencies. ProblemCount counts all.
	Problems     []string
	ProblemCount int
}

// Run reads repeatedly until the standard input is closed. Then it writes its observations to r.Report.
func (r *reader) Run(ctx context.Context) error {
	closed := trials.InputClosed()
	r.seen.LastSeen = map[string]time.Time{}
	for {
		select {
		case <-closed:
			return errors.Join(r.close(), trials.WriteReport(r.Report, r.seen))
		default:
			r.runRound(ctx)
		}
	}
}

// runRound connects if needed, reads several parts of the snapshot, and checks that they belong to one run.
func (r *reader) runRound(ctx context.Context) {
	began := time.Now()
	read := r.readCatalog
	if r.Kind == parquet {
		read = r.readParquet
	}
	run, err := read(ctx)
	if r.Kind != keptOpen || err != nil {
		err = errors.Join(err, r.close())
	}
	r.seen.Rounds++
	if err == nil {
		r.seen.LastSeen[run] = began
		return
	}
	r.seen.ProblemCount++
	if r.seen.ProblemCount <= 5 {
		r.seen.Problems = append(r.seen.Problems, err.Error())
	}
}

func (r *reader) open(dsn string) (err error) {
	if r.db == nil {
		r.db, err = sql.Open("duckdb", dsn)
	}
	return err
}

func (r *reader) close() error {
	if r.db == nil {
		return nil
	}
	db := r.db
	r.db = nil
	return db.Close()
}

// readCatalog compares the newest run in meta with the rows of two tables.
func (r *reader) readCatalog(ctx context.Context) (run string, err error) {
	if err := r.open(filepath.Join(r.Dir, "catalog.duckdb") + "?access_mode=read_only&threads=1"); err != nil {
		return "", err
	}
	var isConsistent bool
	err = r.db.QueryRowContext(ctx, `WITH newest AS (SELECT run_id, snapshot_at FROM meta.runs ORDER BY run_id DESC LIMIT 1),
		newest_tables AS (SELECT t.* FROM meta.tables t SEMI JOIN newest USING (run_id))
		SELECT run_id, run_id = (SELECT max(run_id) FROM meta.tables)
			AND (SELECT count(*) FROM main.product_listings) = (SELECT max(rows) FROM newest_tables WHERE table_name = 'product_listings')
			AND (SELECT count(*) FROM main.orders) = (SELECT max(rows) FROM newest_tables WHERE table_name = 'orders')
			AND (SELECT max(valid_from) FROM main.product_listings) = snapshot_at
		FROM newest`).Scan(&run, &isConsistent)
	if err == nil && !isConsistent {
		err = fmt.Errorf("mixed: the newest run is %s, and its tables in meta, the number of rows or the newest listing are of another run", run)
	}
	return run, err
}

// readParquet compares the files of one version with its manifest. It reads the link "latest" only once, because the
// link may change at any time. The files of a version do not change.
func (r *reader) readParquet(ctx context.Context) (run string, err error) {
	folder, err := os.Readlink(filepath.Join(r.Dir, "latest"))
	if err != nil {
		return "", err
	}
	dir := filepath.Join(r.Dir, folder)
	data, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	var m warehouse.Manifest
	if err := errors.Join(err, json.Unmarshal(data, &m), r.open("")); err != nil {
		return "", err
	}
	if m.RunID != filepath.Base(folder) || len(m.Tables) == 0 {
		return m.RunID, fmt.Errorf("mixed: latest is %s, but its manifest has run %s and %d tables", folder, m.RunID, len(m.Tables))
	}
	for _, t := range m.Tables {
		var rows int64
		if err := r.db.QueryRowContext(ctx, fmt.Sprintf("SELECT count(hash(t)) FROM '%s' t", filepath.Join(dir, t.File))).Scan(&rows); err != nil {
			return m.RunID, err
		}
		if rows != t.Rows {
			return m.RunID, fmt.Errorf("mixed: %s in %s has %d rows, and %d in the manifest", t.File, m.RunID, rows, t.Rows)
		}
	}
	return m.RunID, nil
}

// TestTrialReadersDuringPublishes is the short form of TestTortureReadersDuringPublishes.
func TestTrialReadersDuringPublishes(t *testing.T) {
	t.Parallel()
	readDuringPublishes(t, 3, 4)
}

// TestTortureReadersDuringPublishes reads in eight processes while nights are published.
func TestTortureReadersDuringPublishes(t *testing.T) {
	trials.RequireTorture(t)
	t.Parallel()
	rounds := 0
	defer trials.RecordTrial(t, time.Now(), func() torture.Trial {
		return torture.Trial{Name: "readers during publishes", Procedure: "eight processes read with DuckDB and Parquet while 20 nights are published", Runs: 20,
			Outcome: fmt.Sprintf("%d readings: no error, no mixture of two nights, no replaced night", rounds)}
	})
	rounds = readDuringPublishes(t, 8, 20)
}

// readDuringPublishes starts readers of each kind in turn, publishes nights, and returns the number of rounds of all
// readers. Each reader must see complete and current snapshots.
func readDuringPublishes(t *testing.T, processes, nights int) (rounds int) {
	t.Helper()
	h := trials.NewHarness(t, trials.TrialWorld(5), trials.FewStreams()...)
	published := []publication{publishNight(h)}
	kinds := map[*trials.Child]string{}
	for i := range processes {
		r := &reader{Dir: h.Config.Warehouse.Dir, Kind: []string{catalog, parquet, keptOpen}[i%3], Report: filepath.Join(t.TempDir(), "report.json")}
		kinds[trials.Spawn(t, "reader", r.Report, r)] = r.Kind
	}
	for process, kind := range kinds {
		select {
		case <-process.Output.Ready:
		case <-process.Exited:
			t.Fatalf("the reader of %s ended at once:\n%s", kind, process.Output)
		}
	}
	for range nights {
		published = append(published, publishNight(h))
	}
	for process := range kinds {
		testharness.Must(t, process.Input.Close())
	}
	for process, kind := range kinds {
		var seen observations
		process.ReadReport(t, &seen)
		t.Logf("%s: %d rounds", kind, seen.Rounds)
		rounds += seen.Rounds
		requireConsistent(t, kind, seen, published)
	}
	return rounds
}

// publication is a run and the time when its publish returned.
type publication struct {
	run string
	at  time.Time
}

// publishNight runs a night. A connection opened after the night must see it.
func publishNight(h *trials.Harness) publication {
	h.T.Helper()
	h.Service.Advance(1)
	j := trials.Job{URL: h.Server.URL, Dir: h.Config.Warehouse.Dir, Streams: trials.FewStreams(), At: h.Service.Now().Add(2 * time.Hour)}
	p := publication{run: h.MustComplete(pipeline.Run(h.T.Context(), j.Config())).Run.ID, at: time.Now()}
	if got := h.QueryOne("SELECT max(run_id) FROM meta.runs"); got != p.run {
		h.T.Errorf("a connection opened after the publish sees run %s, want %s", got, p.run)
	}
	return p
}

// requireConsistent checks that a reader reported no error and no inconsistency. A reader that
// keeps the catalog open must see only one run. Any other reader must see at least two runs, and
// must not see a run that was replaced before the round began.
func requireConsistent(t *testing.T, kind string, seen observations, published []publication) {
	t.Helper()
	if seen.Rounds == 0 || seen.ProblemCount > 0 {
		t.Errorf("%s: %d of %d rounds had problems, want at least 1 round and no problems: %q", kind, seen.ProblemCount, seen.Rounds, seen.Problems)
	}
	if isOne := len(seen.LastSeen) == 1; isOne != (kind == keptOpen) {
		t.Errorf("%s: the rounds saw the runs %v, want at least 2 runs, or 1 with a connection that is kept open", kind, seen.LastSeen)
	}
	if kind == keptOpen {
		return
	}
	for i, p := range published[:len(published)-1] {
		next := published[i+1]
		if last, ok := seen.LastSeen[p.run]; ok && last.After(next.at) {
			t.Errorf("%s: a round that began %[4]v after the publish of %[3]s saw %[2]s, want %[3]s or later", kind, p.run, next.run, last.Sub(next.at))
		}
	}
}
