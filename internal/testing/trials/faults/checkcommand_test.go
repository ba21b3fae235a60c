package faults_test

import (
	"os"
	"testing"

	"placementsync/internal/pipeline"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
)

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
