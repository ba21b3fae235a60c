package season_test

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"placementsync/internal/bucket"
	"placementsync/internal/pipeline"
	"placementsync/internal/repair"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/torture"
	"placementsync/internal/testing/trials"
)

// season runs the nights of a plan in one warehouse, and compares the warehouse with the service after each night.
type season struct {
	*trials.Harness
	plan seasonPlan
	ref  *trials.Reference
	// version is the published version, and snapshots are the nights in its history.
	// snapshotsByVersion contains these nights for each version that was published.
	version            string
	snapshots          []seasonSnapshot
	snapshotsByVersion map[string][]seasonSnapshot
	// states contains the data of the service during each run of the day.
	states map[string][]serviceState
	// lastEnd is the result of the last attempt.
	lastEnd trials.NightEnd
	seen    seenTexts
	// acknowledged are the ids of the webhook events that the receiver has accepted.
	acknowledged []string
	// allowDeletes is set after a night that stopped because of too many deletions, until the next snapshot.
	allowDeletes bool
	// bucket contains the last backup. backedUp and backedUpEvents are the snapshots and acknowledged events in it.
	bucket         *bucket.Bucket
	backedUp       []seasonSnapshot
	backedUpEvents []string
	// counts contains the number of events that took effect, by kind, and of nights, by result.
	counts map[string]int

	mu      sync.Mutex // guards the fields below, which the server uses
	tonight conditions
	// attemptStates contains the data of the service during the current attempt. churned is the
	// number of changes of all lists so far.
	attemptStates []serviceState
	churned       int
	// nightIDs contains the ids that were in a list at any time of the night. It is nil if the lists
	// do not change while they are read.
	nightIDs map[trials.RequestedID]bool
}

// conditions are the conditions of one night.
type conditions struct {
	// clock is the time by which the clock of the night is ahead. It is negative if the clock is behind.
	clock time.Duration
	// accidents are kills, power cuts and disk errors. Each occurs in a separate attempt.
	accidents []seasonEvent
	// isRepeated means that the night is tried again without faults if it is not published.
	isRepeated bool
	// fault affects the requests that selector selects. It may be nil.
	fault    *sim.Fault
	selector *trials.FaultSelector
	// hasMovingLists means that lists change while they are read.
	hasMovingLists bool
	// decision is "leave", "publish" or "discard". It applies if a check holds the night. Empty means "publish".
	decision string
}

// newSeason returns a season with an empty warehouse.
func newSeason(t *testing.T, plan seasonPlan) *season {
	t.Helper()
	s := &season{plan: plan, snapshotsByVersion: map[string][]seasonSnapshot{}, seen: seenTexts{}, counts: map[string]int{}}
	world := trials.TrialWorld(plan.Seed)
	world.FaultFunc = s.chooseFault
	s.Harness = trials.NewHarness(t, world)
	s.setConfig(s.job())
	s.ref = trials.NewReference(t, s.Service, slices.DeleteFunc(slices.Clone(s.Config.Streams), stream.Stream.IsEvents))
	s.OnRequest(s.observe)
	s.bucket, _ = trials.NewBucket(t, s.Harness)
	return s
}

func (s *season) job() seasonJob {
	return seasonJob{Job: trials.Job{URL: s.Server.URL, Dir: s.Config.Warehouse.Dir, At: s.At, Streams: seasonStreams()}, Details: s.plan.Details,
		AllowMassDelete: s.allowDeletes}
}

// setConfig sets the configuration of the nights in this process.
func (s *season) setConfig(j seasonJob) {
	cfg, err := j.config()
	testharness.Must(s.T, err)
	cfg.Now = func() time.Time { return s.At }
	s.Config = cfg
}

// chooseFault returns the fault of the night if it affects a request.
func (s *season) chooseFault(r *http.Request) *sim.Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tonight.fault == nil || !s.tonight.selector.Affects(r) {
		return nil
	}
	return s.tonight.fault
}

// observe is called before each request. If lists change while they are read, it records the data of the service after
// each change.
func (s *season) observe(*http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if churned := s.countChurned(); s.tonight.hasMovingLists && churned != s.churned {
		s.churned = churned
		s.attemptStates = append(s.attemptStates, s.readService())
	}
}

// countChurned returns the number of changes of all lists.
func (s *season) countChurned() (n int) {
	for list := range s.ref.Paths {
		inserted, deleted := s.Service.Churned(list)
		n += inserted + deleted
	}
	return n
}

// runNight runs the events and the night of a day.
func (s *season) runNight(n seasonNight) {
	s.T.Helper()
	s.Service.Advance(n.Day - s.Service.Day())
	s.At = s.Service.Now().Add(time.Hour)
	s.states, s.tonight = map[string][]serviceState{}, conditions{}
	s.setConfig(s.job())
	s.T.Logf("day %d: %v", n.Day, n.Events)
	for _, e := range n.Events {
		s.begin(e)
	}
	s.nightIDs = nil
	if s.tonight.hasMovingLists {
		s.nightIDs = map[trials.RequestedID]bool{}
	}
	s.At = s.Service.Now().Add(2*time.Hour + s.tonight.clock)
	attempts := s.tonight.accidents
	if len(attempts) == 0 {
		attempts = []seasonEvent{{}}
	}
	published := false
	for _, accident := range attempts {
		published = s.tryNight(accident)
		if published {
			break
		}
		s.At = s.At.Add(10 * time.Minute)
	}
	s.endFaults()
	if !published && s.tonight.isRepeated {
		s.tryNight(seasonEvent{})
	}
}

// endFaults ends all faults of the service.
func (s *season) endFaults() {
	s.Service.SetValueFaults()
	s.Service.SetChurn(0)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tonight.fault, s.tonight.hasMovingLists = nil, false
}

// tryNight runs the night once, possibly with an accident, and checks the result.
func (s *season) tryNight(accident seasonEvent) (published bool) {
	s.T.Helper()
	s.mu.Lock()
	s.churned = s.countChurned()
	s.attemptStates = []serviceState{s.readService()}
	s.mu.Unlock()
	s.setConfig(s.job())
	end, hadAccident := s.runWith(accident)
	s.setConfig(s.job()) // without the steps of the accident
	s.mu.Lock()
	if churned := s.countChurned(); churned != s.churned {
		s.attemptStates = append(s.attemptStates, s.readService())
	}
	attemptStates := s.attemptStates
	s.mu.Unlock()
	for _, state := range attemptStates {
		s.seen.addRows(s.ref, state.rows)
	}
	if hadAccident {
		s.counts[accident.Kind]++
	}
	latest := trials.PublishedRun(s.T, s.Config.Warehouse.Dir)
	if end.Run == "" { // the process was killed
		end.Run = s.killedRun(latest)
	}
	s.states[end.Run] = append(s.states[end.Run], attemptStates...)
	s.lastEnd = end
	s.T.Logf("day %d, %s, %v: run %s ended with exit code %d, latest is %s: %.200s", s.Service.Day(), s.At.Format(time.RFC3339), accident, end.Run, end.ExitCode,
		latest, end.Error)
	if latest != s.version {
		s.takeSnapshot(latest, hadAccident)
		return true
	}
	if run := s.heldRun(); run != "" && run == end.Run {
		return s.decideHeld(run)
	}
	if !hadAccident {
		s.requireReason(end)
	}
	return false
}

// killedRun returns the run of a killed process: latest if the process published it, otherwise the
// unfinished or held run.
func (s *season) killedRun(latest string) string {
	s.T.Helper()
	u, ok, err := trials.WarehouseOf(s.Config).RunLog.ResumableRun()
	testharness.Must(s.T, err)
	switch {
	case latest != s.version:
		return latest
	case ok:
		return u.Run
	}
	return s.heldRun()
}

// requireReason checks why a night was not published although it had no accident.
func (s *season) requireReason(end trials.NightEnd) {
	s.T.Helper()
	isFailure := strings.HasPrefix(end.Error, "check the token:") || strings.Contains(end.Error, "no stream could be read")
	isEarly := len(s.snapshots) > 0 && !s.At.After(s.last().At)
	if end.ExitCode == 1 {
		switch {
		case s.isMassDelete(end.Error):
			s.allowDeletes = true
			s.counts["stopped"]++
			return
		case isEarly && strings.Contains(end.Error, "correct the clock"):
			s.counts["refused"]++
			return
		case s.tonight.fault != nil && isFailure:
			s.counts["failed"]++
			return
		}
	}
	s.T.Errorf("day %d: night %s was not published although there was no reason: it ended with exit code %d: %s",
		s.Service.Day(), end.Run, end.ExitCode, end.Error)
}

// finish runs two normal nights. After them, the warehouse must have the data of the service, equal
// a new warehouse, and have the history of the published nights.
func (s *season) finish() {
	s.T.Helper()
	s.plan.Details = pipeline.AllDetails
	for n := range 2 {
		day := s.Service.Day() + 1
		// A night whose clock was ahead may have published a snapshot of a later day. The first day after it is used.
		for len(s.snapshots) > 0 && !s.Service.Now().Add(time.Duration(day-s.Service.Day())*24*time.Hour).After(s.last().At) {
			day++
		}
		s.runNight(seasonNight{Day: day})
		if s.T.Failed() {
			return
		}
		if n == 1 && (s.lastEnd.Run != s.version || s.lastEnd.ExitCode != 0) {
			s.T.Errorf("day %d: the normal night %s ended with exit code %d, want 0 and a published night: %s",
				s.Service.Day(), s.lastEnd.Run, s.lastEnd.ExitCode, s.lastEnd.Error)
		}
	}
	proven := s.provenStreams(s.version)
	for _, st := range s.Config.Streams {
		if !proven[st.Name] && !st.IsEvents() {
			s.T.Errorf("%s is not graded exact or repaired after two normal nights", st.Name)
		}
	}
	s.ref.RequestedIDs = s.knownIDs()
	s.RequireValues(s.ref)
	s.requireNewWarehouse()
	s.requireHistory()
	trials.RequireIntact(s.T, s.Config.Warehouse.Dir)
	report, err := repair.Check(s.T.Context(), trials.WarehouseOf(s.Config), true)
	testharness.Must(s.T, err)
	for _, damage := range report.Damage {
		s.T.Errorf("repair.Check found %+v at the end, want no damage", damage)
	}
}

// requireNewWarehouse compares the tables with the tables of a new warehouse. The only difference may be that the new
// warehouse lacks records that the service returns by id although no list contains them.
func (s *season) requireNewWarehouse() {
	s.T.Helper()
	fresh := s.job()
	fresh.Dir = s.T.TempDir()
	cfg, err := fresh.config()
	testharness.Must(s.T, err)
	cfg.Now = func() time.Time { return s.At }
	s.MustComplete(pipeline.Run(s.T.Context(), cfg))
	s.ref.RequestedIDs = map[trials.RequestedID]bool{}
	current := s.ref.CurrentRows()
	db := trials.Open(s.T, filepath.Join(fresh.Dir, "catalog.duckdb")+"?access_mode=read_only&threads=1")
	for _, spec := range s.ref.UniqueTables() {
		currentByKey := trials.RowsByKey(spec, current[spec.Table])
		rows := trials.ReadTable(s.T, spec, db, "main."+spec.Table)
		trials.CompareRows(s.T, spec, current, rows, "the new warehouse: "+spec.Table)
		sharedRows := slices.DeleteFunc(slices.Clone(s.last().Rows[spec.Table]), func(r trials.TextRow) bool {
			_, ok := currentByKey[trials.KeyOf(spec, r)]
			return !ok
		})
		trials.CompareRows(s.T, spec, map[string][]trials.TextRow{spec.Table: rows}, sharedRows, "compared with a new warehouse: "+spec.Table)
	}
}

// runSeason runs a plan and returns the counts of the season.
func runSeason(t *testing.T, plan seasonPlan) map[string]int {
	t.Helper()
	s := newSeason(t, plan)
	for _, n := range plan.Nights {
		if t.Failed() {
			return s.counts
		}
		s.runNight(n)
	}
	if !t.Failed() {
		s.finish()
	}
	return s.counts
}

// nightSteps returns the names of the steps at which an accident can occur. It leaves out steps that
// write the Parquet files of tables other than orders, and steps whose names contain the id of a run.
func nightSteps(t *testing.T) []string {
	t.Helper()
	h := trials.NewHarness(t, trials.TrialWorld(1))
	var recorder trials.StepRecorder
	for range 2 {
		h.NextDay()
		job := trials.Job{URL: h.Server.URL, Dir: h.Config.Warehouse.Dir, At: h.At, Streams: seasonStreams()}
		cfg, err := seasonJob{Job: job, Details: pipeline.ChangedDetails}.config()
		testharness.Must(t, err)
		cfg.Warehouse.Step = recorder.Record
		h.MustComplete(pipeline.Run(t.Context(), cfg))
	}
	names := slices.DeleteFunc(slices.Clone(recorder.Steps), func(name string) bool {
		return strings.HasSuffix(name, ".parquet") && !strings.HasSuffix(name, " orders.parquet") || strings.Contains(name, ".2026")
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// TestTrialSeason is the short form of TestTortureSeason.
func TestTrialSeason(t *testing.T) {
	t.Parallel()
	plan := drawSeason(1, trials.Size(8, 4), nightSteps(t))
	t.Log(plan, runSeason(t, plan))
}

// seedsVariable is an environment variable that "make torture" sets: the last seed (40) or a range of seeds (5-12).
const seedsVariable = "PLACEMENTSYNC_SEEDS"

// chosenSeeds returns the first and the last seed in seedsVariable. The default is 1 to 40.
func chosenSeeds(t *testing.T) (from, to uint64) {
	t.Helper()
	first, last, isRange := strings.Cut(cmp.Or(os.Getenv(seedsVariable), "40"), "-")
	if !isRange {
		first, last = "1", first
	}
	_, err := fmt.Sscan(first, &from)
	testharness.Must(t, err)
	_, err = fmt.Sscan(last, &to)
	testharness.Must(t, err)
	return from, to
}

// TestTortureSeason runs 30 nights of one warehouse for each seed. seasonplan_test.go lists the events of a season.
// After each night, the values of tables that are graded exact or repaired must equal the service. After two normal
// nights at the end, the warehouse must equal a new warehouse, and the history must equal the published nights.
func TestTortureSeason(t *testing.T) {
	trials.RequireTorture(t)
	steps := nightSteps(t)
	from, to := chosenSeeds(t)
	for seed := from; seed <= to; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			plan := drawSeason(seed, seasonNights, steps)
			var counts map[string]int
			defer trials.RecordTrial(t, time.Now(), func() torture.Trial {
				return torture.Trial{Name: fmt.Sprint("season, seed ", seed), Procedure: "nights of one warehouse with random events", Runs: len(plan.Nights),
					Outcome: strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(counts), "map["), "]")}
			})
			t.Log(plan)
			counts = runSeason(t, plan)
		})
	}
}
