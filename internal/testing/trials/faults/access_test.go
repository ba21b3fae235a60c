package faults_test

import (
	"net/http"
	"testing"

	"placementsync/internal/sim"
	"placementsync/internal/stream"
	"placementsync/internal/testing/trials"
)

// TestForbiddenStreamMakesTheFirstNightPartial lets the service return status 403 although the token has the scope.
func TestForbiddenStreamMakesTheFirstNightPartial(t *testing.T) {
	t.Parallel()
	h := trials.NewHarness(t, trials.SmallWorld(), trials.FewStreams()...)
	h.Service.SetFaults(sim.Fault{Route: "/products/listings", Kind: sim.FaultStatus, Status: http.StatusForbidden})
	res := h.PartialNight()
	h.RequireStream(res.Run, "product_listings", stream.Skipped, "403")
}
