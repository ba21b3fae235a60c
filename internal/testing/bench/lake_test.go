package bench_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// publishCost is the cost of one publish to the lake.
type publishCost struct {
	usage
	// Written is the growth of the lake in bytes.
	Written float64
}

// lakeProgram returns the path of placementsync-lake, which is beside the main program.
func (s settings) lakeProgram() string { return s.binary + "-lake" }

// publish measures a publish of the newest night by the lake program. The lake is a folder
// with a SQLite catalog.
func (j job) publish(t *testing.T, program string) publishCost {
	t.Helper()
	lake, config := filepath.Join(j.dir, "lake"), filepath.Join(j.dir, "lake.yaml")
	must(t, os.MkdirAll(lake, 0o755))
	must(t, os.WriteFile(config, fmt.Appendf(nil, "warehouse: {dir: %q}\nlake: {catalog: sqlite, warehouse: %q}\n", j.warehouse(), lake), 0o600))
	before := bytesBelow(t, lake)
	used := measure(t, exec.CommandContext(t.Context(), program, "publish", "--all", "--unrecorded", "--config", config))
	return publishCost{used, bytesBelow(t, lake) - before}
}

// publishNights runs nights of one warehouse and publishes each.
func publishNights(t *testing.T, s settings, w world, nights int) (all []publishCost) {
	t.Helper()
	runNights(t, s, w, nights, func(j job) { all = append(all, j.publish(t, s.lakeProgram())) })
	return all
}

// changedNights is the number of nights of the demo's world that measureLake publishes after the
// first night.
const changedNights = 5

// measureLake publishes nights of the demo's world, and the first two nights of a world with
// s.listings listings.
func measureLake(t *testing.T, s settings) findings {
	t.Helper()
	if _, err := os.Stat(s.lakeProgram()); err != nil {
		t.Skipf("not measured: %v; build the lake program with make lake", err)
	}
	demo := publishNights(t, s, world{}, 1+changedNights)[1:]
	var first, second []publishCost
	for i := range s.runs {
		both := publishNights(t, s, world{Listings: s.listings, CatalogOnly: true}, 2)
		first, second = append(first, both[0]), append(second, both[1])
		t.Logf("run %d: first publish %.1f s, %.1f CPU s; second %.1f s, %.1f CPU s", i+1, first[i].Wall, first[i].CPU, second[i].Wall, second[i].CPU)
	}
	return lakeFindings(demo, first, second)
}

func lakeFindings(demo, first, second []publishCost) findings {
	wall, cpu := func(p publishCost) float64 { return p.Wall }, func(p publishCost) float64 { return p.CPU }
	peak := func(p publishCost) float64 { return p.RSS / mebibyte }
	written := func(p publishCost) float64 { return p.Written / megabyte }
	return findings{
		Figures: []figure{
			{Name: "lake, night of 14,000 rows, time beyond the local publish", Unit: "s", Runs: valuesOf(demo, wall)},
			{Name: "lake, first night, CPU time", Unit: "s", Runs: valuesOf(first, cpu)},
			{Name: "lake, second night, 1 % changed, peak resident memory", Unit: "MiB", Runs: valuesOf(second, peak)},
		},
		OtherFigures: []figure{
			{Name: "lake, night of 14,000 rows, CPU time", Unit: "s", Runs: valuesOf(demo, cpu)},
			{Name: "lake, night of 14,000 rows, peak resident memory", Unit: "MiB", Runs: valuesOf(demo, peak)},
			{Name: "lake, first night, wall time", Unit: "s", Runs: valuesOf(first, wall)},
			{Name: "lake, first night, peak resident memory", Unit: "MiB", Runs: valuesOf(first, peak)},
			{Name: "lake, first night, written", Unit: "MB", Runs: valuesOf(first, written)},
			{Name: "lake, second night, 1 % changed, wall time", Unit: "s", Runs: valuesOf(second, wall)},
			{Name: "lake, second night, 1 % changed, CPU time", Unit: "s", Runs: valuesOf(second, cpu)},
			{Name: "lake, second night, 1 % changed, CPU time against the first", Unit: "x", Runs: pairedRatios(valuesOf(second, cpu), valuesOf(first, cpu))},
			{Name: "lake, second night, 1 % changed, written", Unit: "MB", Runs: valuesOf(second, written)},
		},
	}
}
