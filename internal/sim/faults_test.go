package sim_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/sim"
)

func TestFaultsWithACompleteResponse(t *testing.T) {
	for name, tc := range map[string]struct {
		fault sim.Fault
		shows func(got httpResponse) bool // reports whether a response shows the fault
	}{
		"status": {
			sim.Fault{Kind: sim.FaultStatus, Status: 503, RetryAfter: "7"},
			func(got httpResponse) bool { return got.status == 503 && got.header.Get("Retry-After") == "7" },
		},
		"default status": {
			sim.Fault{}, func(got httpResponse) bool { return got.status == 500 },
		},
		"HTML page": {
			sim.Fault{Kind: sim.FaultHTML},
			func(got httpResponse) bool {
				return got.status == 200 && bytes.HasPrefix(got.body, []byte("<!DOCTYPE html>"))
			},
		},
		"broken JSON": {
			sim.Fault{Kind: sim.FaultBrokenJSON},
			func(got httpResponse) bool { return got.status == 200 && len(got.body) > 0 && !json.Valid(got.body) },
		},
		"empty body": {
			sim.Fault{Kind: sim.FaultEmpty},
			func(got httpResponse) bool { return got.status == 200 && len(got.body) == 0 },
		},
		"slow body": {
			sim.Fault{Kind: sim.FaultSlow, Delay: time.Microsecond},
			func(got httpResponse) bool { return got.status == 200 && json.Valid(got.body) },
		},
		"redirect to an unknown host": {
			sim.Fault{Kind: sim.FaultRedirect},
			func(got httpResponse) bool {
				return got.status == 302 && got.header.Get("Location") == "http://elsewhere.invalid/"
			},
		},
		"rewritten body": {
			sim.Fault{Kind: sim.FaultRewrite, Rewrite: func([]byte) []byte { return []byte("other") }},
			func(got httpResponse) bool { return string(got.body) == "other" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, sim.Options{})
			s.service.SetFaults(tc.fault)
			if got := s.get("/orders"); !tc.shows(got) {
				t.Errorf("got status %d, header %v and body %.60s, want the fault", got.status, got.header, got.body)
			}
		})
	}
}

func TestFaultsThatBreakTheConnection(t *testing.T) {
	for name, tc := range map[string]struct {
		kind sim.FaultKind
		want error
	}{
		"reset before the first byte": {sim.FaultReset, syscall.ECONNRESET},
		"reset in the body":           {sim.FaultResetBody, syscall.ECONNRESET},
		"truncated body":              {sim.FaultTruncate, io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, sim.Options{})
			s.service.SetFaults(sim.Fault{Kind: tc.kind})
			got, err := s.request(http.MethodGet, "/orders?limit=100", "pc_demo")
			// A reset may arrive before the part of the body that was sent.
			failure := errors.Join(err, got.err)
			if !errors.Is(failure, tc.want) && !errors.Is(failure, io.ErrUnexpectedEOF) && !errors.Is(failure, io.EOF) {
				t.Errorf("got %v, want %v or the end of the connection", failure, tc.want)
			}
			if json.Valid(got.body) && len(got.body) > 0 {
				t.Error("got the complete body, want a part of it")
			}
		})
	}
}

func TestFaultsOnPages(t *testing.T) {
	s := serve(t, sim.Options{})
	s.service.SetFaults(sim.Fault{Path: "/orders", Kind: sim.FaultEndlessPages})
	want := envelope{
		Records: []json.RawMessage{}, TotalRecords: 200, TotalPages: 8, CurrentPage: 99, NextPage: new(100), PreviousPage: new(98),
	}
	if diff := cmp.Diff(want, s.page("/orders?page=99")); diff != "" {
		t.Errorf("page 99 of FaultEndlessPages (-want +got):\n%s", diff)
	}
	s.service.SetFaults(sim.Fault{Path: "/orders", Kind: sim.FaultSamePage})
	first, twelfth := s.page("/orders?page=1"), s.page("/orders?page=12")
	if !sameBytes(first.Records, twelfth.Records) {
		t.Error("page 12 of FaultSamePage differs from page 1, want the same records")
	}
	if twelfth.NextPage == nil {
		t.Error("page 12 of FaultSamePage has no next page, want one")
	}
}

func TestFaultsSelectRequests(t *testing.T) {
	statuses := func(s testServer, count int) (out []int) {
		for range count {
			out = append(out, s.get("/orders?limit=1").status)
		}
		return out
	}
	s := serve(t, sim.Options{})
	s.service.SetFaults(sim.Fault{Path: "/tags", Status: 501}, sim.Fault{Path: "/orders", Skip: 2, Times: 2, Status: 502})
	if got, want := statuses(s, 6), []int{200, 200, 502, 502, 200, 200}; !slices.Equal(got, want) {
		t.Errorf("got statuses %v, want %v", got, want)
	}
	if got := s.get("/tags").status; got != 501 {
		t.Errorf("GET /tags: got status %d, want 501", got)
	}
}

func TestFaultFuncPrecedesFaults(t *testing.T) {
	s := serve(t, sim.Options{FaultFunc: func(r *http.Request) *sim.Fault {
		if r.URL.Path == "/tags" {
			return &sim.Fault{Status: http.StatusTeapot}
		}
		return nil
	}})
	s.service.SetFaults(sim.Fault{Status: 500})
	for path, want := range map[string]int{"/tags": http.StatusTeapot, "/orders": 500} {
		if got := s.get(path).status; got != want {
			t.Errorf("%s: status %d, want %d", path, got, want)
		}
	}
}

func TestResetWithoutConnectionAborts(t *testing.T) {
	service := sim.New(sim.Options{})
	service.SetFaults(sim.Fault{Kind: sim.FaultReset})
	defer func() {
		if got := recover(); got != http.ErrAbortHandler {
			t.Errorf("got the panic %v, want http.ErrAbortHandler", got)
		}
	}()
	service.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/tags", nil))
}

func TestFaultRouteSeparatesListAndDetails(t *testing.T) {
	s := serve(t, sim.Options{})
	s.service.SetFaults(sim.Fault{Route: "/orders/{order_id}", Status: 500})
	order := ids(t, s.service.Records("/orders"))[0]
	for path, want := range map[string]int{"/orders": 200, "/orders/" + order: 500, "/nothing": 404} {
		if got := s.get(path).status; got != want {
			t.Errorf("GET %s: status %d, want %d", path, got, want)
		}
	}
}
