package trials_test

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
)

// TestResumedNightRepeatsNoRequests interrupts a night at several points and resumes it. No
// landed response may be requested again, except for the token, and for page 1 of a list to
// confirm that the list did not change. The values must be those of an uninterrupted night.
func TestResumedNightRepeatsNoRequests(t *testing.T) {
	for _, request := range []int32{2, 7, 15, 40} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, smallWorld())
			h.cfg.ResumeMaxAge = time.Hour
			h.service.Advance(1)
			h.at = h.service.Now().Add(2 * time.Hour)
			first := h.interruptedNight(request)
			landed := h.landedRequests(first.Run.ID)
			h.service.ResetRequests()
			h.at = h.at.Add(10 * time.Minute)
			res, err := pipeline.Run(t.Context(), h.cfg)
			must(t, err)
			if res.Run.ID != first.Run.ID {
				t.Errorf("the run is %s, want %s to be resumed", res.Run.ID, first.Run.ID)
			}
			for _, r := range h.service.Requests() {
				if landed[r.Path] && !strings.HasSuffix(r.Path, "page=1") && r.Path != "/auth/token" {
					t.Errorf("%s was requested again although its response had landed", r.Path)
				}
			}
			h.requireValues(newReference(t, h.service, h.cfg.Streams))
			if lines := ledgerRuns(t, h); len(lines) != 1 || lines[0].ExitCode != 0 {
				t.Errorf("the ledger has %+v, want one run with exit code 0", lines)
			}
		})
	}
}

// landedRequests returns path and query of all responses in the journal of a run.
func (h *harness) landedRequests(run string) map[string]bool {
	h.t.Helper()
	l, err := fetch.OpenLanding(h.path("raw", run), fetch.LandingOptions{})
	must(h.t, err)
	defer l.Close()
	all := map[string]bool{}
	for r, err := range l.Replay() {
		must(h.t, err)
		path, _, _ := strings.Cut(r.Path, "{")
		if path != r.Path {
			_, rest, _ := strings.Cut(r.Path, "}")
			path += r.Param + rest
		}
		query := r.Query
		if r.Page > 0 {
			query = strings.TrimPrefix(query+"&page="+strconv.Itoa(r.Page), "&")
		}
		all[strings.TrimSuffix(path+"?"+query, "?")] = true
	}
	if len(all) == 0 {
		h.t.Fatalf("run %s has no landed responses", run)
	}
	return all
}

// interruptedNight runs a night that is interrupted at its n-th request.
func (h *harness) interruptedNight(n int32) pipeline.Result {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.t.Context())
	defer cancel()
	var seen atomic.Int32
	h.onRequest(func(*http.Request) {
		if seen.Add(1) == n {
			cancel()
		}
	})
	res, err := pipeline.Run(ctx, h.cfg)
	h.requestHook.Store(nil)
	if err == nil || res.Run.ExitCode != 130 {
		h.t.Fatalf("the interrupted night ended with exit code %d, want 130: %v", res.Run.ExitCode, err)
	}
	return res
}

func TestOldOrForeignRunIsNotResumed(t *testing.T) {
	for name, change := range map[string]func(*harness){
		"too old":         func(h *harness) { h.at = h.at.Add(61 * time.Minute) },
		"never resumed":   func(h *harness) { h.cfg.ResumeMaxAge = 0; h.at = h.at.Add(time.Second) },
		"another service": func(h *harness) { h.cfg.Fetch.BaseURL += "/"; h.at = h.at.Add(time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, smallWorld(), fewStreams()...)
			h.cfg.ResumeMaxAge = time.Hour
			h.service.Advance(1)
			h.at = h.service.Now().Add(2 * time.Hour)
			first := h.interruptedNight(5)
			change(h)
			res, err := pipeline.Run(t.Context(), h.cfg)
			must(t, err)
			if res.Run.ID == first.Run.ID {
				t.Errorf("run %s was resumed, want a new run", first.Run.ID)
			}
		})
	}
}
