package trials_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/plural"
)

// slow delays every response by a fixed time on the clock of the bubble.
type slow struct {
	service http.RoundTripper
	delay   time.Duration
}

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	timer := time.NewTimer(s.delay)
	defer timer.Stop()
	<-timer.C
	return s.service.RoundTrip(r)
}

// newSlow returns a small world in which requests run one at a time and take a second each.
func newSlow(t *testing.T) *boundedHouse {
	t.Helper()
	a := newAllotted(t, smallWorld(), few()...)
	a.cfg.Fetch.RequestsPerSecond = 0
	a.cfg.Fetch.Transport = slow{a.cfg.Fetch.Transport, time.Second}
	return a
}

// TestTimeEndsBeforeTheFirstList runs nights whose time ends before a list was read. They must
// fail without a publish.
func TestTimeEndsBeforeTheFirstList(t *testing.T) {
	t.Parallel()
	a := newSlow(t)
	for range 2 {
		was := a.latest()
		res, err := a.read(time.Second)
		if _, nothing := errors.AsType[*pipeline.NoDataError](err); !nothing || res.Run.ExitCode != 1 || a.latest() != was {
			t.Fatalf("the night ended with %d, latest is %q: %v", res.Run.ExitCode, a.latest(), err)
		}
		if !strings.Contains(err.Error(), "orders: the list was not read within run.max_duration (1s): it was not begun, its last rows are kept") || a.sent != 1 {
			t.Errorf("%d requests were sent: %v", a.sent, err)
		}
		a.published(0)
	}
}

// TestUnreadListsAreCarried ends the time while the lists are read.
func TestUnreadListsAreCarried(t *testing.T) {
	t.Parallel()
	a := newSlow(t)
	first := a.published(0)
	before := a.histories()
	// The requests for the token and for page 1 of the first list begin in time.
	res := a.carried(t, 1500*time.Millisecond)
	begun := res.Run.Streams[0]
	for i, s := range res.Run.Streams {
		was := first.Run.Streams[i]
		switch {
		case s.Stream == begun.Stream:
			a.requireStream(res.Run, s.Stream, fetch.Exact, "")
		case was.Fetched == 0: // a list
			a.requireStream(res.Run, s.Stream, fetch.CarriedForward, "was not read within run.max_duration (1.5s)")
		default:
			a.requireStream(res.Run, s.Stream, fetch.BestEffort, "ids were not read within run.max_duration (1.5s)")
			if s.Unread != was.Fetched || s.Fetched != 0 {
				t.Errorf("%s: fetched %d, unread %d, want all %d unread", s.Stream, s.Fetched, s.Unread, was.Fetched)
			}
		}
	}
	if diff := cmp.Diff(before, a.histories()); diff != "" {
		t.Errorf("the tables changed (-before +after):\n%s", diff)
	}
	if n := a.count("meta.deletions", "TRUE"); n != 0 {
		t.Errorf("meta.deletions has %d rows, want none", n)
	}
}

// carried runs a night that carries lists and so is partial.
func (a *boundedHouse) carried(t *testing.T, bound time.Duration) pipeline.Result {
	t.Helper()
	res, err := a.read(bound)
	must(t, err)
	if res.Run.Outcome != ledger.Partial || res.Run.ExitCode != 3 {
		t.Fatalf("the night ended %s with %d\n%s", res.Run.Outcome, res.Run.ExitCode, reasons(res.Run))
	}
	return res
}

// TestTrialTimeEndsAtTheLastID shortens the time second by second: an id that was requested in
// time is read completely, and the next is left unread.
func TestTrialTimeEndsAtTheLastID(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	free := newSlow(t)
	free.published(0)
	if free.took != time.Duration(free.sent)*time.Second {
		t.Fatalf("%d requests took %v", free.sent, free.took)
	}
	var lefts []int64
	for _, less := range []time.Duration{0, time.Second, 2*time.Second - 1, 2 * time.Second, 3 * time.Second} {
		a := free.otherWarehouse()
		bound := free.took - less
		res := a.published(bound)
		left, _ := res.Run.Unread()
		lefts = append(lefts, left)
		if a.took > bound+2*time.Second || a.sent != free.sent-int(left) {
			t.Errorf("bound %v: %d requests in %v, %d left", bound, a.sent, a.took, left)
		}
		// An hour later the unread ids are read, and no others.
		again := a.published(0)
		if rest, _ := again.Run.Unread(); rest != 0 {
			t.Errorf("%d ids are unread in a night without a bound", rest)
		}
		for path := range a.details() {
			if strings.HasPrefix(path, "/orders/") && left == 0 {
				t.Errorf("%s was requested again", path)
			}
		}
	}
	// The next id is chosen while the previous request is in progress.
	if want := []int64{0, 0, 0, 1, 2}; !slices.Equal(lefts, want) {
		t.Errorf("unread ids %v, want %v", lefts, want)
	}
}

// TestTrialInterruptedNightPublishesStoredAnswers interrupts a bounded night and resumes it without
// any time. The stored responses must be published without further requests.
func TestTrialInterruptedNightPublishesStoredAnswers(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	a := newAllotted(t, largeWorld())
	a.cfg.ResumeMaxAge = 3 * time.Hour
	ref := newReference(t, a.service, a.cfg.Streams)
	for night := 1; ; night++ {
		cut := a.cutOff(150, requests(200))
		landed := a.landed(cut.Run.ID)
		res := a.published(time.Nanosecond)
		t.Logf("night %d: %d landed, then %d requests sent", night, len(landed), a.sent)
		if res.Run.ID != cut.Run.ID {
			t.Fatalf("run %s was not resumed, but %s started", cut.Run.ID, res.Run.ID)
		}
		for path := range a.asked {
			bare, _, _ := strings.Cut(path, "page=")
			// A detail that was begun is read completely, and again if the
			// interruption truncated it.
			if path != "/auth/token" && !landed[path] && !landed[bare+"page=1"] {
				t.Errorf("night %d requested %s after its time", night, path)
			}
		}
		a.requireLists(ref)
		fetched := int64(0)
		for _, s := range res.Run.Streams {
			fetched += s.Fetched
		}
		if fetched < 60 {
			t.Errorf("night %d used %d landed details", night, fetched)
		}
		a.at = a.at.Add(3 * time.Hour)
		if night == 2 {
			break
		}
	}
	for left, nights := int64(1), 0; left > 0; nights++ {
		res := a.published(requests(300))
		if left, _ = res.Run.Unread(); nights > 6 {
			t.Fatalf("%d are left", left)
		}
	}
	a.requireValues(ref)
}

// cutOff runs a night that is interrupted at its n-th request.
func (a *boundedHouse) cutOff(n int, bound time.Duration) pipeline.Result {
	a.t.Helper()
	asked := &disorder{service: a.service, left: n}
	a.cfg.Fetch.Transport, a.cfg.MaxDuration = asked, bound
	a.at = a.at.Add(time.Hour)
	res, err := a.bubble(func(ctx context.Context) (pipeline.Result, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		asked.cut = cancel
		return pipeline.Run(ctx, a.cfg)
	})
	if err == nil || res.Run.ExitCode != 130 {
		a.t.Fatalf("the cut night ended with %d: %v", res.Run.ExitCode, err)
	}
	// From now on the time is over after the token was checked.
	a.cfg.Fetch.Transport = slow{&disorder{service: a.service}, time.Millisecond}
	return res
}

// TestInterruptedRunCountsReadRecords interrupts a night while it reads details. The
// ledger must count the records of the lists that were read.
func TestInterruptedRunCountsReadRecords(t *testing.T) {
	t.Parallel()
	a := newAllotted(t, smallWorld(), few()...)
	whole := a.published(0)
	lists := 1
	for _, s := range whole.Run.Streams {
		if s.Fetched == 0 {
			lists += int(s.Requests)
		}
	}
	cut := a.otherWarehouse().cutOff(lists+2, 0)
	counted := 0
	for _, s := range cut.Run.Streams {
		was := streamOf(t, whole.Run, s.Stream)
		if was.Fetched > 0 {
			continue
		}
		counted++
		if s.Rows != was.Rows || s.Rows == 0 {
			t.Errorf("%s: %d rows, %s; a complete night has %d", s.Stream, s.Rows, s.Grade, was.Rows)
		}
	}
	if counted == 0 {
		t.Errorf("no list was read before the interruption:\n%s", reasons(cut.Run))
	}
}

// TestTrialReplayOfABoundedNight replays nights with unread ids, and continues
// from there.
func TestTrialReplayOfABoundedNight(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	a := newAllotted(t, largeWorld())
	ref := newReference(t, a.service, a.cfg.Streams)
	left := int64(1)
	for night := 1; left > 0; night++ {
		res := a.published(requests(250))
		before, details := a.histories(), a.noted()
		a.service.ResetRequests()
		a.cfg.MaxDuration = 0 // a replay reads nothing from the service
		again, err := a.bubble(func(ctx context.Context) (pipeline.Result, error) {
			return pipeline.Replay(ctx, a.cfg, res.Run.ID)
		})
		must(t, err)
		if diff := cmp.Diff(before, a.histories()); diff != "" || a.sent > 0 {
			t.Fatalf("night %d replayed with %d requests differs (-before +after):\n%s", night, a.sent, diff)
		}
		if diff := cmp.Diff(details, a.noted()); diff != "" {
			t.Errorf("the replay of night %d has other rows in meta.details (-before +after):\n%s", night, diff)
		}
		for i, s := range again.Run.Streams {
			was := res.Run.Streams[i]
			if s.Grade != was.Grade || s.Unread != was.Unread || s.Fetched != was.Fetched || s.Carried != was.Carried || s.Failed != 0 {
				t.Errorf("night %d: the replay has %+v, the night had %+v", night, s, was)
			}
			if s.Unread > 0 && !strings.Contains(s.Reason, "were not read by the run that is replayed") {
				t.Errorf("night %d: %s is %s", night, s.Stream, s.Reason)
			}
		}
		if again.Run.Outcome != res.Run.Outcome || again.Run.NightsLeft != res.Run.NightsLeft {
			t.Errorf("night %d ended %s, replayed %s", night, res.Run.Outcome, again.Run.Outcome)
		}
		if left, _ = res.Run.Unread(); night > 8 {
			t.Fatalf("%d are left", left)
		}
	}
	a.requireValues(ref)
}

// noted returns the rows of meta.details.
func (a *boundedHouse) noted() []string {
	a.t.Helper()
	var all []string
	for _, row := range query(a.t, a.catalog(), "SELECT concat_ws(' ', stream, id, fingerprint, read_at) FROM meta.details ORDER BY ALL") {
		all = append(all, row[0].String)
	}
	return all
}

// TestTrialOverdueSettledDetailsAreRead gives the nights no time to recheck. Details
// may be read later than planned, but not later than the nights in streams.recheck.
func TestTrialOverdueSettledDetailsAreRead(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	const recheck = 3
	a := newSlow(t)
	a.cfg.Recheck = recheck
	first := a.published(0)
	all, lists := streamOf(t, first.Run, "order_details").Fetched, int64(1)
	for _, s := range first.Run.Streams {
		if s.Stream != "order_details" {
			lists += s.Requests
		}
	}
	for night := 2; night <= recheck+1; night++ {
		res := a.published(time.Duration(lists) * time.Second)
		s, due := streamOf(t, res.Run, "order_details"), night > recheck
		if left := map[bool]int64{true: all}[due]; s.Unread != left || s.Carried != all-left || s.Fetched+s.Rechecked+s.Failed != 0 {
			t.Errorf("night %d: %+v, want %d of %d unread", night, s, left, all)
		}
		if !due {
			a.requireStream(res.Run, "order_details", fetch.Bounded, "last read at most "+plural.Count(int64(night-1), "night")+" ago")
		}
	}
	res := a.published(0)
	if s := streamOf(t, res.Run, "order_details"); s.Rechecked != all || s.Fetched != all || s.Unread+s.Carried != 0 {
		t.Errorf("with time again: %+v, want all %d read again", s, all)
	}
	if s := streamOf(t, a.published(0).Run, "order_details"); s.Rechecked == all {
		t.Errorf("the night after: %+v, want a share read again", s)
	}
}

// TestTrialOtherRunsKeepTheirTime runs a dry run and a refresh with a bound. The refresh leaves
// its events to the next night.
func TestTrialOtherRunsKeepTheirTime(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	m := newMailbox(t, richWorld(), eventStreams()...)
	m.cfg.Details, m.cfg.LiveDays, m.cfg.Recheck = "changed", 45, 7
	m.goodNight()
	article := m.someArticle()
	m.deliver(m.service.StatusChange(article))
	m.at, m.cfg.MaxDuration = m.at.Add(time.Hour), time.Nanosecond
	was := m.latest()
	_, err := pipeline.Refresh(t.Context(), m.cfg, pipeline.Targets{Articles: []string{article}})
	if _, nothing := errors.AsType[*pipeline.NoDataError](err); !nothing || m.latest() != was {
		t.Errorf("the refresh published %q: %v", m.latest(), err)
	}
	m.at, m.cfg.MaxDuration = m.at.Add(time.Hour), 0
	m.sameDay()
	if got, want := m.one("SELECT status_prefix FROM articles WHERE id = ?", article), m.one("SELECT status_prefix FROM article_status_events WHERE article_id = ?", article); got != want {
		t.Errorf("the article is %s, but its event has %s", got, want)
	}

	a := newSlow(t)
	a.cfg.DryRun = true
	res, err := a.read(4 * time.Second)
	must(t, err)
	if left, _ := res.Run.Unread(); res.Run.ExitCode != 3 || left == 0 || a.latest() != "" {
		t.Errorf("the dry run ended with %d, %d left, and published %q", res.Run.ExitCode, left, a.latest())
	}
}
