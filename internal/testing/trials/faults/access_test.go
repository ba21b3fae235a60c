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

// TestForbiddenStreamMakesTheFirstNightPartial lets the service return status 403 although the token has the scope.
func TestForbiddenStreamMakesTheFirstNightPartial(t *testing.T) {
	t.Parallel()
	h := trials.NewHarness(t, trials.SmallWorld(), trials.FewStreams()...)
	h.Service.SetFaults(sim.Fault{Route: "/products/listings", Kind: sim.FaultStatus, Status: http.StatusForbidden})
	res := h.PartialNight()
	h.RequireStream(res.Run, "product_listings", stream.Skipped, "403")
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
