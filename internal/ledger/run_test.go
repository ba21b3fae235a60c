package ledger_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/ledger"
)

func TestExitCodes(t *testing.T) {
	for outcome, want := range map[ledger.Outcome]int{
		ledger.Complete: 0, ledger.Failed: 1, ledger.Misused: 2, ledger.Partial: 3, ledger.Locked: 4,
		ledger.Interrupted: 130, ledger.Killed: -1, "": 1, "anything else": 1,
	} {
		if got := outcome.ExitCode(); got != want {
			t.Errorf("the exit code of outcome %q is %d, want %d", outcome, got, want)
		}
	}
}

// TestKindsOfRuns checks which kinds count as nights, and which as follow-ups.
func TestKindsOfRuns(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]struct{ isNight, isFollowUp bool }{
		"": {isNight: true}, ledger.Night: {isNight: true}, ledger.Replay: {isNight: true},
		ledger.Refresh: {}, ledger.Rebuild: {}, ledger.Rollback: {},
		ledger.Backup: {isFollowUp: true}, ledger.Lake: {isFollowUp: true}, ledger.Watch: {isFollowUp: true}, ledger.Rehearsal: {isFollowUp: true},
	} {
		if r := (ledger.Run{Kind: kind}); r.IsNight() != want.isNight || r.IsFollowUp() != want.isFollowUp {
			t.Errorf("kind %q: is a night %v, is a follow-up %v, want %+v", kind, r.IsNight(), r.IsFollowUp(), want)
		}
	}
}

// TestVisibleVersion checks which runs change the version that readers see.
func TestVisibleVersion(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		run  ledger.Run
		want string
	}{
		"a complete night":  {ledger.Run{ID: "a", Outcome: ledger.Complete, SnapshotAt: nightAt(1)}, "a"},
		"a partial night":   {ledger.Run{ID: "a", Outcome: ledger.Partial, SnapshotAt: nightAt(1)}, "a"},
		"a failed night":    {ledger.Run{ID: "a", Outcome: ledger.Failed, SnapshotAt: nightAt(1)}, ""},
		"a dry run":         {ledger.Run{ID: "a", Outcome: ledger.Complete}, ""},
		"a rollback":        {ledger.Run{ID: "b", Kind: ledger.Rollback, Version: "a", Outcome: ledger.Complete, SnapshotAt: nightAt(1)}, "a"},
		"a failed rollback": {ledger.Run{ID: "b", Kind: ledger.Rollback, Version: "a", Outcome: ledger.Failed}, ""},
	} {
		if got := c.run.VisibleVersion(); got != c.want || c.run.IsPublished() != (c.want != "") {
			t.Errorf("%s: readers see %q, published %v, want %q", name, got, c.run.IsPublished(), c.want)
		}
	}
}

func TestDescribeLosses(t *testing.T) {
	t.Parallel()
	loss := func(table string, gone int64) ledger.Loss { return ledger.Loss{Table: table, Gone: gone, Before: 1200} }
	for want, losses := range map[string][]ledger.Loss{
		"300 of 1200 rows of tags would be deleted in one night":                                                            {loss("tags", 300)},
		"1 of 1200 rows of a, 2 of 1200 rows of b, 3 of 1200 rows of c would be deleted in one night":                       {loss("a", 1), loss("b", 2), loss("c", 3)},
		"1 of 1200 rows of a, 2 of 1200 rows of b, 3 of 1200 rows of c, rows of 1 more table would be deleted in one night": {loss("a", 1), loss("b", 2), loss("c", 3), loss("d", 4)},
		"9 of 9 rows of locations (cities) would be deleted in one night":                                                   {{Table: "locations", Stream: "cities", Gone: 9, Before: 9}},
		"the service returned 404 for 1 of 1 id of articles although a list contains them":                                  {{Table: "articles", Gone: 1, Before: 1, NotFound: true}},
		"the service returned 404 for 5 of 9 ids of articles although a list contains them; 1 of 1200 rows of a would be deleted in one night": {
			loss("a", 1), {Table: "articles", Gone: 5, Before: 9, NotFound: true}},
	} {
		given := slices.Clone(losses)
		if got := ledger.DescribeLosses(losses); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		if !slices.Equal(losses, given) {
			t.Errorf("the losses were changed to %v, want %v", losses, given)
		}
	}
}

func TestUnreadIDs(t *testing.T) {
	t.Parallel()
	r := ledger.Run{Streams: []ledger.Stream{{Unread: 3}, {}, {Unread: 1}}}
	if ids, streams := r.Unread(); ids != 4 || streams != 2 {
		t.Errorf("%d ids of %d streams are unread, want 4 ids of 2 streams", ids, streams)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	runs := []ledger.Run{{ID: "a", Rows: 1}, {ID: "b", Rows: 2}}
	if got := ledger.Find(runs, "a"); got.Rows != 1 {
		t.Errorf("got %+v, want run a", got)
	}
	if got := ledger.Find(runs, "c"); got.ID != "" {
		t.Errorf("an unknown run: got %+v, want no ID", got)
	}
}

// TestFollowUpLine checks the ledger line of a follow-up, and the state after several attempts.
func TestFollowUpLine(t *testing.T) {
	t.Parallel()
	startedAt := time.Date(2026, time.November, 20, 3, 0, 0, 0, time.FixedZone("", 3600))
	r := ledger.BeginFollowUp(ledger.Backup, "1.2", startedAt)
	want := ledger.Run{ID: "20261120T020000Z-backup", Kind: ledger.Backup, StartedAt: startedAt.UTC(), Program: "1.2"}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("the ledger line (-want +got):\n%s", diff)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for _, c := range []struct {
		ctx      context.Context
		err      error
		outcome  ledger.Outcome
		exitCode int
	}{{t.Context(), nil, ledger.Complete, 0}, {t.Context(), errors.New("no"), ledger.Failed, 1}, {stopped, errors.New("no"), ledger.Interrupted, 130}, {stopped, nil, ledger.Complete, 0}} {
		got := r.EndFollowUp(c.ctx, startedAt.Add(time.Minute), c.err)
		message := ""
		if c.err != nil {
			message = c.err.Error()
		}
		if got.Outcome != c.outcome || got.ExitCode != c.exitCode || got.Error != message || got.Took() != time.Minute {
			t.Errorf("a follow-up that ended with %v: got %+v, want the outcome %s", c.err, got, c.outcome)
		}
	}
	followUps := ledger.FollowUps([]ledger.Run{
		{Kind: ledger.Night, Outcome: ledger.Failed, StartedAt: nightAt(0)},
		{Kind: ledger.Watch, Outcome: ledger.Failed, StartedAt: nightAt(1)},
		{Kind: ledger.Backup, Outcome: ledger.Complete, StartedAt: nightAt(1), EndedAt: nightAt(2)},
		{Kind: ledger.Watch, Outcome: ledger.Partial, StartedAt: nightAt(3)},
	})
	wantFollowUps := []ledger.FollowUp{
		{Last: ledger.Run{Kind: ledger.Backup, Outcome: ledger.Complete, StartedAt: nightAt(1), EndedAt: nightAt(2)}, SucceededAt: nightAt(2)},
		{Last: ledger.Run{Kind: ledger.Watch, Outcome: ledger.Partial, StartedAt: nightAt(3)}, Failures: 2, Since: nightAt(1)},
	}
	if diff := cmp.Diff(wantFollowUps, followUps); diff != "" {
		t.Errorf("the state (-want +got):\n%s", diff)
	}
}

func TestProgressShares(t *testing.T) {
	t.Parallel()
	for want, s := range map[int64]ledger.StreamProgress{
		-1:  {State: ledger.Reading, Done: 3},
		100: {State: ledger.Read},
		33:  {State: ledger.Reading, Done: 1, Total: 3},
		99:  {State: ledger.Waiting, Done: 99, Total: 100},
	} {
		if got := s.Share(); got != want {
			t.Errorf("%+v: the share is %d %%, want %d", s, got, want)
		}
	}
	if got := (ledger.StreamProgress{State: ledger.Reading, Done: 7, Total: 5}).Share(); got != 100 {
		t.Errorf("the share of a growing list is %d %%, want at most 100", got)
	}
	p := ledger.Progress{Streams: []ledger.StreamProgress{{State: ledger.Read}, {State: ledger.Reading}, {State: ledger.Read}, {State: ledger.Waiting}, {State: ledger.Waiting}}}
	if got := p.StreamsRead(); got != 2 {
		t.Errorf("%d streams are read, want 2", got)
	}
}

// TestChecks checks which results hold a night and which need attention.
func TestChecks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		severity              string
		outcome               ledger.CheckOutcome
		holds, needsAttention bool
	}{
		{"hold", ledger.CheckFailed, true, true}, {"hold", ledger.CheckNotRun, false, true}, {"hold", ledger.CheckPassed, false, false},
		{"hold", ledger.CheckSkipped, false, false}, {"warn", ledger.CheckFailed, false, true}, {"warn", ledger.CheckPassed, false, false},
	} {
		check := ledger.CheckResult{Severity: c.severity, Outcome: c.outcome}
		if check.HoldsNight() != c.holds || check.NeedsAttention() != c.needsAttention {
			t.Errorf("a check with severity %s and outcome %s: holds %v, needs attention %v, want %v, %v", c.severity, c.outcome, check.HoldsNight(),
				check.NeedsAttention(), c.holds, c.needsAttention)
		}
	}
}
