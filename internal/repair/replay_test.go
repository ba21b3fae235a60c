package repair_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/repair"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

const fourthNight = "20261104T020000Z"

// storeResponses stores two responses of a run.
func storeResponses(t *testing.T, w *warehouse.Warehouse, run string) {
	t.Helper()
	store, err := fetch.OpenResponseStore(w.Folder.RawPath(run), fetch.StoreOptions{})
	harness.Must(t, err)
	for _, body := range []string{`["first"]`, `["second"]`} {
		_, err := store.Append(fetch.Response{Request: fetch.Request{Stream: "tags", Path: "/tags", Param: body}, Status: 200, Body: []byte(body)}, firstNightAt, 0)
		harness.Must(t, err)
	}
	harness.Must(t, store.Close())
}

// TestReplayIsBasedOnThePreviousVersion replays runs in a warehouse of three nights. A replay must build on the version
// before its run, and never on a version that contains later rows.
func TestReplayIsBasedOnThePreviousVersion(t *testing.T) {
	original := open(t)
	publishNights(t, original, "a", "b", "c")
	const catalog = "catalog.duckdb"
	for name, c := range map[string]struct {
		change func(d damager)
		run    string
		base   string // or else the error contains want
		want   string
	}{
		"the newest run":                        {func(damager) {}, thirdNight, secondNight, ""},
		"a run that was never published":        {func(damager) {}, fourthNight, thirdNight, ""},
		"the newest run with a damaged catalog": {func(d damager) { d.flip(version3 + catalog) }, thirdNight, secondNight, ""},
		"a run on which readers depend": {func(damager) {}, secondNight, "",
			"readers see " + thirdNight + ", not this run; nothing was changed: run placementsync rollback " + secondNight + " first, or build the catalog without the responses: placementsync rebuild"},
		"a version without its base": {func(d damager) { d.remove(version2) }, thirdNight, "",
			"version " + secondNight + ", on which this run is based, is no longer kept; nothing was changed: placementsync rebuild"},
		"an earlier run without a version": {func(d damager) { d.remove(version2) }, secondNight, "",
			"readers see " + thirdNight + ", which is later; nothing was changed: run placementsync rollback " + firstNight + " first"},
		"an earlier run without an intact version before it": {func(d damager) { d.remove(version2); d.flip(version1 + catalog) }, secondNight, "",
			"no intact version from before this run is kept; nothing was changed: placementsync rebuild"},
		"the newest run with a damaged manifest": {func(d damager) { d.flip(version3 + "manifest.json") }, thirdNight, "",
			"the manifest of its version is damaged; nothing was changed: run placementsync rollback " + secondNight + " first"},
		"a run that readers do not see after a rollback": {func(d damager) {
			_, err := d.w.Rollback(firstNight, firstNightAt.AddDate(0, 0, 2).Add(time.Hour))
			harness.Must(d.t, err)
		}, thirdNight, "", "readers see " + firstNight + ", not this run; nothing was changed: run placementsync rollback " + thirdNight + " first"},
		"a wrong link to the newest version": {func(d damager) { d.remove("latest") }, thirdNight, "", "placementsync rollback " + thirdNight},
	} {
		t.Run(name, func(t *testing.T) {
			w := clone(t, original)
			c.change(damager{t, w})
			base, err := repair.PrepareReplay(w, c.run, true)
			if c.want == "" && (err != nil || base != c.base) {
				t.Errorf("the replay of %s is based on %q and ends with %v, want the version %s", c.run, base, err, c.base)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("the replay of %s is based on %q and ends with %v, want an error with %q", c.run, base, err, c.want)
			}
		})
	}
}

// TestReplayNeedsAllResponses replays a run after the end of its stored responses was lost.
func TestReplayNeedsAllResponses(t *testing.T) {
	for outcome, instead := range map[ledger.Outcome]string{
		ledger.Complete: "run placementsync rebuild, which builds the catalog from Parquet",
		ledger.Failed:   "run placementsync run, which reads the service",
	} {
		w := open(t)
		storeResponses(t, w, firstNight)
		line := ledger.Run{ID: firstNight, Outcome: outcome, Responses: 2}
		if outcome == ledger.Complete {
			line.SnapshotAt = firstNightAt
			publish(t, w, beginDraft(t, w, firstNight, "a"))
		}
		harness.Must(t, w.RunLog.Record(line))
		if _, err := repair.PrepareReplay(w, firstNight, false); err != nil {
			t.Errorf("%s: the replay of intact responses ends with %v, want no error", outcome, err)
		}
		bodies := filepath.Join(w.Folder.RawPath(firstNight), "000001.bodies")
		info, err := os.Stat(bodies)
		harness.Must(t, err)
		harness.Must(t, os.Truncate(bodies, info.Size()-3))
		_, err = repair.PrepareReplay(w, firstNight, false)
		want := "1 of 2 stored responses are missing or damaged; nothing was changed: " + instead
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), "replay --accept-loss "+firstNight) {
			t.Errorf("%s: the replay ends with %v, want an error with %q and the command that accepts the loss", outcome, err, want)
		}
		if _, err := repair.PrepareReplay(w, firstNight, true); err != nil {
			t.Errorf("%s: the replay that accepts the loss ends with %v, want no error", outcome, err)
		}
	}
}

// TestReplayHasTheTimeOfItsRun compares the snapshot time of a replay. A run id has only seconds.
func TestReplayHasTheTimeOfItsRun(t *testing.T) {
	startedAt := firstNightAt.Add(123456 * time.Microsecond)
	for name, c := range map[string]struct {
		line       *ledger.Run // of the run in the ledger
		isStored   bool        // its responses
		discardRaw bool        // privacy.raw: discard
		run        string
		at         time.Time
		want       string // the error contains it
	}{
		"a night":              {&ledger.Run{ID: firstNight, Outcome: ledger.Failed, StartedAt: startedAt}, true, false, firstNight, startedAt, ""},
		"a run without a line": {nil, true, false, firstNight, firstNightAt, ""},
		"a refresh": {&ledger.Run{ID: firstNight, Kind: ledger.Refresh, StartedAt: startedAt}, true, false, firstNight, time.Time{},
			"this run is a refresh and has only a few responses"},
		"removed responses": {&ledger.Run{ID: firstNight, Outcome: ledger.Complete, StartedAt: startedAt}, false, false, firstNight, time.Time{},
			"its stored responses were removed"},
		"responses that are still to be removed": {&ledger.Run{ID: firstNight, Outcome: ledger.Complete, StartedAt: startedAt, SnapshotAt: startedAt}, true, true,
			firstNight, time.Time{},
			"its stored responses were removed"},
		"an unknown run": {nil, false, false, firstNight, time.Time{}, "this run has no stored responses"},
		"not a run":      {nil, false, false, "..", time.Time{}, "this run has no stored responses"},
	} {
		t.Run(name, func(t *testing.T) {
			w := openWith(t, warehouse.Config{Dir: t.TempDir(), DiscardRaw: c.discardRaw})
			lock, err := w.Lock("test", firstNightAt)
			harness.Must(t, err)
			harness.Must(t, lock.Release())
			if c.discardRaw {
				publish(t, w, beginDraft(t, w, firstNight, "a"))
			}
			if c.isStored {
				storeResponses(t, w, c.run)
			}
			if c.line != nil {
				harness.Must(t, w.RunLog.Record(*c.line))
			}
			at, err := repair.ReplayTime(w, c.run)
			if c.want == "" && (err != nil || !at.Equal(c.at)) {
				t.Errorf("the time is %s (%v), want %s", at, err, c.at)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
			if isUnknown := errors.As(err, new(*ledger.UnknownRunError)); isUnknown != strings.Contains(c.want, "has no stored") {
				t.Errorf("the error is %T, want an UnknownRunError only for a run that never existed", err)
			}
		})
	}
}

// TestVerifyNamesReplays damages the newest nights, whose stored responses are intact. Verify must report no loss, and name
// the rollback and the replays that restore everything. Without the responses it must report a loss.
func TestVerifyNamesReplays(t *testing.T) {
	original := clone(t, threeNights(t))
	storeResponses(t, original, secondNight)
	storeResponses(t, original, thirdNight)
	const catalog2, catalog3 = version2 + "catalog.duckdb", version3 + "catalog.duckdb"
	afterRebuild := open(t) // the third night builds on a rebuilt version of the second
	publishFull(t, afterRebuild, firstNight, secondNight)
	publishRebuilt(t, afterRebuild, secondNight+"-2")
	publishFull(t, afterRebuild, thirdNight)
	storeResponses(t, afterRebuild, thirdNight)
	const toBeRemoved = "responses that the next run removes"
	replayThird := repair.Step{Kind: repair.ReplayNights, Version: secondNight, Nights: thirdNight}
	for name, c := range map[string]struct {
		damage func(d damager)
		want   repair.Step // or else data is lost
	}{
		"the newest catalog and day":                  {func(d damager) { d.flip(catalog3, series3) }, replayThird},
		"the newest version, its day and its changes": {func(d damager) { d.remove(version3, series3, changes3+".changes") }, replayThird},
		"all that the newest night wrote, and the ledger": {func(d damager) {
			for _, pattern := range []string{version3 + "*", "parquet/*/snapshot_date=2026-11-03/*", changes3 + ".*", manifest3, index, "state/runs.jsonl"} {
				for _, name := range matches(d.t, d.w, pattern) {
					harness.Must(d.t, os.Truncate(d.path(name), 0))
				}
			}
		}, replayThird},
		"the newest two nights": {func(d damager) { d.flip(catalog2, series2, catalog3, series3) },
			repair.Step{Kind: repair.ReplayNights, Version: firstNight, Nights: secondNight + " " + thirdNight}},
		"all manifests of the newest night, the series without manifests of days": {func(d damager) {
			d.remove(version3+"manifest.json", changes3+".json", manifest1, manifest2, manifest3, index)
		}, replayThird},
		"all manifests of a newest version that is no night": {func(d damager) {
			d.remove(version3+"manifest.json", changes3+".json", manifest3)
			harness.Must(d.t, d.w.RunLog.Record(ledger.Run{ID: thirdNight, Kind: ledger.Refresh, Outcome: ledger.Complete, SnapshotAt: firstNightAt.AddDate(0, 0, 2)}))
		}, repair.Step{}},
		// A replay of the third night alone would lose the rows of the second.
		"all manifests of the newest night, and the catalog before": {func(d damager) {
			d.remove(version3+"manifest.json", changes3+".json", manifest3, "raw/"+secondNight)
			d.flip(catalog2)
		}, repair.Step{}},
		"a manifest that names its own run as the previous one": {func(d damager) {
			for _, name := range []string{version3 + "manifest.json", changes3 + ".json", manifest3} {
				d.editManifest(name, func(m *warehouse.Manifest) { m.Previous = thirdNight })
			}
			d.flip(catalog3, series3)
		}, repair.Step{}},
		"a rebuilt version, and the night after it": {func(d damager) {
			d.flip("versions/"+secondNight+"-2/catalog.duckdb", catalog3, series3)
		}, replayThird},
		// A rollback to the second night would remove the days of versions on which it does not seem to build.
		"the manifests of an earlier version": {func(d damager) { d.flip(catalog3, series3, version1+"manifest.json", changes1+".json") }, repair.Step{}},
		"the manifest of the version before":  {func(d damager) { d.flip(catalog3, series3, version2+"manifest.json") }, repair.Step{}},
		toBeRemoved:                           {func(d damager) { d.flip(catalog3, series3) }, repair.Step{}},
		"no stored responses":                 {func(d damager) { d.flip(catalog3, series3); d.remove("raw/" + thirdNight) }, repair.Step{}},
		"damaged stored responses": {func(d damager) {
			d.flip(catalog3, series3, "raw/"+thirdNight+"/journal.jsonl")
		}, repair.Step{}},
	} {
		t.Run(name, func(t *testing.T) {
			w := original
			if strings.HasPrefix(name, "a rebuilt version") {
				w = afterRebuild
			}
			w = clone(t, w)
			c.damage(damager{t, w})
			cfg := repairConfig(w)
			cfg.Warehouse.DiscardRaw = name == toBeRemoved
			report, err := repair.Verify(t.Context(), cfg, true)
			harness.Must(t, err)
			plan := repair.Plan(report.Damage)
			isReplay := len(plan) == 1 && plan[0] == c.want
			if isLost := c.want == (repair.Step{}); isLost != (report.Result() == repair.DataLost) || !isLost && !isReplay {
				t.Errorf("verify reports %s and plans %+v, want %+v, or a loss without responses\n%q", report.Result(), plan, c.want, describeDamage(report.Damage))
			}
		})
	}
}

// TestResponsesOfAnotherRunDoNotMatter damages the newest night, and the stored responses of another run of the same second.
func TestResponsesOfAnotherRunDoNotMatter(t *testing.T) {
	w := clone(t, threeNights(t))
	d, other := damager{t, w}, thirdNight+"-2"
	storeResponses(t, w, thirdNight)
	storeResponses(t, w, other)
	if report, err := repair.Verify(t.Context(), repairConfig(w), false); err != nil || len(report.Damage) > 0 {
		t.Errorf("before the damage, verify found %+v (%v), want none", report.Damage, err)
	}
	harness.Must(t, w.RunLog.Record(ledger.Run{ID: other, Outcome: ledger.Failed, Responses: 2}))
	d.flip(version3+"catalog.duckdb", series3, "raw/"+other+"/journal.jsonl")
	report, err := repair.Verify(t.Context(), repairConfig(w), true)
	want := []repair.Step{{Kind: repair.ReplayNights, Version: secondNight, Nights: thirdNight}}
	if plan := repair.Plan(report.Damage); err != nil || !slices.Equal(plan, want) {
		t.Errorf("verify plans %+v (%v), want %+v", plan, err, want)
	}
}
