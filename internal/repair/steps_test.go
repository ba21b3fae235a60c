package repair_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/repair"
	"placementsync/internal/testing/harness"
)

// TestRepairsAreOrdered plans repairs. The series must be repaired before a rebuild, because a rebuild
// reads the series. A version must not be removed while other repairs may copy its files.
func TestRepairsAreOrdered(t *testing.T) {
	step := func(kind repair.Kind) repair.Step { return repair.Step{Kind: kind} }
	rollBack, dropVersion := repair.Step{Kind: repair.RollBack, Version: "b"}, repair.Step{Kind: repair.DropVersion, Version: "a"}
	dropOther := repair.Step{Kind: repair.DropVersion, Version: "b"}
	replay := repair.Step{Kind: repair.ReplayNights, Version: "a", Nights: "b c"}
	for name, c := range map[string]struct {
		repairs []repair.Step
		want    string
	}{
		"series before rebuild":           {[]repair.Step{step(repair.RebuildCatalog), step(repair.RebuildSeries)}, "rebuild --series; rebuild"},
		"series before rollback":          {[]repair.Step{rollBack, step(repair.RebuildSeries)}, "rebuild --series; rollback b"},
		"the same repair twice":           {[]repair.Step{step(repair.RebuildSeries), step(repair.RebuildSeries)}, "rebuild --series"},
		"a rebuild sets the links":        {[]repair.Step{rollBack, step(repair.RebuildCatalog), step(repair.RunNight)}, "rebuild; run"},
		"a rebuild without damaged files": {[]repair.Step{rollBack, step(repair.RebuildSkippingDamage)}, "rebuild --skip-damaged"},
		"no removal before repairs":       {[]repair.Step{dropVersion, step(repair.RebuildCatalog)}, "rebuild"},
		"a removal after a run":           {[]repair.Step{dropVersion, step(repair.RunNight)}, "run; prune --version a"},
		"two removals, one of them twice": {[]repair.Step{dropVersion, dropOther, dropVersion},
			"prune --version a; prune --version b"},
		"a replay before all others": {[]repair.Step{replay, step(repair.RebuildSeries), dropVersion, replay},
			"rollback a; placementsync replay b; placementsync replay c"},
		"a replay before a run": {[]repair.Step{step(repair.RunNight), replay},
			"rollback a; placementsync replay b; placementsync replay c"},
		"damage without a repair": {[]repair.Step{step(repair.NoRepair), step(repair.RunNight)}, "run"},
	} {
		var damage []repair.Damage
		for _, r := range c.repairs {
			damage = append(damage, repair.Damage{Repair: r})
		}
		var got []string
		for _, r := range repair.Plan(damage) {
			got = append(got, strings.TrimPrefix(r.Command(), "placementsync "))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, "; ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	data, err := json.Marshal(repair.Damage{Repair: rollBack})
	harness.Must(t, err)
	if !strings.Contains(string(data), `"repair":"placementsync rollback b"`) {
		t.Errorf("the JSON of damage is %s, want the repair rollback b", data)
	}
}
