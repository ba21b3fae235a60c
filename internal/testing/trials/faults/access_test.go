package faults_test

import (
	"errors"
	"net/http"
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

// TestForbiddenStreamMakesTheFirstNightPartial lets the service return status 403 although the token has the scope.
func TestForbiddenStreamMakesTheFirstNightPartial(t *testing.T) {
	t.Parallel()
	h := trials.NewHarness(t, trials.SmallWorld(), trials.FewStreams()...)
	h.Service.SetFaults(sim.Fault{Route: "/products/listings", Kind: sim.FaultStatus, Status: http.StatusForbidden})
	res := h.PartialNight()
	h.RequireStream(res.Run, "product_listings", stream.Skipped, "403")
}
