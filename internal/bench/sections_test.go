package bench_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// section measures one subject. Each can be run alone; the others keep what
// was measured of them before.
type section struct {
	name    string
	measure func(t *testing.T, s settings) findings
}

// findings are what a section found: figures that have a goal, and numbers for
// whoever wants to know more.
type findings struct {
	Figures []figure `json:"figures,omitempty"`
	Numbers []figure `json:"numbers,omitempty"`
	// Stages are where the CPU time of a night goes, Days are those of a year.
	Stages []stage `json:"stages,omitempty"`
	Days   []day   `json:"days,omitempty"`
}

// figure is one measured quantity, with all runs of it in their order.
type figure struct {
	What string `json:"what"`
	Unit string `json:"unit"`
	// Goal is a bound: an upper one, or a lower one where Least is set. NaN
	// cannot be stored: a number without a goal has none.
	Goal  float64   `json:"goal,omitempty"`
	Least bool      `json:"least,omitempty"`
	Runs  []float64 `json:"runs"`
}

// median of all runs.
func (f figure) median() float64 {
	sorted := slices.Sorted(slices.Values(f.Runs))
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func (f figure) reached() bool {
	if f.Least {
		return f.median() >= f.Goal
	}
	return f.median() <= f.Goal
}

// bound writes the goal for people.
func (f figure) bound() string {
	if f.Least {
		return "at least " + shown(f.Goal, f.Unit)
	}
	return "at most " + shown(f.Goal, f.Unit)
}

// shown writes a value with its unit; "x" is a ratio.
func shown(v float64, unit string) string {
	switch unit {
	case "x":
		return fmt.Sprintf("%.2f", v)
	case "%":
		return fmt.Sprintf("%.1f %%", v)
	case "":
		return fmt.Sprintf("%.0f", v)
	case "MB", "MiB", "MB/s":
		return fmt.Sprintf("%.0f %s", v, unit)
	}
	return fmt.Sprintf("%.2f %s", v, unit)
}

// each takes one number from each of several runs.
func each[T any](runs []T, of func(T) float64) []float64 {
	values := make([]float64, len(runs))
	for i, r := range runs {
		values[i] = of(r)
	}
	return values
}

// pairs divides run by run, so that a slow minute of the machine weighs on both
// sides of a ratio.
func pairs(of, by []float64) []float64 {
	ratios := make([]float64, len(of))
	for i := range of {
		ratios[i] = of[i] / by[i]
	}
	return ratios
}

const (
	megabyte = 1e6
	mebibyte = 1 << 20
)

// TestPerformance measures the sections that the environment names.
func TestPerformance(t *testing.T) {
	s := chosen(t)
	for _, one := range []section{
		{"nights", measureNights}, {"large", measureLarge}, {"decode", measureDecode}, {"limited", measureLimited},
		{"tiny", measureTiny}, {"stages", measureStages}, {"year", measureYear},
	} {
		t.Run(one.name, func(t *testing.T) {
			if !s.wants(one.name) {
				t.Skip("not asked for")
			}
			at := circumstances(t, s)
			found := one.measure(t, s)
			t.Log("\n" + table(found))
			if s.docs != "" {
				keep(t, s.docs, one.name, result{Circumstances: at, findings: found})
			}
		})
	}
}
