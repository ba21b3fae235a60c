package warehouse_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/warehouse"
)

// TestRepairsRunInOrder states the order of commands. A rebuild reads the series, so the
// series is mended before it, and versions are removed only when they are needed no more.
func TestRepairsRunInOrder(t *testing.T) {
	kind := func(k warehouse.RepairKind) warehouse.Repair { return warehouse.Repair{Kind: k} }
	back, drop := warehouse.Repair{Kind: warehouse.RollBack, Version: "b"}, warehouse.Repair{Kind: warehouse.DropVersion, Version: "a"}
	for name, c := range map[string]struct {
		found []warehouse.Repair
		want  string
	}{
		"series before rebuild":            {[]warehouse.Repair{kind(warehouse.RebuildCatalog), kind(warehouse.MendSeries)}, "rebuild --series; rebuild"},
		"series before rollback":           {[]warehouse.Repair{back, kind(warehouse.MendSeries)}, "rebuild --series; rollback b"},
		"each once":                        {[]warehouse.Repair{kind(warehouse.MendSeries), kind(warehouse.MendSeries)}, "rebuild --series"},
		"a rebuild sets the links":         {[]warehouse.Repair{back, kind(warehouse.RebuildCatalog), kind(warehouse.RunNight)}, "rebuild; run"},
		"one rebuild":                      {[]warehouse.Repair{kind(warehouse.RebuildFromRest), kind(warehouse.RebuildCatalog)}, "rebuild --skip-damaged"},
		"versions stay until others ended": {[]warehouse.Repair{drop, kind(warehouse.RebuildCatalog)}, "rebuild"},
		"a version alone":                  {[]warehouse.Repair{drop, kind(warehouse.RunNight)}, "run; prune --version a"},
	} {
		var found []warehouse.Damage
		for _, r := range c.found {
			found = append(found, warehouse.Damage{Repair: r})
		}
		var got []string
		for _, r := range warehouse.PlanRepairs(found) {
			got = append(got, strings.TrimPrefix(r.Command(), "placementsync "))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, "; ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	data, err := json.Marshal(warehouse.Damage{Repair: back})
	must(t, err)
	if !strings.Contains(string(data), `"repair":"placementsync rollback b"`) {
		t.Errorf("the JSON of damage is %s", data)
	}
}
