package bench_test

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"placementsync/internal/dictionary"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	"placementsync/internal/transform"
)

// decoding is the performance of the decoder alone on one core. Allocs, Nanos (of CPU time) and
// Size (in bytes) are averages per record. MBps is megabytes per second of CPU time, so that other
// processes do not affect it.
type decoding struct{ MBps, Allocs, Nanos, Size float64 }

// decodeTask decodes pages of listings into Arrow batches. It runs in a child process with one
// core, so that garbage collection does not use a second core.
type decodeTask struct{ Report string }

func (d decodeTask) run(ctx context.Context) error {
	bodies, err := pagesOf(ctx, sim.New(world{Listings: 20_000, CatalogOnly: true}.options()), 200)
	if err != nil {
		return err
	}
	s, _ := stream.Find(stream.All(), "product_listings")
	defs, _ := dictionary.Definitions()
	binding, err := transform.Compile(s, defs)
	if err != nil {
		return err
	}
	return writeJSON(d.Report, benchmarkDecoder(binding.NewDecoder(), bodies))
}

func benchmarkDecoder(d *transform.Decoder, bodies [][]byte) decoding {
	size, records := 0, 0
	for _, body := range bodies {
		size += len(body)
	}
	var cpu float64
	r := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		cpuBefore := spentCPU()
		for b.Loop() {
			records = 0
			for _, body := range bodies {
				page, err := d.Decode(body, transform.Origin{Seq: 1})
				if err != nil {
					b.Fatal(err)
				}
				records += page.Records
				if d.Rows() >= 8_192 { // the batch size of the program
					for _, batch := range d.Flush() {
						batch.Rows.Release()
					}
				}
			}
		}
		cpu = spentCPU() - cpuBefore
	})
	decoded := float64(r.N) * float64(records)
	return decoding{MBps: float64(size) * float64(r.N) / cpu / megabyte, Allocs: float64(r.MemAllocs) / decoded,
		Nanos: cpu * 1e9 / decoded, Size: float64(size) / float64(records)}
}

// pagesOf returns the first pages of listings of the demo service.
func pagesOf(ctx context.Context, service *sim.Service, pages int) ([][]byte, error) {
	bodies := make([][]byte, pages)
	for i := range bodies {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("/products/listings?limit=100&page=%d", i+1), nil)
		r.Header.Set("Authorization", "Bearer pc_demo")
		w := httptest.NewRecorder()
		if service.ServeHTTP(w, r); w.Code != http.StatusOK {
			return nil, fmt.Errorf("page %d has status %d", i+1, w.Code)
		}
		bodies[i] = w.Body.Bytes()
	}
	return bodies, nil
}

func measureDecode(t *testing.T, s settings) findings {
	t.Helper()
	dir, remove := scratch(t)
	defer remove()
	runs := make([]decoding, s.runs)
	for i := range runs {
		task := decodeTask{Report: filepath.Join(dir, "decode.json")}
		cmd := childCommand(t, "decode", task)
		cmd.Env = append(cmd.Env, "GOMAXPROCS=1")
		measure(t, cmd)
		readJSON(t, task.Report, &runs[i])
	}
	return findings{OtherFigures: []figure{
		{Name: "decode stage, bytes to Arrow batches, one core", Unit: "MB/s", Runs: valuesOf(runs, func(d decoding) float64 { return d.MBps })},
		{Name: "decode stage, allocations a record", Unit: "x", Runs: valuesOf(runs, func(d decoding) float64 { return d.Allocs })},
		{Name: "decode stage, time a record", Unit: "ns", Runs: valuesOf(runs, func(d decoding) float64 { return d.Nanos })},
		{Name: "size of a record", Unit: "bytes", Runs: valuesOf(runs, func(d decoding) float64 { return d.Size })},
	}}
}

// The rate limit and the size of the nights of measureLimited.
const (
	limitedRate     = 50 // requests per second
	limitedBurst    = 10 // the program's default
	limitedPages    = 2_000
	limitedPageSize = 10
)

// measureLimited runs nights with the same rate limit and burst in the program and in the
// service. The nights run in parallel, each with its own service, because they mainly wait.
func measureLimited(t *testing.T, s settings) findings {
	t.Helper()
	nights := make([]outcome, s.runs)
	t.Run("nights", func(t *testing.T) {
		for i := range nights {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				nights[i] = limitedNight(t, s)
			})
		}
	})
	span := func(o outcome) float64 { return o.Last.Sub(o.First).Seconds() }
	return findings{
		Figures: []figure{
			{Name: "allowed rate used", Unit: "%", Runs: valuesOf(nights, func(o outcome) float64 {
				return 100 * float64(o.Requests) / (limitedBurst + limitedRate*span(o))
			})},
			{Name: "429s caused", Runs: valuesOf(nights, func(o outcome) float64 { return float64(o.Limited) })},
		},
		OtherFigures: []figure{{Name: "rate after the burst", Unit: "requests/s", Runs: valuesOf(nights, func(o outcome) float64 {
			return float64(o.Requests-limitedBurst) / span(o)
		})}},
	}
}

func limitedNight(t *testing.T, s settings) outcome {
	t.Helper()
	service := serve(t, world{Listings: limitedPages * limitedPageSize, CatalogOnly: true, Rate: limitedRate, Burst: limitedBurst})
	defer service.stop(t)
	dir, remove := scratch(t)
	defer remove()
	return job{binary: s.binary, dir: dir, service: service, extraConfig: listingsConfig, rate: limitedRate, pageSize: limitedPageSize}.run(t)
}

// measureTiny runs nights without changes and measures the time without a request in progress.
// The demo's world has about 14,000 rows, and the tiny world fewer than half as many. If nights of
// both worlds take the same time, this time depends on the number of tables and not on the number of
// rows.
func measureTiny(t *testing.T, s settings) findings {
	t.Helper()
	demo, demoRows := quietNights(t, s, world{})
	tiny, tinyRows := quietNights(t, s, world{Tiny: true})
	beyond := func(o outcome) float64 { return o.Wall - o.Busy }
	return findings{
		Figures: []figure{{Name: "night without changes, time beyond its requests", Unit: "s", Runs: valuesOf(demo, beyond)}},
		OtherFigures: []figure{
			{Name: "night without changes, rows", Runs: []float64{demoRows}},
			{Name: "night without changes, wall time", Unit: "s", Runs: valuesOf(demo, wallOf)},
			{Name: "night without changes, CPU time", Unit: "s", Runs: valuesOf(demo, cpuOf)},
			{Name: "night without changes, requests", Runs: valuesOf(demo, func(o outcome) float64 { return float64(o.Requests) })},
			{Name: "night without changes, peak resident memory", Unit: "MiB", Runs: valuesOf(demo, peakOf)},
			{Name: "smaller night without changes, rows", Runs: []float64{tinyRows}},
			{Name: "smaller night without changes, time beyond its requests", Unit: "s", Runs: valuesOf(tiny, beyond)},
			{Name: "smaller night without changes, CPU time", Unit: "s", Runs: valuesOf(tiny, cpuOf)},
		},
	}
}

// quietNights runs a first night and then nights without changes. It returns the outcomes of the
// nights without changes and the number of rows in the DuckDB file.
func quietNights(t *testing.T, s settings, w world) (nights []outcome, rows float64) {
	t.Helper()
	service := serve(t, w)
	defer service.stop(t)
	dir, remove := scratch(t)
	defer remove()
	j := job{binary: s.binary, dir: dir, service: service}
	j.run(t)
	nights = make([]outcome, s.runs)
	for i := range nights {
		nights[i] = j.run(t)
	}
	return nights, rowsOf(t, filepath.Join(j.warehouse(), "latest", "catalog.duckdb"))
}

// measureDemo measures the disk space of a demo of 14 nights.
func measureDemo(t *testing.T, s settings) findings {
	t.Helper()
	dir, remove := scratch(t)
	defer remove()
	used := measure(t, exec.CommandContext(t.Context(), s.binary, "demo", "--nights", "14", "--dir", dir))
	catalog := filepath.Join(dir, "warehouse", "latest", "catalog.duckdb")
	return findings{
		Figures: []figure{
			{Name: "demo of 14 nights on disk", Unit: "MB", Runs: []float64{bytesBelow(t, dir) / megabyte}},
			{Name: "DuckDB file of the demo", Unit: "MB", Runs: []float64{bytesIn(t, catalog) / megabyte}},
		},
		OtherFigures: []figure{
			{Name: "rows of the demo", Runs: []float64{rowsOf(t, catalog)}},
			{Name: "demo of 14 nights, wall time", Unit: "s", Runs: []float64{used.Wall}},
			{Name: "demo of 14 nights, CPU time", Unit: "s", Runs: []float64{used.CPU}},
		},
	}
}

// bytesBelow returns the size of the files below a folder. It counts a file with several hard links
// once.
func bytesBelow(t *testing.T, dir string) (sum float64) {
	t.Helper()
	counted := map[uint64]bool{}
	must(t, filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			if counted[stat.Ino] {
				return nil
			}
			counted[stat.Ino] = true
		}
		sum += float64(info.Size())
		return nil
	}))
	return sum
}

// rowsOf counts the rows in a DuckDB file, without history.
func rowsOf(t *testing.T, catalog string) (rows float64) {
	t.Helper()
	db, err := sql.Open("duckdb", catalog+"?access_mode=read_only")
	must(t, err)
	defer db.Close()
	must(t, db.QueryRowContext(t.Context(), "SELECT sum(estimated_size) FROM duckdb_tables() WHERE schema_name = 'main'").Scan(&rows))
	return rows
}
