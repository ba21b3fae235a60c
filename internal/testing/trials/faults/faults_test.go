package faults_test

import (
	"net/http"
	"os"
	"testing"

	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
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

// TestForbiddenStreamMakesTheFirstNightPartial lets the service return status 403 although the token has the scope.
func TestForbiddenStreamMakesTheFirstNightPartial(t *testing.T) {
	t.Parallel()
	h := trials.NewHarness(t, trials.SmallWorld(), trials.FewStreams()...)
	h.Service.SetFaults(sim.Fault{Route: "/products/listings", Kind: sim.FaultStatus, Status: http.StatusForbidden})
	res, err := h.Night()
	testharness.Must(t, err)
	if res.Run.Outcome != ledger.Partial || res.Run.ExitCode != 3 {
		t.Errorf("the night ended %s with exit code %d, want partial with 3", res.Run.Outcome, res.Run.ExitCode)
	}
	h.RequireStream(res.Run, "product_listings", stream.Skipped, "403")
}

// TestCheckReportsDamage removes a file of a day. The plan must contain the damage with its repair.
func TestCheckReportsDamage(t *testing.T) {
	t.Parallel()
	h := trials.NewHarness(t, trials.SmallWorld(), trials.FewStreams()...)
	h.GoodNight()
	plan, err := pipeline.PlanNight(t.Context(), h.Config)
	testharness.Must(t, err)
	if len(plan.Damage) > 0 || plan.WriteErr != nil || plan.TooFull() {
		t.Errorf("the plan has the damage %+v, the error %v and a full disk: %t, want none of them", plan.Damage, plan.WriteErr, plan.TooFull())
	}
	const file = "parquet/orders/snapshot_date=2026-11-02/orders.parquet"
	testharness.Must(t, os.Remove(h.Path(file)))
	plan, err = pipeline.PlanNight(t.Context(), h.Config)
	testharness.Must(t, err)
	if len(plan.Damage) != 1 || plan.Damage[0].File != file || plan.Damage[0].Repair.Command() != "placementsync rebuild --series" {
		t.Errorf("the plan has the damage %+v, want the file %s and rebuild --series", plan.Damage, file)
	}
}
