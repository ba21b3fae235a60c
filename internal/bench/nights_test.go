package bench_test

import (
	"path/filepath"
	"testing"
)

// prepare writes the listings of a world to disk for the baseline.
func prepare(t *testing.T, w world) (ndjson string, remove func()) {
	t.Helper()
	w.Dump, remove = scratch(t)
	measure(t, again(t, "TestServiceChild", w))
	return w.Dump, remove
}

// twoNights runs the first night of a warehouse and the one after a day on which
// 1 % of the listings changed, and between them the least that DuckDB has to do
// for the first.
func twoNights(t *testing.T, s settings, w world) (first, second outcome, least leastDone) {
	t.Helper()
	service := serve(t, w)
	defer service.stop(t)
	dir, remove := scratch(t)
	defer remove()
	night := job{binary: s.binary, dir: dir, service: service, rest: catalogOnly}
	first = night.run(t)
	least = leastOf(t, filepath.Join(night.warehouse(), "latest", "catalog.duckdb"))
	service.advance(t, 1)
	return first, night.run(t), least
}

// measureNights compares whole nights with DuckDB alone on the same records.
func measureNights(t *testing.T, s settings) findings {
	t.Helper()
	w := world{Listings: s.listings, Catalog: true}
	ndjson, remove := prepare(t, w)
	defer remove()
	var base, whole []usage
	var first, second []outcome
	var atLeast []leastDone
	for i := range s.runs {
		base = append(base, alone(t, ndjson, false))
		whole = append(whole, alone(t, ndjson, true))
		a, b, l := twoNights(t, s, w)
		first, second, atLeast = append(first, a), append(second, b), append(atLeast, l)
		t.Logf("run %d: DuckDB %.1f s, %.1f CPU s; first night %.1f s, %.1f CPU s; second %.1f s, %.1f CPU s",
			i+1, base[i].Wall, base[i].CPU, a.Wall, a.CPU, b.Wall, b.CPU)
	}
	found := nightFindings(base, first, second, bytesIn(t, filepath.Join(ndjson, "*")))
	cpuOf := func(u usage) float64 { return u.CPU }
	found.Numbers = append(found.Numbers,
		figure{What: "first night against DuckDB alone making all five tables, wall time", Unit: "x",
			Runs: pairs(each(first, wallOf), each(whole, func(u usage) float64 { return u.Wall }))},
		figure{What: "first night against DuckDB alone making all five tables, CPU time", Unit: "x",
			Runs: pairs(each(first, func(o outcome) float64 { return o.CPU }), each(whole, cpuOf))},
		figure{What: "DuckDB alone making all five tables, CPU time", Unit: "s", Runs: each(whole, cpuOf)})
	found.Numbers = append(found.Numbers, leastFindings(base, atLeast)...)
	return found
}

func nightFindings(base []usage, first, second []outcome, ndjson float64) findings {
	baseWall := each(base, func(u usage) float64 { return u.Wall })
	baseCPU := each(base, func(u usage) float64 { return u.CPU })
	wall, again := each(first, wallOf), each(second, wallOf)
	cpu := each(first, func(o outcome) float64 { return o.CPU })
	peak := each(first, func(o outcome) float64 { return o.RSS / mebibyte })
	return findings{
		Figures: []figure{
			{What: "first night against DuckDB alone, wall time", Unit: "x", Goal: 0.85, Runs: pairs(wall, baseWall)},
			{What: "first night against DuckDB alone, CPU time of the process", Unit: "x", Goal: 0.85, Runs: pairs(cpu, baseCPU)},
			{What: "last response to visible snapshot, share of the first night", Unit: "%", Goal: 40,
				Runs: each(first, func(o outcome) float64 { return 100 * o.Tail / o.Wall })},
			{What: "second night with 1 % changed, against the first, wall time", Unit: "x", Goal: 0.6, Runs: pairs(again, wall)},
			{What: "peak resident memory, first night", Unit: "MiB", Goal: 1024, Runs: peak},
		},
		Numbers: []figure{
			{What: "DuckDB alone, wall time", Unit: "s", Runs: baseWall},
			{What: "DuckDB alone, CPU time", Unit: "s", Runs: baseCPU},
			{What: "DuckDB alone, peak resident memory", Unit: "MiB", Runs: each(base, func(u usage) float64 { return u.RSS / mebibyte })},
			{What: "first night, wall time", Unit: "s", Runs: wall},
			{What: "first night, CPU time", Unit: "s", Runs: cpu},
			{What: "first night, last response to visible snapshot", Unit: "s", Runs: each(first, func(o outcome) float64 { return o.Tail })},
			{What: "second night, wall time", Unit: "s", Runs: again},
			{What: "second night, CPU time", Unit: "s", Runs: each(second, func(o outcome) float64 { return o.CPU })},
			{What: "second night, peak resident memory", Unit: "MiB", Runs: each(second, func(o outcome) float64 { return o.RSS / mebibyte })},
			{What: "NDJSON on disk", Unit: "MB", Runs: []float64{ndjson / megabyte}},
			{What: "requests of a night", Runs: each(first, func(o outcome) float64 { return float64(o.Requests) })},
			{What: "answers of a night", Unit: "MB", Runs: each(first, func(o outcome) float64 { return float64(o.Bytes) / megabyte })},
			{What: "landed", Unit: "MB", Runs: each(first, func(o outcome) float64 { return o.Landed / megabyte })},
			{What: "DuckDB file", Unit: "MB", Runs: each(first, func(o outcome) float64 { return o.Catalog / megabyte })},
			{What: "Parquet files", Unit: "MB", Runs: each(first, func(o outcome) float64 { return o.Parquet / megabyte })},
		},
	}
}

func wallOf(o outcome) float64 { return o.Wall }

// oneNight runs the first night of a warehouse.
func oneNight(t *testing.T, s settings, listings int) outcome {
	t.Helper()
	service := serve(t, world{Listings: listings, Catalog: true})
	defer service.stop(t)
	dir, remove := scratch(t)
	defer remove()
	return job{binary: s.binary, dir: dir, service: service, rest: catalogOnly}.run(t)
}

// larger is how many times as many listings the large night has.
const larger = 4

// measureLarge compares nights of one and of four times as many listings.
func measureLarge(t *testing.T, s settings) findings {
	t.Helper()
	var one, four []outcome
	for i := range s.runs {
		one = append(one, oneNight(t, s, s.listings))
		four = append(four, oneNight(t, s, larger*s.listings))
		t.Logf("run %d: %.1f s and %.0f MiB, %.1f s and %.0f MiB", i+1,
			one[i].Wall, one[i].RSS/mebibyte, four[i].Wall, four[i].RSS/mebibyte)
	}
	peak := func(o outcome) float64 { return o.RSS / mebibyte }
	return findings{
		Figures: []figure{
			{What: "four times the listings, wall time", Unit: "x", Goal: 4.4, Runs: pairs(each(four, wallOf), each(one, wallOf))},
			{What: "four times the listings, peak resident memory", Unit: "x", Goal: 1.1, Runs: pairs(each(four, peak), each(one, peak))},
		},
		Numbers: []figure{
			{What: "once the listings, wall time", Unit: "s", Runs: each(one, wallOf)},
			{What: "once the listings, peak resident memory", Unit: "MiB", Runs: each(one, peak)},
			{What: "four times the listings, wall time", Unit: "s", Runs: each(four, wallOf)},
			{What: "four times the listings, CPU time", Unit: "s", Runs: each(four, func(o outcome) float64 { return o.CPU })},
			{What: "four times the listings, peak resident memory", Unit: "MiB", Runs: each(four, peak)},
		},
	}
}
