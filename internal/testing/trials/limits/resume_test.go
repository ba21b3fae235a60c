package limits_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/pipeline"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
)

// TestResumedNightRepeatsNoRequests interrupts a night at several points and resumes it. The
// resumed night must not repeat a request whose response is stored. It may only check the token
// again, and read page 1 of a list again to confirm that the list did not change. The stored values
// must equal those of the service.
func TestResumedNightRepeatsNoRequests(t *testing.T) {
	requests := []int32{7, 40, 2, 15}
	for _, request := range requests[:trials.Size(4, 2)] {
		t.Run("at request "+strconv.Itoa(int(request)), func(t *testing.T) {
			t.Parallel()
			h := trials.NewHarness(t, trials.SmallWorld())
			h.Config.ResumeMaxAge = time.Hour
			h.Config.FinishCommit = true // must not delay the interruption of a night that still reads
			h.NextDay()
			interrupted := interruptedNight(h, request)
			stored := storedRequests(h, interrupted.Run.ID)
			h.Service.ResetRequests()
			h.At = h.At.Add(10 * time.Minute)
			res, err := pipeline.Run(t.Context(), h.Config)
			testharness.Must(t, err)
			if res.Run.ID != interrupted.Run.ID {
				t.Errorf("got run %s, want the resumed run %s", res.Run.ID, interrupted.Run.ID)
			}
			for _, r := range h.Service.Requests() {
				if stored[r.Path] && !strings.HasSuffix(r.Path, "page=1") && r.Path != "/auth/token" {
					t.Errorf("%s was requested again although its response was stored", r.Path)
				}
			}
			h.RequireValues(trials.NewReference(t, h.Service, h.Config.Streams))
			if lines, err := trials.WarehouseOf(h.Config).RunLog.Runs(); err != nil || len(lines) != 1 || lines[0].ExitCode != 0 {
				t.Errorf("the ledger has %+v (%v), want one run with exit code 0", lines, err)
			}
		})
	}
}

// storedRequests returns the path and query of each request whose response the run stored.
func storedRequests(h *trials.Harness, run string) map[string]bool {
	h.T.Helper()
	stored, err := fetch.OpenStoredResponses(h.Path("raw", run))
	testharness.Must(h.T, err)
	defer stored.Close()
	all := map[string]bool{}
	for response, err := range stored.All() {
		testharness.Must(h.T, err)
		path, _, _ := strings.Cut(response.Path, "{")
		if path != response.Path {
			_, after, _ := strings.Cut(response.Path, "}")
			path += response.Param + after
		}
		query := response.Query
		if response.Page > 0 {
			query = strings.TrimPrefix(query+"&page="+strconv.Itoa(response.Page), "&")
		}
		all[strings.TrimSuffix(path+"?"+query, "?")] = true
	}
	if len(all) == 0 {
		h.T.Fatalf("run %s has no stored responses, want some", run)
	}
	return all
}

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
	h.RequestHook.Store(nil)
	if err == nil || res.Run.ExitCode != 130 {
		h.T.Fatalf("the interrupted night ended with exit code %d, want 130: %v", res.Run.ExitCode, err)
	}
	return res
}
