package bench_test

import (
	"fmt"
	"math"
	"strings"
)

// The chart consists of three panels of the same width, one below the other.
const (
	chartWidth  = 760
	panelHeight = 150
	panelGap    = 56
	leftMargin  = 64
	rightMargin = 20
	topMargin   = 40
)

// chartStyle supports light and dark mode.
const chartStyle = `<style>
text { font: 12px system-ui, sans-serif; fill: #57606a }
.title { font-weight: 600; fill: #24292f }
.grid { stroke: #d0d7de; stroke-width: 1 }
.dot { fill: #0969da; fill-opacity: .25 }
.line { fill: none; stroke: #0969da; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
text { fill: #8b949e }
.title { fill: #e6edf3 }
.grid { stroke: #30363d }
.dot { fill: #58a6ff; fill-opacity: .3 }
.line { stroke: #58a6ff }
}
</style>
`

// chart returns an SVG with a dot for each night of the year and a line for the running median.
func chart(days []day) string {
	panels := []struct {
		title string
		value func(day) float64
	}{
		{"DuckDB file (MB)", func(d day) float64 { return d.Catalog / megabyte }},
		{"merge (s)", func(d day) float64 { return d.Merge }},
		{"publish (s)", func(d day) float64 { return d.Publish }},
	}
	height := topMargin + len(panels)*(panelHeight+panelGap)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="A year of nights">`+"\n", chartWidth, height)
	b.WriteString(chartStyle)
	for i, p := range panels {
		drawPanel(&b, days, p.title, topMargin+i*(panelHeight+panelGap), p.value)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func drawPanel(b *strings.Builder, days []day, title string, top int, value func(day) float64) {
	highest := 0.0
	for _, d := range days {
		highest = max(highest, value(d))
	}
	step := tickDistance(highest / 3)
	axisEnd := step * max(1, math.Ceil(highest/step))
	x := func(dayNumber int) float64 {
		return leftMargin + float64(dayNumber)/float64(max(1, len(days)))*(chartWidth-leftMargin-rightMargin)
	}
	y := func(v float64) float64 { return float64(top) + panelHeight*(1-v/axisEnd) }
	fmt.Fprintf(b, `<text class="title" x="%d" y="%d">%s</text>`+"\n", leftMargin, top-14, title)
	for v := 0.0; v <= axisEnd*1.001; v += step { // the factor allows for rounding errors of v
		fmt.Fprintf(b, `<path class="grid" d="M%d %.1fH%d"/><text x="%d" y="%.1f" text-anchor="end">%.4g</text>`+"\n",
			leftMargin, y(v), chartWidth-rightMargin, leftMargin-8, y(v)+4, v)
	}
	for dayNumber := 0; dayNumber <= len(days); dayNumber += int(tickDistance(float64(len(days)) / 8)) {
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%d</text>`+"\n", x(dayNumber), top+panelHeight+18, dayNumber)
	}
	path := strings.Builder{}
	for i, d := range days {
		fmt.Fprintf(b, `<circle class="dot" cx="%.1f" cy="%.1f" r="2"/>`, x(d.Day), y(value(d)))
		command := "ML"[min(i, 1)] // M moves to the first point, L draws a line to the next point
		fmt.Fprintf(&path, "%c%.1f %.1f", command, x(d.Day), y(medianNear(days, d.Day, value)))
	}
	fmt.Fprintf(b, "\n"+`<path class="line" d="%s"/>`+"\n", path.String())
}

// tickDistance rounds a distance up to 1, 2 or 5 times a power of ten.
func tickDistance(atLeast float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(max(atLeast, 1e-9))))
	for _, n := range []float64{1, 2, 5} {
		if atLeast <= n*power {
			return n * power
		}
	}
	return 10 * power
}
