package faults_test

import (
	"net/http"
	"testing"

	"placementsync/internal/sim"
	"placementsync/internal/testing/trials"
)

func TestTrialUnreliableNetworkLosesNoRows(t *testing.T) {
	t.Parallel()
	h := trials.NewHarness(t, trials.SmallWorld())
	h.Config.Fetch.Retry.MaxRetries = 12
	ref := trials.NewReference(t, h.Service, h.Config.Streams)
	h.Config.Fetch.PageSize = 3
	h.Service.SetFaults(networkFaults()...)
	res := h.GoodNight()
	if res.Run.Retries == 0 {
		t.Error("no request was repeated, so the test shows nothing")
	}
	h.RequireValues(ref)
}

// networkFaults returns seven kinds of faults. The first affects a fifth of the responses. Each
// later kind affects a twentieth of the responses without an earlier kind of fault.
func networkFaults() []sim.Fault {
	faults := []sim.Fault{{Probability: 0.2, Kind: sim.FaultStatus, Status: http.StatusInternalServerError}}
	for _, kind := range []sim.FaultKind{sim.FaultReset, sim.FaultResetBody, sim.FaultTruncate, sim.FaultBrokenJSON, sim.FaultEmpty, sim.FaultHTML} {
		faults = append(faults, sim.Fault{Probability: 0.05, Kind: kind})
	}
	return faults
}
