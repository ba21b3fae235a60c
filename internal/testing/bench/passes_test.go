package bench_test

import (
	"path/filepath"
	"slices"
	"testing"
)

// measurePasses compares the CPU times of the second and the first pass over an unchanged list. The
// list has no order, so the program reads it twice. The first pass is measured in a night limited
// to one pass, from the first page until the list is staged. A normal night takes longer until its
// list is staged; the difference is the time of the second pass. Merging and publishing are not
// included. A part of the listings is enough, because the time of a pass is proportional to its
// pages.
func measurePasses(t *testing.T, s settings) findings {
	t.Helper()
	service := serve(t, world{Listings: s.listings, CatalogOnly: true, Unordered: true})
	defer service.stop(t)
	requestAllPages(t, service, s.listings)
	var first, second, requests []float64
	for i := range s.runs {
		onePass, onePassRequests := passNight(t, service, 1)
		twoPasses, twoPassRequests := passNight(t, service, 0)
		if pages := s.listings / 100; twoPassRequests < onePassRequests+pages {
			t.Fatalf("the normal night made %d requests, want at least %d of one pass and %d of a second pass", twoPassRequests, onePassRequests, pages)
		}
		cpuBefore := onePass[slices.IndexFunc(onePass, func(s timedStep) bool { return s.Name == "rows staged" })].CPU
		first = append(first, lastStep(t, onePass, "stream staged").CPU-cpuBefore)
		second = append(second, lastStep(t, twoPasses, "stream staged").CPU-lastStep(t, onePass, "stream staged").CPU)
		requests = append(requests, float64(twoPassRequests))
		t.Logf("run %d: first pass %.1f CPU s, second %.1f", i+1, first[i], second[i])
	}
	return findings{
		Figures: []figure{{Name: "second pass over an unchanged list, CPU time against the first", Unit: "x", Runs: pairedRatios(second, first)}},
		OtherFigures: []figure{
			{Name: "first pass, CPU time", Unit: "s", Runs: first},
			{Name: "second pass, CPU time", Unit: "s", Runs: second},
			{Name: "requests of a night of two passes", Runs: requests},
		},
	}
}

// passNight runs a night into an empty warehouse and returns its steps and its number of
// requests. maxPasses limits the passes over a list. 0 means the default.
func passNight(t *testing.T, service *service, maxPasses int) (steps []timedStep, requests int) {
	t.Helper()
	dir, remove := scratch(t)
	defer remove()
	task := nightTask{URL: service.url, Dir: dir, MaxPasses: maxPasses, Report: filepath.Join(dir, "steps.json")}
	service.stats(t) // discards the statistics so far
	measure(t, childCommand(t, "night", task))
	readJSON(t, task.Report, &steps)
	return steps, service.stats(t).Requests
}
