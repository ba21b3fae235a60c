package bench_test

import "testing"

// measureWire compares nights with compressed responses and nights with plain responses. It does not
// compare wall times, because they include the compression by the service.
func measureWire(t *testing.T, s settings) findings {
	t.Helper()
	codings := []string{"", "gzip", "zstd"}
	services := map[string]*service{}
	for _, coding := range codings {
		services[coding] = serve(t, world{Listings: s.listings, CatalogOnly: true, Coding: coding})
		defer services[coding].stop(t)
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

func wireFindings(nights map[string][]outcome) (measured findings) {
	plain := nights[""]
	for _, coding := range []string{"gzip", "zstd"} {
		compressed := nights[coding]
		measured.Figures = append(measured.Figures,
			figure{Name: "first night over " + coding + ", bytes on the wire against plain", Unit: "x", Runs: pairedRatios(valuesOf(compressed, wireOf), valuesOf(plain, wireOf))},
			figure{Name: "first night over " + coding + ", CPU time against plain", Unit: "x", Runs: pairedRatios(valuesOf(compressed, cpuOf), valuesOf(plain, cpuOf))})
		measured.OtherFigures = append(measured.OtherFigures,
			figure{Name: "answers over " + coding, Unit: "MB", Runs: valuesOf(compressed, wireOf)},
			figure{Name: "landed over " + coding, Unit: "MB", Runs: valuesOf(compressed, func(o outcome) float64 { return o.Landed / megabyte })},
			figure{Name: "first night over " + coding + ", CPU time", Unit: "s", Runs: valuesOf(compressed, cpuOf)})
	}
	return measured
}
