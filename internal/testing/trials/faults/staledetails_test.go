package faults_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
)

// TestTrialExactStreamsEqualTheService runs nights in which details change and no list shows the
// change. A table whose streams are all graded exact or repaired must have the values of the
// service. Each detail must be read again within streams.recheck nights.
func TestTrialExactStreamsEqualTheService(t *testing.T) {
	t.Parallel()
	world := trials.RichWorld()
	world.SilentChange, world.HiddenDetail = 0.3, true
	h := trials.NewHarness(t, world)
	h.Config.Fetch.PageSize = 100
	const recheck = 3
	h.Config.Details, h.Config.LiveDays, h.Config.Recheck = pipeline.ChangedDetails, 5, recheck
	ref := trials.NewReference(t, h.Service, h.Config.Streams)
	h.GoodNight()
	ref.CurrentRows() // collects the ids in the lists of the first night
	for range trials.Size(4, 2) {
		res := h.GoodNight()
		h.RequireProvenValues(ref, res.Run)
		current, catalog := ref.CurrentRows(), h.Catalog()
		isStale := slices.ContainsFunc(ref.UniqueTables(), func(spec trials.TableSpec) bool {
			rows := trials.ReadTable(t, spec, catalog, "main."+spec.Table)
			return !cmp.Equal(trials.RowsByKey(spec, current[spec.Table]), trials.RowsByKey(spec, rows))
		})
		if !isStale {
			t.Error("all tables equal the service, so the test shows nothing")
		}
		h.RequireStream(res.Run, "article_comments", stream.Bounded, "")
		h.RequireStream(res.Run, "outlets", stream.Bounded, "unchanged ids were last read at most")
	}
	for range recheck - 1 {
		h.SameDayNight()
	}
	h.RequireValues(ref)
}

// TestTrialNightsWithTheLowestMemoryLimit runs nights with the lowest memory limit that a
// configuration may set. A small catalog is enough for this test, because the memory for planning
// and merging depends only on the number of tables.
func TestTrialNightsWithTheLowestMemoryLimit(t *testing.T) {
	testharness.Long(t)
	t.Parallel()
	h := trials.NewHarness(t, sim.Options{Token: trials.Token})
	h.Config.Warehouse.MemoryLimit, h.Config.Fetch.PageSize = "200MB", 100
	h.GoodNight()
	h.GoodNight()
}
