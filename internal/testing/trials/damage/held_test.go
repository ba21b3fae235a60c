package damage_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"placementsync/internal/audit"
	"placementsync/internal/pipeline"
	"placementsync/internal/repair"
	"placementsync/internal/sim"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
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
		{name: "night of other streams", faults: faults, configure: func(cfg *pipeline.Config) { cfg.Chosen = []string{"tags"} }, operate: run, heldAfter: noneHeld,
			isChecked: true},
		{name: "night of the same streams", faults: faults, configure: func(cfg *pipeline.Config) { cfg.Chosen = []string{"product_listings"} }, operate: run,
			heldAfter: otherHeld, published: second},
		{name: "dry run", faults: faults, configure: func(cfg *pipeline.Config) { cfg.DryRun = true }, operate: run, heldAfter: sameHeld, published: second},
		{name: "refresh", operate: func() (res pipeline.Result, err error) {
			if res, err = pipeline.Refresh(t.Context(), m.Config, pipeline.Targets{}); errors.Is(err, pipeline.ErrPostponed) {
				err = nil
			}
			return res, err
		}, heldAfter: sameHeld, published: second},
		{name: "replay", operate: replay, heldAfter: otherHeld, published: second},
		{name: "replay with lenient checks", configure: func(cfg *pipeline.Config) { cfg.Checks = lenientChecks }, operate: replay, heldAfter: noneHeld,
			isChecked: true},
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
