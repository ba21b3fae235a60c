package bench_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"golang.org/x/sync/errgroup"
)

// measureWire compares nights with compressed responses and nights with plain ones. Each service
// compresses its pages before the first night, so that the compression is not measured.
func measureWire(t *testing.T, s settings) findings {
	t.Helper()
	codings := []string{"", "gzip", "zstd"}
	services := map[string]*service{}
	for _, coding := range codings {
		services[coding] = serve(t, world{Listings: s.listings, CatalogOnly: true, Coding: coding})
		defer services[coding].stop(t)
		requestAllPages(t, services[coding], coding, (s.listings+99)/100)
	}
	nights := map[string][]outcome{}
	for i := range s.runs {
		for _, coding := range codings {
			nights[coding] = append(nights[coding], firstNight(t, s, services[coding]))
		}
		t.Logf("run %d: plain %.1f CPU s, gzip %.1f, zstd %.1f", i+1, nights[""][i].CPU, nights["gzip"][i].CPU, nights["zstd"][i].CPU)
	}
	return wireFindings(nights)
}

func wireFindings(nights map[string][]outcome) (found findings) {
	plain := nights[""]
	for _, coding := range []string{"gzip", "zstd"} {
		compressed := nights[coding]
		found.Figures = append(found.Figures,
			figure{Name: "first night over " + coding + ", bytes on the wire against plain", Unit: "x", Runs: pairedRatios(valuesOf(compressed, wireOf), valuesOf(plain, wireOf))},
			figure{Name: "first night over " + coding + ", CPU time against plain", Unit: "x", Runs: pairedRatios(valuesOf(compressed, cpuOf), valuesOf(plain, cpuOf))})
		found.OtherFigures = append(found.OtherFigures,
			figure{Name: "answers over " + coding, Unit: "MB", Runs: valuesOf(compressed, wireOf)},
			figure{Name: "landed over " + coding, Unit: "MB", Runs: valuesOf(compressed, func(o outcome) float64 { return o.Landed / megabyte })},
			figure{Name: "first night over " + coding + ", CPU time", Unit: "s", Runs: valuesOf(compressed, cpuOf)},
			figure{Name: "first night over " + coding + ", wall time", Unit: "s", Runs: valuesOf(compressed, wallOf)})
	}
	return found
}

// requestAllPages requests all pages of the listings, so that the service caches them.
func requestAllPages(t *testing.T, s *service, coding string, pages int) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 8}}
	defer client.CloseIdleConnections()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(8)
	for page := range pages {
		group.Go(func() error {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/products/listings?limit=100&page=%d", s.url, page+1), nil)
			if err != nil {
				return err
			}
			r.Header.Set("Authorization", "Bearer pc_demo")
			r.Header.Set("Accept-Encoding", coding)
			res, err := client.Do(r)
			if err != nil {
				return err
			}
			defer res.Body.Close()
			if got := res.Header.Get("Content-Encoding"); res.StatusCode != http.StatusOK || got != coding {
				return fmt.Errorf("page %d: got status %s and encoding %q, want 200 and %q", page+1, res.Status, got, coding)
			}
			_, err = io.Copy(io.Discard, res.Body)
			return err
		})
	}
	must(t, group.Wait())
}
