package sim_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"hash"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/sim"
	"placementsync/internal/testing/harness"
)

var update = flag.Bool("update", false, "write testdata/responses.golden anew")

const goldenFile = "testdata/responses.golden"

// goldenWorlds returns options of worlds whose responses must not change.
func goldenWorlds() []sim.Options {
	return []sim.Options{
		{},
		{Seed: 1, ChurnEvery: 3},
		{Seed: 7, Unordered: true, ChurnEvery: 2},
		{
			Seed: 9, Outlets: 6, Listings: 60, Profiles: 2, Campaigns: 3, Orders: 8, Files: 4, Folders: 2,
			HistoryDays: 30, SilentChange: 0.2, ListingTurnover: 0.1,
		},
		{Realistic: true, Seed: 2, Outlets: 12, Listings: 60, Profiles: 3, Campaigns: 6, Orders: 30, Files: 6, Folders: 2},
		{Seed: 3, Listings: -1, Profiles: -1, Files: -1, Folders: -1, ChurnEvery: 1, TokenType: "custom"},
	}
}

// goldenQueries returns the URL queries for every route.
func goldenQueries() []string {
	return []string{"", "?limit=100", "?limit=7&page=2", "?include_outlets_data=true"}
}

// TestResponsesAreStable compares the responses of all routes, in all worlds over a few days, with recorded hashes,
// because a seed must give the same world in every release. Routes without a recorded hash are
// ignored. After an intended change, run "go test ./internal/sim -run TestResponsesAreStable -update".
func TestResponsesAreStable(t *testing.T) {
	harness.Slow(t)
	sums := map[string]hash.Hash{} // by route
	for _, opts := range goldenWorlds() {
		service := sim.New(opts)
		for range 4 {
			hashResponses(t, service, sums)
			service.Advance(3)
		}
	}
	got := map[string]string{}
	for pattern, sum := range sums {
		got[pattern] = fmt.Sprintf("%x", sum.Sum(nil)[:12])
	}
	if *update {
		var lines []string
		for pattern, sum := range got {
			lines = append(lines, pattern+" "+sum+"\n")
		}
		slices.Sort(lines)
		if err := os.WriteFile(goldenFile, []byte(strings.Join(lines, "")), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	goldenHashes, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(goldenHashes)) {
		pattern, want, _ := strings.Cut(strings.TrimSpace(line), " ")
		if got[pattern] != want {
			t.Errorf("%s: the responses differ from %s: hash %s, want %s", pattern, goldenFile, got[pattern], want)
		}
	}
}

// hashResponses adds the responses of all routes to sums, which has one hash per route. The order of
// requests is fixed, because with churn the lists depend on the earlier requests.
func hashResponses(t *testing.T, service *sim.Service, sums map[string]hash.Hash) {
	t.Helper()
	paths := samplePaths(t, service, 25)
	patterns := service.Routes()
	slices.Sort(patterns)
	for _, pattern := range patterns {
		if pattern == "/auth/token" {
			continue // the response contains the scopes of all routes and changes with each new route
		}
		if sums[pattern] == nil {
			sums[pattern] = sha256.New()
		}
		for i, path := range paths[pattern] {
			for j, query := range goldenQueries() {
				if i > 1 && j > 1 {
					break // from the third path on, two queries are enough
				}
				request := httptest.NewRequest(http.MethodGet, path+query, nil)
				request.Header.Set("Authorization", "Bearer pc_demo")
				recorder := httptest.NewRecorder()
				service.ServeHTTP(recorder, request)
				fmt.Fprintf(sums[pattern], "%s%s %d\n%s\n", path, query, recorder.Code, recorder.Body)
			}
		}
	}
}
