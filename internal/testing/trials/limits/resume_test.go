package limits_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
)

// interruptedNight runs a night that is interrupted at its n-th request.
func interruptedNight(h *trials.Harness, n int32) pipeline.Result {
	h.T.Helper()
	ctx, cancel := context.WithCancel(h.T.Context())
	defer cancel()
	var requests atomic.Int32
	h.OnRequest(func(*http.Request) {
		if requests.Add(1) == n {
			cancel()
		}
	})
	res, err := pipeline.Run(ctx, h.Config)
	h.OnRequest(nil)
	if err == nil || res.Run.ExitCode != 130 {
		h.T.Fatalf("the interrupted night ended with exit code %d, want 130: %v", res.Run.ExitCode, err)
	}
	return res
}

// resumedNight resumes an interrupted night ten minutes later. isRepeatable reports whether the night may send a
// request, which is not the check of the token. stored counts the stored responses by path and query.
func resumedNight(h *trials.Harness, interrupted pipeline.Result, isRepeatable func(path string, stored map[string]int) bool) pipeline.Result {
	h.T.Helper()
	stored := trials.StoredRequests(h.T, h.Path("raw", interrupted.Run.ID))
	h.Service.ResetRequests()
	h.At = h.At.Add(10 * time.Minute)
	res, err := pipeline.Run(h.T.Context(), h.Config)
	testharness.Must(h.T, err)
	if res.Run.ID != interrupted.Run.ID || len(stored) == 0 {
		h.T.Errorf("got run %s after %d stored responses, want the resumed run %s and some responses", res.Run.ID, len(stored), interrupted.Run.ID)
	}
	for _, r := range h.Service.Requests() {
		if r.Path != "/auth/token" && !isRepeatable(r.Path, stored) {
			h.T.Errorf("%s was requested, want only requests that the stored responses and the time limit leave", r.Path)
		}
	}
	return res
}

// TestResumedNightRepeatsNoRequests interrupts a night at several points and resumes it. The resumed night must not
// repeat a request whose response is stored. It may only check the token again, and read page 1 of a list again to
// confirm that the list did not change. The stored values must equal those of the service.
func TestResumedNightRepeatsNoRequests(t *testing.T) {
	requests := []int32{7, 40, 2, 15}
	for _, request := range requests[:trials.Size(4, 2)] {
		t.Run("at request "+strconv.Itoa(int(request)), func(t *testing.T) {
			t.Parallel()
			h := trials.NewHarness(t, trials.SmallWorld())
			h.Config.ResumeMaxAge = time.Hour
			h.Config.FinishCommit = true // must not delay the interruption of a night that still reads
			h.NextDay()
			resumedNight(h, interruptedNight(h, request), func(path string, stored map[string]int) bool {
				return stored[path] == 0 || strings.HasSuffix(path, "page=1")
			})
			h.RequireValues(trials.NewReference(t, h.Service, h.Config.Streams))
			if lines, err := trials.WarehouseOf(h.Config).RunLog.Runs(); err != nil || len(lines) != 1 || lines[0].ExitCode != 0 {
				t.Errorf("the ledger has %+v (%v), want one run with exit code 0", lines, err)
			}
		})
	}
}

// TestTrialInterruptedNightPublishesStoredResponses interrupts a night among the details, and resumes it with a time
// limit of 1 ns. The resumed night must publish the stored responses and request no other id. It reads the other pages
// of a detail whose first page is stored.
func TestTrialInterruptedNightPublishesStoredResponses(t *testing.T) {
	testharness.Long(t)
	t.Parallel()
	h := trials.NewHarness(t, sim.Options{Seed: 3, Token: trials.Token, Outlets: 50, Listings: 125, Orders: 75, Campaigns: 12, Profiles: 3})
	h.Config.Details, h.Config.LiveDays = pipeline.ChangedDetails, 45
	h.Config.ResumeMaxAge, h.Config.Fetch.PageSize, h.Config.Fetch.Concurrency = time.Hour, 20, 1
	h.NextDay()
	interrupted := interruptedNight(h, 150)
	h.Config.MaxDuration = time.Nanosecond
	res := resumedNight(h, interrupted, func(path string, stored map[string]int) bool {
		beforePage, _, _ := strings.Cut(path, "page=")
		return stored[path]+stored[beforePage+"page=1"] > 0
	})
	tables := h.RequireProvenValues(trials.NewReference(t, h.Service, h.Config.Streams), res.Run)
	fetched := int64(0)
	for _, s := range res.Run.Streams {
		fetched += s.Fetched
	}
	if unread, _ := res.Run.Unread(); fetched < 60 || unread == 0 || tables < 8 {
		t.Errorf("the night published %d details and %d proven tables and left %d ids unread, want at least 60 details, 8 tables and some unread ids",
			fetched, tables, unread)
	}
}
