package faults_test

import (
	"errors"
	"os"
	"slices"
	"testing"

	"placementsync/internal/pipeline"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
)

// TestCheckPlansTheNight compares the plan of the command "check" with the night that follows.
func TestCheckPlansTheNight(t *testing.T) {
	t.Parallel()
	world := trials.SmallWorld()
	world.TokenType, world.Scopes = "custom", []string{"orders.lists", "orders.read"}
	h := trials.NewHarness(t, world, trials.FewStreams()...)
	h.Config.Warehouse.Dir = h.Path("not there yet")

	plan, err := pipeline.PlanNight(t.Context(), h.Config)
	testharness.Must(t, err)
	if _, err := os.Stat(h.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("PlanNight created the warehouse folder, want none (%v)", err)
	}
	if plan.PublishedRun != "" || plan.Requests != 0 || plan.LockedErr != nil {
		t.Errorf("the plan before the first night is %+v, want no version, requests or lock", plan)
	}
	if plan.Token.TeamID != h.Service.TeamID() {
		t.Errorf("the plan has the team %q, want %q", plan.Token.TeamID, h.Service.TeamID())
	}
	if skip := plannedStream(t, plan, "product_listings").SkipReason; skip != "missing scope products.read" {
		t.Errorf("the reason to skip product_listings is %q, want missing scope products.read", skip)
	}

	res := h.GoodNight()
	plan, err = pipeline.PlanNight(t.Context(), h.Config)
	testharness.Must(t, err)
	want := trials.StreamOf(t, res.Run, "orders").Requests + trials.StreamOf(t, res.Run, "order_details").Requests
	if plan.Requests != want || plan.PublishedRun != res.Run.ID {
		t.Errorf("the plan has %d requests after %s, want %d after %s", plan.Requests, plan.PublishedRun, want, res.Run.ID)
	}
	if plan.NeedBytes <= 0 || plan.FreeBytes <= 0 || plan.NeverRead != 0 {
		t.Errorf("the plan needs %d of %d free bytes and has %d streams that were never read, want positive numbers and no such stream", plan.NeedBytes,
			plan.FreeBytes, plan.NeverRead)
	}
	if orders := plannedStream(t, plan, "orders"); orders.SkipReason != "" || orders.LastRequests <= 0 {
		t.Errorf("the plan of orders is %+v, want requests and no reason to skip", orders)
	}
}

func plannedStream(t *testing.T, p pipeline.Plan, name string) pipeline.StreamPlan {
	t.Helper()
	i := slices.IndexFunc(p.Streams, func(s pipeline.StreamPlan) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("the plan has no stream %s", name)
	}
	return p.Streams[i]
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
