package fetch_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"placementsync/internal/config"
	"placementsync/internal/fetch"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
)

// defaultConfig returns patientConfig with the other defaults of a configuration file, but without patience.
func defaultConfig(h http.Handler) fetch.Config {
	d := config.Default()
	cfg := patientConfig(h)
	cfg.PageSize, cfg.Timeout, cfg.MaxBody = d.API.PageSize, d.API.Timeout, d.API.MaxBodyBytes()
	cfg.MaxPasses, cfg.MaxPages, cfg.Patience = d.Streams.MaxPasses, d.Streams.MaxPages, 0
	return cfg
}

// TestTheDefaultsLimitRequests reads details of a fast and of a slow service. 10 requests may begin each second after
// the first 10, and 8 may run at a time.
func TestTheDefaultsLimitRequests(t *testing.T) {
	for latency, want := range map[time.Duration]time.Duration{time.Millisecond: 31 * time.Second, 10 * time.Second: 400 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			took := fetchIDs(t, newClient(t, defaultConfig(&limitedService{latency: latency}), nil), 320)
			if took < want || took > want+want/10 {
				t.Errorf("320 requests of %v took %v, want about %v", latency, took, want)
			}
		})
	}
}

// TestTheDefaultsLimitAnAttempt makes a service hang, and announce a body of 64 MB and of one byte more.
func TestTheDefaultsLimitAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		start := time.Now()
		checkError(t, requestTokenInfo(t, newClient(t, defaultConfig(hangs), nil)), "after 6 attempts")
		if took := time.Since(start); took < 3*time.Minute || took > 190*time.Second {
			t.Errorf("six attempts took %v, want 30 seconds each", took)
		}
	})
	for size, want := range map[int]string{64_000_000: "", 64_000_001: "exceeds the limit"} {
		cfg := defaultConfig(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(size))
			fmt.Fprint(w, `{"id":"a"}`)
		}))
		checkError(t, requestTokenInfo(t, newClient(t, cfg, nil)), want)
	}
}

// TestTheDefaultsLimitAList reads a list that has other records in each pass. Each pass lacks one of the three records
// of the total, so no pass proves the list.
func TestTheDefaultsLimitAList(t *testing.T) {
	var lists [][]string
	for pass := range 9 {
		lists = append(lists, []string{fmt.Sprintf("a%d b%d", pass, pass)})
	}
	service := &passes{pages: lists, total: 3}
	limits := map[string]bool{}
	cfg := defaultConfig(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limits[r.URL.Query().Get("limit")] = true
		service.ServeHTTP(w, r)
	}))
	cfg.Concurrency, cfg.RequestsPerSecond = 1, 0
	var got collector
	e, err := newClient(t, cfg, nil).Walk(t.Context(), sniffedStream, "", got.read)
	if err != nil || e.Grade != stream.BestEffort || service.begun != 4 {
		t.Errorf("got %+v and %v after %d passes, want best_effort after 4", e, err, service.begun)
	}
	if !limits["100"] || len(limits) != 1 {
		t.Errorf("asked for pages of %v, want 100 records", limits)
	}
}

// endlessList sends one record with a new id on each page.
type endlessList struct{ pages int }

func (l *endlessList) RoundTrip(*http.Request) (*http.Response, error) {
	l.pages++
	body := fmt.Sprintf(`[{"id":"%d"}]`, l.pages)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}, nil
}

// TestTrialEndlessListEndsAtTheDefault reads a list without an end.
func TestTrialEndlessListEndsAtTheDefault(t *testing.T) {
	harness.Long(t)
	cfg := defaultConfig(nil)
	cfg.Transport = &endlessList{}
	cfg.PageSize, cfg.Concurrency, cfg.MaxPasses, cfg.RequestsPerSecond = 1, 1, 1, 0
	var got collector
	if e, err := newClient(t, cfg, nil).Walk(t.Context(), sniffedStream, "", got.read); err != nil || e.Pages != 100_000 {
		t.Errorf("read %d pages (%v), want the first 100,000", e.Pages, err)
	}
}
