package bench_test

import (
	"fmt"
	"math"
)

// goal is a row of the first table of the page. It applies to the figure with the same name
// in any section.
type goal struct {
	What, Unit string
	// Before is the value when the goal was set.
	Before string
	// Bound is an upper bound, or a lower bound if Least is set.
	Bound float64
	Least bool
}

// goals returns the goals in the order of the page. Those relative to DuckDB were set for
// its default, which keeps the order of its input. Its fastest mode is reported among the
// other numbers.
func goals() []goal {
	return []goal{
		{What: "first night against DuckDB alone, CPU time", Unit: "x", Before: "1.00", Bound: 0.70},
		{What: "first night against DuckDB alone, wall time", Unit: "x", Before: "1.30", Bound: 0.85},
		{What: "first night over gzip, bytes on the wire against plain", Unit: "x", Before: "1", Bound: 0.2},
		{What: "first night over zstd, bytes on the wire against plain", Unit: "x", Before: "1", Bound: 0.2},
		{What: "first night over gzip, CPU time against plain", Unit: "x", Bound: 1.3},
		{What: "first night over zstd, CPU time against plain", Unit: "x", Bound: 1.1},
		{What: "second night, 1 % changed, against the first, CPU time", Unit: "x", Before: "0.81", Bound: 0.40},
		{What: "second night, 1 % changed, against the first, wall time", Unit: "x", Before: "0.85", Bound: 0.45},
		{What: "second pass over a quiet list, CPU time against the first", Unit: "x", Before: "about 1", Bound: 0.2},
		{What: "night without changes, time beyond its requests", Unit: "s", Before: "1.64 s", Bound: 0.7},
		{What: "demo of 14 nights on disk", Unit: "MB", Before: "182 MB", Bound: 40},
		{What: "DuckDB file of the demo", Unit: "MB", Before: "50 MB", Bound: 6},
		{What: "last response to visible snapshot, share of the first night", Unit: "%", Before: "38.6 %", Bound: 25},
		{What: "first night, peak resident memory", Unit: "MiB", Before: "778 MiB", Bound: 700},
		{What: "four times the listings, peak resident memory", Unit: "x", Before: "1.11", Bound: 1.10},
		{What: "four times the listings, wall time", Unit: "x", Before: "3.91", Bound: 4.2},
		{What: againstDLT(small, "wall"), Unit: "x", Before: "5.5", Bound: 8, Least: true},
		{What: againstDLT(small, "CPU"), Unit: "x", Before: "4.4", Bound: 7, Least: true},
		{What: againstDLT(large, "wall"), Unit: "x", Before: "9.0", Bound: 13, Least: true},
		{What: againstDLT(large, "CPU"), Unit: "x", Before: "6.5", Bound: 11, Least: true},
		{What: againstScript(script, small, "wall"), Unit: "x", Before: "1.22", Bound: 0.85},
		{What: againstScript(script, small, "CPU"), Unit: "x", Before: "1.4", Bound: 1.0},
		{What: againstScript(script, large, "wall"), Unit: "x", Before: "1.09", Bound: 0.75},
		{What: againstScript(script, large, "CPU"), Unit: "x", Before: "1.02", Bound: 0.70},
		{What: "allowed rate used", Unit: "%", Before: "99 %", Bound: 99, Least: true},
		{What: "429s caused", Before: "0"},
		{What: "lake, night of 14,000 rows, time beyond the local publish", Unit: "s", Before: "1.4 to 1.6 s", Bound: 1.5},
		{What: "lake, first night, CPU time", Unit: "s", Before: "3.5 to 4.3 s", Bound: 4},
		{What: "lake, second night, 1 % changed, peak resident memory", Unit: "MiB", Bound: 700},
		{What: exploreInteraction(small), Unit: "ms", Bound: 200},
		{What: exploreInteraction(large), Unit: "ms", Bound: 1000},
		{What: exploreMemory(large), Unit: "x", Bound: 1.3},
		{What: "merge, last night of the year against the 10th", Unit: "x", Before: "1.01", Bound: 1.2},
		{What: "publish, last night of the year against the 10th", Unit: "x", Before: "1.13", Bound: 1.2},
	}
}

// bound returns the goal as text.
func (g goal) bound() string {
	if g.Least {
		return "at least " + shown(g.Bound, g.Unit)
	}
	return "at most " + shown(g.Bound, g.Unit)
}

// verdict compares a figure with its goal at the precision of the page: 99.0 % meets a goal
// of 99.0 %.
func (g goal) verdict(f figure) string {
	value := f.median()
	short := value - g.Bound
	if g.Least {
		short = -short
	}
	switch {
	case math.IsNaN(value):
		return "not measured"
	case short <= 0 || shown(value, g.Unit) == shown(g.Bound, g.Unit):
		return "reached"
	case g.Bound == 0:
		return "missed by " + shown(short, g.Unit)
	}
	share := 100 * short / g.Bound
	if share < 1 {
		return fmt.Sprintf("missed by %.1f %%", share)
	}
	return fmt.Sprintf("missed by %.0f %%", share)
}

// goalOf returns the goal of a figure, if there is one.
func goalOf(what string) (goal, bool) {
	for _, g := range goals() {
		if g.What == what {
			return g, true
		}
	}
	return goal{}, false
}
