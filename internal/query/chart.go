package query

import (
	"fmt"
	"regexp"
	"strings"
)

// Chart describes the chart of a result, as the line "chart" of the header states it:
//
//	-- chart: line x=month y=paid_total by=currency
//
// A query without this line has no chart.
type Chart struct {
	Kind ChartKind
	// X is the column with the position of a row: a date, a month, a time, or a name. Rows with the same
	// position are added up.
	X string
	// Y are the columns whose values are drawn, which have the same unit.
	Y []string
	// By are columns. Each combination of their values is a series of its own.
	By []string
}

// ChartKind is the form of a chart.
type ChartKind string

const (
	ChartBars  ChartKind = "bar"
	ChartLines ChartKind = "line"
	ChartSteps ChartKind = "step" // each value is valid until the next one
)

// Columns returns the names of all columns of the chart.
func (c Chart) Columns() []string {
	return append(append([]string{c.X}, c.Y...), c.By...)
}

var chartText = regexp.MustCompile(`^(bar|line|step) x=(\w+) y=(\w+(?:,\w+)*)(?: by=(\w+(?:,\w+)*))?$`)

func parseChart(text string) (*Chart, error) {
	m := chartText.FindStringSubmatch(text)
	if m == nil {
		return nil, fmt.Errorf("write a chart as KIND x=COLUMN y=COLUMN,... by=COLUMN,... with the kind bar, line or step, not %q; by is optional", text)
	}
	c := &Chart{Kind: ChartKind(m[1]), X: m[2], Y: strings.Split(m[3], ",")}
	if m[4] != "" {
		c.By = strings.Split(m[4], ",")
	}
	if len(c.Y) > 1 && len(c.By) > 0 {
		return nil, fmt.Errorf("a chart with several columns y cannot have by: %q", text)
	}
	return c, nil
}
