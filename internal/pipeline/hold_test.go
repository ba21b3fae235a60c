package pipeline_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"placementsync/internal/audit"
	"placementsync/internal/config"
	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/query"
	"placementsync/internal/repair"
	testharness "placementsync/internal/testing/harness"
)

// loadOnlyChecks writes checks into a folder and loads only these checks.
func loadOnlyChecks(t *testing.T, files map[string]string) audit.Set {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		testharness.Must(t, os.WriteFile(dir+"/"+name+".sql", []byte(text), 0o600))
	}
	allChecks, err := audit.Load(dir, nil, nil)
	testharness.Must(t, err)
	offRules := map[string]audit.Rule{}
	for _, q := range allChecks.List() {
		if _, isGiven := files[q.Name]; !isGiven {
			offRules[q.Name] = audit.Rule{Severity: "off"}
		}
	}
	set, err := audit.Load(dir, offRules, nil)
	testharness.Must(t, err)
	return set
}

// TestChecksWithoutTempFolder runs a night while the folder for temporary files, which only checks use, is missing. Its check
// cannot run, but the night is published.
func TestChecksWithoutTempFolder(t *testing.T) {
	testharness.Slow(t)
	h := newSerialHarness(t, smallWorld(), "tags")
	t.Setenv("TMPDIR", h.path("missing"))
	h.cfg.Checks = loadOnlyChecks(t, map[string]string{"no_tags": "-- title: No tags.\n-- severity: hold\nSELECT id FROM tags\n"})
	res := h.requireComplete(h.night())
	if len(res.Run.Checks) != 1 || res.Run.Checks[0].Outcome != ledger.CheckNotRun || !strings.Contains(res.Run.Checks[0].Reason, h.path("missing")) {
		t.Errorf("the night has the checks %+v, want a check that did not run because %s is missing", res.Run.Checks, h.path("missing"))
	}
}

// phaseRecorder is a log that records the progress of the night at each message, by phase. The key "first " and a phase
// has the first progress, and the phase the last one.
type phaseRecorder struct {
	tracker *pipeline.ProgressTracker
	phases  sync.Map
}

func (p *phaseRecorder) record() {
	if current, ok := p.tracker.Progress(); ok {
		p.phases.LoadOrStore("first "+current.Phase, current)
		p.phases.Store(current.Phase, current)
	}
}

func (p *phaseRecorder) Write(message []byte) (int, error) {
	p.record()
	return len(message), nil
}

// recordPhases records the progress of the nights at each request, log message and reading of the clock.
func (h *harness) recordPhases() *sync.Map {
	p, now := &phaseRecorder{tracker: &pipeline.ProgressTracker{}}, h.cfg.Now
	h.cfg.Progress, h.cfg.Log = p.tracker, slog.New(slog.NewTextHandler(p, nil))
	h.cfg.Now = func() time.Time {
		p.record()
		return now()
	}
	hook := func(*http.Request) { p.record() }
	h.onRequest.Store(&hook)
	return &p.phases
}

// TestSlowCheckIsStopped runs a check that takes longer than its limit. It counts as not run, and the night is published.
func TestSlowCheckIsStopped(t *testing.T) {
	h := newHarness(t, smallWorld(), "tags")
	h.cfg.CheckTimeout = 500 * time.Millisecond // the check is stopped; the queries around it take milliseconds
	h.cfg.Checks = loadOnlyChecks(t, map[string]string{
		"slow": "-- title: It takes hours.\n-- severity: hold\nSELECT count(*) AS n FROM range(1000000) a, range(1000000) b, tags WHERE a.range <> b.range\n",
	})
	res := h.requireComplete(h.night())
	if len(res.Run.Checks) != 1 || res.Run.Checks[0].Outcome != ledger.CheckNotRun {
		t.Errorf("the night has the checks %+v, want one that did not run", res.Run.Checks)
	}
}

// TestFailedChecks runs a night with a failed check of severity warn, which must be published, and a
// night with failed checks of severity hold, which must be held.
func TestFailedChecks(t *testing.T) {
	h := newHarness(t, smallWorld(), "folders", "tags", "profiles", "profile_orders")
	h.cfg.Fetch.RequestsPerSecond, h.cfg.Fetch.Burst = 1000, 1000
	phases := h.recordPhases()
	h.cfg.CheckTimeout, h.cfg.ResumeMaxAge = config.Default().Checks.Timeout, 24*time.Hour
	h.cfg.Settings = query.Settings{query.ScheduleTimezone: "Asia/Tokyo"} // the check no_row fails with another zone
	h.cfg.Checks = loadOnlyChecks(t, map[string]string{
		"no_folders": "-- title: There must be no folders.\n-- severity: warn\nSELECT id FROM folders\n",
		"no_row":     "-- title: No row.\n-- severity: hold\n-- param: zone TIMEZONE schedule.timezone -- zone\nSELECT 1 AS x WHERE $zone <> 'Asia/Tokyo'\n",
	})
	res := h.requireComplete(h.night())
	if len(res.Run.Checks) != 1 || res.Run.Checks[0].Name != "no_folders" || res.Run.Checks[0].Rows != 2 || res.Run.Held {
		t.Errorf("the night has the checks %+v, want no_folders with 2 rows, and no held night", res.Run.Checks)
	}
	h.requireLines("SELECT check_name, outcome, rows FROM meta.checks ORDER BY 1", "no_folders failed 2", "no_row passed 0")
	first := h.latest()
	for phase, want := range map[string]string{
		"checking the token": "", "merging": "", "checking": "",
		"first reading tags": "tags reading 0/0 , profiles waiting 0/0 , folders waiting 0/0 , profile_orders waiting 0/0 ",
		"publishing": "tags read 2/0 exact, profiles read 1/1 exact, folders read 1/0 exact," +
			" profile_orders read 3/3 exact",
	} {
		shown, isShown := phases.Load(phase)
		if !isShown {
			t.Errorf("the progress did not show the phase %q", phase)
			continue
		}
		p := shown.(ledger.Progress)
		var streams []string
		for _, s := range p.Streams {
			streams = append(streams, fmt.Sprintf("%s %s %d/%d %s", s.Name, s.State, s.Done, s.Total, s.Grade))
		}
		if got := strings.Join(streams, ", "); want != "" && got != want || p.AllowedPerSecond != 1000 {
			t.Errorf("the phase %q: got %q, at most %v per second, want %q, 1000", phase, got, p.AllowedPerSecond, want)
		}
	}
	if _, isRunning := h.cfg.Progress.Progress(); isRunning {
		t.Error("the progress shows a run after its end")
	}

	// The names became private, so no check may show those of the night before.
	h.cfg.Privacy.Drop = []string{"folders.name"}
	h.cfg.Checks = loadOnlyChecks(t, map[string]string{
		"names":      "-- title: Earlier names.\n-- severity: warn\nSELECT name FROM before.folders WHERE name IS NOT NULL\n",
		"no_folders": "-- title: There must be no folders.\n-- severity: hold\nSELECT 'a' AS a, 1 AS b FROM folders\n",
		"no_tags":    "-- title: There must be no tags.\n-- severity: hold\nSELECT 7 AS n FROM before.tags WHERE (SELECT count(*) FROM before.meta.rejects) = 0 LIMIT 1\n",
		"broken":     "-- title: It does not run.\n-- severity: hold\nSELECT error('no')\n",
	})
	res, err := h.failedNight()
	expected := int64(0) // by the requests of the first night
	if shown, isShown := phases.Load("checking the token"); isShown {
		expected = shown.(ledger.Progress).Expected
	}
	if expected < 6 {
		t.Errorf("%d requests were expected before the second night, want those of the first", expected)
	}
	hold := errorOf[*pipeline.HoldError](t, err)
	want := "audit run " + res.Run.ID + ": 2 checks failed; nothing was published; readers keep the last snapshot\n" +
		"  no_folders (There must be no folders.): 2 rows\n    a a, b 1\n    a a, b 1\n  no_tags (There must be no tags.): 1 row\n    n 7\n" +
		"The night is held. To inspect it: placementsync audit --held, then placementsync diff --held\n" +
		"To publish it: placementsync publish --accept no_folders,no_tags\nTo discard it: placementsync discard"
	if hold.Error() != want || !res.Run.Held {
		t.Errorf("got the error\n%s\nwant\n%s", hold, want)
	}
	var outcomes []string
	for _, c := range res.Run.Checks {
		outcomes = append(outcomes, c.Name+" "+string(c.Outcome))
	}
	slices.Sort(outcomes)
	if want := []string{"broken not run", "no_folders failed", "no_tags failed"}; !slices.Equal(outcomes, want) {
		t.Errorf("the ledger has the checks %q, want %q", outcomes, want)
	}
	held, ok, err := h.warehouse().Held()
	if err != nil || !ok || h.latest() != first {
		t.Errorf("the held night is %+v (%v) and readers see %s, want a held night and %s", held, err, h.latest(), first)
	}
	if _, err := pipeline.Refresh(t.Context(), h.cfg, pipeline.Targets{}); err == nil || !strings.Contains(err.Error(), "no night was published yet, or a night can be resumed or is held") {
		t.Errorf("a refresh beside a held night ended with %v, want ErrPostponed", err)
	}
	// A held night is not resumed.
	h.cfg.Checks = audit.Set{}
	if next := h.requireComplete(h.unchangedNight()); next.Run.ID == res.Run.ID || next.Run.Outcome != ledger.Complete {
		t.Errorf("run %s was resumed, want a new run", res.Run.ID)
	}
}

// TestOtherRunsBesideAHeldNight runs a dry run, replays and a rebuild beside a held night, as the table in
// docs/guide/checks.md says. Its event and its responses must be kept until a night or a replay is published.
func TestOtherRunsBesideAHeldNight(t *testing.T) {
	h := newHarness(t, smallWorld(), eventStreamNames()...)
	h.cfg.Warehouse.DiscardRaw = true
	holding := loadOnlyChecks(t, map[string]string{"no_tags": "-- title: No tags.\n-- severity: hold\nSELECT 7 AS n FROM tags LIMIT 1\n"})
	requireHeld := func(name, want, latest string) {
		t.Helper()
		held, isHeld, err := h.warehouse().Held()
		if err != nil || held.Manifest.RunID != want || isHeld != (want != "") || h.latest() != latest {
			t.Errorf("%s: the night %q is held (%v) and readers see %s, want %q and %s", name, held.Manifest.RunID, err, h.latest(), want, latest)
		}
		if v := h.verify(); len(v.Damage) > 0 {
			t.Errorf("%s: verify reports %+v, want no damage", name, v.Damage)
		}
	}
	before := h.requireComplete(h.night()).Run.ID
	h.deliver(statusEvent("a", "1"))
	h.cfg.Checks = holding
	night, _ := h.failedNight()
	requireHeld("a night with a failed check", night.Run.ID, before)
	h.cfg.Checks, h.cfg.DryRun = audit.Set{}, true
	h.requireComplete(h.unchangedNight())
	requireHeld("a dry run", night.Run.ID, before)
	h.cfg.Checks, h.cfg.DryRun = holding, false
	h.at = h.at.Add(time.Minute)
	again, err := pipeline.Replay(t.Context(), h.cfg, night.Run.ID)
	errorOf[*pipeline.HoldError](t, err)
	requireHeld("a replay with the same checks", again.Run.ID, before)
	h.at = h.at.Add(time.Minute)
	rebuilt, err := repair.Rebuild(t.Context(), repairConfig(h.cfg), false)
	testharness.Must(t, err)
	requireHeld("a rebuild", "", rebuilt.Manifest.RunID)
	h.requireLines("SELECT count(*) FROM meta.webhook_events", "0")

	night, _ = h.failedNight()
	h.cfg.Checks = audit.Set{}
	h.at = h.at.Add(time.Minute)
	published := h.requireComplete(pipeline.Replay(t.Context(), h.cfg, night.Run.ID))
	requireHeld("a replay without the check", "", published.Run.ID)
	next := h.requireComplete(h.night())
	requireHeld("the next night", "", next.Run.ID)
	h.requireLines("SELECT event_id FROM meta.webhook_events", "a")
	if runs, err := h.warehouse().Folder.RunsWithResponses(); err != nil || len(runs) > 0 {
		t.Errorf("the responses of %v are stored (%v), want none after the publish", runs, err)
	}
}
