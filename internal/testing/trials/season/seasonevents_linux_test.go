package season_test

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"placementsync/internal/backup"
	storage "placementsync/internal/bucket"
	"placementsync/internal/repair"
	"placementsync/internal/sim"
	"placementsync/internal/testing/fixture"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/s3sim"
	"placementsync/internal/testing/trials"
	"placementsync/internal/warehouse"
	"placementsync/internal/webhook"
)

// begin begins an event: it runs an operation, or sets a condition of the night.
func (s *season) begin(e seasonEvent) {
	s.T.Helper()
	switch e.Kind {
	case rollbackEvent:
		s.rollBack(e.Number)
	case rebuildEvent:
		s.rebuild()
	case backupEvent:
		s.backUp()
	case restoreEvent:
		s.restore()
	case webhookEvent:
		s.deliver(e.Number)
	case readerEvent:
		s.openReader()
	case clockEvent:
		s.tonight.clock = time.Duration(e.Number) * time.Hour
	case faultEvent:
		s.tonight.fault, s.tonight.share = faultNamed(e.Name), float64(e.Number)/100
	case endpointEvent:
		s.tonight.fault, s.tonight.pattern = faultNamed(e.Name), trials.Endpoints()[e.Number]
	case movingEvent:
		s.tonight.hasMovingLists = true
		s.Service.SetChurn(e.Number)
	case valueEvent:
		fault := valueFaults()[e.Name]
		fault.Day = s.Service.Day()
		s.tonight.valueFault, s.tonight.decision = e.Name, decisions()[e.Number]
		s.Service.SetValueFaults(fault)
	case tokenEvent:
		s.tonight.isTokenRevoked, s.tonight.revokeAt = true, e.Number
	case killEvent, powerEvent, diskEvent:
		s.tonight.accidents = append(s.tonight.accidents, e)
		return // tryNight counts it if it takes effect
	case againEvent:
		s.tonight.isRepeated = true
		return
	default:
		s.T.Fatalf("there is no event %q", e.Kind)
	}
	s.counts[e.Kind]++
}

func faultNamed(name string) *sim.Fault {
	all := seasonFaults()
	return all[slices.IndexFunc(all, func(k trials.FaultKind) bool { return k.Name == name })].Fault
}

// runWith runs the night with an accident. An empty kind means no accident. tookEffect reports whether
// the accident took effect.
func (s *season) runWith(accident seasonEvent) (end trials.NightEnd, tookEffect bool) {
	s.T.Helper()
	switch accident.Kind {
	case killEvent:
		j := s.job()
		j.KillAt, j.Report = accident.Step, filepath.Join(s.T.TempDir(), "report.json")
		p := trials.Spawn(s.T, "season", j.Report, j)
		if p.WasKilled() {
			return end, true
		}
		p.ReadReport(s.T, &end)
		return end, false
	case diskEvent:
		s.Config.Warehouse.Step = accident.Step.Hook(func() error {
			tookEffect = true
			return &fs.PathError{Op: "write", Path: accident.Step.Step, Err: syscall.EIO}
		})
		end = trials.RunNight(s.T.Context(), s.Config)
		return end, tookEffect
	case powerEvent:
		return s.cutPower(accident), true
	}
	return trials.RunNight(s.T.Context(), s.Config), false
}

// cutPower runs the night until the power fails, and replaces the warehouse by files that such a
// power cut could leave. If the night ends before the step of the power cut, the power fails after the
// night.
func (s *season) cutPower(e seasonEvent) trials.NightEnd {
	s.T.Helper()
	s.closeReader()
	dir := s.Config.Warehouse.Dir
	trace := trials.NewDiskTrace(s.T, dir)
	var mu sync.Mutex
	isCut := false
	cut := e.Step.Hook(func() error {
		isCut = true
		return errors.New("the power failed")
	})
	s.Config.Warehouse.Step = func(step, path string) error {
		mu.Lock()
		defer mu.Unlock()
		if isCut {
			return errors.New("the power failed")
		}
		err := trace.Step(step, path)
		trace.Points = trace.Points[len(trace.Points)-1:]
		return errors.Join(err, cut(step, path))
	}
	end := trials.RunNight(s.T.Context(), s.Config)
	if !isCut {
		testharness.Must(s.T, trace.Step("end", ""))
	}
	random := rand.New(rand.NewPCG(s.plan.Seed, uint64(e.Number)))
	all := trials.Outages(random, 10)
	afterCut := s.T.TempDir()
	trace.CreateFolder(s.T, trace.Points[len(trace.Points)-1], all[random.IntN(len(all))], afterCut)
	testharness.Must(s.T, os.RemoveAll(dir))
	testharness.Must(s.T, os.Rename(afterCut, dir))
	return end
}

// heldRun returns the run of the held night, or "".
func (s *season) heldRun() string {
	s.T.Helper()
	h, ok, err := trials.WarehouseOf(s.Config).Held()
	testharness.Must(s.T, err)
	if !ok {
		return ""
	}
	return h.Manifest.RunID
}

// decideHeld publishes, discards or keeps the night that a check held in this attempt. A night with
// correct values is published; a check may hold it only if wrong values were published before.
func (s *season) decideHeld(run string) (published bool) {
	s.T.Helper()
	s.counts["held"]++
	decision := s.tonight.decision
	if s.valueFaultByRun[run] == "" {
		decision = "publish"
		if len(s.snapshots) == 0 || s.last().nightsSinceWrong > taintedNights {
			s.T.Errorf("day %d: night %s was held although no value was wrong", s.Service.Day(), run)
		}
	}
	s.mustOperate(decision, func(w *warehouse.Warehouse) error {
		var err error
		switch decision {
		case "publish":
			_, err = w.PublishHeld(s.T.Context(), []string{"prices_scaled"}, s.At)
		case "discard":
			_, err = w.DiscardHeld()
		}
		return err
	})
	if decision != "publish" {
		return false
	}
	s.acceptedRun = run
	s.takeSnapshot(run, false)
	return true
}

// mustOperate runs an operation of the warehouse, which must succeed.
func (s *season) mustOperate(name string, operate func(w *warehouse.Warehouse) error) {
	s.T.Helper()
	if err := trials.WithLock(s.Config, name, operate); err != nil {
		s.T.Fatalf("day %d: %s: %v", s.Service.Day(), name, err)
	}
}

func (s *season) rollBack(number int) {
	s.T.Helper()
	if s.version == "" {
		return
	}
	versions, err := trials.WarehouseOf(s.Config).Versions.List()
	testharness.Must(s.T, err)
	target := versions[number%len(versions)]
	snapshots, ok := s.snapshotsByVersion[target]
	if !ok {
		s.T.Fatalf("day %d: the list of versions contains %s, which was never published", s.Service.Day(), target)
	}
	s.mustOperate("rollback", func(w *warehouse.Warehouse) error {
		_, err := w.Rollback(target, s.At)
		return err
	})
	s.setVersion(target, snapshots)
	s.requireRows("the rollback to " + target)
}

func (s *season) rebuild() {
	s.T.Helper()
	if s.version == "" {
		return
	}
	s.setConfig(s.job())
	r, err := repair.Rebuild(s.T.Context(), trials.RepairConfig(s.Config), false)
	if err != nil {
		s.T.Fatalf("day %d: rebuild: %v", s.Service.Day(), err)
	}
	if newest := len(s.snapshots) - 1; r.LostRun != "" && s.snapshots[newest].hadAccident && newest > 0 {
		s.snapshots = s.snapshots[:newest] // parquet/ does not contain the day of this snapshot
	}
	if !r.Last.Equal(s.last().at) {
		s.T.Errorf("day %d: the rebuild restored the night of %s, want %s", s.Service.Day(), r.Last, s.last().at)
	}
	s.setVersion(r.Manifest.RunID, s.snapshots)
	s.requireRows("the rebuild")
	s.requireHistory("after the rebuild")
}

// seasonBucket is object storage with the last backup of a season.
type seasonBucket struct {
	bucket *storage.Bucket
	// snapshots and acknowledged are the values of these fields of the season at the time of the backup.
	snapshots    []seasonSnapshot
	acknowledged []string
}

func newSeasonBucket(t *testing.T, h *trials.Harness) *seasonBucket {
	t.Helper()
	server := s3sim.New("store")
	server.Now = func() time.Time { return h.At }
	httpServer := httptest.NewServer(server)
	t.Cleanup(httpServer.Close)
	b, err := storage.Open(t.Context(), storage.Config{Endpoint: httpServer.URL, Region: "eu-test-1", PathStyle: true,
		AccessKey: s3sim.AccessKey, SecretKey: s3sim.SecretKey}, "store", "season")
	testharness.Must(t, err)
	return &seasonBucket{bucket: b}
}

func (s *season) backupConfig() backup.Config {
	s.T.Helper()
	return backup.Config{Warehouse: trials.WarehouseOf(s.Config), Bucket: s.bucket.bucket, Program: "test", Now: s.Config.Now, Log: slog.New(slog.DiscardHandler)}
}

func (s *season) backUp() {
	s.T.Helper()
	if s.version == "" {
		return
	}
	res, err := backup.Run(s.T.Context(), s.backupConfig())
	if err != nil || len(res.LeftOut) > 0 {
		s.T.Fatalf("day %d: backup: %v %v", s.Service.Day(), res.LeftOut, err)
	}
	s.bucket.snapshots, s.bucket.acknowledged = s.snapshots, slices.Clone(s.acknowledged)
}

// restore replaces the warehouse by its last backup, as after the loss of the machine.
func (s *season) restore() {
	s.T.Helper()
	if len(s.bucket.snapshots) == 0 {
		return
	}
	s.closeReader()
	testharness.Must(s.T, os.RemoveAll(s.Config.Warehouse.Dir))
	testharness.Must(s.T, os.Mkdir(s.Config.Warehouse.Dir, 0o755))
	s.setConfig(s.job())
	_, err := backup.Restore(s.T.Context(), s.backupConfig())
	testharness.Must(s.T, err)
	s.snapshots, s.acknowledged = s.bucket.snapshots, slices.Clone(s.bucket.acknowledged)
	s.rebuild()
}

// deliver sends webhook events. The receiver must acknowledge each of them.
func (s *season) deliver(count int) {
	s.T.Helper()
	w := trials.WarehouseOf(s.Config)
	inbox, err := w.Folder.MakeInbox()
	testharness.Must(s.T, err)
	receiver := webhook.New(webhook.Config{Dir: inbox, Disk: w.Folder.Disk()},
		slog.New(slog.DiscardHandler), func() time.Time { return s.At })
	testharness.Must(s.T, errors.Join(receiver.Reload(webhook.Policy{Secrets: []string{trials.HookSecret}, Prefixes: []string{"x-hook-"}}), receiver.Open()))
	server := httptest.NewServer(receiver)
	for i := range count {
		id := fmt.Sprintf("event-%d-%d", s.Service.Day(), i)
		d := sim.Delivery{ID: id, Topic: webhook.StatusChanged, Source: "demo", SentAt: s.At, Body: fmt.Appendf(nil, `{"article_id": %q}`, id)}
		status, err := sim.Deliver(s.T.Context(), server.Client(), server.URL, d, trials.HookSecret)
		testharness.Must(s.T, err)
		if status != http.StatusNoContent {
			s.T.Fatalf("the response to event %s has status %d, want 204", id, status)
		}
		s.acknowledged = append(s.acknowledged, id)
	}
	server.Close()
	testharness.Must(s.T, receiver.Close())
}

// openReader opens a connection that is kept open in the following nights.
func (s *season) openReader() {
	s.T.Helper()
	if s.version == "" || s.reader != nil {
		return
	}
	s.reader = trials.OpenUnmanaged(s.T, s.Path("catalog.duckdb")+"?access_mode=read_only&threads=1")
	s.readerRows = s.readWithReader()
}

func (s *season) readWithReader() string {
	s.T.Helper()
	return fmt.Sprint(trials.Query(s.T, s.reader, `SELECT o::VARCHAR FROM main.orders o UNION ALL SELECT p::VARCHAR FROM history.product_listing_prices p
		UNION ALL SELECT run_id FROM meta.runs ORDER BY 1`))
}

// checkReader checks that the open connection has the same rows as when it was opened.
func (s *season) checkReader() {
	s.T.Helper()
	if s.reader != nil && s.readWithReader() != s.readerRows {
		s.T.Errorf("day %d: the open connection returns other rows than at first", s.Service.Day())
	}
}

func (s *season) closeReader() {
	s.T.Helper()
	if s.reader != nil {
		testharness.Must(s.T, s.reader.Close())
		s.reader = nil
	}
}

// releaseWorld returns the world from which the warehouse of release 1.0.0 in cmd/sync/testdata was
// written.
func releaseWorld() sim.Options {
	return sim.Options{Seed: 21, Token: trials.Token, Outlets: 5, Listings: 16, Profiles: 3, Campaigns: 5, Orders: 12, Files: 6, Folders: 2,
		ListingTurnover: 0.1, SilentChange: 0.2, Encodings: []string{"zstd"}}
}

// openRelease replaces the warehouse by the warehouse of release 1.0.0, which has three nights and
// an inbox with webhook events.
func (s *season) openRelease() {
	s.T.Helper()
	root := s.T.TempDir()
	testharness.Must(s.T, fixture.Unpack(filepath.Join("..", "..", "..", "..", "cmd", "sync", "testdata", "releases", "1.0.0.tar.zst"), root))
	testharness.Must(s.T, os.RemoveAll(s.Config.Warehouse.Dir))
	testharness.Must(s.T, os.Rename(filepath.Join(root, "warehouse"), s.Config.Warehouse.Dir))
	versions, err := trials.WarehouseOf(s.Config).Versions.List()
	testharness.Must(s.T, err)
	for _, version := range versions {
		s.Service.Advance(1)
		s.ref.RequestedIDs = s.knownIDs()
		s.seen.addRows(s.ref, s.ref.CurrentRows())
		folder := s.Path("versions", version)
		db := trials.Open(s.T, filepath.Join(folder, "catalog.duckdb")+"?access_mode=read_only&threads=1")
		night := seasonSnapshot{at: trials.ReadManifest(s.T, folder).SnapshotAt, rows: map[string][]trials.TextRow{}, nightsSinceWrong: taintedNights + 1}
		for _, spec := range s.ref.UniqueTables() {
			night.rows[spec.Table] = trials.ReadTexts(s.T, spec, db, "main."+spec.Table, trials.ColumnTypes(s.T, db, "main."+spec.Table))
		}
		// The service of the release had other prefixes and names of statuses.
		s.seen.addRows(s.ref, night.rows)
		s.setVersion(version, append(slices.Clone(s.snapshots), night))
	}
}
