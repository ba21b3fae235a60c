package bench_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"placementsync/internal/sim"
	"placementsync/internal/stream"
	"placementsync/internal/transform"
	"placementsync/internal/warehouse"
)

// decoding is what the decode stage does alone on one core.
type decoding struct{ MBps, Allocs, Nanos, Size float64 }

// TestDecodeChild decodes the pages of a catalog, bytes to Arrow batches, in a
// process of its own with one core, so that collecting garbage counts too. The
// rate is by CPU time: what else runs on the machine does not count.
func TestDecodeChild(t *testing.T) {
	var report string
	assigned(t, &report)
	bodies := pagesOf(t, sim.New(world{Listings: 20_000, Catalog: true}.options()), 200)
	s, _ := stream.Find(stream.All(), "product_listings")
	defs, _, err := warehouse.Definitions()
	must(t, err)
	binding, err := transform.Compile(s, defs)
	must(t, err)
	leave(t, report, decodeAll(binding.NewDecoder(), bodies))
}

func decodeAll(d *transform.Decoder, bodies [][]byte) decoding {
	size, records := 0, 0
	for _, body := range bodies {
		size += len(body)
	}
	var cpu float64
	r := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		begun := spentCPU()
		for b.Loop() {
			records = 0
			for _, body := range bodies {
				page, err := d.Decode(body, transform.Origin{Seq: 1})
				if err != nil {
					b.Fatal(err)
				}
				if records += page.Records; d.Rows() >= 8_192 {
					for _, batch := range d.Flush() {
						batch.Record.Release()
					}
				}
			}
		}
		cpu = spentCPU() - begun
	})
	per := float64(r.N) * float64(records)
	return decoding{MBps: float64(size) * float64(r.N) / cpu / megabyte, Allocs: float64(r.MemAllocs) / per,
		Nanos: cpu * 1e9 / per, Size: float64(size) / float64(records)}
}

// pagesOf asks the demo service for its first pages of listings.
func pagesOf(t *testing.T, service *sim.Service, pages int) [][]byte {
	t.Helper()
	bodies := make([][]byte, pages)
	for i := range bodies {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("/products/listings?limit=100&page=%d", i+1), nil)
		r.Header.Set("Authorization", "Bearer pc_demo")
		w := httptest.NewRecorder()
		if service.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Fatalf("page %d is answered with %d", i+1, w.Code)
		}
		bodies[i] = w.Body.Bytes()
	}
	return bodies
}

func measureDecode(t *testing.T, s settings) findings {
	t.Helper()
	dir, remove := scratch(t)
	defer remove()
	runs := make([]decoding, s.runs)
	for i := range runs {
		report := filepath.Join(dir, "decode.json")
		cmd := again(t, "TestDecodeChild", report)
		cmd.Env = append(cmd.Env, "GOMAXPROCS=1")
		measure(t, cmd)
		collect(t, report, &runs[i])
	}
	return findings{
		Figures: []figure{
			{What: "decode stage, bytes to Arrow batches, one core", Unit: "MB/s", Goal: 250, Least: true,
				Runs: each(runs, func(d decoding) float64 { return d.MBps })},
			{What: "decode stage, allocations a record", Unit: "x", Goal: 1, Runs: each(runs, func(d decoding) float64 { return d.Allocs })},
		},
		Numbers: []figure{
			{What: "decode stage, time a record", Unit: "ns", Runs: each(runs, func(d decoding) float64 { return d.Nanos })},
			{What: "size of a record", Unit: "bytes", Runs: each(runs, func(d decoding) float64 { return d.Size })},
		},
	}
}

const (
	limitedRate     = 50
	limitedBurst    = 10 // the program's default
	limitedRequests = 2_000
)

// measureLimited runs nights against a service that refuses what comes too
// fast, with the same rate and burst on both sides.
func measureLimited(t *testing.T, s settings) findings {
	t.Helper()
	var used, refused, rate []float64
	for range s.runs {
		o := limitedNight(t, s)
		span := o.Last.Sub(o.First).Seconds()
		allowed := limitedBurst + limitedRate*span
		used = append(used, 100*float64(o.Requests)/allowed)
		rate = append(rate, float64(o.Requests-limitedBurst)/span)
		refused = append(refused, float64(o.Limited))
	}
	return findings{
		Figures: []figure{
			{What: fmt.Sprintf("%d requests at %d a second, allowed rate used", limitedRequests, limitedRate), Unit: "%", Goal: 97, Least: true, Runs: used},
			{What: fmt.Sprintf("%d requests at %d a second, 429s caused", limitedRequests, limitedRate), Unit: "", Goal: 0, Runs: refused},
		},
		Numbers: []figure{{What: "rate behind the burst", Unit: "requests/s", Runs: rate}},
	}
}

func limitedNight(t *testing.T, s settings) outcome {
	t.Helper()
	service := serve(t, world{Listings: limitedRequests * 10, Catalog: true, Rate: limitedRate, Burst: limitedBurst})
	defer service.stop(t)
	dir, remove := scratch(t)
	defer remove()
	return job{binary: s.binary, dir: dir, service: service, rest: catalogOnly, rate: limitedRate, page: 10}.run(t)
}

// measureTiny runs nights in which nothing has changed. What they take beyond
// the requests is all time in which the service had none to answer.
func measureTiny(t *testing.T, s settings) findings {
	t.Helper()
	service := serve(t, world{Tiny: true})
	defer service.stop(t)
	dir, remove := scratch(t)
	defer remove()
	night := job{binary: s.binary, dir: dir, service: service}
	night.run(t)
	runs := make([]outcome, s.runs)
	for i := range runs {
		runs[i] = night.run(t)
	}
	return findings{
		Figures: []figure{{What: "night without changes, time beyond the requests", Unit: "s", Goal: 1.5,
			Runs: each(runs, func(o outcome) float64 { return o.Wall - o.Busy })}},
		Numbers: []figure{
			{What: "night without changes, wall time", Unit: "s", Runs: each(runs, wallOf)},
			{What: "night without changes, CPU time", Unit: "s", Runs: each(runs, func(o outcome) float64 { return o.CPU })},
			{What: "night without changes, requests", Runs: each(runs, func(o outcome) float64 { return float64(o.Requests) })},
			{What: "night without changes, peak resident memory", Unit: "MiB", Runs: each(runs, func(o outcome) float64 { return o.RSS / mebibyte })},
		},
	}
}
