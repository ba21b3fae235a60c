package bench_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// listingsConfig configures a night that reads only the product listings and the small lists. The list
// outlet_listings is left out, because it repeats a third of the products.
const listingsConfig = "streams: {exclude: [outlet_listings, outlets, outlet_products, products], details: none}\n"

// onePassConfig is listingsConfig with only one pass over a list.
const onePassConfig = "streams: {exclude: [outlet_listings, outlets, outlet_products, products], details: none, max_passes: 1}\n"

// job runs nights of a program, all into one warehouse.
type job struct {
	program, dir string
	service      *service
	// streams is the section of the configuration.
	streams string
}

// outcome contains the time, memory, requests and file sizes of a night.
type outcome struct {
	usage
	requestStats
	// readCPU is the CPU time from the first request to the last response.
	readCPU float64
	// tail is the time in seconds from the last response until the link "latest" is created. The
	// link makes the snapshot visible.
	tail float64
	// catalog, parquet and stored are the sizes in bytes of the DuckDB file, of the Parquet files
	// and of the stored responses.
	catalog, parquet, stored float64
}

func (j job) warehouse() string { return filepath.Join(j.dir, "warehouse") }

// command creates the warehouse, writes the configuration file, and returns the command of a night.
func (j job) command(t *testing.T) *exec.Cmd {
	t.Helper()
	harness.Must(t, warehouse.New(warehouse.Config{Dir: j.warehouse()}).Folder.Create(nil))
	config := filepath.Join(j.dir, "config.yaml")
	text := fmt.Sprintf("api: {base_url: %q, token: pc_demo, requests_per_second: 0, page_size: 100}\nwarehouse: {dir: %q}\n%s",
		j.service.url, j.warehouse(), j.streams)
	harness.Must(t, os.WriteFile(config, []byte(text), 0o600))
	return exec.CommandContext(t.Context(), j.program, "run", "--config", config)
}

// run measures one night.
func (j job) run(t *testing.T) outcome {
	t.Helper()
	j.service.advance(t, 0) // discards the statistics so far
	used, samples := measure(t, j.command(t))
	o := outcome{usage: used, requestStats: j.service.advance(t, 0)}
	o.readCPU = cpuUntil(samples, o.Last) - cpuUntil(samples, o.First)
	latest := filepath.Join(j.warehouse(), "latest")
	link, err := os.Lstat(latest)
	harness.Must(t, err)
	o.tail = link.ModTime().Sub(o.Last).Seconds()
	o.catalog = bytesIn(t, filepath.Join(latest, "catalog.duckdb"))
	o.parquet = bytesIn(t, filepath.Join(latest, "*.parquet"))
	o.stored = bytesIn(t, filepath.Join(j.warehouse(), "raw", "*", "*"))
	return o
}

// firstNight runs a night of a program into an empty warehouse.
func firstNight(t *testing.T, s settings, program int, service *service, config string) outcome {
	t.Helper()
	dir, remove := scratch(t)
	defer remove()
	return job{program: s.programs[program].path, dir: dir, service: service, streams: config}.run(t)
}

// serveListings starts a service, and runs a night so that the first measured run does not warm it up.
func serveListings(t *testing.T, s settings, w world) *service {
	t.Helper()
	service := serve(t, w)
	firstNight(t, s, 0, service, listingsConfig)
	return service
}

// measureNights runs a first night, a night without changes, and a night with 1 % changed listings.
func measureNights(t *testing.T, s settings) *report {
	t.Helper()
	r := &report{programs: s.programs}
	for run := range s.runs {
		service := serveListings(t, s, world{Listings: s.listings})
		jobs := make([]job, len(s.programs))
		for p := range jobs {
			dir, remove := scratch(t)
			defer remove()
			jobs[p] = job{program: s.programs[p].path, dir: dir, service: service, streams: listingsConfig}
		}
		for _, p := range s.programsOf(run) {
			first := jobs[p].run(t)
			r.addUsage(p, "first night", first.usage)
			r.add(p, "first night, last response to visible snapshot", "s", first.tail)
			r.add(p, "first night, stored responses", "MB", first.stored/megabyte)
			r.add(p, "first night, DuckDB file", "MB", first.catalog/megabyte)
			r.add(p, "first night, Parquet files", "MB", first.parquet/megabyte)
		}
		for _, p := range s.programsOf(run) {
			r.addUsage(p, "second night without changes", jobs[p].run(t).usage)
		}
		service.advance(t, 1)
		for _, p := range s.programsOf(run) {
			r.addUsage(p, "next night, 1 % changed", jobs[p].run(t).usage)
		}
		service.stop(t)
		for _, j := range jobs {
			harness.Must(t, os.RemoveAll(j.dir))
		}
	}
	r.addRatio("second night without changes against the first, CPU time", "second night without changes, CPU time", "first night, CPU time")
	r.addRatio("next night, 1 % changed, against the first, CPU time", "next night, 1 % changed, CPU time", "first night, CPU time")
	return r
}

// measurePasses compares the CPU times of the second and the first pass over an unchanged list. The list
// has no order, so the program reads it twice. The first pass is the reading of a night that is limited
// to one pass. A night of two passes takes longer to read; the difference is the second pass.
func measurePasses(t *testing.T, s settings) *report {
	t.Helper()
	r := &report{programs: s.programs}
	service := serveListings(t, s, world{Listings: s.listings, Unordered: true})
	defer service.stop(t)
	for run := range s.runs {
		for _, p := range s.programsOf(run) {
			one := firstNight(t, s, p, service, onePassConfig)
			two := firstNight(t, s, p, service, listingsConfig)
			if pages := s.listings / 100; two.Requests < one.Requests+pages {
				t.Fatalf("the night of two passes made %d requests, want at least %d of one pass and %d of a second pass", two.Requests, one.Requests, pages)
			}
			r.add(p, "first pass, CPU time", "s", one.readCPU)
			r.add(p, "second pass, CPU time", "s", two.readCPU-one.readCPU)
		}
	}
	r.addRatio("second pass against the first, CPU time", "second pass, CPU time", "first pass, CPU time")
	return r
}

// measureLarge compares first nights with the listings and with four times as many.
func measureLarge(t *testing.T, s settings) *report {
	t.Helper()
	r := &report{programs: s.programs}
	once, fourTimes := serveListings(t, s, world{Listings: s.listings}), serveListings(t, s, world{Listings: 4 * s.listings})
	defer once.stop(t)
	defer fourTimes.stop(t)
	for run := range s.runs {
		for _, p := range s.programsOf(run) {
			r.addUsage(p, "first night", firstNight(t, s, p, once, listingsConfig).usage)
			r.addUsage(p, "four times the listings", firstNight(t, s, p, fourTimes, listingsConfig).usage)
		}
	}
	for _, quantity := range []string{"wall time", "CPU time", "peak memory"} {
		r.addRatio("four times the listings against once, "+quantity, "four times the listings, "+quantity, "first night, "+quantity)
	}
	return r
}
