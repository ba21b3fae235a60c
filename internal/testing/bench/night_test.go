package bench_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"placementsync/internal/warehouse"
)

// listingsConfig configures a night that reads only the product listings and the small lists. The list
// outlet_listings is left out, because it repeats a third of the products.
const listingsConfig = "streams: {exclude: [outlet_listings, outlets, outlet_products, products], details: none}\n"

// job runs nights of the program, all into one warehouse.
type job struct {
	binary, dir string
	service     *service
	// extraConfig is appended to the configuration of api and warehouse.
	extraConfig string
	// rate is api.requests_per_second. 0 means no limit.
	rate int
	// pageSize is api.page_size. 0 means the default.
	pageSize int
}

// outcome contains the time, memory, requests and file sizes of a night.
type outcome struct {
	usage
	// Tail is the time in seconds from the last response until the link "latest" is created. The
	// link makes the snapshot visible.
	Tail float64
	requestStats
	// Catalog, Parquet and Landed are the sizes in bytes of the DuckDB file, of the Parquet files
	// and of the stored responses.
	Catalog, Parquet, Landed float64
}

func (j job) warehouse() string { return filepath.Join(j.dir, "warehouse") }

// writeConfig writes the configuration file and returns its path.
func (j job) writeConfig(t *testing.T) (config string) {
	t.Helper()
	if j.pageSize == 0 {
		j.pageSize = 100
	}
	config = filepath.Join(j.dir, "config.yaml")
	text := fmt.Sprintf("api: {base_url: %q, token: pc_demo, requests_per_second: %d, page_size: %d}\nwarehouse: {dir: %q}\n%s",
		j.service.url, j.rate, j.pageSize, j.warehouse(), j.extraConfig)
	must(t, os.WriteFile(config, []byte(text), 0o600))
	must(t, warehouse.New(warehouse.Config{Dir: j.warehouse()}).Folder.Create(nil))
	return config
}

// run measures one night.
func (j job) run(t *testing.T) outcome {
	t.Helper()
	config := j.writeConfig(t)
	j.service.stats(t) // discards the statistics so far
	o := outcome{usage: measure(t, exec.CommandContext(t.Context(), j.binary, "run", "--config", config))}
	o.requestStats = j.service.stats(t)
	latest := filepath.Join(j.warehouse(), "latest")
	link, err := os.Lstat(latest)
	must(t, err)
	o.Tail = link.ModTime().Sub(o.Last).Seconds()
	o.Catalog = bytesIn(t, filepath.Join(latest, "catalog.duckdb"))
	o.Parquet = bytesIn(t, filepath.Join(latest, "*.parquet"))
	o.Landed = bytesIn(t, filepath.Join(j.warehouse(), "raw", "*", "*"))
	return o
}
