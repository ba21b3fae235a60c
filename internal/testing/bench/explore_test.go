package bench_test

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// interaction is a kind of user action on the catalog page. Each of its URL queries occurs at most
// twice, so few responses come from a cache.
type interaction struct {
	kind    string
	queries []string
}

// interactions returns a search while typing, filters, sorting and paging.
func interactions() []interaction {
	search, facet, price, sorting, paging := interaction{kind: "search"}, interaction{kind: "facet"}, interaction{kind: "price range"},
		interaction{kind: "sort"}, interaction{kind: "page"}
	for _, text := range []string{"newsletter", "paris tech", "outlet-12", "münchen sports", "press release wire"} {
		typed := []rune(text)
		for n := range typed {
			search.queries = append(search.queries, "q="+strings.ReplaceAll(string(typed[:n+1]), " ", "+"))
		}
	}
	for _, country := range []string{"Germany", "France", "Brazil", "Canada", "India", "Australia", "(none)"} {
		for _, otherFilters := range []string{"", "&dofollow=true", "&tag=Finance", "&currency=USD&tier=pro"} {
			facet.queries = append(facet.queries, "country="+country+otherFilters)
		}
	}
	for maxPrice := 100; maxPrice <= 3000; maxPrice += 100 {
		price.queries = append(price.queries, fmt.Sprintf("currency=USD&price_max=%d&sort=price", maxPrice))
	}
	for n := range 30 {
		sortKey := []string{"name", "outlet", "ranking", "days", "authority", "-name"}[n%6]
		sorting.queries = append(sorting.queries, fmt.Sprintf("sort=%s&page=%d", sortKey, n+2))
		paging.queries = append(paging.queries, fmt.Sprintf("page=%d", (n+1)*(n+1)*20))
	}
	return []interaction{search, facet, price, sorting, paging}
}

// measureExplore measures the catalog page with a tenth of the listings and with all listings.
func measureExplore(t *testing.T, s settings) findings {
	t.Helper()
	tenth, all := measureCatalog(t, s, s.listings/10, small), measureCatalog(t, s, s.listings, large)
	return findings{Figures: append(tenth.Figures, all.Figures...), OtherFigures: append(tenth.OtherFigures, all.OtherFigures...)}
}

// measureCatalog serves the catalog page of one night and measures one request after another.
func measureCatalog(t *testing.T, s settings, listings int, size string) findings {
	t.Helper()
	service := serve(t, world{Listings: listings, CatalogOnly: true})
	defer service.stop(t)
	dir, remove := scratch(t)
	defer remove()
	j := job{binary: s.binary, dir: dir, service: service, extraConfig: listingsConfig}
	j.run(t)
	config := filepath.Join(dir, "explore.yaml")
	must(t, os.WriteFile(config, fmt.Appendf(nil, "warehouse: {dir: %q}\n", j.warehouse()), 0o600))
	cmd := exec.CommandContext(t.Context(), s.binary, "explore", "--config", config, "--listen", "127.0.0.1:0", "--no-token", "--quiet")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, err := cmd.StdoutPipe()
	must(t, err)
	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	address, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	defer func() { must(t, cmd.Process.Signal(os.Interrupt)); t.Logf("explore ended: %v", cmd.Wait()) }()
	url := strings.TrimSpace(address) + "catalog?"
	startedAt := time.Now()
	for requestPage(t, url) == http.StatusServiceUnavailable { // until the catalog is prepared
	}
	seconds := time.Since(startedAt).Seconds()
	residentBefore := residentBytes(t, cmd.Process.Pid)
	measured := findings{OtherFigures: []figure{
		{Name: "explore, catalog prepared after, " + size, Unit: "s", Runs: []float64{seconds}},
		{Name: "explore, resident memory when prepared, " + size, Unit: "MiB", Runs: []float64{residentBefore / mebibyte}},
	}}
	var all []float64
	for _, interaction := range interactions() {
		var milliseconds []float64
		for _, query := range interaction.queries {
			startedAt := time.Now()
			if status := requestPage(t, url+query); status != http.StatusOK {
				t.Fatalf("%s returned status %d, want 200", query, status)
			}
			milliseconds = append(milliseconds, 1000*time.Since(startedAt).Seconds())
		}
		all = append(all, milliseconds...)
		measured.OtherFigures = append(measured.OtherFigures, figure{Name: "explore, " + interaction.kind + ", 95 of 100 within, " + size, Unit: "ms", Runs: []float64{percentile95(milliseconds)}})
	}
	measured.Figures = []figure{
		{Name: interactionFigureName(size), Unit: "ms", Runs: []float64{percentile95(all)}},
		{Name: memoryFigureName(size), Unit: "x", Runs: []float64{residentBytes(t, cmd.Process.Pid) / residentBefore}},
	}
	return measured
}

func interactionFigureName(size string) string {
	return "explore, interaction with the catalog, 95 of 100 within, " + size
}

func memoryFigureName(size string) string {
	return "explore, resident memory after all interactions against before, " + size
}

func percentile95(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(math.Ceil(0.95*float64(len(sorted))))-1]
}

func requestPage(t *testing.T, url string) int {
	t.Helper()
	res, err := http.Get(url)
	must(t, err)
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	must(t, err)
	return res.StatusCode
}

// residentBytes returns the resident memory of a process.
func residentBytes(t *testing.T, pid int) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	must(t, err)
	var size, resident float64
	_, err = fmt.Sscan(string(text), &size, &resident)
	must(t, err)
	return resident * float64(os.Getpagesize())
}
