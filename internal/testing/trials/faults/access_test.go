package faults_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"placementsync/internal/fetch"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	"placementsync/internal/testing/trials"
)

func TestRejectedTokenPublishesNoNight(t *testing.T) {
	t.Parallel()
	h := trials.NewHarness(t, trials.SmallWorld(), trials.FewStreams()...)
	h.GoodNight()
	h.Service.SetToken("pc_another")
	_, err := h.FailedNight(t.Context(), trials.ExitFailed)
	if !errors.Is(err, fetch.ErrAuth) {
		t.Errorf("got %v, want ErrAuth", err)
	}
	requireNoToken(t, h.Path(), err.Error())
}

func TestRotatedTokenIsReadAgain(t *testing.T) {
	t.Parallel()
	h := trials.NewHarness(t, trials.SmallWorld(), trials.FewStreams()...)
	ref := trials.NewReference(t, h.Service, h.Config.Streams)
	var currentToken atomic.Pointer[string]
	setToken := func(value string) { currentToken.Store(&value) }
	setToken(trials.Token)
	h.Config.Fetch.Token = func(context.Context) (string, error) { return *currentToken.Load(), nil }
	var requestCount atomic.Int32
	h.OnRequest(func(*http.Request) {
		if requestCount.Add(1) == 5 {
			setToken("pc_rotated")
			h.Service.SetToken("pc_rotated")
		}
	})
	h.GoodNight()
	h.RequireValues(ref)
}

// TestForbiddenStreamIsSkippedOrCarried lets the service return status 403 for one stream. A carried
// stream keeps the rows of the night before.
func TestForbiddenStreamIsSkippedOrCarried(t *testing.T) {
	forbid := func(route string) sim.Fault {
		return sim.Fault{Route: route, Kind: sim.FaultStatus, Status: http.StatusForbidden}
	}
	t.Run("a 403 although the token has the scope makes the night partial", func(t *testing.T) {
		t.Parallel()
		h := trials.NewHarness(t, trials.SmallWorld(), trials.FewStreams()...)
		h.Service.SetFaults(forbid("/products/listings"))
		res := h.PartialNight()
		h.RequireStream(res.Run, "product_listings", stream.Skipped, "403")
	})
	t.Run("in the first night, a stream without a documented scope is skipped", func(t *testing.T) {
		t.Parallel()
		h := trials.NewHarness(t, trials.SmallWorld(), "campaigns", "campaign_articles", "articles")
		h.Service.SetFaults(forbid("/articles/{id}"))
		res := h.GoodNight()
		h.RequireStream(res.Run, "articles", stream.Skipped, "403")
	})
	t.Run("in a later night, a stream without a documented scope keeps its rows and makes the night partial", func(t *testing.T) {
		t.Parallel()
		h := trials.NewHarness(t, trials.SmallWorld(), "campaigns", "campaign_articles", "articles")
		h.GoodNight()
		before := h.RowCounts()
		h.Service.SetFaults(forbid("/articles/{id}"))
		res := h.PartialNight()
		h.RequireStream(res.Run, "articles", stream.CarriedForward, "403")
		if after := h.RowCounts(); after["articles"] != before["articles"] || before["articles"] == "0" {
			t.Errorf("articles has %s rows, want %s as in the night before, and at least 1", after["articles"], before["articles"])
		}
	})
}

// TestErrorObjectIsNotReadAsTokenInfo lets the service return an error object instead of the
// description of the token, once and then always. The night must repeat the request. It must not
// read the object as a token without scopes.
func TestErrorObjectIsNotReadAsTokenInfo(t *testing.T) {
	t.Parallel()
	h := trials.NewHarness(t, trials.SmallWorld(), append(trials.FewStreams(), "token")...)
	fault := trials.ReplaceBody("/auth/token", `{"error":"temporary failure","code":500}`)
	fault.Times = 1
	h.Service.SetFaults(fault)
	h.GoodNight()
	fault.Times = 0
	h.Service.SetFaults(fault)
	if _, err := h.FailedNight(t.Context(), trials.ExitFailed); !errors.Is(err, fetch.ErrMalformed) {
		t.Errorf("the night ended with %v, want ErrMalformed", err)
	}
}
