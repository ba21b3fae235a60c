package damage_test

import (
	"context"
	"crypto/sha256"
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
)

// readerConfig configures a reader: a child process that reads a warehouse repeatedly, as a BI tool
// does.
type readerConfig struct {
	Dir, Report string
	// Parquet means that the reader reads the Parquet files of latest/ instead of catalog.duckdb.
	Parquet bool
	// KeepOpen means that the reader keeps one connection open instead of opening one in every
	// round.
	KeepOpen bool
}

func (v readerConfig) String() string {
	source, mode := "catalog", "reconnecting"
	if v.Parquet {
		source = "Parquet"
	}
	if v.KeepOpen {
		mode = "keeping a connection"
	}
	return source + ", " + mode
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

// Run reads repeatedly until the standard input is closed. Then it writes its observations to v.Report.
func (v readerConfig) Run(ctx context.Context) error {
	closed := trials.InputClosed()
	r := &reader{readerConfig: v, seen: observations{LastSeen: map[string]time.Time{}}}
	for {
		select {
		case <-closed:
			return errors.Join(r.close(), trials.WriteReport(v.Report, r.seen))
		default:
			r.runRound(ctx)
		}
	}
}

// reader reads the warehouse in rounds.
type reader struct {
	readerConfig
	db   *sql.DB
	seen observations
}

// runRound connects if needed, reads several parts of the snapshot, and checks that they belong to
// one run.
func (r *reader) runRound(ctx context.Context) {
	began := time.Now()
	run, err := r.read(ctx)
	if !r.KeepOpen || err != nil {
		err = errors.Join(err, r.close())
	}
	r.seen.Rounds++
	if err == nil {
		r.seen.LastSeen[run] = began
		return
	}
	if r.seen.ProblemCount++; r.seen.ProblemCount <= 5 {
		r.seen.Problems = append(r.seen.Problems, err.Error())
	}
}

func (r *reader) read(ctx context.Context) (run string, err error) {
	if r.Parquet {
		return r.readParquet(ctx)
	}
	return r.readCatalog(ctx)
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
	var tablesRun string
	var extraListings, extraOrders int64 // rows beyond the count in meta.tables
	var hasNewestListing bool
	err = r.db.QueryRowContext(ctx, `WITH newest AS (SELECT run_id, snapshot_at FROM meta.runs ORDER BY run_id DESC LIMIT 1),
		newest_tables AS (SELECT t.* FROM meta.tables t SEMI JOIN newest USING (run_id))
		SELECT run_id, (SELECT max(run_id) FROM meta.tables),
			(SELECT count(*) FROM main.product_listings) - (SELECT max(rows) FROM newest_tables WHERE table_name = 'product_listings'),
			(SELECT count(*) FROM main.orders) - (SELECT max(rows) FROM newest_tables WHERE table_name = 'orders'),
			(SELECT max(valid_from) FROM main.product_listings) = snapshot_at
		FROM newest`).Scan(&run, &tablesRun, &extraListings, &extraOrders, &hasNewestListing)
	if err == nil && (run != tablesRun || extraListings != 0 || extraOrders != 0 || !hasNewestListing) {
		err = fmt.Errorf("mixed: the newest run is %s, the newest run in meta.tables is %s, rows beyond the count in meta.tables: %d listings, %d orders; the newest listing has the time of the newest run: %t",
			run, tablesRun, extraListings, extraOrders, hasNewestListing)
	}
	return run, err
}

// readParquet reads the files of one version. It reads the link "latest" only once, because the link
// may change at any time. The files of a version do not change.
func (r *reader) readParquet(ctx context.Context) (run string, err error) {
	if err := r.open(""); err != nil {
		return "", err
	}
	folder, err := os.Readlink(filepath.Join(r.Dir, "latest"))
	if err != nil {
		return "", err
	}
	run = filepath.Base(folder)
	if err := r.compareWithManifest(filepath.Join(r.Dir, folder), run); err != nil {
		return run, err
	}
	var joined int64
	err = r.db.QueryRowContext(ctx, fmt.Sprintf("SELECT count(*) FROM '%[1]s/product_listing_prices.parquet' p JOIN '%[1]s/product_listings.parquet' l "+
		"ON l.id = p.product_listing_id", filepath.Join(r.Dir, folder))).Scan(&joined)
	if err == nil && joined == 0 {
		err = fmt.Errorf("mixed: the prices of %s belong to no listing", run)
	}
	return run, err
}

// compareWithManifest compares the files of a version with the checksums in its manifest.
func (r *reader) compareWithManifest(dir, run string) error {
	data, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		return err
	}
	var m struct {
		Run    string `json:"run_id"`
		Tables []struct{ File, SHA256 string }
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return err
	}
	if m.Run != run || len(m.Tables) == 0 {
		return fmt.Errorf("mixed: latest is %s, but its manifest has run %s and %d tables", run, m.Run, len(m.Tables))
	}
	for _, t := range m.Tables {
		data, err := os.ReadFile(filepath.Join(dir, t.File))
		if err != nil {
			return err
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(data)); sum != t.SHA256 {
			return fmt.Errorf("mixed: the checksum of %s in %s differs from the manifest", t.File, run)
		}
	}
	return nil
}

// TestTrialReadersDuringPublishes is the short form of TestTortureReadersDuringPublishes.
func TestTrialReadersDuringPublishes(t *testing.T) {
	t.Parallel()
	readDuringPublishes(t, 4, 4)
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

// readDuringPublishes starts readers, publishes nights, and returns the number of rounds of all
// readers. Each reader must see complete and current snapshots.
func readDuringPublishes(t *testing.T, processes, nights int) (rounds int) {
	t.Helper()
	h := trials.NewHarness(t, trials.TrialWorld(5), trials.FewStreams()...)
	published := []publication{publishNight(h)}
	readers := startReaders(h, processes)
	for range nights {
		published = append(published, publishNight(h))
	}
	for _, process := range readers {
		testharness.Must(t, process.Input.Close())
	}
	roundsByKind := map[string]int{}
	for id, process := range readers {
		var seen observations
		process.ReadReport(t, &seen)
		roundsByKind[id.String()] += seen.Rounds
		rounds += seen.Rounds
		requireConsistent(t, id.readerConfig, seen, published)
	}
	t.Logf("%d nights, rounds: %v", nights, roundsByKind)
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
	db := trials.OpenUnmanaged(h.T, h.Path("catalog.duckdb")+"?access_mode=read_only&threads=1")
	defer db.Close()
	if got := trials.Query(h.T, db, "SELECT max(run_id) FROM meta.runs")[0][0].String; got != p.run {
		h.T.Errorf("a connection opened after the publish sees run %s, want %s", got, p.run)
	}
	return p
}

// readerID identifies a reader by its configuration and number.
type readerID struct {
	readerConfig
	number int
}

// startReaders starts readers of the four kinds in turn, and returns when all readers are ready.
func startReaders(h *trials.Harness, processes int) map[readerID]*trials.Child {
	h.T.Helper()
	readers := map[readerID]*trials.Child{}
	for i := range processes {
		v := readerConfig{Dir: h.Config.Warehouse.Dir, Parquet: i%2 == 1, KeepOpen: i/2%2 == 1, Report: filepath.Join(h.T.TempDir(), "report.json")}
		readers[readerID{v, i}] = trials.Spawn(h.T, "reader", v.Report, v)
	}
	for id, process := range readers {
		select {
		case <-process.Output.Ready:
		case <-process.Exited:
			h.T.Fatalf("reader %s ended at once:\n%s", id, process.Output)
		}
	}
	return readers
}

// requireConsistent checks that a reader reported no error and no inconsistency. A reader that
// keeps the catalog open must see only one run. Any other reader must see at least two runs, and
// must not see a run that was replaced before the round began.
func requireConsistent(t *testing.T, v readerConfig, seen observations, published []publication) {
	t.Helper()
	if seen.Rounds == 0 || seen.ProblemCount > 0 {
		t.Errorf("%s: %d of %d rounds had problems, want at least 1 round and no problems: %q", v, seen.ProblemCount, seen.Rounds, seen.Problems)
	}
	if v.KeepOpen && !v.Parquet {
		if len(seen.LastSeen) != 1 {
			t.Errorf("%s: the connection saw %d runs, want 1: %v", v, len(seen.LastSeen), seen.LastSeen)
		}
		return
	}
	if len(seen.LastSeen) < 2 {
		t.Errorf("%s: the rounds saw the runs %v, want at least 2 runs", v, seen.LastSeen)
	}
	for i, p := range published[:len(published)-1] {
		next := published[i+1]
		if last, ok := seen.LastSeen[p.run]; ok && last.After(next.at) {
			t.Errorf("%s: a round that began %[4]v after the publish of %[3]s saw %[2]s, want %[3]s or later", v, p.run, next.run, last.Sub(next.at))
		}
	}
}
