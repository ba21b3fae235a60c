package bench_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Environment variables that select the measurements. "make bench" passes them on.
const (
	// sectionsVar lists the sections, separated by commas, or is "all". If it is empty, no section
	// is measured.
	sectionsVar = "PLACEMENTSYNC_BENCH"
	listingsVar = "PLACEMENTSYNC_BENCH_LISTINGS"
	runsVar     = "PLACEMENTSYNC_BENCH_RUNS"
	// longRunsVar is the number of runs of long sections.
	longRunsVar = "PLACEMENTSYNC_BENCH_LONG_RUNS"
	daysVar     = "PLACEMENTSYNC_BENCH_DAYS"
	// peersVar is "all" to include the slow peers in the large comparison.
	peersVar = "PLACEMENTSYNC_BENCH_PEERS"
	// docsVar is the folder for performance.json, performance.md and the chart. If it is empty,
	// results are only printed.
	docsVar = "PLACEMENTSYNC_BENCH_DOCS"
	// dirVar is the folder for warehouses. It defaults to the system's temporary folder.
	dirVar = "PLACEMENTSYNC_BENCH_DIR"
)

// settings contains the parameters of a measurement.
type settings struct {
	sections []string
	// listings is the number of listings of a normal night.
	listings int
	// runs is the number of runs of each measurement. The page shows the median of the runs. Long
	// sections use longRuns instead.
	runs, longRuns int
	// days is the number of nights of the section "year".
	days int
	// allPeers includes the slow peers in the large comparison.
	allPeers bool
	// shared is a folder used by several sections.
	shared string
	// docs is the folder for the results. Empty means that they are only printed.
	docs string
	// binary is the path of the program.
	binary string
}

// readSettings reads the settings. It skips the test if no sections are selected.
func readSettings(t *testing.T) settings {
	t.Helper()
	s := settings{docs: os.Getenv(docsVar), listings: readNumber(t, listingsVar, 1_000_000),
		runs: readNumber(t, runsVar, 5), longRuns: readNumber(t, longRunsVar, 1), days: readNumber(t, daysVar, 365), allPeers: os.Getenv(peersVar) == "all"}
	if s.days < earlyDay {
		t.Fatalf("%s is %d, want at least %d: section year compares the last night with night %d", daysVar, s.days, earlyDay, earlyDay)
	}
	if names := os.Getenv(sectionsVar); names != "" {
		s.sections = strings.Split(names, ",")
	}
	if len(s.sections) == 0 {
		t.Skipf("%s lists no sections to measure; run make bench", sectionsVar)
	}
	var err error
	for _, name := range s.sections {
		if !slices.ContainsFunc(sections(), func(sec section) bool { return wordSelects(name, sec.name) }) {
			t.Fatalf("%s contains the unknown section %q", sectionsVar, name)
		}
	}
	s.binary, err = filepath.Abs("../../../bin/placementsync")
	must(t, err)
	if _, err := os.Stat(s.binary); err != nil {
		t.Fatalf("%v; run make build first", err)
	}
	return s
}

func (s settings) selects(section string) bool {
	return slices.ContainsFunc(s.sections, func(name string) bool { return wordSelects(name, section) })
}

// wordSelects reports whether a word of sectionsVar selects a section. The word is the name of the
// section, the part of the name before a hyphen, or "all".
func wordSelects(word, section string) bool {
	return word == "all" || word == section || strings.HasPrefix(section, word+"-")
}

func readNumber(t *testing.T, name string, fallback int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q, want a number of at least 1", name, text)
	}
	return n
}

// scratch returns an empty folder and a function that removes it. The folders take gigabytes, so
// they should not remain until the end of a test.
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
