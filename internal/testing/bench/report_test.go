package bench_test

import (
	"fmt"
	"slices"
	"strings"
)

// report contains the figures of a section.
type report struct {
	programs []program
	figures  []*figure
}

// figure is a measured quantity. runs contains the value of each run, by the number of the program. A
// figure of another program, such as dlt, has only values of program 0.
type figure struct {
	name, unit string
	runs       [][]float64
}

// add adds the value of a run of a program.
func (r *report) add(program int, name, unit string, value float64) {
	i := slices.IndexFunc(r.figures, func(f *figure) bool { return f.name == name })
	if i < 0 {
		i = len(r.figures)
		r.figures = append(r.figures, &figure{name, unit, make([][]float64, len(r.programs))})
	}
	f := r.figures[i]
	f.runs[program] = append(f.runs[program], value)
}

// addUsage adds the time and memory of a process.
func (r *report) addUsage(program int, name string, u usage) {
	r.add(program, name+", wall time", "s", u.wall)
	r.add(program, name+", CPU time", "s", u.cpu)
	r.add(program, name+", peak memory", "MiB", u.peak/mebibyte)
}

// addRatio adds the ratio of two figures in each run. Both were measured one after the other, so a slow
// period of the machine affects both.
func (r *report) addRatio(name, dividend, divisor string) {
	for p := range r.programs {
		dividends, divisors := r.runsOf(dividend, p), r.runsOf(divisor, p)
		for i := range dividends {
			r.add(p, name, "x", dividends[i]/divisors[i])
		}
	}
}

// peerColumn is the index of the program in whose column a report has the figures of peers.
const peerColumn = 0

// runsOf returns the values of a figure. The values of a peer are the same for all programs.
func (r *report) runsOf(name string, program int) []float64 {
	i := slices.IndexFunc(r.figures, func(f *figure) bool { return f.name == name })
	if runs := r.figures[i].runs[program]; len(runs) > 0 {
		return runs
	}
	return r.figures[i].runs[peerColumn]
}

// String returns a table. With two programs, the last column is the ratio of the first to the second.
func (r *report) String() string {
	var b strings.Builder
	row := func(cells ...string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	if len(r.programs) == 1 {
		row("figure", "median", "lowest to highest")
		row("---", "---", "---")
		for _, f := range r.figures {
			runs := f.runs[0]
			row(f.name, format(median(runs), f.unit), format(slices.Min(runs), f.unit)+" to "+format(slices.Max(runs), f.unit))
		}
		return b.String()
	}
	row("figure", r.programs[0].name, r.programs[1].name, "ratio", "lowest to highest")
	row("---", "---", "---", "---", "---")
	for _, f := range r.figures {
		if len(f.runs[1]) == 0 {
			row(f.name, format(median(f.runs[0]), f.unit), "", "", "")
			continue
		}
		var ratios []float64
		for i, value := range f.runs[0] {
			ratios = append(ratios, value/f.runs[1][i])
		}
		row(f.name, format(median(f.runs[0]), f.unit), format(median(f.runs[1]), f.unit),
			format(median(ratios), "x"), format(slices.Min(ratios), "x")+" to "+format(slices.Max(ratios), "x"))
	}
	return b.String()
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// format returns a value with its unit. The unit "x" means a ratio.
func format(v float64, unit string) string {
	switch unit {
	case "x":
		return fmt.Sprintf("%.2f", v)
	case "s":
		return fmt.Sprintf("%.2f s", v)
	}
	return fmt.Sprintf("%.0f %s", v, unit)
}
