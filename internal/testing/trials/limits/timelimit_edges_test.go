package limits_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/humanize"
	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
)

// slowTransport delays every response by a fixed time on the virtual clock of synctest.
type slowTransport struct {
	service http.RoundTripper
	delay   time.Duration
}

func (s slowTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	timer := time.NewTimer(s.delay)
	defer timer.Stop()
	<-timer.C
	return s.service.RoundTrip(r)
}

// newSlowHarness returns a harness of a small world in which requests run one at a time and
// take a second each.
func newSlowHarness(t *testing.T) *limitedHarness {
	t.Helper()
	h := newLimitedHarness(t, trials.SmallWorld(), trials.FewStreams()...)
	h.Config.Fetch.RequestsPerSecond = 0
	h.Config.Fetch.Transport = slowTransport{h.Config.Fetch.Transport, time.Second}
	return h
}

// TestTrialTimeEndsAtTheLastID runs nights whose time limit is 0 to 3 seconds shorter than a
// full night. An id that was requested within the limit must be read completely. The next id must
// remain unread.
func TestTrialTimeEndsAtTheLastID(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	unlimited := newSlowHarness(t)
	unlimited.publishedNight(0)
	if unlimited.duration != time.Duration(unlimited.requestCount)*time.Second {
		t.Fatalf("%d requests took %v, want a second each", unlimited.requestCount, unlimited.duration)
	}
	var unreadCounts []int64
	for _, shorterBy := range []time.Duration{0, time.Second, 2*time.Second - 1, 2 * time.Second, 3 * time.Second} {
		h := unlimited.otherWarehouse()
		timeLimit := unlimited.duration - shorterBy
		res := h.publishedNight(timeLimit)
		unread, _ := res.Run.Unread()
		unreadCounts = append(unreadCounts, unread)
		if h.duration > timeLimit+2*time.Second || h.requestCount != unlimited.requestCount-int(unread) {
			t.Errorf("limit %v: got %d requests in %v and %d unread ids, want %d requests and unread ids in total, at most 2 s over the limit", timeLimit,
				h.requestCount, h.duration, unread, unlimited.requestCount)
		}
		// The next night reads only the unread ids.
		next := h.publishedNight(0)
		if n, _ := next.Run.Unread(); n != 0 {
			t.Errorf("a night without a limit left %d ids unread, want none", n)
		}
		for path := range h.requestedDetails() {
			if strings.HasPrefix(path, "/orders/") && unread == 0 {
				t.Errorf("%s was requested again", path)
			}
		}
	}
	// The limit is checked for the next id while the previous request is in progress.
	if want := []int64{0, 0, 0, 1, 2}; !slices.Equal(unreadCounts, want) {
		t.Errorf("the nights left %v ids unread, want %v", unreadCounts, want)
	}
}

// TestTrialInterruptedNightPublishesStoredResponses interrupts a night with a time limit and
// resumes it with a limit of 1 ns. The resumed night must publish the stored responses and request
// no other id.
func TestTrialInterruptedNightPublishesStoredResponses(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	h := newLimitedHarness(t, largeWorld())
	h.Config.ResumeMaxAge = 3 * time.Hour
	ref := trials.NewReference(t, h.Service, h.Config.Streams)
	for night := 1; ; night++ {
		interrupted := h.interruptedLimitedNight(150, timeForRequests(200))
		stored := storedRequests(h.Harness, interrupted.Run.ID)
		res := h.publishedNight(time.Nanosecond)
		t.Logf("night %d: %d stored responses, then %d requests", night, len(stored), h.requestCount)
		if res.Run.ID != interrupted.Run.ID {
			t.Fatalf("got run %s, want the resumed run %s", res.Run.ID, interrupted.Run.ID)
		}
		for path := range h.requestsByPath {
			beforePage, _, _ := strings.Cut(path, "page=")
			// If the first page of a detail was stored, the night reads its other pages,
			// and repeats a page that the interruption truncated.
			if path != "/auth/token" && !stored[path] && !stored[beforePage+"page=1"] {
				t.Errorf("night %d requested %s after its time limit", night, path)
			}
		}
		h.requireLists(ref)
		fetched := int64(0)
		for _, s := range res.Run.Streams {
			fetched += s.Fetched
		}
		if fetched < 60 {
			t.Errorf("night %d published %d details, want at least 60 from stored responses", night, fetched)
		}
		h.At = h.At.Add(3 * time.Hour)
		if night == 2 {
			break
		}
	}
	for unread, nights := int64(1), 0; unread > 0; nights++ {
		res := h.publishedNight(timeForRequests(300))
		if unread, _ = res.Run.Unread(); nights > 6 {
			t.Fatalf("%d ids are unread after %d nights", unread, nights+1)
		}
	}
	h.RequireValues(ref)
}

// interruptedLimitedNight runs a night that is interrupted at its n-th request.
func (h *limitedHarness) interruptedLimitedNight(n int, timeLimit time.Duration) pipeline.Result {
	h.T.Helper()
	transport := &trials.RandomTransport{Service: h.Service, RequestsLeft: n}
	h.Config.Fetch.Transport, h.Config.MaxDuration = transport, timeLimit
	h.At = h.At.Add(time.Hour)
	res, err := h.runInBubble(func(ctx context.Context) (pipeline.Result, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		transport.Interrupt = cancel
		return pipeline.Run(ctx, h.Config)
	})
	if err == nil || res.Run.ExitCode != 130 {
		h.T.Fatalf("the interrupted night ended with exit code %d, want 130: %v", res.Run.ExitCode, err)
	}
	// From now on, the request for the token takes longer than a limit of 1 ns.
	h.Config.Fetch.Transport = slowTransport{&trials.RandomTransport{Service: h.Service}, time.Millisecond}
	return res
}

// TestInterruptedRunCountsReadRecords interrupts a night while it reads details. The ledger line of
// the run must count the records of the lists, which the night reads before the details.
func TestInterruptedRunCountsReadRecords(t *testing.T) {
	t.Parallel()
	h := newLimitedHarness(t, trials.SmallWorld(), trials.FewStreams()...)
	complete := h.publishedNight(0)
	listRequests := 1 // the token
	for _, s := range complete.Run.Streams {
		if s.Fetched == 0 {
			listRequests += int(s.Requests)
		}
	}
	interrupted := h.otherWarehouse().interruptedLimitedNight(listRequests+2, 0)
	comparedLists := 0
	for _, s := range interrupted.Run.Streams {
		want := trials.StreamOf(t, complete.Run, s.Stream)
		if want.Fetched > 0 {
			continue
		}
		comparedLists++
		if s.Rows != want.Rows || s.Rows == 0 {
			t.Errorf("%s (%s): got %d rows, want %d as in a complete night", s.Stream, s.Grade, s.Rows, want.Rows)
		}
	}
	if comparedLists == 0 {
		t.Errorf("no list was read before the interruption:\n%s", trials.Reasons(interrupted.Run))
	}
}

// TestTrialReplayOfATimeLimitedNight runs nights with a time limit until no ids are unread, and
// replays each night. The next night continues with the version that the replay published.
func TestTrialReplayOfATimeLimitedNight(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	h := newLimitedHarness(t, largeWorld())
	ref := trials.NewReference(t, h.Service, h.Config.Streams)
	unread := int64(1)
	for night := 1; unread > 0; night++ {
		res := h.publishedNight(timeForRequests(250))
		before, details := h.HistorySums(), h.detailRows()
		h.Service.ResetRequests()
		h.Config.MaxDuration = 0 // a replay reads nothing from the service
		replayed, err := h.runInBubble(func(ctx context.Context) (pipeline.Result, error) {
			return pipeline.Replay(ctx, h.Config, res.Run.ID)
		})
		testharness.Must(t, err)
		if diff := cmp.Diff(before, h.HistorySums()); diff != "" || h.requestCount > 0 {
			t.Fatalf("the replay of night %d made %d requests, want 0 and no changed rows (-before +after):\n%s", night, h.requestCount, diff)
		}
		if diff := cmp.Diff(details, h.detailRows()); diff != "" {
			t.Errorf("the replay of night %d has other rows in meta.details (-before +after):\n%s", night, diff)
		}
		for i, s := range replayed.Run.Streams {
			counts := func(s ledger.Stream) ledger.Stream {
				return ledger.Stream{Stream: s.Stream, Grade: s.Grade, Unread: s.Unread, Fetched: s.Fetched, Carried: s.Carried, Failed: s.Failed}
			}
			if diff := cmp.Diff(counts(res.Run.Streams[i]), counts(s)); diff != "" {
				t.Errorf("a stream of night %d (-night +replay):\n%s", night, diff)
			}
			if s.Unread > 0 && !strings.Contains(s.Reason, "were not read by the run that is replayed") {
				t.Errorf("night %d: %s has the reason %q in the replay, want one about ids that were not read by the replayed run", night, s.Stream, s.Reason)
			}
		}
		if replayed.Run.Outcome != res.Run.Outcome {
			t.Errorf("night %d ended %s, its replay %s", night, res.Run.Outcome, replayed.Run.Outcome)
		}
		if unread, _ = res.Run.Unread(); night > 8 {
			t.Fatalf("%d ids are unread after %d nights", unread, night)
		}
	}
	h.RequireValues(ref)
}

// detailRows returns the rows of meta.details.
func (h *limitedHarness) detailRows() []string {
	h.T.Helper()
	var rows []string
	for _, row := range trials.Query(h.T, h.Catalog(), "SELECT concat_ws(' ', stream, id, fingerprint, read_at) FROM meta.details ORDER BY ALL") {
		rows = append(rows, row[0].String)
	}
	return rows
}

// TestTrialOverdueSettledDetailsAreRead runs nights that have no time for rechecks. Settled details
// count as carried until they were last read streams.recheck nights ago. From then on they count as
// unread, until a night reads them again.
func TestTrialOverdueSettledDetailsAreRead(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	const recheck = 3
	h := newSlowHarness(t)
	h.Config.Recheck = recheck
	first := h.publishedNight(0)
	detailCount, listRequests := trials.StreamOf(t, first.Run, "order_details").Fetched, int64(1)
	for _, s := range first.Run.Streams {
		if s.Stream != "order_details" {
			listRequests += s.Requests
		}
	}
	for night := 2; night <= recheck+1; night++ {
		res := h.publishedNight(time.Duration(listRequests) * time.Second)
		s, isOverdue := trials.StreamOf(t, res.Run, "order_details"), night > recheck
		wantUnread := int64(0)
		if isOverdue {
			wantUnread = detailCount
		}
		if s.Unread != wantUnread || s.Carried != detailCount-wantUnread || s.Fetched+s.Rechecked+s.Failed != 0 {
			t.Errorf("night %d: got %+v, want %d of %d details unread and the others carried", night, s, wantUnread, detailCount)
		}
		if !isOverdue {
			h.RequireStream(res.Run, "order_details", stream.Bounded, "last read at most "+humanize.Count(int64(night-1), "night")+" ago")
		}
	}
	res := h.publishedNight(0)
	if s := trials.StreamOf(t, res.Run, "order_details"); s.Rechecked != detailCount || s.Fetched != detailCount || s.Unread+s.Carried != 0 {
		t.Errorf("a night without a time limit: got %+v, want all %d details read again", s, detailCount)
	}
	if s := trials.StreamOf(t, h.publishedNight(0).Run, "order_details"); s.Rechecked == detailCount {
		t.Errorf("the next night: got %+v, want only some of the %d details read again", s, detailCount)
	}
}

// TestTrialDryRunAndRefreshKeepTheirTimeLimit runs a refresh and a dry run with a time limit. The
// next night must store the webhook events that the refresh did not store.
func TestTrialDryRunAndRefreshKeepTheirTimeLimit(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	m := trials.NewWebhookHarness(t, trials.RichWorld(), trials.StreamsWithEvents()...)
	m.Config.Details, m.Config.LiveDays, m.Config.Recheck = "changed", 45, 7
	m.GoodNight()
	article := m.ArticleWithComment()
	m.Deliver(m.Service.StatusChange(article))
	m.At, m.Config.MaxDuration = m.At.Add(time.Hour), time.Nanosecond
	latestBefore := m.LatestRun()
	_, err := pipeline.Refresh(t.Context(), m.Config, pipeline.Targets{Articles: []string{article}})
	if !errors.Is(err, pipeline.ErrNoData) || m.LatestRun() != latestBefore {
		t.Errorf("the refresh ended with %v and latest is %q, want ErrNoData and %q", err, m.LatestRun(), latestBefore)
	}
	m.At, m.Config.MaxDuration = m.At.Add(time.Hour), 0
	m.SameDayNight()
	if got, want := m.QueryOne("SELECT status_prefix FROM articles WHERE id = ?", article), m.QueryOne("SELECT status_prefix FROM article_status_events WHERE article_id = ?", article); got != want {
		t.Errorf("the status of the article is %s, want %s as in its event", got, want)
	}

	h := newSlowHarness(t)
	h.Config.DryRun = true
	res, err := h.limitedNight(4 * time.Second)
	testharness.Must(t, err)
	if unread, _ := res.Run.Unread(); res.Run.ExitCode != 3 || unread == 0 || h.LatestRun() != "" {
		t.Errorf("the dry run ended with exit code %d, left %d ids unread and published %q, want exit code 3, unread ids and no version", res.Run.ExitCode,
			unread, h.LatestRun())
	}
}
