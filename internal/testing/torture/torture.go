// Package torture stores the results of long tests, which are called trials. The trials of all
// packages write their results to a [Store]. A test of this package generates docs/reliability.md
// from the results.
//
// Only tests import the package. It does not depend on the subject of a trial.
package torture

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
)

// Row is the result of the nights with one fault at one rate. It is a row of the table of faults.
type Row struct {
	// Fault and Rate identify the row.
	Fault    string `json:"fault"`
	Rate     string `json:"rate"`
	Position int    `json:"place"` // of the row in the table
	// Runs counts the nights, Requests the requests of these nights, and Affected the requests that
	// the fault affected.
	Runs     int `json:"runs"`
	Requests int `json:"asked"`
	Affected int `json:"struck"`
	// Each night is counted once. An exact night equals the service value by value. A partial
	// night was published and reports the missing data. A failed night was not published.
	// Wrong counts all other nights.
	Exact   int `json:"exact"`
	Partial int `json:"partial"`
	Failed  int `json:"failed"`
	Wrong   int `json:"wrong"`
	// Lost counts lost rows, plus 1 if the last night, which has no faults, did not restore all
	// rows.
	Lost int `json:"lost"`
	// Longest is the duration of the longest night, in seconds.
	Longest float64 `json:"longest"`
	// Peak is the peak memory of the process in a night, in bytes. 0 means not measured.
	Peak int64  `json:"peak,omitempty"`
	Date string `json:"date"`
}

// Trial is the result of a trial that is not stored as rows.
type Trial struct {
	// Name identifies the trial on the page and determines the name of the result's file.
	Name string `json:"name"`
	// Procedure describes the trial, for example the injected faults.
	Procedure string `json:"fault"`
	Runs      int    `json:"runs"`
	// Outcome describes the observed results.
	Outcome string  `json:"outcome"`
	Passed  bool    `json:"held"`
	Seconds float64 `json:"took"`
	Date    string  `json:"date"`
}

// MutationResult is the result of a measurement of one package. A mutant is a small mistake that is
// added to the package. The measurement runs the tests of the package with one mutant at a time.
type MutationResult struct {
	// Package is the folder below internal.
	Package string `json:"package"`
	// Mutants counts the possible mutants that compile. Covered counts the mutants in code that
	// the tests of the package run.
	Mutants int `json:"mutants"`
	Covered int `json:"covered"`
	// Files is the number of files with mutants. Drawn is the number of files that were drawn
	// randomly with Seed. Tested counts the covered mutants of the drawn files. Noticed counts the
	// mutants with which a test failed or did not end.
	Files   int    `json:"files"`
	Drawn   int    `json:"drawn"`
	Seed    uint64 `json:"seed"`
	Tested  int    `json:"tested"`
	Noticed int    `json:"noticed"`
	// Survivors are the tested mutants that were not noticed.
	Survivors []Survivor `json:"survivors"`
	// Took is in seconds.
	Took float64 `json:"took"`
	Date string  `json:"date"`
}

// Survivor is a mutant that no test noticed.
type Survivor struct {
	// File is the path from the root of the project. Line and Text are the number and the text of
	// the line at the time of the measurement.
	File string `json:"file"`
	Line int    `json:"line"`
	Text string `json:"text"`
	// Kind is the kind of the change, such as "conditionals boundary".
	Kind string `json:"kind"`
	// Reason explains why no test can notice the mutant. It is empty if a test is missing.
	Reason string `json:"reason,omitempty"`
}

// Season is the result of one season: many nights of one warehouse with random events, which the
// seed determines.
type Season struct {
	Seed uint64 `json:"seed"`
	// ProgramSum is a checksum of the program that ran the season.
	ProgramSum string `json:"state"`
	// Upgrade is set if the season began with the warehouse of release 1.0.0.
	Upgrade bool `json:"upgrade"`
	Nights  int  `json:"nights"`
	// Counts counts the events that took effect, and the results of nights, by name.
	Counts  map[string]int `json:"counts"`
	Passed  bool           `json:"held"`
	Seconds float64        `json:"took"`
	Date    string         `json:"date"`
}

// Store is a folder of results.
type Store struct {
	// Docs is the folder docs of the project. If it is empty, no results are stored.
	Docs string
	// Now is the clock for the dates.
	Now func() time.Time
}

// trialsVar is the environment variable that enables tests of more than a few seconds. Without it,
// the tests of a package take less than a minute and can run after every edit.
const trialsVar = "PLACEMENTSYNC_TRIALS"

// TrialsWanted reports whether tests of more than a few seconds are enabled. "make trials" enables
// them.
func TrialsWanted(getenv func(name string) string) bool { return getenv(trialsVar) != "" }

// RequireTrials skips a test of more than a few seconds if such tests are not enabled.
func RequireTrials(t testing.TB, getenv func(name string) string) {
	t.Helper()
	if !TrialsWanted(getenv) {
		t.Skipf("takes more than a few seconds: run it with make trials, make trials-commands or %s=1", trialsVar)
	}
}

// Open returns a store in the folder that PLACEMENTSYNC_TORTURE_DOCS names. "make torture", for example,
// sets this variable. If it is empty, the store stores no results.
func Open(getenv func(name string) string) Store {
	return Store{Docs: getenv("PLACEMENTSYNC_TORTURE_DOCS"), Now: time.Now}
}

// EndTrial sets the duration of a trial and whether it passed, and stores it.
func (st Store) EndTrial(startedAt time.Time, failed bool, t Trial) error {
	t.Passed, t.Seconds = !failed, time.Since(startedAt).Seconds()
	return st.StoreTrial(t)
}

// matrixFile contains all rows, and seasonsFile all seasons. Each trial has a separate file.
const (
	matrixFile  = "matrix.json"
	seasonsFile = "seasons.json"
)

// Folder is the name of the folder of the results, in docs.
const Folder = "reliability"

// StoreRows stores rows, and replaces stored rows with the same fault and rate, see [Replace].
func (st Store) StoreRows(rows ...Row) error {
	for i := range rows {
		rows[i].Date = st.currentDate()
	}
	return Replace(st, matrixFile, rows, func(a, b Row) bool { return a.Fault == b.Fault && a.Rate == b.Rate },
		func(a, b Row) int { return cmp.Compare(a.Position, b.Position) })
}

// StoreSeason stores a season, and replaces a stored season with the same seed, see [Replace].
func (st Store) StoreSeason(s Season) error {
	s.Date = st.currentDate()
	return Replace(st, seasonsFile, []Season{s}, func(a, b Season) bool { return a.Seed == b.Seed },
		func(a, b Season) int { return cmp.Compare(a.Seed, b.Seed) })
}

// Replace adds results to a file and sorts the file. It first removes each stored result that isSame
// finds equal to a new result. Only one goroutine of one process may call it at a time.
func Replace[T any](st Store, file string, results []T, isSame func(a, b T) bool, compare func(a, b T) int) error {
	var all []T
	if err := st.Read(file, &all); err != nil {
		return err
	}
	for _, r := range results {
		all = append(slices.DeleteFunc(all, func(old T) bool { return isSame(old, r) }), r)
	}
	slices.SortStableFunc(all, compare)
	return st.writeFile(file, all)
}

// Seasons returns the stored seasons, sorted by seed.
func (st Store) Seasons() ([]Season, error) {
	var all []Season
	err := st.Read(seasonsFile, &all)
	return all, err
}

// StoreTrial stores a trial, and replaces a stored trial with the same name.
func (st Store) StoreTrial(t Trial) error {
	t.Date = st.currentDate()
	return st.writeFile("trial-"+fileName(t.Name)+".json", t)
}

// Rows returns the stored rows, sorted by position.
func (st Store) Rows() ([]Row, error) {
	var all []Row
	err := st.Read(matrixFile, &all)
	return all, err
}

// StoreMutationResult stores the result of a package, and replaces its earlier result.
func (st Store) StoreMutationResult(m MutationResult) error {
	m.Date = st.currentDate()
	return st.writeFile("mutants-"+fileName(m.Package)+".json", m)
}

// Trials returns the stored trials, sorted by name.
func (st Store) Trials() ([]Trial, error) {
	all, err := readFiles[Trial](st, "trial-*.json")
	slices.SortFunc(all, func(a, b Trial) int { return cmp.Compare(a.Name, b.Name) })
	return all, err
}

// MutationResults returns the stored results of packages, sorted by package.
func (st Store) MutationResults() ([]MutationResult, error) {
	all, err := readFiles[MutationResult](st, "mutants-*.json")
	slices.SortFunc(all, func(a, b MutationResult) int { return cmp.Compare(a.Package, b.Package) })
	return all, err
}

func readFiles[T any](st Store, pattern string) ([]T, error) {
	paths, err := filepath.Glob(filepath.Join(st.Docs, Folder, pattern))
	if err != nil {
		return nil, err
	}
	all := make([]T, len(paths))
	for i, path := range paths {
		if err := st.Read(filepath.Base(path), &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Read reads a file of results. If the file does not exist, into keeps its value.
func (st Store) Read(name string, into any) error {
	data, err := os.ReadFile(filepath.Join(st.Docs, Folder, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("read the results in %q: %w", name, err)
	}
	return nil
}

func (st Store) writeFile(name string, results any) error {
	if st.Docs == "" {
		return nil
	}
	folder := filepath.Join(st.Docs, Folder)
	data, err := json.MarshalIndent(results, "", "  ")
	if err == nil {
		err = os.MkdirAll(folder, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, name), append(data, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the results in %q: %w", name, err)
	}
	return nil
}

func (st Store) currentDate() string { return st.Now().UTC().Format(time.DateOnly) }

// fileName converts the name of a trial or a package to a file name: the words of the name in lower
// case, joined by hyphens.
func fileName(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return strings.Join(words, "-")
}
