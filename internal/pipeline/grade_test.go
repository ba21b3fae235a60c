package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/stream"
)

// resultOf returns a result of the named stream.
func resultOf(t *testing.T, name string, grade stream.Grade, coverage load.Coverage) streamRun {
	t.Helper()
	s, ok := stream.Find(stream.AllWithEvents(), name)
	if !ok {
		t.Fatalf("no stream %s", name)
	}
	return streamRun{stream: s, coverage: coverage, evidence: fetch.Evidence{Grade: grade, Reason: "why " + name}}
}

// TestGradeCarried checks the boundary between bounded and best_effort, in nights.
func TestGradeCarried(t *testing.T) {
	for name, c := range map[string]struct {
		before     stream.Grade
		plan       load.Plan
		recheck    int64
		want       stream.Grade
		wantReason string
	}{
		"no id is carried":               {stream.Exact, load.Plan{ToRequest: 3}, 7, stream.Exact, "reason before"},
		"last read 1 night ago":          {stream.Exact, load.Plan{ToRequest: 3, Carried: 2, MaxNights: 1}, 7, stream.Bounded, "3 of 5 ids were read completely; 2 unchanged ids were last read at most 1 night ago"},
		"last read recheck nights ago":   {stream.Exact, load.Plan{ToRequest: 3, Carried: 2, MaxNights: 7}, 7, stream.Bounded, "3 of 5 ids were read completely; 2 unchanged ids were last read at most 7 nights ago"},
		"last read recheck+1 nights ago": {stream.Exact, load.Plan{ToRequest: 3, Carried: 2, MaxNights: 8}, 7, stream.BestEffort, "3 of 5 ids were read completely; 2 unchanged ids were last read up to 8 nights ago, but streams.recheck is 7"},
		"recheck is 0":                   {stream.Exact, load.Plan{ToRequest: 3, Carried: 2, MaxNights: 1}, 0, stream.BestEffort, "3 of 5 ids were read completely; 2 unchanged ids are not requested again (streams.recheck is 0)"},
		"recheck is 1":                   {stream.Exact, load.Plan{ToRequest: 3, Carried: 2, MaxNights: 1}, 1, stream.Bounded, "3 of 5 ids were read completely; 2 unchanged ids were last read at most 1 night ago"},
		"repaired becomes bounded":       {stream.Repaired, load.Plan{ToRequest: 3, Carried: 2, MaxNights: 1}, 7, stream.Bounded, "3 of 5 ids were read completely; 2 unchanged ids were last read at most 1 night ago"},
		"best_effort before":             {stream.BestEffort, load.Plan{ToRequest: 3, Carried: 2, MaxNights: 1}, 7, stream.BestEffort, "reason before"},
	} {
		r := streamRun{evidence: fetch.Evidence{Grade: c.before, Reason: "reason before"}}
		r.gradeCarried(fetch.Details{RequestedIDs: 3, Found: 3}, c.plan, c.recheck)
		if r.evidence.Grade != c.want || r.evidence.Reason != c.wantReason {
			t.Errorf("%s: got %s: %s\nwant %s: %s", name, r.evidence.Grade, r.evidence.Reason, c.want, c.wantReason)
		}
	}
}

// TestGradeNotFound checks the number of 404 responses up to which a stream of single records is still proven: 3 ids,
// or 1 percent of the requested ids.
func TestGradeNotFound(t *testing.T) {
	for _, c := range []struct {
		before              stream.Grade
		notFound, requested int64
		want                stream.Grade
		isIncomplete        bool
	}{
		{stream.Exact, 0, 9, stream.Exact, false},
		{stream.Exact, 1, 1, stream.Repaired, false},
		{stream.Exact, 3, 3, stream.Repaired, false},
		{stream.Exact, 4, 4, stream.BestEffort, true},
		{stream.Exact, 4, 399, stream.BestEffort, true},
		{stream.Exact, 4, 400, stream.Repaired, false},
		{stream.Exact, 5, 400, stream.BestEffort, true},
		{stream.Exact, 12, 1200, stream.Repaired, false},
		{stream.Exact, 13, 1299, stream.BestEffort, true},
		{stream.Bounded, 2, 9, stream.Bounded, false},
		{stream.Bounded, 9, 9, stream.BestEffort, true},
		{stream.BestEffort, 2, 9, stream.BestEffort, false},
	} {
		r := resultOf(t, "articles", c.before, load.ByID)
		r.notFound.IDs, r.requested, r.missed = c.notFound, c.requested, 1
		r.gradeNotFound(7)
		missed := int64(1)
		if c.isIncomplete {
			missed += c.notFound
		}
		if r.evidence.Grade != c.want || (r.failure != nil) != c.isIncomplete || r.missed != missed {
			t.Errorf("%d of %d: got %s, failed %v, missed %d, want %s, failed %t, missed %d", c.notFound, c.requested, r.evidence.Grade, r.failure, r.missed,
				c.want, c.isIncomplete, missed)
		}
		// The reason of a grade that was not lowered is kept.
		prefix := fmt.Sprintf("%d of ", c.notFound)
		if c.want == c.before {
			prefix = "why articles; " + prefix
		}
		hasNumber := strings.HasPrefix(r.evidence.Reason, prefix)
		if hasNumber != (c.notFound > 0) {
			t.Errorf("%d of %d: the reason is %q, want the number only if it is not 0", c.notFound, c.requested, r.evidence.Reason)
		}
	}
	first := errors.New("first")
	r := resultOf(t, "articles", stream.BestEffort, load.ByID)
	r.notFound.IDs, r.requested, r.failure = 9, 9, first
	r.gradeNotFound(7)
	if r.failure != first {
		t.Errorf("the failure is %v, want the first one", r.failure)
	}
}

// TestGradeMissingLists checks the grade of a stream in which the lists of some ids returned 404. It depends on the age
// of the kept rows of these ids. articles has single records instead of lists, so the age does not matter.
func TestGradeMissingLists(t *testing.T) {
	for _, c := range []struct {
		stream       string
		kept         load.KeptIDs
		want         stream.Grade
		missed       int64
		partOfReason string
	}{
		{"campaign_articles", load.KeptIDs{}, stream.Exact, 0, "why campaign_articles"},
		{"campaign_articles", load.KeptIDs{IDs: 1}, stream.BestEffort, 1, "1 of 900 ids returned 404 although a list contains them; they have no rows from an earlier night"},
		{"campaign_articles", load.KeptIDs{IDs: 3, WithRows: 2, MaxNights: 1}, stream.BestEffort, 1, "1 have no rows from an earlier night, the rows of the others are kept"},
		{"campaign_articles", load.KeptIDs{IDs: 2, WithRows: 2, MaxNights: 1}, stream.Bounded, 0, "their rows are kept, and were last read at most 1 night ago"},
		{"campaign_articles", load.KeptIDs{IDs: 9, WithRows: 9, MaxNights: 7}, stream.Bounded, 0, "at most 7 nights ago"},
		{"campaign_articles", load.KeptIDs{IDs: 2, WithRows: 2, MaxNights: 8}, stream.BestEffort, 0, "their rows are kept, and were last read up to 8 nights ago, but streams.recheck is 7"},
		{"campaign_articles", load.KeptIDs{IDs: 2, WithRows: 2}, stream.BestEffort, 0, "their rows are kept, and it is not known when they were read"},
		{"campaign_articles", load.KeptIDs{IDs: 10, WithRows: 10, MaxNights: 1}, stream.BestEffort, 10, "their rows are kept"},
		{"articles", load.KeptIDs{IDs: 2, WithRows: 2, MaxNights: 9}, stream.Repaired, 0, "their rows are kept"},
		{"articles", load.KeptIDs{IDs: 2}, stream.Repaired, 0, "they have no rows from an earlier night"},
	} {
		r := resultOf(t, c.stream, stream.Exact, load.ByID)
		r.notFound, r.requested = c.kept, 900
		r.gradeNotFound(7)
		if r.evidence.Grade != c.want || r.missed != c.missed || (r.failure != nil) != (c.missed > 0) || !strings.Contains(r.evidence.Reason, c.partOfReason) {
			t.Errorf("%s, %+v: got %s, missed %d, failed %v: %s\nwant %s, missed %d: ...%s...", c.stream, c.kept, r.evidence.Grade, r.missed, r.failure,
				r.evidence.Reason, c.want, c.missed, c.partOfReason)
		}
	}
}

// TestLossesByNotFound compares the number of 404 responses with all ids of the stream, including
// ids that were not requested.
func TestLossesByNotFound(t *testing.T) {
	limits := load.Limits{Share: 0.2, Rows: 50, Confirmed: func(table string) bool { return table == "outlets" }}
	for _, c := range []struct {
		stream        string
		notFound, ids int64
		stops         bool
	}{
		{"articles", 0, 0, false},
		{"articles", 9, 9, false},
		{"articles", 10, 10, true},
		{"articles", 10, 11, false},
		{"articles", 50, 100, false},
		{"articles", 51, 100, true},
		{"articles", 51, 255, false},
		{"articles", 52, 255, true},
		{"outlets", 90, 90, false},
	} {
		r := resultOf(t, c.stream, stream.BestEffort, load.ByID)
		r.notFound.IDs, r.ids = c.notFound, c.ids
		var want []ledger.Loss
		if c.stops {
			want = []ledger.Loss{{Table: c.stream, Gone: c.notFound, Before: c.ids, NotFound: true}}
		}
		if diff := cmp.Diff(want, streamRuns{r}.notFoundLosses(limits)); diff != "" {
			t.Errorf("%d of %d ids of %s (-want +got):\n%s", c.notFound, c.ids, c.stream, diff)
		}
	}
}

// TestGradeDetails checks the grade and the reason of a detail stream, for every grade of a list that
// contains its ids.
func TestGradeDetails(t *testing.T) {
	for listGrade, want := range map[stream.Grade]struct {
		grade   stream.Grade
		quality string // in the reason
	}{
		stream.Exact:          {stream.Exact, ""},
		stream.Repaired:       {stream.Repaired, "repaired"},
		stream.Bounded:        {stream.Bounded, "bounded"},
		stream.BestEffort:     {stream.BestEffort, "not proven"},
		stream.CarriedForward: {stream.BestEffort, "carried"},
		stream.Skipped:        {stream.BestEffort, "not read"},
	} {
		r := resultOf(t, "order_details", stream.Exact, load.ByID)
		finished := streamRuns{resultOf(t, "orders", stream.Exact, load.Whole), resultOf(t, "order_items", listGrade, load.Whole), resultOf(t, "files", stream.BestEffort, load.Unproven)}
		finished.gradeDetails(&r, fetch.Details{RequestedIDs: 1, Found: 1})
		wantReason := "why order_details"
		if listGrade != stream.Exact {
			wantReason = "the ids come from the stream order_items, which is " + want.quality
		}
		if r.evidence.Grade != want.grade || r.evidence.Reason != wantReason || r.failure != nil {
			t.Errorf("with the list %s: got %s: %s, failed %v, want %s: %s", listGrade, r.evidence.Grade, r.evidence.Reason, r.failure, want.grade, wantReason)
		}
	}
	withoutList := streamRuns{resultOf(t, "orders", stream.Skipped, load.Carried)}
	for name, c := range map[string]struct {
		requested int
		carried   int64
		want      stream.Grade
	}{
		"no id":               {0, 0, stream.Skipped},
		"an id was requested": {1, 0, stream.BestEffort},
		"an id is carried":    {0, 1, stream.BestEffort},
	} {
		r := resultOf(t, "order_details", stream.Exact, load.ByID)
		r.carried = c.carried
		withoutList.gradeDetails(&r, fetch.Details{RequestedIDs: c.requested})
		if r.evidence.Grade != c.want {
			t.Errorf("%s: got %s, want %s", name, r.evidence.Grade, c.want)
		}
	}
	refused := resultOf(t, "orders", stream.Skipped, load.Carried)
	refused.isRefused = true
	r := resultOf(t, "order_details", stream.Exact, load.ByID)
	streamRuns{refused, resultOf(t, "order_items", stream.Exact, load.Whole)}.gradeDetails(&r, fetch.Details{RequestedIDs: 1, Found: 1})
	if r.evidence.Grade != stream.Exact {
		t.Errorf("beside a list that the token may not read: got %s: %s, want %s", r.evidence.Grade, r.evidence.Reason, stream.Exact)
	}
	// Rows that an earlier night read are as old as the last reading of their list.
	refused.evidence.Grade = stream.CarriedForward
	r = resultOf(t, "order_details", stream.Exact, load.ByID)
	streamRuns{refused, resultOf(t, "order_items", stream.Exact, load.Whole)}.gradeDetails(&r, fetch.Details{RequestedIDs: 1, Found: 1})
	if r.evidence.Grade != stream.BestEffort {
		t.Errorf("beside a carried list that the token may not read: got %s, want %s", r.evidence.Grade, stream.BestEffort)
	}
	r = resultOf(t, "order_details", stream.Exact, load.ByID)
	streamRuns{resultOf(t, "orders", stream.Exact, load.Whole)}.gradeDetails(&r, fetch.Details{})
	if r.evidence.Grade != stream.Exact {
		t.Errorf("without ids in a proven list: got %s, want %s", r.evidence.Grade, stream.Exact)
	}
	r = resultOf(t, "order_details", stream.BestEffort, load.ByID)
	streamRuns{}.gradeDetails(&r, fetch.Details{RequestedIDs: 9, Failed: 2, FirstFailure: errors.New("broken")})
	const want = "read order_details: 2 of 9 ids failed; rows of earlier nights are kept; first error: broken"
	if r.failure == nil || r.failure.Error() != want || r.evidence.Reason != want {
		t.Errorf("a stream with two failed ids: got %v with the reason %s, want %s", r.failure, r.evidence.Reason, want)
	}
}

func TestCoverageOfStreams(t *testing.T) {
	all := streamRuns{resultOf(t, "orders", stream.Exact, load.Whole), resultOf(t, "files", stream.CarriedForward, load.Carried)}
	wasRead := map[string]bool{}
	for _, name := range []string{"orders", "files", "articles"} {
		wasRead[name] = all.wasRead(name)
	}
	if diff := cmp.Diff(map[string]bool{"orders": true, "files": false, "articles": false}, wasRead); diff != "" {
		t.Errorf("wasRead (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]load.Coverage{"orders": load.Whole, "files": load.Carried}, all.coverage()); diff != "" {
		t.Errorf("coverage (-want +got):\n%s", diff)
	}
}

// TestCompleteLine checks the outcome of runs with and without incomplete streams and errors.
func TestCompleteLine(t *testing.T) {
	startedAt := time.Date(2026, time.November, 20, 2, 0, 0, 0, time.UTC)
	endedAt := startedAt.Add(time.Minute)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	whole, partly := []ledger.Stream{{}, {}}, []ledger.Stream{{}, {Incomplete: true}}
	for name, c := range map[string]struct {
		ctx     context.Context
		streams []ledger.Stream
		err     error
		dryRun  bool
		want    ledger.Run
	}{
		"complete":  {t.Context(), whole, nil, false, ledger.Run{Outcome: ledger.Complete, SnapshotAt: startedAt}},
		"partial":   {t.Context(), partly, nil, false, ledger.Run{Outcome: ledger.Partial, ExitCode: 3, SnapshotAt: startedAt}},
		"a dry run": {t.Context(), whole, nil, true, ledger.Run{Outcome: ledger.Complete}},
		"failed":    {t.Context(), partly, errors.New("broken"), false, ledger.Run{Outcome: ledger.Failed, ExitCode: 1, Error: "broken"}},
		"stopped":   {stopped, whole, errors.New("stopped"), false, ledger.Run{Outcome: ledger.Interrupted, ExitCode: 130, Error: "stopped"}},
	} {
		l := &locked{cfg: Config{Now: func() time.Time { return endedAt }}, mode: runMode{kind: ledger.Night, dryRun: c.dryRun}}
		l.line = ledger.Run{StartedAt: startedAt, SnapshotAt: startedAt, Streams: c.streams}
		l.completeLine(c.ctx, c.err)
		c.want.StartedAt, c.want.EndedAt, c.want.Streams = startedAt, endedAt, c.streams
		if diff := cmp.Diff(c.want, l.line); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	// The clock of the machine was set back during the run.
	l := &locked{cfg: Config{Now: func() time.Time { return startedAt.Add(-time.Hour) }}, line: ledger.Run{StartedAt: startedAt}}
	l.completeLine(t.Context(), nil)
	if !l.line.EndedAt.Equal(startedAt) {
		t.Errorf("a run ended at %v, before its start at %v", l.line.EndedAt, startedAt)
	}
}

// TestRequireData checks that the token, webhook events and details without requests do not count
// as data.
func TestRequireData(t *testing.T) {
	token := resultOf(t, "token", stream.Exact, load.Whole)
	details := resultOf(t, "order_details", stream.Exact, load.ByID)
	details.requested = 1
	for name, c := range map[string]struct {
		finished     streamRuns
		isOnlyStream bool
		hasData      bool
	}{
		"no stream":                {nil, false, false},
		"the token":                {streamRuns{token}, false, false},
		"only the token is chosen": {streamRuns{token}, true, true},
		"a list":                   {streamRuns{resultOf(t, "orders", stream.BestEffort, load.Unproven)}, false, true},
		"a carried list":           {streamRuns{resultOf(t, "orders", stream.CarriedForward, load.Carried)}, false, false},
		"events":                   {streamRuns{resultOf(t, "article_status_events", stream.BestEffort, load.Unproven)}, false, false},
		"details":                  {streamRuns{details}, false, true},
		"details without requests": {streamRuns{resultOf(t, "order_details", stream.Exact, load.ByID)}, false, false},
	} {
		err := c.finished.requireData(c.isOnlyStream)
		if errors.Is(err, ErrNoData) != !c.hasData {
			t.Errorf("%s: got error %v, want ErrNoData: %t", name, err, !c.hasData)
		}
		if err != nil && strings.Count(err.Error(), "\n") != len(c.finished) {
			t.Errorf("%s: got error %v, want a line for each stream", name, err)
		}
	}
}
