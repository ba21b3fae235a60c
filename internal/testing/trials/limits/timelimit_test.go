package limits_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
)

// requestsPerSecond is the request rate of nights with a time limit. On the virtual clock, only
// requests take time.
const requestsPerSecond = 10

// limitedHarness runs nights with a time limit, on the virtual clock of synctest.
type limitedHarness struct {
	*trials.Harness
	// requests contains the requests of the last night, by path and query.
	requests map[string]bool
}

func newLimitedHarness(t *testing.T, world sim.Options, names ...string) *limitedHarness {
	t.Helper()
	h := trials.NewHarness(t, world, names...)
	h.UseChangedDetails(45, 0)
	h.Config.Fetch.BaseURL, h.Config.Fetch.PageSize, h.Config.Fetch.Concurrency = "http://127.0.0.1/", 20, 1
	h.Config.Fetch.RequestsPerSecond, h.Config.Fetch.Burst = requestsPerSecond, 1
	h.Config.Fetch.Transport = &trials.RandomTransport{Service: h.Service}
	h.NextDay()
	return &limitedHarness{Harness: h}
}

// timeForRequests returns the time needed for n requests.
func timeForRequests(n int) time.Duration { return time.Duration(n) * time.Second / requestsPerSecond }

// limitedNight runs a night an hour later with the time limit timeLimit. 0 means no limit.
func (h *limitedHarness) limitedNight(timeLimit time.Duration) (pipeline.Result, error) {
	h.T.Helper()
	h.At = h.At.Add(time.Hour)
	h.Config.MaxDuration = timeLimit
	return h.runInBubble(func(ctx context.Context) (pipeline.Result, error) { return pipeline.Run(ctx, h.Config) })
}

// runInBubble runs a night in a bubble of synctest, which has a virtual clock, and collects the requests
// of the night.
func (h *limitedHarness) runInBubble(run func(ctx context.Context) (pipeline.Result, error)) (res pipeline.Result, err error) {
	h.T.Helper()
	h.Service.ResetRequests()
	synctest.Test(h.T, func(t *testing.T) { res, err = run(t.Context()) })
	h.requests = map[string]bool{}
	for _, r := range h.Service.Requests() {
		h.requests[r.Path] = true
	}
	return res, err
}

// publishedNight runs a night that must publish. If ids remain unread, the outcome must be partial,
// otherwise complete.
func (h *limitedHarness) publishedNight(timeLimit time.Duration) pipeline.Result {
	h.T.Helper()
	res, err := h.limitedNight(timeLimit)
	testharness.Must(h.T, err)
	unread, _ := res.Run.Unread()
	if want := map[bool]ledger.Outcome{false: ledger.Complete, true: ledger.Partial}[unread > 0]; res.Run.Outcome != want {
		h.T.Fatalf("night %s left %d ids unread and ended %s, want %s\n%s", res.Run.ID, unread, res.Run.Outcome, want, trials.Reasons(res.Run))
	}
	return res
}

// requireLists compares tables with the service. It leaves out tables that streams of details fill.
func (h *limitedHarness) requireLists(ref *trials.Reference) {
	h.T.Helper()
	var names []string
	for _, t := range stream.Tables(h.Config.Streams) {
		if !slices.ContainsFunc(stream.FilledBy(h.Config.Streams, t.Name), func(name string) bool {
			s, _ := stream.Find(h.Config.Streams, name)
			return s.IsDetail()
		}) {
			names = append(names, t.Name)
		}
	}
	h.RequireValues(ref, names...)
}

// largeWorld has data of 2000 days, and so many settled details that nights with a time limit read them in turn. About
// one campaign in twenty is live: its records may still change. About one row in a hundred changes per day.
func largeWorld() sim.Options {
	return sim.Options{Seed: 3, Token: trials.Token, HistoryDays: 2000, Outlets: 50, Listings: 125, Orders: 75, Campaigns: 12, Profiles: 3,
		ListingChange: 0.008, ListingTurnover: 0.001, SilentChange: -1}
}

// TestTrialTimeLimitedNightsFollowAChangingWorld runs nights with a time limit while orders, prices
// and articles change. Each night must read all lists completely, even if details of their records
// remain unread, and must read all articles in progress. A replay of the first night must give the same
// rows. When no ids are unread, all values must be current.
func TestTrialTimeLimitedNightsFollowAChangingWorld(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	h := newLimitedHarness(t, largeWorld())
	ref := trials.NewReference(t, h.Service, h.Config.Streams)
	nights, unread := 0, int64(1)
	for ; unread > 0; nights++ {
		if nights > 12 {
			t.Fatalf("%d ids are unread after %d nights", unread, nights)
		}
		h.Service.Advance(1)
		h.At = h.Service.Now().Add(time.Hour)
		res := h.publishedNight(timeForRequests(200))
		unread, _ = res.Run.Unread()
		t.Logf("night %d: %d requests, %d ids unread", nights+1, len(h.requests), unread)
		if nights == 0 {
			h.requireReplay(res)
		}
		h.requireLists(ref)
		h.requireListValues("/orders", "orders", "status", "reference_number")
		h.requireListValues("/campaigns", "campaigns", "name")
		h.requireArticlesInProgress(ref)
	}
	if nights < 3 {
		t.Errorf("all ids were read in %d nights, so the test shows nothing", nights)
	}
	h.RequireValues(ref)
}

// requireReplay replays a night. The replay must publish the same rows and read nothing from the service.
func (h *limitedHarness) requireReplay(night pipeline.Result) {
	h.T.Helper()
	before := h.historySums()
	h.Config.MaxDuration = 0
	h.At = h.At.Add(time.Minute)
	replayed, err := h.runInBubble(func(ctx context.Context) (pipeline.Result, error) {
		return pipeline.Replay(ctx, h.Config, night.Run.ID)
	})
	testharness.Must(h.T, err)
	unread, _ := night.Run.Unread()
	if n, _ := replayed.Run.Unread(); n != unread || replayed.Run.Outcome != night.Run.Outcome || len(h.requests) > 0 {
		h.T.Errorf("the replay ended %s with %d unread ids after %d requests, want %s, %d and 0", replayed.Run.Outcome, n, len(h.requests), night.Run.Outcome, unread)
	}
	if diff := cmp.Diff(before, h.historySums()); diff != "" {
		h.T.Errorf("the replay changed rows (-before +after):\n%s", diff)
	}
}

// requireListValues compares some columns of a table with the records of its list.
func (h *limitedHarness) requireListValues(path, table string, columns ...string) {
	h.T.Helper()
	records := h.Service.Records(path)
	if n := h.Count(table, "TRUE"); n < len(records) || len(records) == 0 {
		h.T.Errorf("%s has %d rows, want at least the %d of the list, and at least 1", table, n, len(records))
	}
	for _, raw := range records {
		record := trials.Decode(string(raw))
		for _, column := range columns {
			want, _ := trials.Dig(record, column).(string)
			got := h.QueryOne("SELECT coalesce("+column+"::VARCHAR, '') FROM "+table+" WHERE id = ?", trials.Dig(record, "id"))
			if got != want {
				h.T.Errorf("%s of %s %v is %q, want %q as in the list", column, table, trials.Dig(record, "id"), got, want)
			}
		}
	}
}

// requireArticlesInProgress checks that the values of articles in progress are current. An article
// is in progress if it has no live URL and its campaign changed within 44 days.
func (h *limitedHarness) requireArticlesInProgress(ref *trials.Reference) {
	h.T.Helper()
	current := ref.CurrentRows()
	changedRecently := map[string]bool{}
	for _, c := range current["campaigns"] {
		at, err := time.Parse(trials.MicrosecondLayout, c["updated_at"])
		testharness.Must(h.T, err)
		changedRecently[c["id"]] = h.At.Sub(at) < 44*24*time.Hour
	}
	campaignOf := map[string]string{}
	for _, row := range current["campaign_articles"] {
		campaignOf[row["id"]] = row["campaign_id"]
	}
	compared := 0
	for _, spec := range ref.UniqueTables() {
		if spec.Table != "articles" {
			continue
		}
		got := trials.RowsByKey(spec, trials.ReadTable(h.T, spec, h.Catalog(), "main.articles"))
		for key, want := range trials.RowsByKey(spec, current["articles"]) {
			if want["live_url"] != "" || !changedRecently[campaignOf[want["id"]]] {
				continue
			}
			compared++
			if !cmp.Equal(want, got[key]) {
				h.T.Errorf("article %s (-service +warehouse):\n%s", key, cmp.Diff(want, got[key]))
			}
		}
	}
	if compared == 0 {
		h.T.Error("no article is in progress, so the test shows nothing")
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
	interrupted := h.interruptedLimitedNight(150, timeForRequests(200))
	stored := storedRequests(h.Harness, interrupted.Run.ID)
	res := h.publishedNight(time.Nanosecond)
	if res.Run.ID != interrupted.Run.ID {
		t.Fatalf("got run %s, want the resumed run %s", res.Run.ID, interrupted.Run.ID)
	}
	for path := range h.requests {
		beforePage, _, _ := strings.Cut(path, "page=")
		// If the first page of a detail was stored, the night reads its other pages,
		// and repeats a page that the interruption truncated.
		if path != "/auth/token" && !stored[path] && !stored[beforePage+"page=1"] {
			t.Errorf("%s was requested after the time limit", path)
		}
	}
	h.requireLists(ref)
	fetched := int64(0)
	for _, s := range res.Run.Streams {
		fetched += s.Fetched
	}
	if fetched < 60 {
		t.Errorf("the night published %d details, want at least 60 from stored responses", fetched)
	}
}

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

// historySums returns a checksum of the history of every table.
func (h *limitedHarness) historySums() map[string]string {
	h.T.Helper()
	all := map[string]string{}
	for _, table := range stream.Tables(h.Config.Streams) {
		all[table.Name] = h.QueryOne(fmt.Sprintf(`SELECT count(*) || ' ' || coalesce(md5(string_agg(row_text, chr(10) ORDER BY row_text)), '')
			FROM (SELECT to_json(x)::VARCHAR AS row_text FROM history.%s x)`, table.Name))
	}
	return all
}
