package damage_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"placementsync/internal/audit"
	"placementsync/internal/durable"
	"placementsync/internal/pipeline"
	"placementsync/internal/repair"
	"placementsync/internal/sim"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/torture"
	"placementsync/internal/testing/trials"
	"placementsync/internal/warehouse"
)

// powerTrial simulates power cuts during an operation on a warehouse.
type powerTrial struct {
	*trials.Harness
	// original is the folder of the warehouse before the operation.
	original string
	// allowedRuns are the ids of the runs that may be published after a power cut. An empty id means
	// that the warehouse may have no published run.
	allowedRuns []string
	// trace contains the recorded changes of the disk.
	trace *trials.DiskTrace
}

// newPowerTrial returns a trial whose warehouse has the given number of nights, and the tables of the streams.
func newPowerTrial(t *testing.T, nights int, streams ...string) *powerTrial {
	t.Helper()
	p := &powerTrial{Harness: trials.NewHarness(t, trials.TrialWorld(1), streams...)}
	p.Config.Warehouse.KeepVersions = 2
	p.Config.ResumeMaxAge = 6 * time.Hour
	for range nights {
		p.GoodNight()
	}
	p.NextDay()
	p.original = p.Config.Warehouse.Dir
	return p
}

// configFor returns the configuration of a run in another folder.
func (p *powerTrial) configFor(dir string) pipeline.Config {
	cfg := p.Config
	cfg.Warehouse.Dir = dir
	return cfg
}

// record runs an operation on a copy of the warehouse and records all changes of the disk. It
// returns the folder of the copy.
func (p *powerTrial) record(t *testing.T, operate func(cfg pipeline.Config) error) (dir string) {
	t.Helper()
	dir = t.TempDir()
	copyTree(t, p.original, dir, false)
	p.trace = trials.NewDiskTrace(t, dir)
	p.allowedRuns = append(p.allowedRuns, trials.PublishedRun(t, dir))
	cfg := p.configFor(dir)
	cfg.Warehouse.Step = p.trace.Step
	testharness.Must(t, operate(cfg))
	testharness.Must(t, p.trace.Step("end", ""))
	p.allowedRuns = append(p.allowedRuns, trials.PublishedRun(t, dir))
	return dir
}

// cutPower creates folders that a power cut could leave at the recorded points, and calls check for
// each folder. It creates at most maxStates folders and returns their number. Until an event is
// acknowledged, it skips folders with the content of an earlier folder.
func (p *powerTrial) cutPower(t *testing.T, maxStates int, check func(t *testing.T, dir string, point trials.TracePoint)) (states int) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 0))
	perPoint := max(1, maxStates/len(p.trace.Points)+1)
	seen := map[[sha256.Size]byte]bool{}
	order := random.Perm(len(p.trace.Points))
	for _, i := range order {
		point := p.trace.Points[i]
		all := trials.Outages(random, max(perPoint, 5))
		random.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
		for k, o := range all[:perPoint] {
			if states == maxStates {
				return states
			}
			dir, err := os.MkdirTemp(t.TempDir(), "")
			testharness.Must(t, err)
			sum := p.trace.CreateFolder(t, point, o, dir)
			if len(point.Acknowledged) == 0 && seen[sum] {
				testharness.Must(t, os.RemoveAll(dir))
				continue
			}
			seen[sum] = true
			states++
			t.Run(fmt.Sprintf("%d %s %d", i, point.Step, k), func(t *testing.T) { check(t, dir, point) })
			testharness.Must(t, os.RemoveAll(dir))
		}
	}
	return states
}

// requireSnapshot checks that the snapshot from before or after the operation is published and
// complete. It returns the id of the published run.
func (p *powerTrial) requireSnapshot(t *testing.T, dir string) string {
	t.Helper()
	published := trials.RequireIntact(t, dir)
	if !slices.Contains(p.allowedRuns, published) {
		t.Errorf("the published run is %q, want one of %q", published, p.allowedRuns)
	}
	return published
}

// requireNextNight runs the night after a power cut. The night must publish the rows of the warehouse
// in referenceDir, or any rows if referenceDir is empty. If repeat is set, requireNextNight calls it after
// the night, to repeat the interrupted operation. At the end the warehouse must have no damage.
func (p *powerTrial) requireNextNight(t *testing.T, dir, referenceDir string, repeat func(cfg pipeline.Config) error) {
	t.Helper()
	cfg := p.configFor(dir)
	at := p.At.Add(time.Minute)
	cfg.Now = func() time.Time { return at }
	res, err := pipeline.Run(t.Context(), cfg)
	if err != nil || res.Run.ExitCode != 0 {
		t.Fatalf("the next night %s ended %s with exit code %d, want 0: %v\n%s", res.Run.ID, res.Run.Outcome, res.Run.ExitCode, err, trials.Reasons(res.Run))
	}
	if run := trials.RequireIntact(t, dir); run != res.Run.ID {
		t.Errorf("the published run is %s after the night, want %s", run, res.Run.ID)
	}
	if repeat != nil {
		testharness.Must(t, repeat(cfg))
	}
	report, err := repair.Verify(t.Context(), trials.RepairConfig(cfg), true)
	testharness.Must(t, err)
	for _, damage := range report.Damage {
		t.Errorf("verify found %+v after the next night, want no damage", damage)
	}
	if referenceDir != "" {
		trials.RequireSameMain(t, referenceDir, dir)
	}
}

// TestTrialPowerCut is the short form of TestTorturePowerCut.
func TestTrialPowerCut(t *testing.T) {
	t.Parallel()
	for name, cut := range powerCuts() {
		t.Run(name, func(t *testing.T) { cut(t, trials.Size(3, 2)) })
	}
}

// TestTorturePowerCut simulates power cuts before and after changes of the disk. Each power cut loses a subset of the
// changes since the last fsync. The snapshot from before or after the operation must be published. The next night
// must succeed and must contain all acknowledged events. After it, the warehouse must have no damage.
func TestTorturePowerCut(t *testing.T) {
	trials.RequireTorture(t)
	for name, cut := range powerCuts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			states := 0
			defer trials.RecordTrial(t, time.Now(), func() torture.Trial {
				return torture.Trial{Name: "power cut, " + name, Procedure: "the power fails at each change of the disk; changes since the last fsync are lost in any subset",
					Runs: states, Outcome: "readers saw the snapshot from before or after; the next night published without damage"}
			})
			states = cut(t, 700)
		})
	}
}

// powerCuts returns a function for each operation, by name. The function cuts the power during the operation, checks
// up to maxStates states that the cut could leave, and returns the number of checked states.
func powerCuts() map[string]func(t *testing.T, maxStates int) int {
	return map[string]func(t *testing.T, maxStates int) int{
		"first night": func(t *testing.T, maxStates int) int { return cutNight(t, maxStates, 0) },
		"later night": func(t *testing.T, maxStates int) int { return cutNight(t, maxStates, trials.Size(3, 1)) },
		"rollback": func(t *testing.T, maxStates int) int {
			return cutOperation(t, maxStates, func(cfg pipeline.Config) error {
				return trials.WithLock(cfg, "rollback", func(w *warehouse.Warehouse) error {
					all, err := w.Versions.List()
					if err == nil {
						_, err = w.Rollback(slices.Min(all), cfg.Now())
					}
					return err
				})
			}, nil)
		},
		"rebuild": func(t *testing.T, maxStates int) int {
			return cutOperation(t, maxStates, func(cfg pipeline.Config) error {
				_, err := repair.Rebuild(context.Background(), trials.RepairConfig(cfg), false)
				return err
			}, nil)
		},
		"prune": func(t *testing.T, maxStates int) int { return cutOperation(t, maxStates, prune, prune) },
		"hold":  func(t *testing.T, maxStates int) int { return cutHeld(t, maxStates, nil) },
		"publish of a held night": func(t *testing.T, maxStates int) int {
			return cutHeld(t, maxStates, func(w *warehouse.Warehouse, at time.Time) error {
				_, err := w.PublishHeld(context.Background(), []string{"prices_scaled"}, at)
				return err
			})
		},
		"discard of a held night": func(t *testing.T, maxStates int) int {
			return cutHeld(t, maxStates, func(w *warehouse.Warehouse, _ time.Time) error {
				_, err := w.DiscardHeld()
				return err
			})
		},
		"inbox": cutInbox,
	}
}

// prune prunes the warehouse with a short retention.
func prune(cfg pipeline.Config) error {
	return trials.WithLock(cfg, "prune", func(w *warehouse.Warehouse) error {
		_, err := w.Pruner.Prune(warehouse.Retention{RawDays: 1, Daily: 1}, cfg.Now().Add(72*time.Hour), false)
		return err
	})
}

// powerStreams returns the streams of nights and operations.
func powerStreams() []string {
	if testing.Short() {
		return trials.FewStreams()
	}
	return trials.SomeStreams()
}

// cutNight simulates power cuts during a night that follows the given number of nights.
func cutNight(t *testing.T, maxStates, nights int) int {
	t.Helper()
	p := newPowerTrial(t, nights, powerStreams()...)
	referenceDir := p.record(t, func(cfg pipeline.Config) error {
		res, err := pipeline.Run(t.Context(), cfg)
		p.MustComplete(res, err)
		return nil
	})
	return p.cutPower(t, maxStates, func(t *testing.T, dir string, _ trials.TracePoint) {
		if nightRun := p.allowedRuns[1]; p.requireSnapshot(t, dir) == nightRun {
			trials.RequireSameWarehouse(t, referenceDir, dir)
		}
		p.requireNextNight(t, dir, referenceDir, nil)
	})
}

// cutOperation simulates power cuts during an operation after three nights. For repeat, see requireNextNight.
func cutOperation(t *testing.T, maxStates int, operate, repeat func(cfg pipeline.Config) error) int {
	t.Helper()
	p := newPowerTrial(t, trials.Size(3, 2), powerStreams()...)
	referenceDir := t.TempDir()
	copyTree(t, p.original, referenceDir, false)
	p.requireNextNight(t, referenceDir, "", nil)
	p.record(t, operate)
	return p.cutPower(t, maxStates, func(t *testing.T, dir string, _ trials.TracePoint) {
		p.requireSnapshot(t, dir)
		p.requireNextNight(t, dir, referenceDir, repeat)
	})
}

// cutHeld simulates power cuts while a failed check holds a night. If decide is set, the power is
// cut while decide publishes or discards the held night. After the cut, a held night must be
// intact, and must not be published at the same time.
func cutHeld(t *testing.T, maxStates int, decide func(w *warehouse.Warehouse, at time.Time) error) int {
	t.Helper()
	p := newPowerTrial(t, 2, "product_listings", "outlet_listings", "products", "orders", "order_items", "tags") // tables that the check reads
	p.Config.Chosen = []string{"product_listings", "tags"}
	all, err := audit.Load("", map[string]audit.Rule{"prices_scaled": {Params: map[string]string{"min_prices": "5"}}}, nil)
	testharness.Must(t, err)
	priceCheck, err := all.Choose([]string{"prices_scaled"})
	testharness.Must(t, err)
	p.Service.SetValueFaults(sim.ValueFault{Change: trials.PricesTimes(100, 1), Day: p.Service.Day()})
	hold := func(cfg pipeline.Config) error {
		cfg.Checks = priceCheck
		if _, err := pipeline.Run(t.Context(), cfg); !errors.As(err, new(*pipeline.HoldError)) {
			return fmt.Errorf("the night was not held: %w", err)
		}
		return nil
	}
	operate := hold
	if decide != nil {
		p.original = p.record(t, hold)
		p.allowedRuns = nil
		operate = func(cfg pipeline.Config) error {
			return trials.WithLock(cfg, "decision", func(w *warehouse.Warehouse) error { return decide(w, cfg.Now()) })
		}
	}
	referenceDir := t.TempDir()
	copyTree(t, p.original, referenceDir, false)
	p.requireNextNight(t, referenceDir, "", nil)
	p.record(t, operate)
	return p.cutPower(t, maxStates, func(t *testing.T, dir string, _ trials.TracePoint) {
		published := p.requireSnapshot(t, dir)
		w := trials.WarehouseOf(p.configFor(dir))
		h, ok, err := w.Held()
		testharness.Must(t, err)
		if damaged, _ := w.VerifyHeld(t.Context(), true); ok && (h.Manifest.RunID == published || len(damaged) > 0) {
			t.Errorf("run %s is held with the damaged files %v and %s is published, want a held run that is undamaged and not published", h.Manifest.RunID,
				damaged, published)
		}
		p.requireNextNight(t, dir, referenceDir, nil)
	})
}

// cutInbox simulates power cuts while a new warehouse receives events. The next night must contain
// each acknowledged event.
func cutInbox(t *testing.T, maxStates int) int {
	t.Helper()
	m := trials.NewWebhookHarness(t, trials.RichWorld(), trials.StreamsWithEvents()...)
	m.GoodNight()
	p := &powerTrial{Harness: m.Harness, original: t.TempDir()}
	p.record(t, func(cfg pipeline.Config) error {
		receiver := trials.NewReceiver(t, warehouse.New(cfg.Warehouse), func() time.Time { return m.At })
		defer receiver.Close()
		for range 8 {
			event, err := m.Service.StatusChange(m.ArticleWithComment())
			receiver.Deliver(event, err)
			p.trace.Acknowledge(event.ID)
		}
		return nil
	})
	return p.cutPower(t, maxStates, func(t *testing.T, dir string, point trials.TracePoint) {
		p.requireNextNight(t, dir, "", nil)
		db := trials.OpenUnmanaged(t, filepath.Join(dir, "catalog.duckdb")+"?access_mode=read_only&threads=1")
		defer db.Close()
		var stored []string
		for _, row := range trials.Query(t, db, "SELECT event_id FROM meta.webhook_events") {
			stored = append(stored, row[0].String)
		}
		for _, id := range point.Acknowledged {
			if !slices.Contains(stored, id) {
				t.Errorf("the night stored the events %q, want the acknowledged event %s among them", stored, id)
			}
		}
	})
}

// TestPowerModel replaces a file in three ways and creates the files that a power cut can leave. With package
// durable, the file must have the old or the new content. Otherwise other contents are possible.
func TestPowerModel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		replace func(disk durable.Disk, path string) error
		want    []string
	}{
		"durable": {func(disk durable.Disk, path string) error { return disk.WriteFile(path, []byte("new!"), 0o600) }, []string{"new!", "old"}},
		"in place": {func(_ durable.Disk, path string) error { return os.WriteFile(path, []byte("new!"), 0o600) },
			[]string{"\x00\x00\x00\x00", "ne", "new!", "old"}},
		"renamed without fsync": {func(_ durable.Disk, path string) error {
			return errors.Join(os.WriteFile(path+".next", []byte("new!"), 0o600), os.Rename(path+".next", path))
		}, []string{"", "\x00\x00\x00\x00", "ne", "new!", "old"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "file")
			testharness.Must(t, os.WriteFile(path, []byte("old"), 0o600))
			trace := trials.NewDiskTrace(t, dir)
			testharness.Must(t, c.replace(durable.Disk{Step: trace.Step}, path))
			testharness.Must(t, trace.Step("end", ""))
			contents := map[string]bool{}
			for _, point := range trace.Points {
				for _, o := range trials.Outages(rand.New(rand.NewPCG(1, 1)), 50) {
					to := t.TempDir()
					trace.CreateFolder(t, point, o, to)
					data, err := os.ReadFile(filepath.Join(to, "file"))
					testharness.Must(t, err)
					contents[string(data)] = true
				}
			}
			if got := slices.Sorted(maps.Keys(contents)); !slices.Equal(got, c.want) {
				t.Errorf("the possible contents after a power cut are %q, want %q", got, c.want)
			}
			if newest := trace.Points[len(trace.Points)-1]; name == "durable" && len(newest.Pending) > 0 {
				t.Errorf("got the unsynced names %v after the last change, want none", newest.Pending)
			}
		})
	}
}
