package bench_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"placementsync/internal/testing/harness"
)

// Environment variables that select the measurements. "make bench" sets the first four.
const (
	// sectionsVar lists the sections, separated by commas, or is "all". If it is empty, no section is measured.
	sectionsVar = "PLACEMENTSYNC_BENCH"
	listingsVar = "PLACEMENTSYNC_BENCH_LISTINGS"
	runsVar     = "PLACEMENTSYNC_BENCH_RUNS"
	// againstVar is the path of a second program, which is measured in turn with bin/placementsync.
	againstVar = "PLACEMENTSYNC_BENCH_AGAINST"
)

// program is a measured program. The name is the title of its column.
type program struct{ name, path string }

// settings contains the parameters of a measurement.
type settings struct {
	// listings is the number of listings of a night.
	listings int
	// runs is the number of runs of each measurement.
	runs     int
	programs []program
}

// programsOf returns the numbers of the programs in the order in which a run measures them. The order
// alternates, so that each program is measured first equally often.
func (s settings) programsOf(run int) []int {
	var numbers []int
	for i := range s.programs {
		numbers = append(numbers, i)
	}
	if run%2 == 1 {
		slices.Reverse(numbers)
	}
	return numbers
}

// section measures one subject. Each section can run alone.
type section struct {
	name    string
	measure func(t *testing.T, s settings) *report
}

func sections() []section {
	return []section{
		{"nights", measureNights},
		{"passes", measurePasses},
		{"large", measureLarge},
		{"peers", measurePeers},
	}
}

// TestPerformance measures the sections that an environment variable lists, and prints their figures.
func TestPerformance(t *testing.T) {
	text := os.Getenv(sectionsVar)
	if text == "" {
		t.Skipf("%s lists no sections to measure; run make bench", sectionsVar)
	}
	wanted := strings.Split(text, ",")
	for _, name := range wanted {
		// "make bench" measures the sections explore and paint in other packages.
		isKnown := slices.Contains([]string{"all", "explore", "paint"}, name) || slices.ContainsFunc(sections(), func(sec section) bool { return sec.name == name })
		if !isKnown {
			t.Fatalf("%s contains the unknown section %q", sectionsVar, name)
		}
	}
	s := settings{
		listings: readNumber(t, listingsVar, 100_000),
		runs:     readNumber(t, runsVar, 4),
		programs: []program{{"this program", absPath(t, "../../../bin/placementsync")}},
	}
	if other := os.Getenv(againstVar); other != "" {
		s.programs = append(s.programs, program{"the other program", absPath(t, other)})
	}
	for _, sec := range sections() {
		if !slices.Contains(wanted, sec.name) && !slices.Contains(wanted, "all") {
			continue
		}
		t.Run(sec.name, func(t *testing.T) {
			r := sec.measure(t, s)
			t.Logf("%s, %d listings, %d runs\n%s", sec.name, s.listings, s.runs, r)
		})
	}
}

// absPath returns the absolute path of an existing program.
func absPath(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	harness.Must(t, err)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("find the program to measure: %v", err)
	}
	return path
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
	dir, err := os.MkdirTemp("", "placementsync-bench-")
	harness.Must(t, err)
	remove = func() { harness.Must(t, os.RemoveAll(dir)) }
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir, remove
}
