package bench_test

import (
	"fmt"
	"math"
)

// mainFigure is a row of the first table of docs/performance.md. Its values are those of the measured
// figure of the same name, in any section.
type mainFigure struct {
	Name, Unit string
	// Limit is a promise to users. Nil means that no limit is promised.
	Limit *limit
}

// limit is an upper bound, or a lower bound if IsLower is set.
type limit struct {
	Bound   float64
	IsLower bool
}

func atMost(bound float64) *limit  { return &limit{Bound: bound} }
func atLeast(bound float64) *limit { return &limit{Bound: bound, IsLower: true} }

// mainFigures returns the main figures in the order of the table. "DuckDB alone" is DuckDB's default
// mode, which keeps the order of the input. Ratios to DuckDB's fastest mode are among the other
// numbers of the page.
func mainFigures() []mainFigure {
	return []mainFigure{
		{"first night against DuckDB alone, CPU time", "x", nil},
		{"first night against DuckDB alone, wall time", "x", nil},
		{"first night over gzip, bytes on the wire against plain", "x", atMost(0.2)},
		{"first night over zstd, bytes on the wire against plain", "x", atMost(0.2)},
		{"first night over gzip, CPU time against plain", "x", atMost(1.3)},
		{"first night over zstd, CPU time against plain", "x", atMost(1.1)},
		{"second night, 1 % changed, against the first, CPU time", "x", atMost(0.75)},
		{"second night, 1 % changed, against the first, wall time", "x", nil},
		{"second pass over an unchanged list, CPU time against the first", "x", atMost(0.2)},
		{"night without changes, time beyond its requests", "s", nil},
		{auditShare, "%", atMost(10)},
		{"demo of 14 nights on disk", "MB", atMost(40)},
		{"DuckDB file of the demo", "MB", atMost(10)},
		{"last response to visible snapshot, share of the first night", "%", atMost(25)},
		{"first night, peak resident memory", "MiB", nil},
		{"four times the listings, peak resident memory", "x", atMost(1.10)},
		{"four times the listings, wall time", "x", atMost(4.2)},
		{dltFigureName(small, "wall"), "x", nil},
		{dltFigureName(small, "CPU"), "x", nil},
		{dltFigureName(large, "wall"), "x", nil},
		{dltFigureName(large, "CPU"), "x", nil},
		{curlFigureName(curl, small, "wall"), "x", nil},
		{curlFigureName(curl, small, "CPU"), "x", nil},
		{curlFigureName(curl, large, "wall"), "x", nil},
		{curlFigureName(curl, large, "CPU"), "x", nil},
		{"allowed rate used", "%", atLeast(99)},
		{"429s caused", "", atMost(0)},
		{"lake, night of 14,000 rows, time beyond the local publish", "s", atMost(1.5)},
		{"lake, first night, CPU time", "s", atMost(4)},
		{"lake, second night, 1 % changed, peak resident memory", "MiB", atMost(700)},
		{interactionFigureName(small), "ms", atMost(200)},
		{interactionFigureName(large), "ms", atMost(1000)},
		{memoryFigureName(large), "x", atMost(1.3)},
		{"merge, last night of the year against the 10th", "x", atMost(1.2)},
		{"publish, last night of the year against the 10th", "x", atMost(1.2)},
	}
}

// limitText returns the limit as text, or "" if there is none.
func (m mainFigure) limitText() string {
	switch {
	case m.Limit == nil:
		return ""
	case m.Limit.IsLower:
		return "at least " + formatFigure(m.Limit.Bound, m.Unit)
	}
	return "at most " + formatFigure(m.Limit.Bound, m.Unit)
}

// compare compares a figure with the limit at the precision of the page: 98.96 % is shown as 99.0 %
// and is therefore within a limit of 99.0 %.
func (m mainFigure) compare(f figure) string {
	value := f.median()
	if math.IsNaN(value) {
		return "not measured"
	}
	if m.Limit == nil {
		return ""
	}
	excess := value - m.Limit.Bound
	if m.Limit.IsLower {
		excess = -excess
	}
	switch {
	case excess <= 0 || formatFigure(value, m.Unit) == formatFigure(m.Limit.Bound, m.Unit):
		return "within"
	case m.Limit.Bound == 0:
		return "missed by " + formatFigure(excess, m.Unit)
	}
	percent := 100 * excess / m.Limit.Bound
	if percent < 1 {
		return fmt.Sprintf("missed by %.1f %%", percent)
	}
	return fmt.Sprintf("missed by %.0f %%", percent)
}

// mainFigureOf returns the main figure with this name, if there is one.
func mainFigureOf(name string) (mainFigure, bool) {
	for _, m := range mainFigures() {
		if m.Name == name {
			return m, true
		}
	}
	return mainFigure{}, false
}
