package bench_test

import (
	"path/filepath"
	"slices"
	"testing"
)

// measurePasses compares the second pass over a list that stands still with the first.
// The list has no order, so that one pass proves nothing and the program reads it
// twice. The same night bounded to one pass is the measure: what the other one took
// more until its lists were staged is the second pass; what this one took from the
// first page on until then, the first. What follows, merging and publishing, is in
// neither. A part of the listings will do: a pass is in proportion to its pages.
func measurePasses(t *testing.T, s settings) findings {
	t.Helper()
	service := serve(t, world{Listings: s.listings, Catalog: true, Unordered: true})
	defer service.stop(t)
	warm(t, service, "", (s.listings+99)/100)
	var first, second, requests []float64
	for i := range s.runs {
		once, onceAsked := passNight(t, service, 1)
		twice, twiceAsked := passNight(t, service, 0)
		if pages := s.listings / 100; twiceAsked < onceAsked+pages {
			t.Fatalf("the night asked %d and %d times: it has no second pass of %d pages", onceAsked, twiceAsked, pages)
		}
		begun := once[slices.IndexFunc(once, func(s stepped) bool { return s.Name == "mid stage" })].CPU
		first = append(first, at(t, once, "stream staged").CPU-begun)
		second = append(second, at(t, twice, "stream staged").CPU-at(t, once, "stream staged").CPU)
		requests = append(requests, float64(twiceAsked))
		t.Logf("run %d: first pass %.1f CPU s, second %.1f", i+1, first[i], second[i])
	}
	return findings{
		Figures: []figure{{What: "second pass over a quiet list, CPU time against the first", Unit: "x", Runs: pairs(second, first)}},
		Numbers: []figure{
			{What: "first pass, CPU time", Unit: "s", Runs: first},
			{What: "second pass, CPU time", Unit: "s", Runs: second},
			{What: "requests of a night of two passes", Runs: requests},
		},
	}
}

// passNight runs a night into an empty warehouse and returns its steps and how often it
// asked.
func passNight(t *testing.T, service *service, passes int) (steps []stepped, requests int) {
	t.Helper()
	dir, remove := scratch(t)
	defer remove()
	in := inside{URL: service.url, Dir: dir, Passes: passes, Report: filepath.Join(dir, "steps.json")}
	service.seen(t)
	measure(t, again(t, "TestInsideChild", in))
	collect(t, in.Report, &steps)
	return steps, service.seen(t).Requests
}
