package mutants_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"go/build"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"placementsync/internal/testing/torture"
)

var (
	packages      = flag.String("packages", "", "measure these folders below internal, separated by spaces")
	sample        = flag.Int("sample", 100, "test randomly drawn files with at least this number of covered mutants in total; 0 tests all files")
	seed          = flag.Uint64("seed", 1, "seed of the random draw")
	onlySurvivors = flag.Bool("survivors", false, "test only the files of mutants that were not noticed the last time, after tests were added")
	workers       = flag.Int("workers", 1, "number of mutants that are tested at the same time")
	gremlins      = flag.String("gremlins", "", "the command of gremlins, with its version")
)

// buildTag is the build tag of the project.
const buildTag = "duckdb_arrow"

// mutant is one mistake that gremlins adds, and the result of the tests.
type mutant struct {
	File   string `json:"-"` // name of the file in the measured package
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Kind   string `json:"type"`
	Status string `json:"status"`
}

// Values of mutant.Status. In a dry run, a mutant in a line that tests cover is RUNNABLE.
const (
	notCovered = "NOT COVERED"
	runnable   = "RUNNABLE"
	lived      = "LIVED"
	killed     = "KILLED"
	timedOut   = "TIMED OUT"
)

// TestMutants measures the packages. It stores the result of each package before it measures the next
// one, so that an interruption loses the result of only one package.
func TestMutants(t *testing.T) {
	if *packages == "" {
		t.Skip("takes hours: run make mutants")
	}
	store := torture.Open(os.Getenv)
	equivalents := readEquivalents(t)
	stored, err := store.MutationResults()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.FieldsSeq(*packages) {
		t.Run(name, func(t *testing.T) {
			var result torture.MutationResult
			if *onlySurvivors {
				i := slices.IndexFunc(stored, func(m torture.MutationResult) bool { return m.Package == name })
				if i < 0 {
					t.Fatalf("there is no stored result of %s: measure it without -survivors first", name)
				}
				addReasons(&stored[i], equivalents)
				result = measureSurvivors(t, stored[i])
			} else {
				result = measurePackage(t, name)
			}
			addReasons(&result, equivalents)
			if err := store.StoreMutationResult(result); err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: %d mutants, %d covered, %d tested, %d noticed", name, result.Mutants, result.Covered, result.Tested, result.Noticed)
			for _, s := range result.Survivors {
				t.Logf("%s:%d: %s survived: %s (%s)", s.File, s.Line, s.Kind, s.Text, cmp.Or(s.Reason, "no reason"))
			}
		})
	}
}

// measurePackage counts the mutants of a package and tests the mutants in randomly drawn files.
func measurePackage(t *testing.T, name string) torture.MutationResult {
	t.Helper()
	startedAt := time.Now()
	result := torture.MutationResult{Package: name, Seed: *seed}
	all, tested := runDryAndTest(t, name, func(all []mutant) (files []string, drawn map[string]bool) {
		files, drawn = drawFiles(all, *sample, *seed)
		result.Files, result.Drawn = len(files), len(drawn)
		return files, drawn
	})
	result.Mutants, result.Covered, result.Tested = len(all), countCovered(all), len(tested)
	for _, m := range tested {
		if m.Status == lived {
			result.Survivors = append(result.Survivors, survivor(t, name, m))
		} else {
			result.Noticed++
		}
	}
	sortSurvivors(result.Survivors)
	result.Took = time.Since(startedAt).Seconds()
	return result
}

// measureSurvivors tests the files of the survivors that have no reason, and returns the result with
// the remaining survivors.
func measureSurvivors(t *testing.T, result torture.MutationResult) torture.MutationResult {
	t.Helper()
	startedAt := time.Now()
	all, repeated := runDryAndTest(t, result.Package, func(all []mutant) (files []string, withSurvivors map[string]bool) {
		files, _ = drawFiles(all, 0, 0)
		withSurvivors = map[string]bool{}
		for _, s := range result.Survivors {
			if s.Reason == "" {
				withSurvivors[filepath.Base(s.File)] = true
			}
		}
		return files, withSurvivors
	})
	var tested, stillLived []torture.Survivor
	for _, m := range repeated {
		tested = append(tested, survivor(t, result.Package, m))
		if m.Status == lived {
			stillLived = append(stillLived, survivor(t, result.Package, m))
		}
	}
	result = updateSurvivors(result, tested, stillLived)
	result.Mutants, result.Covered = len(all), countCovered(all)
	result.Took += time.Since(startedAt).Seconds()
	return result
}

// runDryAndTest returns all mutants of a package after a dry run, and the tested mutants of the chosen
// files. choose returns the files of the package and which of them are chosen. The test fails if a mutant
// was not tested, or if the package changes meanwhile.
func runDryAndTest(t *testing.T, name string, choose func(all []mutant) (files []string, chosen map[string]bool)) (all, tested []mutant) {
	t.Helper()
	dir := projectPath("internal", name)
	sumBefore := sourceSum(t, dir)
	all = dropInvalid(t, name, runGremlins(t, dir, "--dry-run"))
	files, chosen := choose(all)
	var results []mutant
	if len(chosen) > 0 {
		results = dropInvalid(t, name, runGremlins(t, dir, "--exclude-files", undrawnPattern(files, chosen)))
	}
	for _, m := range results {
		switch m.Status {
		case killed, timedOut, lived:
			tested = append(tested, m)
		case notCovered:
		default:
			t.Errorf("%s:%d: the mutant %s was not tested: %s", m.File, m.Line, m.Kind, m.Status)
		}
	}
	if sourceSum(t, dir) != sumBefore {
		t.Fatalf("the files of %s changed while they were measured: the result is not stored", dir)
	}
	return all, tested
}

// updateSurvivors returns the result after its survivors without a reason were tested again. Mutants
// are compared by the text of their lines, because line numbers change. A mutant whose line no longer
// exists counts neither as tested nor as noticed.
func updateSurvivors(result torture.MutationResult, tested, stillLived []torture.Survivor) torture.MutationResult {
	sameMutant := func(a torture.Survivor) func(torture.Survivor) bool {
		return func(b torture.Survivor) bool { return a.File == b.File && a.Text == b.Text && a.Kind == b.Kind }
	}
	stillLived = slices.Clone(stillLived)
	var survivors []torture.Survivor
	for _, s := range result.Survivors {
		if s.Reason != "" {
			survivors = append(survivors, s)
		} else if i := slices.IndexFunc(stillLived, sameMutant(s)); i >= 0 {
			survivors = append(survivors, stillLived[i])
			stillLived = slices.Delete(stillLived, i, i+1)
		} else if slices.ContainsFunc(tested, sameMutant(s)) {
			result.Noticed++
		} else {
			result.Tested--
		}
	}
	sortSurvivors(survivors)
	result.Survivors = survivors
	return result
}

func countCovered(all []mutant) (covered int) {
	for _, m := range all {
		if m.Status != notCovered {
			covered++
		}
	}
	return covered
}

// survivor describes a mutant of a package by the text of its line.
func survivor(t *testing.T, name string, m mutant) torture.Survivor {
	t.Helper()
	lines := strings.Split(string(readFile(t, projectPath("internal", name, m.File))), "\n")
	return torture.Survivor{File: "internal/" + name + "/" + m.File, Line: m.Line,
		Kind: strings.ToLower(strings.ReplaceAll(m.Kind, "_", " ")), Text: strings.TrimSpace(lines[m.Line-1])}
}

func sortSurvivors(survivors []torture.Survivor) {
	slices.SortStableFunc(survivors, func(a, b torture.Survivor) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Kind, b.Kind))
	})
}

// runGremlins runs gremlins on the package in dir and returns the mutants. It leaves out files that
// are not built on this system. Gremlins changes only a copy of the project in a temporary folder.
func runGremlins(t *testing.T, dir string, args ...string) []mutant {
	t.Helper()
	temp, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.RemoveAll(temp); err != nil {
			t.Error(err)
		}
	}()
	flags, err := exec.CommandContext(t.Context(), "go", "env", "GOFLAGS").Output()
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(temp, "mutants.json")
	// The timeout coefficient is large because compiling and linking a mutant can take longer than
	// the tests. --test-cpu cannot be used: gremlins 0.6.0 passes an invalid flag to go test.
	args = slices.Concat([]string{"run", *gremlins, "unleash", "--tags", buildTag, "--timeout-coefficient", "30",
		"--workers", fmt.Sprint(*workers), "--output", out}, args, []string{dir})
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = projectPath(), t.Output(), t.Output()
	// -count=1: the time limit of a mutant is a multiple of the time of the tests without a mutant,
	// so this time must not come from the test cache. -vet=off: go vet would reject some mutants.
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, "GOFLAGS="+strings.TrimSpace(string(flags))+" -count=1 -vet=off -ldflags=-w")
	if err := cmd.Run(); err != nil {
		t.Fatalf("run gremlins on %s: %v", dir, err)
	}
	var report struct {
		Files []struct {
			Name    string   `json:"file_name"`
			Mutants []mutant `json:"mutations"`
		} `json:"files"`
	}
	decode(t, readFile(t, out), &report)
	built := build.Default
	built.BuildTags = []string{buildTag}
	var all []mutant
	for _, f := range report.Files {
		if match, err := built.MatchFile(dir, f.Name); err != nil {
			t.Fatal(err)
		} else if !match {
			continue
		}
		for _, m := range f.Mutants {
			m.File = f.Name
			all = append(all, m)
		}
	}
	return all
}

// drawFiles returns the sorted files of the mutants, and a random draw of these files. The drawn
// files have at least minCovered covered mutants in total. If minCovered is 0 or cannot be reached, all
// files are drawn.
func drawFiles(all []mutant, minCovered int, seed uint64) (files []string, drawn map[string]bool) {
	count := map[string]int{} // covered mutants by file
	for _, m := range all {
		if _, known := count[m.File]; !known {
			files = append(files, m.File)
			count[m.File] = 0
		}
		if m.Status != notCovered {
			count[m.File]++
		}
	}
	slices.Sort(files)
	shuffled := slices.Clone(files)
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	drawn = map[string]bool{}
	drawnMutants := 0
	for _, f := range shuffled {
		if minCovered > 0 && drawnMutants >= minCovered {
			break
		}
		drawn[f] = true
		drawnMutants += count[f]
	}
	return files, drawn
}

// undrawnPattern returns a regular expression that matches the files that are not drawn.
func undrawnPattern(files []string, drawn map[string]bool) string {
	var others []string
	for _, f := range files {
		if !drawn[f] {
			others = append(others, regexp.QuoteMeta(f))
		}
	}
	return "^(" + strings.Join(others, "|") + ")$"
}

// sourceSum returns a checksum of the Go files of a folder.
func sourceSum(t *testing.T, dir string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	for _, path := range paths {
		fmt.Fprintf(sum, "%s %x\n", path, sha256.Sum256(readFile(t, path)))
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// projectPath returns a path below the folder of the project.
func projectPath(below ...string) string {
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		panic(err) // the working directory was removed
	}
	return filepath.Join(append([]string{root}, below...)...)
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

// TestUpdateSurvivors updates two survivors of the same line, one in a removed line, one with a reason,
// and one that is noticed now.
func TestUpdateSurvivors(t *testing.T) {
	twice := torture.Survivor{File: "a.go", Line: 1, Kind: "conditionals negation", Text: "a < b && b < c"}
	removed := torture.Survivor{File: "a.go", Line: 2, Kind: "conditionals negation", Text: "if gone < 1 {"}
	explained := torture.Survivor{File: "b.go", Line: 3, Kind: "conditionals boundary", Text: "x < y", Reason: "x is never y"}
	noticed := torture.Survivor{File: "a.go", Line: 4, Kind: "arithmetic base", Text: "x + 1"}
	moved := twice
	moved.Line = 11
	nowNoticed := noticed
	nowNoticed.Line = 14
	got := updateSurvivors(torture.MutationResult{Tested: 100, Noticed: 95, Survivors: []torture.Survivor{twice, twice, removed, noticed, explained}},
		[]torture.Survivor{moved, moved, nowNoticed}, []torture.Survivor{moved})
	want := torture.MutationResult{Tested: 99, Noticed: 97, Survivors: []torture.Survivor{moved, explained}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestDrawFiles(t *testing.T) {
	var all []mutant
	for i, name := range []string{"a.go", "b.go", "c.go", "d.go"} {
		for range 10 * (i + 1) {
			all = append(all, mutant{File: name, Status: runnable}, mutant{File: name, Status: notCovered})
		}
	}
	for _, c := range []struct {
		minCovered, least, most int
	}{{0, 100, 100}, {1, 10, 40}, {41, 41, 80}, {100, 100, 100}, {1000, 100, 100}} {
		for seed := range uint64(20) {
			files, drawn := drawFiles(all, c.minCovered, seed)
			_, redrawn := drawFiles(all, c.minCovered, seed)
			covered := 0
			for _, m := range all {
				if drawn[m.File] != redrawn[m.File] {
					t.Fatalf("seed %d draws %v and then %v, want the same files", seed, drawn, redrawn)
				}
				if drawn[m.File] && m.Status == runnable {
					covered++
				}
			}
			if covered < c.least || covered > c.most || len(files) != 4 {
				t.Errorf("seed %d, at least %d mutants: drew %d of %d files with %d covered mutants, want %d to %d covered mutants in files drawn from 4", seed, c.minCovered, len(drawn), len(files), covered, c.least, c.most)
			}
		}
	}
	others := regexp.MustCompile(undrawnPattern([]string{"a.go", "aa.go", "b.go"}, map[string]bool{"a.go": true}))
	if others.MatchString("a.go") || !others.MatchString("aa.go") || !others.MatchString("b.go") {
		t.Errorf("%s must match aa.go and b.go, but not the drawn a.go", others)
	}
	if none := regexp.MustCompile(undrawnPattern([]string{"a.go"}, map[string]bool{"a.go": true})); none.MatchString("a.go") {
		t.Errorf("%s matches a.go, want no match, because all files are drawn", none)
	}
}
