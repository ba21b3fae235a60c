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

// TestTrialOtherRunsBesideAHeldNight checks the effect of other runs on a held night, as described by the table in
// docs/guide/checks.md. A held night has failed a check and is not published. A night after the other run must store
// the event that was delivered before the held night, and must remove all stored responses.
func TestTrialOtherRunsBesideAHeldNight(t *testing.T) {
	testharness.Long(t)
	t.Parallel()
	m := trials.NewWebhookHarness(t, trials.RichWorld(), append(trials.StreamsWithEvents(), "product_listings", "tags")...)
	trials.AddBuiltInChecks(t, m.Harness)
	m.Config.Warehouse.DiscardRaw = true
	m.GoodNight()
	before := m.GoodNight().Run.ID
	m.Deliver(m.Service.StatusChange(m.ArticleWithComment()))
	m.Service.SetValueFaults(sim.ValueFault{Change: trials.PricesTimes(100, 1), Day: m.Service.Day() + 1})
	res, err := m.FailedNight(t.Context(), 1)
	if !errors.As(err, new(*pipeline.HoldError)) {
		t.Fatal(err)
	}
	heldRun, originalCfg, heldAt := res.Run.ID, m.Config, m.At
	lenientChecks, err := audit.Load("", map[string]audit.Rule{"prices_scaled": {Severity: "off"}, "price_median_moved": {Severity: "warn"}}, nil)
	testharness.Must(t, err)
	run := func() (string, error) {
		res, err := pipeline.Run(t.Context(), m.Config)
		return res.Run.ID, err
	}
	const none, same, other = "no night", "the same night", "another night"
	for _, c := range []struct {
		name     string
		hasFault bool
		streams  []string // of the operation; nil means all
		operate  func() (run string, err error)
		held     string // after the operation
		// isPublished means that the operation publishes its run. Otherwise the published run must stay.
		isPublished bool
	}{
		{"night", false, nil, run, none, true},
		{"night with wrong values", true, nil, run, other, false},
		{"night of other streams", true, []string{"tags"}, run, none, true},
		{"night of the same streams", true, []string{"product_listings"}, run, other, false},
		{"dry run", true, nil, func() (string, error) {
			m.Config.DryRun = true
			return run()
		}, same, false},
		{"replay", false, nil, func() (string, error) {
			res, err := pipeline.Replay(t.Context(), m.Config, heldRun)
			return res.Run.ID, err
		}, other, false},
		{"replay with lenient checks", false, nil, func() (string, error) {
			m.Config.Checks = lenientChecks
			res, err := pipeline.Replay(t.Context(), m.Config, heldRun)
			return res.Run.ID, err
		}, none, true},
		{"rebuild", false, nil, func() (string, error) {
			rebuilt, err := repair.Rebuild(t.Context(), trials.RepairConfig(m.Config), false)
			return rebuilt.Manifest.RunID, err
		}, none, true},
	} {
		m.Config, m.At = originalCfg, heldAt.Add(time.Hour)
		m.Config.Warehouse.Dir = t.TempDir()
		testharness.Must(t, os.CopyFS(m.Config.Warehouse.Dir, os.DirFS(originalCfg.Warehouse.Dir)))
		if c.streams != nil {
			m.Config.Chosen = c.streams
		}
		m.Service.SetValueFaults()
		if c.hasFault {
			m.Service.SetValueFaults(sim.ValueFault{Change: trials.PricesTimes(100, 1), Day: m.Service.Day()})
		}
		published, err := c.operate()
		if isHeld := errors.As(err, new(*pipeline.HoldError)); isHeld != (c.held == other) || err != nil && !isHeld {
			t.Errorf("%s: got the error %v, want %s held", c.name, err, c.held)
			continue
		}
		w := trials.WarehouseOf(m.Config)
		night, ok, err := w.Held()
		testharness.Must(t, err)
		held := none
		if ok {
			held = map[bool]string{true: same, false: other}[night.Manifest.RunID == heldRun]
		}
		if !c.isPublished {
			published = before
		}
		if held != c.held || m.LatestRun() != published {
			t.Errorf("%s: %s is held and latest is %s, want %s and %s", c.name, held, m.LatestRun(), c.held, published)
		}
		if report, err := repair.Check(t.Context(), w, true); err != nil || len(report.Damage) > 0 {
			t.Errorf("%s: repair.Check found %+v (%v), want no damage", c.name, report.Damage, err)
		}
		// The next night must be a new run, and must contain the event.
		m.Config.Chosen, m.Config.DryRun, m.Config.Checks = originalCfg.Chosen, false, lenientChecks
		m.Service.SetValueFaults()
		next := m.SameDayNight()
		_, isHeld, err := w.Held()
		testharness.Must(t, err)
		raw, err := os.ReadDir(m.Path("raw"))
		testharness.Must(t, err)
		if events := m.Count("meta.webhook_events", "true"); next.Run.ID == heldRun || events != 1 || isHeld || len(raw) > 0 {
			t.Errorf("%s: the next night %s has %d events, a night is held: %t, and raw contains %v, "+
				"want a new run with 1 event, no held night and no responses", c.name, next.Run.ID, events, isHeld, raw)
		}
	}
}
