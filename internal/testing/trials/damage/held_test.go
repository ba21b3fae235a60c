package damage_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"placementsync/internal/audit"
	"placementsync/internal/pipeline"
	"placementsync/internal/repair"
	"placementsync/internal/sim"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
	"placementsync/internal/warehouse"
)

// TestTrialOtherRunsBesideAHeldNight checks the effect of other runs on a held night, as described
// by the table in docs/guide/checks.md. A held night has failed a check and is not published. A night
// after the other run must store the event that was delivered before the held night, and must remove all
// stored responses.
func TestTrialOtherRunsBesideAHeldNight(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	m := trials.NewWebhookHarness(t, trials.RichWorld(), append(trials.StreamsWithEvents(), "product_listings", "tags")...)
	trials.AddBuiltInChecks(t, m.Harness)
	m.Config.Warehouse.DiscardRaw = true
	first := m.GoodNight().Run.ID
	second := m.GoodNight().Run.ID
	m.Deliver(m.Service.StatusChange(m.ArticleWithComment()))
	m.Service.SetValueFaults(sim.ValueFault{Change: trials.PricesTimes(100, 1), Day: m.Service.Day() + 1})
	res, err := m.FailedNight(t.Context(), trials.ExitFailed)
	if !errors.As(err, new(*pipeline.HoldError)) {
		t.Fatal(err)
	}
	heldRun, originalCfg, heldAt := res.Run.ID, m.Config, m.At
	lenientChecks, err := audit.Load("", map[string]audit.Rule{"prices_scaled": {Severity: "off"}, "price_median_moved": {Severity: "warn"}}, nil)
	testharness.Must(t, err)
	faults := []sim.ValueFault{{Change: trials.PricesTimes(100, 1), Day: m.Service.Day()}}
	run := func() (pipeline.Result, error) { return pipeline.Run(t.Context(), m.Config) }
	replay := func() (pipeline.Result, error) { return pipeline.Replay(t.Context(), m.Config, heldRun) }
	for _, c := range []heldNightCase{
		{name: "night", operate: run, heldAfter: noneHeld, isChecked: true},
		{name: "night with wrong values", faults: faults, operate: run, heldAfter: otherHeld, published: second},
		{name: "night of other streams", faults: faults, configure: func(cfg *pipeline.Config) { cfg.Chosen = []string{"tags"} }, operate: run, heldAfter: noneHeld, isChecked: true},
		{name: "night of the same streams", faults: faults, configure: func(cfg *pipeline.Config) { cfg.Chosen = []string{"product_listings"} }, operate: run, heldAfter: otherHeld, published: second},
		{name: "dry run", faults: faults, configure: func(cfg *pipeline.Config) { cfg.DryRun = true }, operate: run, heldAfter: sameHeld, published: second},
		{name: "refresh", operate: func() (res pipeline.Result, err error) {
			if res, err = pipeline.Refresh(t.Context(), m.Config, pipeline.Targets{}); errors.Is(err, pipeline.ErrPostponed) {
				err = nil
			}
			return res, err
		}, heldAfter: sameHeld, published: second},
		{name: "replay", operate: replay, heldAfter: otherHeld, published: second},
		{name: "replay with lenient checks", configure: func(cfg *pipeline.Config) { cfg.Checks = lenientChecks }, operate: replay, heldAfter: noneHeld, isChecked: true},
		{name: "rebuild", operate: func() (res pipeline.Result, err error) {
			rebuilt, err := repair.Rebuild(t.Context(), trials.RepairConfig(m.Config), false)
			res.Run.ID = rebuilt.Manifest.RunID
			return res, err
		}, heldAfter: noneHeld},
		{name: "rollback", operate: func() (res pipeline.Result, err error) {
			_, err = trials.WarehouseOf(m.Config).Rollback(first, m.At)
			return res, err
		}, heldAfter: sameHeld, published: first},
		{name: "publish", operate: func() (res pipeline.Result, err error) {
			published, err := trials.WarehouseOf(m.Config).PublishHeld(t.Context(), []string{"prices_scaled", "price_median_moved"}, m.At)
			return pipeline.Result{Run: published.Run}, err
		}, heldAfter: noneHeld, isChecked: true},
		{name: "discard", operate: func() (res pipeline.Result, err error) {
			_, err = trials.WarehouseOf(m.Config).DiscardHeld()
			return res, err
		}, heldAfter: noneHeld, published: second},
	} {
		m.Config, m.At = originalCfg, heldAt.Add(time.Hour)
		m.Config.Warehouse.Dir = t.TempDir()
		testharness.Must(t, os.CopyFS(m.Config.Warehouse.Dir, os.DirFS(originalCfg.Warehouse.Dir)))
		if c.configure != nil {
			c.configure(&m.Config)
		}
		m.Service.SetValueFaults(c.faults...)
		res, err := c.operate()
		isHeld := errors.As(err, new(*pipeline.HoldError))
		if isHeld != (c.heldAfter == otherHeld) || err != nil && !isHeld {
			t.Errorf("%s: got the error %v, want the state %q", c.name, err, c.heldAfter)
			continue
		}
		c.check(t, m.Harness, heldRun, res.Run.ID)
		// The next night must be a new run, and must contain the event.
		m.Config.Chosen, m.Config.DryRun, m.Config.Checks = originalCfg.Chosen, false, lenientChecks
		m.Service.SetValueFaults()
		next := m.SameDayNight()
		if next.Run.ID == heldRun || next.Run.Attempts > 1 {
			t.Errorf("%s: the next night resumed the held night, want a new run", c.name)
		}
		if n := m.Count("meta.webhook_events", "true"); n != 1 {
			t.Errorf("%s: the next snapshot has %d events, want 1", c.name, n)
		}
		if _, ok, err := trials.WarehouseOf(m.Config).Held(); err != nil || ok {
			t.Errorf("%s: a night is held after the next night, want none (%v)", c.name, err)
		}
		if raw, err := os.ReadDir(m.Path("raw")); err != nil || len(raw) > 0 {
			t.Errorf("%s: raw contains %v after the next night (%v), want no files", c.name, raw, err)
		}
	}
}

// States after another run. sameHeld means that the night that was held before the run
// is still held.
const (
	sameHeld  = "the same night is held"
	otherHeld = "another night is held"
	noneHeld  = "no night is held"
)

// heldNightCase is an operation while a night is held, with the expected state after it.
type heldNightCase struct {
	name   string
	faults []sim.ValueFault
	// configure changes the configuration before the operation. Nil means no change.
	configure func(cfg *pipeline.Config)
	operate   func() (pipeline.Result, error)
	// heldAfter is sameHeld, otherHeld or noneHeld.
	heldAfter string
	// published is the run that must be published. Empty means the run of the operation.
	published string
	// isChecked means that meta.checks must have results of the run of the operation. It applies
	// only if published is empty.
	isChecked bool
}

// check compares the warehouse after the operation with the expected state. heldRun is the run that
// was held before the operation, and run is the run of the operation.
func (c heldNightCase) check(t *testing.T, m *trials.Harness, heldRun, run string) {
	t.Helper()
	w := trials.WarehouseOf(m.Config)
	heldNight, ok, err := w.Held()
	testharness.Must(t, err)
	heldAfter := noneHeld
	switch {
	case ok && heldNight.Manifest.RunID == heldRun:
		heldAfter = sameHeld
	case ok:
		heldAfter = otherHeld
	}
	if heldAfter != c.heldAfter {
		t.Errorf("%s: got the state %q with the held run %q, want the state %q", c.name, heldAfter, heldNight.Manifest.RunID, c.heldAfter)
	}
	published := c.published
	if published == "" {
		published = run
	}
	if got := m.LatestRun(); got != published {
		t.Errorf("%s: latest is %s, want %s", c.name, got, published)
	}
	if report, err := repair.Check(t.Context(), w, true); err != nil || len(report.Damage) > 0 {
		t.Errorf("%s: repair.Check found %+v (%v), want no damage", c.name, report.Damage, err)
	}
	if c.published == "" {
		if got := m.Count("meta.checks", "run_id = ?", run) > 0; got != c.isChecked {
			t.Errorf("%s: meta.checks has results of the run: %t, want %t", c.name, got, c.isChecked)
		}
	}
	_, err = os.Stat(w.Folder.RawPath(heldRun))
	if isKept := err == nil; !isKept && c.heldAfter == sameHeld {
		t.Errorf("%s: the stored responses of the held night are missing: %v", c.name, err)
	}
}

// heldJob creates, publishes or discards a held night in a child process.
type heldJob struct {
	trials.Job
	// Operation is "hold", "publish" or "discard".
	Operation string
}

// config returns the configuration of a night that reads listings and tags and has one check.
func (j heldJob) config() (pipeline.Config, error) {
	cfg := j.Job.Config()
	cfg.Chosen = []string{"product_listings", "tags"}
	all, err := audit.Load("", map[string]audit.Rule{"prices_scaled": {Params: map[string]string{"min_prices": "5"}}}, nil)
	if err == nil {
		cfg.Checks, err = all.Choose([]string{"prices_scaled"})
	}
	return cfg, err
}

func (j heldJob) mustConfig(t *testing.T) pipeline.Config {
	t.Helper()
	cfg, err := j.config()
	testharness.Must(t, err)
	return cfg
}

// operate runs the operation in the current process.
func (j heldJob) operate(ctx context.Context, cfg pipeline.Config) error {
	if j.Operation == "hold" {
		_, err := pipeline.Run(ctx, cfg)
		return err
	}
	w := warehouse.New(cfg.Warehouse)
	lock, err := w.Lock(j.Operation, j.At)
	if err != nil {
		return err
	}
	if j.Operation == "publish" {
		_, err = w.PublishHeld(ctx, []string{"prices_scaled"}, j.At)
	} else {
		_, err = w.DiscardHeld()
	}
	return errors.Join(err, lock.Release())
}

// run runs the operation. It is called in a child process.
func (j heldJob) Run(ctx context.Context) error {
	cfg, err := j.config()
	if err != nil {
		return err
	}
	_ = j.operate(ctx, cfg) // the parent checks the warehouse
	return trials.WriteReport(j.Report, nil)
}

// TestTrialKilledOperationsOnAHeldNight kills three operations at several of their steps: a night that
// is held, from its merge on; the publish of the held night; and the discard of the held night. After
// each kill, the old or the new snapshot must be published. If a night is held, it must be undamaged.
// The next night must publish.
func TestTrialKilledOperationsOnAHeldNight(t *testing.T) {
	t.Parallel()
	h := trials.NewHarness(t, trials.TrialWorld(1))
	startDir := t.TempDir() // the warehouse before the next operation
	h.Service.Advance(1)
	j := heldJob{Job: trials.Job{URL: h.Server.URL, Dir: startDir, At: h.Service.Now().Add(2 * time.Hour)}}
	first := h.MustComplete(pipeline.Run(t.Context(), j.mustConfig(t))).Run.ID
	h.Service.Advance(1)
	j.At = h.Service.Now().Add(2 * time.Hour)
	heldRun := ""
	fault := sim.ValueFault{Change: trials.PricesTimes(100, 1), Day: h.Service.Day()}
	for _, operation := range []string{"hold", "publish", "discard"} {
		h.Service.SetValueFaults(fault)
		j.Operation, j.KillAt = operation, trials.StepCall{}
		dirBefore := startDir
		recordedDir := copyWarehouse(t, dirBefore)
		j.Dir = recordedDir
		cfg := j.mustConfig(t)
		var recorder trials.StepRecorder
		cfg.Warehouse.Step = recorder.Record
		if err := j.operate(t.Context(), cfg); (err != nil) != (operation == "hold") {
			t.Fatalf("%s: %v", operation, err)
		}
		if operation == "hold" {
			night, ok, err := trials.WarehouseOf(cfg).Held()
			if err != nil || !ok {
				t.Fatalf("no night is held (%v)", err)
			}
			heldRun, startDir = night.Manifest.RunID, recordedDir
		}
		firstKill := max(0, slices.Index(recorder.Steps, "before write run.json"))
		calls := map[string]int{} // calls of each step so far
		kills := 0
		for i, step := range recorder.Steps {
			calls[step]++
			if i < firstKill || (i-firstKill)%killStride(len(recorder.Steps)-firstKill) != 0 {
				continue
			}
			j.Dir, j.KillAt = copyWarehouse(t, dirBefore), trials.StepCall{Step: step, Nth: calls[step]}
			h.Service.SetValueFaults(fault)
			j.Report = filepath.Join(t.TempDir(), "report.json")
			if trials.Spawn(t, "held", j.Report, j).WasKilled() {
				kills++
			}
			h.Service.SetValueFaults()
			requireOldOrNewState(t, j, first, heldRun)
		}
		t.Logf("%s: %d kills at %d steps", operation, kills, len(recorder.Steps)-firstKill)
		if kills == 0 {
			t.Errorf("%s was not killed at any step, want at least one kill", operation)
		}
	}
}

// killStride returns the number of steps between two kills. "make torture" kills at each step,
// "make trials" about six times, and "make trials-short" about twice.
func killStride(steps int) int {
	if os.Getenv("PLACEMENTSYNC_TORTURE") != "" {
		return 1
	}
	return max(1, steps/trials.Size(6, 2))
}

func copyWarehouse(t *testing.T, from string) string {
	t.Helper()
	dir := t.TempDir()
	testharness.Must(t, os.CopyFS(dir, os.DirFS(from)))
	return dir
}

// requireOldOrNewState checks that a killed operation took effect completely or not at all. Then it
// runs the next night, which must publish.
func requireOldOrNewState(t *testing.T, j heldJob, first, heldRun string) {
	t.Helper()
	description := j.Operation + ", killed at " + j.KillAt.String()
	j.KillAt = trials.StepCall{}
	cfg := j.mustConfig(t)
	w := trials.WarehouseOf(cfg)
	published := trials.RequireIntact(t, j.Dir)
	heldNight, ok, err := w.Held()
	testharness.Must(t, err)
	if published != first && !(published == heldRun && j.Operation == "publish") || ok && (heldNight.Manifest.RunID != heldRun || published == heldRun) {
		t.Errorf("%s: latest is %s and %q is held, want the state before or after the operation", description, published, heldNight.Manifest.RunID)
	}
	if damaged, _ := w.VerifyHeld(t.Context(), true); len(damaged) > 0 {
		t.Errorf("%s: the held night has the damage %v, want none", description, damaged)
	}
	j.At = j.At.Add(time.Hour)
	res, err := pipeline.Run(t.Context(), j.mustConfig(t))
	if errors.As(err, new(*pipeline.HoldError)) && j.Operation == "hold" && !ok {
		// The night was killed before it was held. The run above resumed it with the same
		// responses, so a check held it.
		j.At = j.At.Add(time.Hour)
		res, err = pipeline.Run(t.Context(), j.mustConfig(t))
	}
	if hold := (*pipeline.HoldError)(nil); errors.As(err, &hold) && j.Operation == "publish" && published == heldRun {
		// Wrong prices are published, so a check holds the night with the correct prices too.
		_, err = trials.WarehouseOf(cfg).PublishHeld(t.Context(), []string{"prices_scaled"}, j.At)
		res.Run.ID = hold.Run
	}
	if err != nil || trials.RequireIntact(t, j.Dir) != res.Run.ID {
		t.Errorf("%s: the next night %s is not published: %v", description, res.Run.ID, err)
	}
	if files, err := os.ReadDir(filepath.Join(j.Dir, "held")); err != nil && !errors.Is(err, fs.ErrNotExist) || len(files) > 0 {
		t.Errorf("%s: held/ has %v (%v), want no files", description, files, err)
	}
	if report, err := repair.Check(t.Context(), w, true); err != nil || len(report.Damage) > 0 {
		t.Errorf("%s: repair.Check found %+v (%v), want no damage", description, report.Damage, err)
	}
	versions, err := w.Versions.List()
	if want := []string{first, heldRun, res.Run.ID}; err != nil || slices.ContainsFunc(versions, func(v string) bool { return !slices.Contains(want, v) }) || slices.Contains(versions, heldRun) != (published == heldRun) && heldRun != res.Run.ID {
		t.Errorf("%s: got the versions %v (%v), want some of %v", description, versions, err, want)
	}
}
