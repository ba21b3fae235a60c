package bench_test

import (
	"fmt"
	"math"
)

// goal is a row of the first table of docs/performance.md. It applies to the figure of the same
// name in any section.
type goal struct {
	Name, Unit string
	// Before is the measured value at the time when the goal was set.
	Before string
	// Bound is an upper bound, or a lower bound if Least is set.
	Bound float64
	Least bool
}

// goals returns the goals in the order of the page. Goals "against DuckDB alone" refer to DuckDB's
// default mode, which keeps the order of the input. Ratios to DuckDB's fastest mode are among the
// other numbers of the page.
func goals() []goal {
	return []goal{
		{Name: "first night against DuckDB alone, CPU time", Unit: "x", Before: "1.00", Bound: 0.70},
		{Name: "first night against DuckDB alone, wall time", Unit: "x", Before: "1.30", Bound: 0.85},
		{Name: "first night over gzip, bytes on the wire against plain", Unit: "x", Before: "1", Bound: 0.2},
		{Name: "first night over zstd, bytes on the wire against plain", Unit: "x", Before: "1", Bound: 0.2},
		{Name: "first night over gzip, CPU time against plain", Unit: "x", Bound: 1.3},
		{Name: "first night over zstd, CPU time against plain", Unit: "x", Bound: 1.1},
		{Name: "second night, 1 % changed, against the first, CPU time", Unit: "x", Before: "0.81", Bound: 0.40},
		{Name: "second night, 1 % changed, against the first, wall time", Unit: "x", Before: "0.85", Bound: 0.45},
		{Name: "second pass over an unchanged list, CPU time against the first", Unit: "x", Before: "about 1", Bound: 0.2},
		{Name: "night without changes, time beyond its requests", Unit: "s", Before: "1.64 s", Bound: 0.7},
		{Name: auditShare, Unit: "%", Bound: 10},
		{Name: "demo of 14 nights on disk", Unit: "MB", Before: "182 MB", Bound: 40},
		{Name: "DuckDB file of the demo", Unit: "MB", Before: "50 MB", Bound: 6},
		{Name: "last response to visible snapshot, share of the first night", Unit: "%", Before: "38.6 %", Bound: 25},
		{Name: "first night, peak resident memory", Unit: "MiB", Before: "778 MiB", Bound: 700},
		{Name: "four times the listings, peak resident memory", Unit: "x", Before: "1.11", Bound: 1.10},
		{Name: "four times the listings, wall time", Unit: "x", Before: "3.91", Bound: 4.2},
		{Name: dltFigure(small, "wall"), Unit: "x", Before: "5.5", Bound: 8, Least: true},
		{Name: dltFigure(small, "CPU"), Unit: "x", Before: "4.4", Bound: 7, Least: true},
		{Name: dltFigure(large, "wall"), Unit: "x", Before: "9.0", Bound: 13, Least: true},
		{Name: dltFigure(large, "CPU"), Unit: "x", Before: "6.5", Bound: 11, Least: true},
		{Name: scriptFigure(script, small, "wall"), Unit: "x", Before: "1.22", Bound: 0.85},
		{Name: scriptFigure(script, small, "CPU"), Unit: "x", Before: "1.4", Bound: 1.0},
		{Name: scriptFigure(script, large, "wall"), Unit: "x", Before: "1.09", Bound: 0.75},
		{Name: scriptFigure(script, large, "CPU"), Unit: "x", Before: "1.02", Bound: 0.70},
		{Name: "allowed rate used", Unit: "%", Before: "99 %", Bound: 99, Least: true},
		{Name: "429s caused", Before: "0"},
		{Name: "lake, night of 14,000 rows, time beyond the local publish", Unit: "s", Before: "1.4 to 1.6 s", Bound: 1.5},
		{Name: "lake, first night, CPU time", Unit: "s", Before: "3.5 to 4.3 s", Bound: 4},
		{Name: "lake, second night, 1 % changed, peak resident memory", Unit: "MiB", Bound: 700},
		{Name: exploreInteraction(small), Unit: "ms", Bound: 200},
		{Name: exploreInteraction(large), Unit: "ms", Bound: 1000},
		{Name: exploreMemory(large), Unit: "x", Bound: 1.3},
		{Name: "merge, last night of the year against the 10th", Unit: "x", Before: "1.01", Bound: 1.2},
		{Name: "publish, last night of the year against the 10th", Unit: "x", Before: "1.13", Bound: 1.2},
	}
}

// bound returns the bound as text.
func (g goal) bound() string {
	if g.Least {
		return "at least " + formatFigure(g.Bound, g.Unit)
	}
	return "at most " + formatFigure(g.Bound, g.Unit)
}

// verdict compares a figure with its goal at the precision of the page: a figure that the page
// shows as 99.0 % reaches a goal of 99.0 %.
func (g goal) verdict(f figure) string {
	value := f.median()
	excess := value - g.Bound
	if g.Least {
		excess = -excess
	}
	switch {
	case math.IsNaN(value):
		return "not measured"
	case excess <= 0 || formatFigure(value, g.Unit) == formatFigure(g.Bound, g.Unit):
		return "reached"
	case g.Bound == 0:
		return "missed by " + formatFigure(excess, g.Unit)
	}
	share := 100 * excess / g.Bound
	if share < 1 {
		return fmt.Sprintf("missed by %.1f %%", share)
	}
	return fmt.Sprintf("missed by %.0f %%", share)
}

// goalOf returns the goal of a figure, if there is one.
func goalOf(figure string) (goal, bool) {
	for _, g := range goals() {
		if g.Name == figure {
			return g, true
		}
	}
	return goal{}, false
}
