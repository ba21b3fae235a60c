package bench_test

import (
	"fmt"
	"path/filepath"
	"testing"
)

// writeListings writes the listings of a world to disk.
func writeListings(t *testing.T, w world) (ndjson string, remove func()) {
	t.Helper()
	w.Dump, remove = scratch(t)
	measure(t, childCommand(t, "service", w))
	return w.Dump, remove
}

// runNights runs the first nights of a warehouse, on consecutive days. It calls afterNight after each
// night, for further measurements.
func runNights(t *testing.T, s settings, w world, nights int, afterNight func(j job)) (all []outcome) {
	t.Helper()
	service := serve(t, w)
	defer service.stop(t)
	dir, remove := scratch(t)
	defer remove()
	j := job{binary: s.binary, dir: dir, service: service}
	if w.CatalogOnly {
		j.extraConfig = listingsConfig
	}
	for i := range nights {
		if i > 0 {
			service.advance(t, 1)
		}
		all = append(all, j.run(t))
		afterNight(j)
	}
	return all
}

// twoNights runs the first two nights of a warehouse.
func twoNights(t *testing.T, s settings, w world) (first, second outcome) {
	t.Helper()
	all := runNights(t, s, w, 2, func(job) {})
	return all[0], all[1]
}

// measureNights compares nights of the program with DuckDB alone on the same records.
func measureNights(t *testing.T, s settings) findings {
	t.Helper()
	w := world{Listings: s.listings, CatalogOnly: true}
	ndjson, remove := writeListings(t, w)
	defer remove()
	var defaultMode, fastest []usage
	var first, second []outcome
	for i := range s.runs {
		defaultMode, fastest = append(defaultMode, measureDuckDB(t, ndjson, true)), append(fastest, measureDuckDB(t, ndjson, false))
		a, b := twoNights(t, s, w)
		first, second = append(first, a), append(second, b)
		t.Logf("run %d: DuckDB %.1f s, %.1f CPU s; at its fastest %.1f s, %.1f CPU s; first night %.1f s, %.1f CPU s; second %.1f s, %.1f CPU s",
			i+1, defaultMode[i].Wall, defaultMode[i].CPU, fastest[i].Wall, fastest[i].CPU, a.Wall, a.CPU, b.Wall, b.CPU)
	}
	measured := nightFindings(defaultMode, fastest, first, second)
	measured.OtherFigures = append(measured.OtherFigures,
		figure{Name: "NDJSON on disk", Unit: "MB", Runs: []float64{bytesIn(t, filepath.Join(ndjson, "*")) / megabyte}})
	return measured
}

func fastestFigureName(clock string) string {
	return fmt.Sprintf("first night against DuckDB alone at its fastest, %s time", clock)
}

func nightFindings(defaultMode, fastest []usage, first, second []outcome) findings {
	wallTime, cpuTime := func(u usage) float64 { return u.Wall }, func(u usage) float64 { return u.CPU }
	wall, cpu := valuesOf(first, wallOf), valuesOf(first, cpuOf)
	return findings{
		Figures: []figure{
			{Name: "first night against DuckDB alone, CPU time", Unit: "x", Runs: pairedRatios(cpu, valuesOf(defaultMode, cpuTime))},
			{Name: "first night against DuckDB alone, wall time", Unit: "x", Runs: pairedRatios(wall, valuesOf(defaultMode, wallTime))},
			{Name: "second night, 1 % changed, against the first, CPU time", Unit: "x", Runs: pairedRatios(valuesOf(second, cpuOf), cpu)},
			{Name: "second night, 1 % changed, against the first, wall time", Unit: "x", Runs: pairedRatios(valuesOf(second, wallOf), wall)},
			{Name: "last response to visible snapshot, share of the first night", Unit: "%",
				Runs: valuesOf(first, func(o outcome) float64 { return 100 * o.Tail / o.Wall })},
			{Name: "first night, peak resident memory", Unit: "MiB", Runs: valuesOf(first, peakOf)},
		},
		OtherFigures: []figure{
			{Name: "DuckDB alone, wall time", Unit: "s", Runs: valuesOf(defaultMode, wallTime)},
			{Name: "DuckDB alone, CPU time", Unit: "s", Runs: valuesOf(defaultMode, cpuTime)},
			{Name: "DuckDB alone, peak resident memory", Unit: "MiB", Runs: valuesOf(defaultMode, func(u usage) float64 { return u.RSS / mebibyte })},
			{Name: "DuckDB alone at its fastest, wall time", Unit: "s", Runs: valuesOf(fastest, wallTime)},
			{Name: "DuckDB alone at its fastest, CPU time", Unit: "s", Runs: valuesOf(fastest, cpuTime)},
			{Name: fastestFigureName("wall"), Unit: "x", Runs: pairedRatios(wall, valuesOf(fastest, wallTime))},
			{Name: fastestFigureName("CPU"), Unit: "x", Runs: pairedRatios(cpu, valuesOf(fastest, cpuTime))},
			{Name: "first night, wall time", Unit: "s", Runs: wall},
			{Name: "first night, CPU time", Unit: "s", Runs: cpu},
			{Name: "first night, last response to visible snapshot", Unit: "s", Runs: valuesOf(first, func(o outcome) float64 { return o.Tail })},
			{Name: "second night, wall time", Unit: "s", Runs: valuesOf(second, wallOf)},
			{Name: "second night, CPU time", Unit: "s", Runs: valuesOf(second, cpuOf)},
			{Name: "second night, peak resident memory", Unit: "MiB", Runs: valuesOf(second, peakOf)},
			{Name: "requests of a night", Runs: valuesOf(first, func(o outcome) float64 { return float64(o.Requests) })},
			{Name: "answers of a night", Unit: "MB", Runs: valuesOf(first, wireOf)},
			{Name: "landed", Unit: "MB", Runs: valuesOf(first, func(o outcome) float64 { return o.Landed / megabyte })},
			{Name: "DuckDB file", Unit: "MB", Runs: valuesOf(first, func(o outcome) float64 { return o.Catalog / megabyte })},
			{Name: "Parquet files", Unit: "MB", Runs: valuesOf(first, func(o outcome) float64 { return o.Parquet / megabyte })},
		},
	}
}

func wallOf(o outcome) float64 { return o.Wall }
func cpuOf(o outcome) float64  { return o.CPU }
func peakOf(o outcome) float64 { return o.RSS / mebibyte }
func wireOf(o outcome) float64 { return float64(o.Bytes) / megabyte }

// oneNight starts a service with a number of listings and runs the first night of a warehouse.
func oneNight(t *testing.T, s settings, listings int) outcome {
	t.Helper()
	service := serve(t, world{Listings: listings, CatalogOnly: true})
	defer service.stop(t)
	return firstNight(t, s, service)
}

// firstNight runs a night into an empty warehouse.
func firstNight(t *testing.T, s settings, service *service) outcome {
	t.Helper()
	dir, remove := scratch(t)
	defer remove()
	return job{binary: s.binary, dir: dir, service: service, extraConfig: listingsConfig}.run(t)
}

// measureFourfold compares nights with the normal number of listings and with four times as many.
func measureFourfold(t *testing.T, s settings) findings {
	t.Helper()
	var normal, fourfold []outcome
	for i := range s.runs {
		normal = append(normal, oneNight(t, s, s.listings))
		fourfold = append(fourfold, oneNight(t, s, 4*s.listings))
		t.Logf("run %d: %.1f s and %.0f MiB, %.1f s and %.0f MiB", i+1,
			normal[i].Wall, peakOf(normal[i]), fourfold[i].Wall, peakOf(fourfold[i]))
	}
	return findings{
		Figures: []figure{
			{Name: "four times the listings, wall time", Unit: "x", Runs: pairedRatios(valuesOf(fourfold, wallOf), valuesOf(normal, wallOf))},
			{Name: "four times the listings, peak resident memory", Unit: "x", Runs: pairedRatios(valuesOf(fourfold, peakOf), valuesOf(normal, peakOf))},
		},
		OtherFigures: []figure{
			{Name: "once the listings, wall time", Unit: "s", Runs: valuesOf(normal, wallOf)},
			{Name: "once the listings, peak resident memory", Unit: "MiB", Runs: valuesOf(normal, peakOf)},
			{Name: "four times the listings, wall time", Unit: "s", Runs: valuesOf(fourfold, wallOf)},
			{Name: "four times the listings, CPU time", Unit: "s", Runs: valuesOf(fourfold, cpuOf)},
			{Name: "four times the listings, peak resident memory", Unit: "MiB", Runs: valuesOf(fourfold, peakOf)},
		},
	}
}
