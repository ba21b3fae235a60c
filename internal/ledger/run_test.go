package ledger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/ledger"
	"placementsync/internal/testing/harness"
)

// TestLinesOfTheLedgerKeepTheirNames reads and writes a line. Earlier releases have written lines with these names, and
// later releases must read them.
func TestLinesOfTheLedgerKeepTheirNames(t *testing.T) {
	t.Parallel()
	const line = `{"run_id":"a","kind":"night","version":"b","started_at":"2026-11-01T02:00:00Z",` +
		`"ended_at":"2026-11-02T02:00:00Z","snapshot_at":"2026-11-03T02:00:00Z","outcome":"partial",` +
		`"exit_code":3,"program_version":"c","attempts":4,"error":"d","requests":5,"bytes":6,"retries":7,` +
		`"throttled_seconds":8,"responses":9,"rows":10,"rows_new":11,"rows_changed":12,"rows_gone":13,` +
		`"losses":[{"table":"e","stream":"f","gone":14,"before":15,"not_found":true}],` +
		`"checks":[{"check":"g","title":"h","severity":"warn","outcome":"failed","reason":"i","rows":16,` +
		`"sample":[{"j":17}],"seconds":18}],"held":true,"accepted":["k"],` +
		`"accepted_at":"2026-11-04T02:00:00Z","streams":[{"stream":"l","grade":"exact","reason":"m",` +
		`"pages":19,"requests":20,"passes":21,"total_first":22,"total_last":23,"distinct_ids":24,` +
		`"repeated_ids":25,"rows":26,"rows_old":27,"rejects":28,"fetched":29,"carried":30,"rechecked":31,` +
		`"failed":32,"unread":33,"age_since":"2026-11-05T02:00:00Z","lacking":true,"unsorted":true,` +
		`"events":true,"bytes":34,"retries":35,"rate_limited":36,"landed_hits":37,"latency_p50_ms":38,` +
		`"latency_p95_ms":39,"latency_max_ms":40,"rate_wait_seconds":41,"retry_after_seconds":42,` +
		`"rate_used":43}]}`
	want := ledger.Run{ID: "a", Kind: ledger.Night, Version: "b", StartedAt: nightAt(0), EndedAt: nightAt(1),
		SnapshotAt: nightAt(2), Outcome: ledger.Partial, ExitCode: 3, Program: "c", Attempts: 4, Error: "d",
		Requests: 5, Bytes: 6, Retries: 7, ThrottledSeconds: 8, Responses: 9, Rows: 10, New: 11, Changed: 12, Gone: 13,
		Losses: []ledger.Loss{{Table: "e", Stream: "f", Gone: 14, Before: 15, NotFound: true}},
		Checks: []ledger.CheckResult{{Name: "g", Title: "h", Severity: "warn", Outcome: ledger.CheckFailed, Reason: "i",
			Rows: 16, Sample: json.RawMessage(`[{"j":17}]`), Seconds: 18}},
		Held: true, Accepted: []string{"k"}, AcceptedAt: nightAt(3),
		Streams: []ledger.Stream{{Stream: "l", Grade: "exact", Reason: "m", Pages: 19, Requests: 20, Passes: 21,
			TotalFirst: 22, TotalLast: 23, Distinct: 24, Repeated: 25, Rows: 26, RowsOld: 27, Rejects: 28, Fetched: 29,
			Carried: 30, Rechecked: 31, Failed: 32, Unread: 33, AgeSince: nightAt(4), Incomplete: true, Unsorted: true,
			Events: true, Bytes: 34, Retries: 35, RateLimited: 36, Reused: 37, LatencyP50: 38, LatencyP95: 39,
			LatencyMax: 40, RateWaitSeconds: 41, RetryAfterSeconds: 42, RateUsed: 43}}}
	var got ledger.Run
	harness.Must(t, json.Unmarshal([]byte(line), &got))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the run (-want +got):\n%s", diff)
	}
	written, err := json.Marshal(want)
	if diff := cmp.Diff(line, string(written)); err != nil || diff != "" {
		t.Errorf("the line (-want +got):\n%s%v", diff, err)
	}
	// A run without these values, such as a killed one, has only the other names.
	const short = `{"run_id":"","started_at":"0001-01-01T00:00:00Z","outcome":"","exit_code":0,"program_version":"",` +
		`"attempts":0,"requests":0,"bytes":0,"retries":0,"throttled_seconds":0,` +
		`"rows":0,"rows_new":0,"rows_changed":0,"rows_gone":0,"streams":null}`
	if written, err = json.Marshal(ledger.Run{}); err != nil || string(written) != short {
		t.Errorf("the line of an empty run is %s (%v), want %s", written, err, short)
	}
}

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
		if got.EndedAt.Location() != time.UTC {
			t.Errorf("a follow-up ended at %v, want the time in UTC like those of runs", got.EndedAt)
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
		0:   {State: ledger.Reading, Total: 1},
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

// TestLogEnd checks the level and the values of the last log line of a night.
func TestLogEnd(t *testing.T) {
	t.Parallel()
	night := ledger.Run{ID: "a", Outcome: ledger.Complete, StartedAt: nightAt(1), EndedAt: nightAt(1).Add(90 * time.Second), SnapshotAt: nightAt(1),
		Requests: 5, Retries: 2, Rows: 9, New: 4, Changed: 3, Gone: 1}
	partial := night
	partial.Outcome, partial.Streams = ledger.Partial, []ledger.Stream{{Stream: "tags", Grade: "skipped", Incomplete: true}}
	failed := night
	failed.Outcome, failed.Error = ledger.Failed, "unreachable"
	stopped := night
	stopped.Outcome, stopped.Streams = ledger.Interrupted, partial.Streams
	unreachable := errors.New("unreachable, in all words")
	for want, r := range map[string]ledger.Run{
		`level=INFO msg="night ended" run=a outcome=complete version=a rows=9 new=4 changed=3 gone=1 requests=5 retries=2 took=1m30s reason="" error=""`:                 night,
		`level=WARN msg="night ended" run=a outcome=partial version=a rows=9 new=4 changed=3 gone=1 requests=5 retries=2 took=1m30s reason="tags was not read" error=""`: partial,
		`level=INFO msg="night ended" run=a outcome=interrupted version="" requests=5 retries=2 took=1m30s reason="" error=""`:                                           stopped,
		`level=ERROR msg="night ended" run=a outcome=failed version="" requests=5 retries=2 took=1m30s reason="" error="unreachable, in all words"`:                      failed,
	} {
		var out bytes.Buffer
		var err error
		if r.Outcome == ledger.Failed {
			err = unreachable
		}
		r.LogEnd(slog.New(slog.NewTextHandler(&out, nil)), err)
		if _, got, _ := strings.Cut(strings.TrimSpace(out.String()), " "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestStreakCountsConsecutiveNights(t *testing.T) {
	t.Parallel()
	nights := []ledger.Run{
		{ID: "a", Outcome: ledger.Failed}, {ID: "b", Outcome: ledger.Complete}, {ID: "c", Outcome: ledger.Failed},
		{ID: "d", Kind: ledger.Refresh, Outcome: ledger.Complete}, {ID: "e", Outcome: ledger.Interrupted}, {ID: "f", Outcome: ledger.Failed},
	}
	nights = slices.Insert(nights, 4, ledger.Run{ID: "killed", Outcome: ledger.Killed})
	for i := range nights {
		nights[i].StartedAt = nightAt(i)
		if nights[i].Outcome == ledger.Complete {
			nights[i].SnapshotAt = nightAt(i)
		}
	}
	latest := ledger.Run{ID: "f", Outcome: ledger.Failed, StartedAt: nightAt(6)}
	if n, since := latest.Streak(nights); n != 2 || !since.Equal(nightAt(2)) {
		t.Errorf("Streak: got %d nights since %s, want 2 since %s", n, since, nightAt(2))
	}
	if n, since := latest.Streak(nil); n != 1 || !since.Equal(latest.StartedAt) {
		t.Errorf("Streak without earlier runs: got %d since %s, want 1 since its start", n, since)
	}
	if at := ledger.NewestSnapshotTime(nights); !at.Equal(nightAt(3)) {
		t.Errorf("NewestSnapshotTime: got %s, want the time of the refresh", at)
	}
	if at := ledger.NewestSnapshotTime(nights[:1]); !at.IsZero() {
		t.Errorf("NewestSnapshotTime of unpublished runs: got %s, want the zero time", at)
	}
}

// nightAt returns the start of a night. The nights are counted from 0.
func nightAt(i int) time.Time { return time.Date(2026, time.November, 1+i, 2, 0, 0, 0, time.UTC) }

type longError struct{}

func (longError) Error() string {
	return "GET https://api.example.com/orders?page=1 answered 503: {...}"
}
func (longError) Summary() string { return "GET /orders answered 503" }

func TestSummarize(t *testing.T) {
	t.Parallel()
	plain := errors.New("no space left on device")
	for want, err := range map[string]error{
		"GET /orders answered 503": longError{},
		"no space left on device":  plain,
		"5 of 60 ids failed; first error: GET /orders answered 503; go on": fmt.Errorf("5 of 60 ids failed; first error: %w; go on", longError{}),
		"check: no space left on device\nGET /orders answered 503":         fmt.Errorf("check: %w", errors.Join(plain, longError{})),
	} {
		if got := ledger.Summarize(err); got != want {
			t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
		}
	}
	if why := (ledger.Run{Error: "GET /orders answered 401\nmore"}).Why(); why != "GET /orders answered 401" {
		t.Errorf("Why() = %q, want the first line of the error", why)
	}
}
