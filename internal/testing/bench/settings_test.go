package bench_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The environment chooses what is measured; "make bench" passes it on.
const (
	// sectionsVar names the sections, separated by commas, or says "all".
	// Unset: nothing is measured.
	sectionsVar = "PLACEMENTSYNC_BENCH"
	listingsVar = "PLACEMENTSYNC_BENCH_LISTINGS"
	runsVar     = "PLACEMENTSYNC_BENCH_RUNS"
	// longRunsVar counts the runs of what takes minutes: four times the listings, and
	// the peers at full size.
	longRunsVar = "PLACEMENTSYNC_BENCH_LONG_RUNS"
	daysVar     = "PLACEMENTSYNC_BENCH_DAYS"
	// peersVar is "all" to run at full size also the peer that takes longest.
	peersVar = "PLACEMENTSYNC_BENCH_PEERS"
	// docsVar is the folder that gets performance.json, performance.md and the
	// chart. Unset: results are printed and kept nowhere.
	docsVar = "PLACEMENTSYNC_BENCH_DOCS"
	// dirVar is where warehouses are built. Unset: the system's temporary one.
	dirVar = "PLACEMENTSYNC_BENCH_DIR"
)

// settings are the scale of a measurement.
type settings struct {
	sections []string
	// listings of the big night; the large one has four times as many.
	listings int
	// runs of each side of a pair, of which the page shows the median. longRuns is the
	// same for what takes minutes.
	runs, longRuns int
	// days of the year.
	days int
	// allPeers runs each peer at full size.
	allPeers bool
	// shared is a folder for what several sections use.
	shared string
	docs   string
	// binary is the program as it is built for users.
	binary string
}

// chosen reads the settings, and skips where nothing is asked for.
func chosen(t *testing.T) settings {
	t.Helper()
	s := settings{docs: os.Getenv(docsVar), listings: number(t, listingsVar, 1_000_000),
		runs: number(t, runsVar, 5), longRuns: number(t, longRunsVar, 1), days: number(t, daysVar, 365), allPeers: os.Getenv(peersVar) == "all"}
	if names := os.Getenv(sectionsVar); names != "" {
		s.sections = strings.Split(names, ",")
	}
	if len(s.sections) == 0 {
		t.Skipf("measures only when %s names sections: make bench", sectionsVar)
	}
	var err error
	for _, name := range s.sections {
		if !slices.ContainsFunc(sections(), func(one section) bool { return names(name, one.name) }) {
			t.Fatalf("%s names a section %q, which there is not", sectionsVar, name)
		}
	}
	s.binary, err = filepath.Abs("../../../bin/placementsync")
	must(t, err)
	if _, err := os.Stat(s.binary); err != nil {
		t.Fatalf("%v: make build first", err)
	}
	return s
}

func (s settings) wants(section string) bool {
	return slices.ContainsFunc(s.sections, func(name string) bool { return names(name, section) })
}

// names reports whether a word of the environment means a section: its name, what comes
// before a hyphen of it, or "all".
func names(word, section string) bool {
	return word == "all" || word == section || strings.HasPrefix(section, word+"-")
}

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	must(t, err)
	return n
}

// scratch makes an empty folder and returns what removes it again: measurements
// leave gigabytes, which must not pile up until the end of a test.
func scratch(t *testing.T) (dir string, remove func()) {
	t.Helper()
	dir, err := os.MkdirTemp(os.Getenv(dirVar), "placementsync-bench-")
	must(t, err)
	remove = func() { must(t, os.RemoveAll(dir)) }
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir, remove
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
