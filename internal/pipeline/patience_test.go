package pipeline_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
)

// outage refuses some requests of a night. refuse returns true for a refused request, with the response, or with nil
// for a refused connection. All other requests are answered by the service. since is the time since the first request.
type outage struct {
	service http.Handler
	refuse  func(since time.Duration) (*http.Response, bool)

	mu      sync.Mutex
	started time.Time
}

func (o *outage) RoundTrip(r *http.Request) (*http.Response, error) {
	o.mu.Lock()
	if o.started.IsZero() {
		o.started = time.Now()
	}
	response, refused := o.refuse(time.Since(o.started))
	o.mu.Unlock()
	switch {
	case !refused:
		return inProcessTransport{o.service, 50 * time.Millisecond}.RoundTrip(r)
	case response == nil:
		return nil, syscall.ECONNREFUSED
	}
	return response, nil
}

func refusal(status int, retryAfter int) *http.Response {
	w := httptest.NewRecorder()
	w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	w.WriteHeader(status)
	return w.Result()
}

// patientNight runs a night of all streams with the default retries, request rate and patience.
func (h *harness) patientNight(refuse func(since time.Duration) (*http.Response, bool)) (res pipeline.Result, took time.Duration, err error) {
	h.t.Helper()
	h.at = h.at.Add(time.Hour)
	f := &h.cfg.Fetch
	f.BaseURL, f.RequestsPerSecond, f.Burst, f.Patience = "http://127.0.0.1/", 10, 10, time.Hour
	f.Retry = fetch.Retry{MaxRetries: 5, Jitter: 0.1}
	f.Transport = &outage{service: h.service, refuse: refuse}
	synctest.Test(h.t, func(t *testing.T) {
		start := time.Now()
		res, err = pipeline.Run(t.Context(), h.cfg)
		took = time.Since(start)
	})
	return res, took, err
}

// TestNightsOutlastABadHour runs a first night during an outage that begins with its first request, and during a quota of
// 6 requests in five minutes. Both end complete.
func TestNightsOutlastABadHour(t *testing.T) {
	window, used := 0, 0 // the current five minutes of the quota, and its number of requests
	for name, tc := range map[string]struct {
		refuse   func(since time.Duration) (*http.Response, bool)
		min, max time.Duration
	}{
		"refused connections for 20 minutes": {func(since time.Duration) (*http.Response, bool) {
			return nil, since < 20*time.Minute
		}, 20 * time.Minute, 28 * time.Minute},
		"6 requests in five minutes": {func(since time.Duration) (*http.Response, bool) {
			const length = 5 * time.Minute
			if now := int(since / length); now != window {
				window, used = now, 0
			}
			used++
			untilNextWindow := length - since%length
			return refusal(429, int(untilNextWindow.Seconds())+1), used > 6
		}, 5 * time.Minute, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, smallWorld(), orderStreamNames()...)
			res, took, err := h.patientNight(tc.refuse)
			h.requireComplete(res, err)
			t.Logf("took %v with %d requests", took, res.Run.Requests)
			if took < tc.min || took > tc.max {
				t.Errorf("took %v, want %v to %v", took, tc.min, tc.max)
			}
			if res.Run.ThrottledSeconds < tc.min.Seconds()-1 {
				t.Errorf("the run waited %v s for the service, want at least %v", res.Run.ThrottledSeconds, tc.min)
			}
		})
	}
}

// TestNightWithoutPatienceFailsAtOnce sets the patience to 0.
func TestNightWithoutPatienceFailsAtOnce(t *testing.T) {
	h := newHarness(t, smallWorld(), "product_listings")
	f := &h.cfg.Fetch
	f.BaseURL, f.Retry = "http://127.0.0.1/", fetch.Retry{MaxRetries: 5}
	f.Transport = &outage{service: h.service, refuse: func(time.Duration) (*http.Response, bool) { return refusal(503, 600), true }}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := pipeline.Run(t.Context(), h.cfg)
		if took := time.Since(start); err == nil || !strings.Contains(err.Error(), "answered 503 Service Unavailable after 6 attempts") || took > time.Minute {
			t.Errorf("ended after %v with %v, want the 503 after 6 attempts and less than a minute", took, err)
		}
	})
	// The user waits for a plan, so it has no patience.
	f.Patience = time.Hour
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := pipeline.PlanNight(t.Context(), h.cfg)
		if took := time.Since(start); err == nil || took > time.Minute {
			t.Errorf("the plan ended after %v with %v, want the 503 and less than a minute", took, err)
		}
	})
}

// TestProgressShowsAWait reads the progress during an outage.
func TestProgressShowsAWait(t *testing.T) {
	h := newRaceHarness(t, smallWorld(), "product_listings")
	h.cfg.Progress = &pipeline.ProgressTracker{}
	shown, allowedPerSecond := "", 0.0
	res, _, err := h.patientNight(func(since time.Duration) (*http.Response, bool) {
		if p, ok := h.cfg.Progress.Progress(); ok && since > 2*time.Minute && shown == "" {
			shown, allowedPerSecond = p.DescribeWait(), p.AllowedPerSecond
		}
		return refusal(502, 60), since < 5*time.Minute
	})
	h.requireComplete(res, err)
	if !strings.HasPrefix(shown, "waiting for the service until ") || !strings.HasSuffix(shown, " UTC: the service answered 502 Bad Gateway") {
		t.Errorf("the progress shows %q, want the 502 and a time", shown)
	}
	if allowedPerSecond != 10 {
		t.Errorf("the progress shows %v allowed requests per second, want the configured 10", allowedPerSecond)
	}
}

// TestRefreshDoesNotWait refreshes a record while the service is unavailable.
func TestRefreshDoesNotWait(t *testing.T) {
	h := newHarness(t, smallWorld(), "campaigns", "campaign_articles")
	h.requireComplete(h.night())
	f := &h.cfg.Fetch
	f.Patience, f.Retry = time.Hour, fetch.Retry{MaxRetries: 1}
	f.Transport = &outage{service: h.service, refuse: func(time.Duration) (*http.Response, bool) { return refusal(503, 600), true }}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := pipeline.Refresh(t.Context(), h.cfg, pipeline.Targets{Campaigns: []string{"any"}})
		if took := time.Since(start); err == nil || took > time.Minute {
			t.Errorf("ended after %v with %v, want an error in less than a minute", took, err)
		}
	})
}

// TestOneRefusedID responds with 403 to one outlet. The night stores the others, names the id and requests it again
// on the next night.
func TestOneRefusedID(t *testing.T) {
	h := newHarness(t, smallWorld(), "outlet_listings", "outlets")
	first := h.requireComplete(h.night())
	outlets := h.singleLine("SELECT count(*) FROM outlets")
	refused := h.singleLine("SELECT max(id) FROM outlets")
	for range 2 {
		h.service.SetFaults(sim.Fault{Path: "/outlets/" + refused, Kind: sim.FaultStatus, Status: http.StatusForbidden})
		res := h.requirePartial(h.night())
		s := h.requireStream(res.Run, "outlets", stream.BestEffort, "1 of "+outlets+" ids failed; 403 for "+refused, true)
		if s.Failed != 1 || s.Requests != streamOf(t, first.Run, "outlets").Requests {
			t.Errorf("outlets: %+v, want one failed id, requested once", s)
		}
		h.requireLines("SELECT count(*) FROM outlets", outlets)
	}
}

// TestEmptyListsWithoutContent answers the articles of all campaigns and the list of files with 204, and the status counts
// with an empty object. In the next night, the list of files fails.
func TestEmptyListsWithoutContent(t *testing.T) {
	h := newHarness(t, smallWorld(), "campaigns", "campaign_articles", "campaign_status_counts", "files")
	noCounts := sim.Fault{Route: "/campaigns/{id}/articles/status-count", Kind: sim.FaultRewrite, Rewrite: func([]byte) []byte { return []byte("{}") }}
	h.service.SetFaults(statusFault("/campaigns/{id}/articles", http.StatusNoContent), statusFault("/files", http.StatusNoContent), noCounts)
	res := h.requireComplete(h.night())
	h.requireStream(res.Run, "campaign_articles", stream.Exact, "", false)
	h.requireStream(res.Run, "campaign_status_counts", stream.Exact, "", false)
	h.requireStream(res.Run, "files", stream.Exact, "", false)
	h.requireLines("SELECT count(*) FROM campaign_articles", "0")
	h.service.SetFaults(statusFault("/files", http.StatusInternalServerError))
	carried := h.requirePartial(h.night())
	s := h.requireStream(carried.Run, "files", stream.CarriedForward, "500", true)
	if !s.AgeSince.Equal(res.Run.SnapshotAt) {
		t.Errorf("the empty list is from %v, want %v", s.AgeSince, res.Run.SnapshotAt)
	}
}

// TestEmptyBodies answers the list of files and the articles of campaigns with 200 without a body. The list of files
// counts as not read. The articles of a campaign count as an empty list if no row of the campaign is stored and another
// campaign has articles. If the campaign has rows, they are kept, and the night is partial.
func TestEmptyBodies(t *testing.T) {
	h := newHarness(t, campaignWorld(), "campaigns", "campaign_articles", "files")
	campaign := h.largestCampaign()
	ofCampaign := "SELECT count(*) FROM campaign_articles WHERE campaign_id = '" + campaign + "'"
	files := sim.Fault{Route: "/files", Kind: sim.FaultEmpty}
	articles := sim.Fault{Route: "/campaigns/{id}/articles", Kind: sim.FaultEmpty}
	articlesOfOne := articles
	articlesOfOne.Path = "/campaigns/" + campaign

	h.service.SetFaults(articles, files)
	res := h.requirePartial(h.night())
	h.requireStream(res.Run, "files", stream.Skipped, "the body is empty", true)
	h.requireStream(res.Run, "campaign_articles", stream.BestEffort, "8 ids have no body", false)

	// The ids of such lists are requested again, although no campaign is live.
	h.service.SetFaults(articlesOfOne)
	h.cfg.Details, h.cfg.LiveDays = pipeline.ChangedDetails, 0
	res = h.requireComplete(h.unchangedNight())
	if s := h.requireStream(res.Run, "campaign_articles", stream.Exact, "", false); s.Fetched != 8 {
		t.Errorf("read the articles of %d campaigns, want 8", s.Fetched)
	}
	h.requireLines(ofCampaign, "0")

	h.service.SetFaults()
	h.cfg.Details = pipeline.AllDetails
	h.requireComplete(h.unchangedNight())
	stored := h.singleLine(ofCampaign)
	if stored == "0" {
		t.Fatal("a night without faults stored no articles, want some")
	}
	h.service.SetFaults(articlesOfOne, files)
	res = h.requirePartial(h.unchangedNight())
	h.requireStream(res.Run, "files", stream.CarriedForward, "the body is empty", true)
	h.requireIDs("files", "/files")
	reason := "1 of 8 ids failed; rows of earlier nights are kept; " +
		`first error: the service returned nothing for "` + campaign + `", which has known records`
	s := h.requireStream(res.Run, "campaign_articles", stream.BestEffort, reason, true)
	if s.Fetched != 7 || s.Failed != 1 {
		t.Errorf("fetched %d ids, and %d failed, want 7 and 1", s.Fetched, s.Failed)
	}
	h.requireLines(ofCampaign, stored)
}
