package bench_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
)

// section measures one subject. Each section can run alone. The stored results of the other
// sections are then kept.
type section struct {
	name    string
	measure func(t *testing.T, s settings) findings
	// isLong means that a run takes minutes, so the section runs settings.longRuns times.
	isLong bool
	// divisor divides the number of listings. 0 means all listings.
	divisor int
	// expectedSeconds is the expected duration, with the default settings on two cores.
	expectedSeconds float64
}

// scaleSettings returns the settings of one section.
func (sec section) scaleSettings(s settings) settings {
	if sec.isLong {
		s.runs = s.longRuns
	}
	if sec.divisor > 0 {
		s.listings = max(1_000, s.listings/sec.divisor)
	}
	return s
}

// sections returns all sections, in the order of docs/performance.md.
func sections() []section {
	return []section{
		{name: "nights", measure: measureNights, expectedSeconds: 440},
		{name: "wire", measure: measureWire, expectedSeconds: 480},
		{name: "passes", measure: measurePasses, divisor: 4, expectedSeconds: 120},
		{name: "large", measure: measureFourfold, isLong: true, expectedSeconds: 180},
		{name: peersSmall, measure: measurePeers(small), divisor: smallDivisor, expectedSeconds: 420},
		{name: peersLarge, measure: measurePeers(large), isLong: true, expectedSeconds: 360},
		{name: "limited", measure: measureLimited, expectedSeconds: 45},
		{name: "tiny", measure: measureTiny, expectedSeconds: 30},
		{name: "demo", measure: measureDemo, expectedSeconds: 30},
		{name: "lake", measure: measureLake, isLong: true, expectedSeconds: 100},
		{name: "explore", measure: measureExplore, expectedSeconds: 90},
		{name: "decode", measure: measureDecode, expectedSeconds: 20},
		{name: "audit", measure: measureAudit, isLong: true, expectedSeconds: 300},
		{name: "stages", measure: measureStages, expectedSeconds: 50},
		{name: "year", measure: measureYear, divisor: 10, expectedSeconds: 1200},
	}
}

// findings contains the results of a section.
type findings struct {
	// Figures are the main figures that the section measured.
	Figures []figure `json:"figures,omitempty"`
	// OtherFigures are further results.
	OtherFigures []figure `json:"numbers,omitempty"`
	// Stages are the parts of a night, such as decoding. Days are the nights of section year, one for
	// each day. Peers are the results of this program and other programs.
	Stages []stage      `json:"stages,omitempty"`
	Days   []day        `json:"days,omitempty"`
	Peers  []peerResult `json:"peers,omitempty"`
}

// figure is a measured quantity with one value per run.
type figure struct {
	Name string    `json:"what"`
	Unit string    `json:"unit"`
	Runs []float64 `json:"runs"`
}

// median returns the median of all runs, or NaN without runs.
func (f figure) median() float64 {
	sorted := slices.Sorted(slices.Values(f.Runs))
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// formatFigure returns a value with its unit. The unit "x" means a ratio.
func formatFigure(v float64, unit string) string {
	switch unit {
	case "x":
		return fmt.Sprintf("%.2f", v)
	case "%":
		return fmt.Sprintf("%.1f %%", v)
	case "":
		return fmt.Sprintf("%.0f", v)
	case "MB":
		if v < 10 {
			return fmt.Sprintf("%.1f MB", v)
		}
		return fmt.Sprintf("%.0f MB", v)
	case "MiB", "MB/s":
		return fmt.Sprintf("%.0f %s", v, unit)
	}
	return fmt.Sprintf("%.2f %s", v, unit)
}

// valuesOf returns the value of each run.
func valuesOf[T any](runs []T, value func(T) float64) []float64 {
	values := make([]float64, len(runs))
	for i, r := range runs {
		values[i] = value(r)
	}
	return values
}

// pairedRatios divides the value of each run by the divisor of the same run. Both were measured one
// after the other, so a slow period of the machine affects both. The result is empty if one of them
// was not measured.
func pairedRatios(values, divisors []float64) []float64 {
	ratios := make([]float64, min(len(values), len(divisors)))
	for i := range ratios {
		ratios[i] = values[i] / divisors[i]
	}
	return ratios
}

const (
	megabyte = 1e6
	mebibyte = 1 << 20
)

// TestPerformance measures the sections that an environment variable lists.
func TestPerformance(t *testing.T) {
	s := readSettings(t)
	s.shared, _ = scratch(t)
	for _, sec := range sections() {
		t.Run(sec.name, func(t *testing.T) {
			if !s.selects(sec.name) {
				t.Skip("not selected")
			}
			s := sec.scaleSettings(s)
			sec.announce(t, s)
			conditions, startedAt := readConditions(t, s), time.Now()
			measured := sec.measure(t, s)
			conditions.Seconds = math.Round(time.Since(startedAt).Seconds())
			t.Logf("%s took %.0f s\n%s", sec.name, conditions.Seconds, formatTable(measured))
			if s.docs != "" {
				storeResult(t, s.docs, sec.name, result{conditions, measured})
			}
		})
	}
}
