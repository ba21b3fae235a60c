package faults_test

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
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

// TestTrialCheckReportsDamage calls PlanNight for copies of a warehouse. One copy is undamaged, and
// each other copy has a different kind of damage. At the end the test replaces the folder "raw" of the
// original by a file. The next night must report this.
func TestTrialCheckReportsDamage(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	h := trials.NewHarness(t, trials.SmallWorld(), trials.FewStreams()...)
	h.GoodNight()
	h.GoodNight()
	undamagedDir := h.Config.Warehouse.Dir
	for name, c := range map[string]struct {
		damage      func() error
		wantFile    string // the end of the path
		wantCommand string // the beginning of the repair command
	}{
		"no link to the version": {func() error { return os.Remove(h.Path("latest")) }, "latest", "placementsync rollback "},
		"a lost manifest":        {func() error { return os.Remove(h.Path("latest", "manifest.json")) }, "/manifest.json", "placementsync rebuild"},
		"a truncated catalog":    {func() error { return os.Truncate(h.Path("latest", "catalog.duckdb"), 99) }, "/catalog.duckdb", "placementsync rebuild"},
		"a lost version":         {func() error { return os.RemoveAll(h.Path("versions", h.LatestRun())) }, "latest", "placementsync rebuild"},
		"a lost file of a day": {func() error {
			return os.Remove(h.Path("parquet", "orders", "snapshot_date=2026-11-02", "orders.parquet"))
		}, "/orders.parquet", "placementsync rebuild --series"},
		"no damage":              {func() error { return nil }, "", ""},
		"a truncated ledger":     {func() error { return os.Truncate(h.Path("state", "runs.jsonl"), 9) }, "state/runs.jsonl", "placementsync run"},
		"no link to the catalog": {func() error { return os.Remove(h.Path("catalog.duckdb")) }, "catalog.duckdb", "placementsync rollback "},
	} {
		h.Config.Warehouse.Dir = t.TempDir()
		testharness.Must(t, exec.CommandContext(t.Context(), "cp", "-a", undamagedDir+"/.", h.Config.Warehouse.Dir).Run())
		testharness.Must(t, c.damage())
		plan, err := pipeline.PlanNight(t.Context(), h.Config)
		testharness.Must(t, err)
		if c.wantFile == "" {
			if len(plan.Damage) > 0 || plan.WriteErr != nil || plan.TooFull() {
				t.Errorf("%s: the plan has the damage %+v, the error %v and a full disk: %t, want none of them", name, plan.Damage, plan.WriteErr, plan.TooFull())
			}
			continue
		}
		if len(plan.Damage) == 0 || !strings.HasSuffix(plan.Damage[0].File, c.wantFile) || !strings.HasPrefix(plan.Damage[0].Repair.Command(), c.wantCommand) {
			t.Errorf("%s: the plan has the damage %+v, want the file %s and the command %s", name, plan.Damage, c.wantFile, c.wantCommand)
		}
	}
	h.Config.Warehouse.Dir = undamagedDir
	testharness.Must(t, errors.Join(os.RemoveAll(h.Path("raw")), os.WriteFile(h.Path("raw"), nil, 0o600)))
	if _, err := pipeline.Run(t.Context(), h.Config); err == nil || strings.Count(err.Error(), "is a file, not a folder") != 1 {
		t.Errorf("a night with a file in place of the folder raw returned the error %v, want \"is a file, not a folder\" once", err)
	}
}
