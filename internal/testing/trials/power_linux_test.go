package trials_test

import (
	"context"
	"crypto/sha256"
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
	"testing"
	"time"

	"placementsync/internal/checks"
	"placementsync/internal/integrity"
	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/testing/torture"
	"placementsync/internal/warehouse"
	"placementsync/internal/webhook"
)

// powerTrial cuts the power during an operation on a warehouse.
type powerTrial struct {
	*harness
	// before is the warehouse at the beginning of the operation.
	before string
	// versions are the runs that readers may see after a power cut. "" means no snapshot.
	versions []string
	trace    *diskTrace
}

// newPowerTrial returns a warehouse after some nights. Its nights read the chosen streams, or
// someStreams if none is chosen.
func newPowerTrial(t *testing.T, nights int, chosen ...string) *powerTrial {
	t.Helper()
	p := &powerTrial{}
	if len(chosen) == 0 {
		p.harness = newHarness(t, trialWorld(1), someStreams()...)
	} else {
		p.harness = newHarness(t, trialWorld(1)) // with the tables of all streams
		p.cfg.Chosen = chosen
	}
	p.cfg.Warehouse.KeepVersions = 2
	p.cfg.ResumeMaxAge = 6 * time.Hour
	for range nights {
		p.goodNight()
	}
	p.service.Advance(1)
	p.at = p.service.Now().Add(2 * time.Hour)
	p.before = p.cfg.Warehouse.Dir
	return p
}

// in returns the configuration of a run in another folder.
func (p *powerTrial) in(dir string) pipeline.Config {
	cfg := p.cfg
	cfg.Warehouse.Dir = dir
	return cfg
}

// record runs an operation on a copy of the warehouse and records all changes of the disk.
func (p *powerTrial) record(t *testing.T, operate func(cfg pipeline.Config) error) (dir string) {
	t.Helper()
	dir = t.TempDir()
	copyWithLinks(t, p.before, dir)
	p.trace = newDiskTrace(t, dir)
	p.versions = append(p.versions, readersSee(t, dir))
	cfg := p.in(dir)
	cfg.Warehouse.Step = p.trace.step
	must(t, operate(cfg))
	must(t, p.trace.step("end", ""))
	p.versions = append(p.versions, readersSee(t, dir))
	return dir
}

// copyWithLinks copies a folder with its hard links, links and times.
func copyWithLinks(t *testing.T, from, to string) {
	t.Helper()
	trace := newDiskTrace(t, from)
	must(t, trace.step("copy", ""))
	trace.write(t, trace.points[0], outages(rand.New(rand.NewPCG(0, 0)), 1)[0], to)
}

func readersSee(t *testing.T, dir string) string {
	t.Helper()
	target, err := os.Readlink(filepath.Join(dir, "latest"))
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	must(t, err)
	return filepath.Base(target)
}

// cutPower checks states that a power cut could leave at each recorded point, at most limit of
// them, and returns their number. Equal states are checked once.
func (p *powerTrial) cutPower(t *testing.T, seed uint64, limit int, check func(t *testing.T, dir string, point tracePoint)) (states int) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 0))
	perPoint := max(1, limit/len(p.trace.points)+1)
	seen := map[[sha256.Size]byte]bool{}
	order := random.Perm(len(p.trace.points))
	for _, i := range order {
		point := p.trace.points[i]
		all := outages(random, max(perPoint, 5))
		random.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
		for k, o := range all[:perPoint] {
			if states == limit {
				return states
			}
			dir, err := os.MkdirTemp(t.TempDir(), "")
			must(t, err)
			sum := p.trace.write(t, point, o, dir)
			if len(point.acknowledged) == 0 && seen[sum] {
				must(t, os.RemoveAll(dir))
				continue
			}
			seen[sum] = true
			states++
			t.Run(fmt.Sprintf("%d %s %d", i, point.step, k), func(t *testing.T) { check(t, dir, point) })
			must(t, os.RemoveAll(dir))
		}
	}
	return states
}

// requireReaders checks that readers see a complete snapshot from before or after the operation.
func (p *powerTrial) requireReaders(t *testing.T, dir string) string {
	t.Helper()
	seen := readersSee(t, dir)
	if !slices.Contains(p.versions, seen) {
		t.Errorf("readers see %q, want one of %q", seen, p.versions)
	}
	if seen == "" {
		return ""
	}
	for _, version := range versionFolders(t, dir) {
		requireChecksums(t, version)
	}
	m := readManifest(t, filepath.Join(dir, "latest"))
	requireRowCounts(t, dir, m)
	requireReadable(t, filepath.Join(dir, "parquet", "*", "snapshot_date="+m.SnapshotAt.Format("2006-01-02"), "*.parquet"))
	return seen
}

func versionFolders(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "versions", "[0-9]*"))
	must(t, err)
	return all
}

// requireNextNight runs the night after a power cut. It must publish the rows of the reference,
// and leave no damage. repeat runs after the night and may be nil.
func (p *powerTrial) requireNextNight(t *testing.T, dir, reference string, repeat func(cfg pipeline.Config) error) {
	t.Helper()
	cfg := p.in(dir)
	at := p.at.Add(time.Minute)
	cfg.Now = func() time.Time { return at }
	w := warehouseOf(t, cfg)
	res, err := pipeline.Run(t.Context(), cfg)
	if err != nil || res.Run.ExitCode != 0 {
		t.Fatalf("the next night %s ended %s with exit code %d, want 0: %v\n%s", res.Run.ID, res.Run.Outcome, res.Run.ExitCode, err, reasons(res.Run))
	}
	if run := requireIntact(t, dir); run != res.Run.ID {
		t.Errorf("readers see %s after the night, want %s", run, res.Run.ID)
	}
	if repeat != nil {
		must(t, repeat(cfg))
	}
	found, err := integrity.Check(t.Context(), w, true)
	must(t, err)
	for _, damage := range found.Damage {
		t.Errorf("after the next night there is damage %+v, want none", damage)
	}
	if reference != "" {
		requireSameMain(t, reference, dir)
	}
}

// requireSameMain compares the current rows of two warehouses.
func requireSameMain(t *testing.T, want, got string) {
	t.Helper()
	db := openUnmanaged(t, "")
	defer db.Close()
	for name, dir := range map[string]string{"want": want, "got": got} {
		_, err := db.ExecContext(t.Context(), fmt.Sprintf("ATTACH '%s/catalog.duckdb' AS %s (READ_ONLY)", dir, name))
		must(t, err)
	}
	for _, row := range query(t, db, "SELECT table_name FROM duckdb_tables() WHERE database_name = 'want' AND schema_name = 'main'") {
		requireSameRows(t, db, "main."+row[0].String, "* EXCLUDE (valid_from)")
	}
}

// TestTrialPowerCut is the short form of TestTorturePowerCut.
func TestTrialPowerCut(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	for name, cut := range powerCuts() {
		t.Run(name, func(t *testing.T) { cut(t, 1, 3) })
	}
}

// TestTorturePowerCut cuts the power at every change of the disk. Of the changes since the last
// fsync a subset is lost. Readers must see the snapshot from before or after, and the next night
// must succeed with all acknowledged events and without damage.
func TestTorturePowerCut(t *testing.T) {
	requireTorture(t)
	for name, cut := range powerCuts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			states := 0
			defer recordTrial(t, time.Now(), func() torture.Trial {
				return torture.Trial{Name: "power cut, " + name, Fault: "the power fails at each change of the disk; changes since the last fsync are lost in any subset",
					Runs: states, Outcome: "readers saw the snapshot from before or after; the next night published without damage"}
			})
			states = cut(t, 1, 260)
		})
	}
}

// powerCuts are the operations, each with a function that cuts the power in up to limit states and
// returns their number.
func powerCuts() map[string]func(t *testing.T, seed uint64, limit int) int {
	return map[string]func(t *testing.T, seed uint64, limit int) int{
		"first night": func(t *testing.T, seed uint64, limit int) int { return cutNight(t, seed, limit, 0) },
		"later night": func(t *testing.T, seed uint64, limit int) int { return cutNight(t, seed, limit, 3) },
		"rollback": func(t *testing.T, seed uint64, limit int) int {
			return cutOperation(t, seed, limit, func(cfg pipeline.Config) error {
				return locked(cfg, "rollback", func(w *warehouse.Warehouse) error {
					all, err := w.Versions.List()
					if err == nil {
						_, err = w.Rollback(slices.Min(all), cfg.Now())
					}
					return err
				})
			}, nil)
		},
		"rebuild": func(t *testing.T, seed uint64, limit int) int {
			return cutOperation(t, seed, limit, func(cfg pipeline.Config) error {
				_, err := pipeline.Rebuild(context.Background(), cfg, false)
				return err
			}, nil)
		},
		"prune": func(t *testing.T, seed uint64, limit int) int { return cutOperation(t, seed, limit, prune, prune) },
		"hold":  func(t *testing.T, seed uint64, limit int) int { return cutHeld(t, seed, limit, nil) },
		"publish of a held night": func(t *testing.T, seed uint64, limit int) int {
			return cutHeld(t, seed, limit, func(w *warehouse.Warehouse, at time.Time) error {
				_, err := w.PublishHeld(context.Background(), []string{"prices_scaled"}, at)
				return err
			})
		},
		"discard of a held night": func(t *testing.T, seed uint64, limit int) int {
			return cutHeld(t, seed, limit, func(w *warehouse.Warehouse, _ time.Time) error {
				_, err := w.DiscardHeld()
				return err
			})
		},
		"inbox": cutInbox,
	}
}

// prune removes all that a short retention does not keep.
func prune(cfg pipeline.Config) error {
	return locked(cfg, "prune", func(w *warehouse.Warehouse) error {
		_, err := w.Pruner.Prune(warehouse.Retention{RawDays: 1, Daily: 1}, cfg.Now().Add(72*time.Hour), false)
		return err
	})
}

// locked calls an operation with the lock of the warehouse.
func locked(cfg pipeline.Config, name string, operate func(w *warehouse.Warehouse) error) error {
	w, err := warehouse.Open(cfg.Warehouse)
	if err != nil {
		return err
	}
	lock, err := w.Lock(name, cfg.Now())
	if err != nil {
		return err
	}
	return errors.Join(operate(w), lock.Release())
}

func cutNight(t *testing.T, seed uint64, limit, nights int) int {
	t.Helper()
	p := newPowerTrial(t, nights)
	reference := p.record(t, func(cfg pipeline.Config) error {
		res, err := pipeline.Run(t.Context(), cfg)
		p.mustComplete(res, err)
		return nil
	})
	return p.cutPower(t, seed, limit, func(t *testing.T, dir string, _ tracePoint) {
		if p.requireReaders(t, dir) == p.versions[1] {
			requireSameWarehouse(t, reference, dir)
		}
		p.requireNextNight(t, dir, reference, nil)
	})
}

func cutOperation(t *testing.T, seed uint64, limit int, operate, repeat func(cfg pipeline.Config) error) int {
	t.Helper()
	p := newPowerTrial(t, 3)
	reference := t.TempDir()
	copyWithLinks(t, p.before, reference)
	p.requireNextNight(t, reference, "", nil)
	p.record(t, operate)
	return p.cutPower(t, seed, limit, func(t *testing.T, dir string, _ tracePoint) {
		p.requireReaders(t, dir)
		p.requireNextNight(t, dir, reference, repeat)
	})
}

// cutHeld cuts the power while a night is held or, if decide is set, while the decision about it is
// carried out. At most one intact night is held, and not the one that readers see.
func cutHeld(t *testing.T, seed uint64, limit int, decide func(w *warehouse.Warehouse, at time.Time) error) int {
	t.Helper()
	p := newPowerTrial(t, 2, "product_listings", "tags") // the check reads tables of other streams
	all, err := checks.Load("", map[string]checks.Rule{"prices_scaled": {Params: map[string]string{"min_prices": "5"}}}, nil)
	must(t, err)
	chosen, err := all.Choose([]string{"prices_scaled"})
	must(t, err)
	p.service.SetValueFaults(sim.ValueFault{Kind: sim.ValueCents, Day: p.service.Day()})
	hold := func(cfg pipeline.Config) error {
		cfg.Checks = chosen
		if _, err := pipeline.Run(t.Context(), cfg); !errors.As(err, new(*pipeline.HoldError)) {
			return fmt.Errorf("the night was not held: %w", err)
		}
		return nil
	}
	operate := hold
	if decide != nil {
		p.before = p.record(t, hold)
		p.versions = nil
		operate = func(cfg pipeline.Config) error {
			return locked(cfg, "decision", func(w *warehouse.Warehouse) error { return decide(w, cfg.Now()) })
		}
	}
	reference := t.TempDir()
	copyWithLinks(t, p.before, reference)
	p.requireNextNight(t, reference, "", nil)
	p.record(t, operate)
	return p.cutPower(t, seed, limit, func(t *testing.T, dir string, _ tracePoint) {
		seen := p.requireReaders(t, dir)
		w := warehouseOf(t, p.in(dir))
		h, ok, err := w.Held()
		must(t, err)
		if damaged, _ := w.CheckHeld(t.Context(), true); ok && (h.Manifest.RunID == seen || len(damaged) > 0) {
			t.Errorf("%s is held with the damaged files %v, and readers see %s; want an undamaged version that readers do not see", h.Manifest.RunID, damaged, seen)
		}
		p.requireNextNight(t, dir, reference, nil)
	})
}

// cutInbox cuts the power while events are received, in a new warehouse. The next night must
// contain each acknowledged event.
func cutInbox(t *testing.T, seed uint64, limit int) int {
	t.Helper()
	m := newWebhookHarness(t, richWorld(), eventStreams()...)
	m.goodNight()
	p := &powerTrial{harness: m.harness, before: t.TempDir()}
	p.record(t, func(cfg pipeline.Config) error {
		w, err := warehouse.Open(cfg.Warehouse)
		if err != nil {
			return err
		}
		dir, err := w.Folder.MakeInbox()
		if err != nil {
			return err
		}
		return receive(t, m, w, dir, p.trace)
	})
	return p.cutPower(t, seed, limit, func(t *testing.T, dir string, point tracePoint) {
		p.requireNextNight(t, dir, "", nil)
		db := openUnmanaged(t, filepath.Join(dir, "catalog.duckdb")+"?access_mode=read_only&threads=1")
		defer db.Close()
		var stored []string
		for _, row := range query(t, db, "SELECT event_id FROM meta.webhook_events") {
			stored = append(stored, row[0].String)
		}
		for _, id := range point.acknowledged {
			if !slices.Contains(stored, id) {
				t.Errorf("the night stored the events %q, want the acknowledged event %s among them", stored, id)
			}
		}
	})
}

// receive runs a receiver and delivers events to it.
func receive(t *testing.T, m webhookHarness, w *warehouse.Warehouse, dir string, trace *diskTrace) error {
	t.Helper()
	receiver, err := webhook.New(webhook.Config{Dir: dir, Secrets: []string{hookSecret}, SegmentBytes: 1500, Disk: w.Folder.Disk()},
		slog.New(slog.DiscardHandler), func() time.Time { return m.at })
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- receiver.Run(ctx) }()
	<-receiver.Ready()
	server := httptest.NewServer(receiver)
	defer server.Close()
	for range 8 {
		d, err := m.service.StatusChange(m.someArticle())
		must(t, err)
		status, err := sim.Deliver(t.Context(), server.Client(), server.URL, d, hookSecret)
		must(t, err)
		if status != http.StatusNoContent {
			t.Fatalf("event %s was answered with %d, want 204", d.ID, status)
		}
		trace.acknowledge(d.ID)
	}
	cancel()
	return <-ended
}
