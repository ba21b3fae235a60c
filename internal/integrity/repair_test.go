package integrity_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/integrity"
)

// TestRepairsAreOrdered plans repairs. The series must be repaired before a rebuild, because a rebuild
// reads the series. A version must not be removed while other repairs may copy its files.
func TestRepairsAreOrdered(t *testing.T) {
	repair := func(kind integrity.RepairKind) integrity.Repair { return integrity.Repair{Kind: kind} }
	rollBack, dropVersion := integrity.Repair{Kind: integrity.RollBack, Version: "b"}, integrity.Repair{Kind: integrity.DropVersion, Version: "a"}
	replay := integrity.Repair{Kind: integrity.ReplayNights, Version: "a", Nights: "b c"}
	for name, c := range map[string]struct {
		repairs []integrity.Repair
		want    string
	}{
		"series before rebuild":              {[]integrity.Repair{repair(integrity.RebuildCatalog), repair(integrity.RebuildSeries)}, "rebuild --series; rebuild"},
		"series before rollback":             {[]integrity.Repair{rollBack, repair(integrity.RebuildSeries)}, "rebuild --series; rollback b"},
		"the same repair twice":              {[]integrity.Repair{repair(integrity.RebuildSeries), repair(integrity.RebuildSeries)}, "rebuild --series"},
		"a rebuild sets the links":           {[]integrity.Repair{rollBack, repair(integrity.RebuildCatalog), repair(integrity.RunNight)}, "rebuild; run"},
		"only the rebuild that skips damage": {[]integrity.Repair{repair(integrity.RebuildSkippingDamage), repair(integrity.RebuildCatalog)}, "rebuild --skip-damaged"},
		"no removal before repairs":          {[]integrity.Repair{dropVersion, repair(integrity.RebuildCatalog)}, "rebuild"},
		"a removal after a run":              {[]integrity.Repair{dropVersion, repair(integrity.RunNight)}, "run; prune --version a"},
		"a replay before all others":         {[]integrity.Repair{replay, repair(integrity.RebuildSeries), dropVersion, replay}, "rollback a; placementsync replay b; placementsync replay c"},
		"damage without a repair":            {[]integrity.Repair{repair(integrity.NoRepair), repair(integrity.RunNight)}, "run"},
	} {
		var damage []integrity.Damage
		for _, r := range c.repairs {
			damage = append(damage, integrity.Damage{Repair: r})
		}
		var got []string
		for _, r := range integrity.PlanRepairs(damage) {
			got = append(got, strings.TrimPrefix(r.Command(), "placementsync "))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, "; ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	data, err := json.Marshal(integrity.Damage{Repair: rollBack})
	must(t, err)
	if !strings.Contains(string(data), `"repair":"placementsync rollback b"`) {
		t.Errorf("the JSON of damage is %s, want the repair rollback b", data)
	}
}
