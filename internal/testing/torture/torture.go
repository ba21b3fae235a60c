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

// folder is the name of the folder of the results, in docs.
const folder = "reliability"

// StoreRows stores rows, and replaces stored rows with the same fault and rate, see [replace].
func (st Store) StoreRows(rows ...Row) error {
	for i := range rows {
		rows[i].Date = st.currentDate()
	}
	return replace(st, matrixFile, rows, func(a, b Row) bool { return a.Fault == b.Fault && a.Rate == b.Rate },
		func(a, b Row) int { return cmp.Compare(a.Position, b.Position) })
}

// StoreSeason stores a season, and replaces a stored season with the same seed, see [replace].
func (st Store) StoreSeason(s Season) error {
	s.Date = st.currentDate()
	return replace(st, seasonsFile, []Season{s}, func(a, b Season) bool { return a.Seed == b.Seed },
		func(a, b Season) int { return cmp.Compare(a.Seed, b.Seed) })
}

// replace adds results to a file and sorts the file. It first removes each stored result that isSame
// finds equal to a new result. Only one goroutine of one process may call it at a time.
func replace[T any](st Store, file string, results []T, isSame func(a, b T) bool, compare func(a, b T) int) error {
	var all []T
	if err := st.read(file, &all); err != nil {
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
	err := st.read(seasonsFile, &all)
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
	err := st.read(matrixFile, &all)
	return all, err
}

// Trials returns the stored trials, sorted by name.
func (st Store) Trials() ([]Trial, error) {
	paths, err := filepath.Glob(filepath.Join(st.Docs, folder, "trial-*.json"))
	if err != nil {
		return nil, err
	}
	all := make([]Trial, len(paths))
	for i, path := range paths {
		if err := st.read(filepath.Base(path), &all[i]); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b Trial) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// read reads a file of results. If the file does not exist, into keeps its value.
func (st Store) read(name string, into any) error {
	data, err := os.ReadFile(filepath.Join(st.Docs, folder, name))
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
	dir := filepath.Join(st.Docs, folder)
	data, err := json.MarshalIndent(results, "", "  ")
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name), append(data, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the results in %q: %w", name, err)
	}
	return nil
}

func (st Store) currentDate() string { return st.Now().UTC().Format(time.DateOnly) }

// fileName converts the name of a trial to a file name: the words of the name in lower case, joined by
// hyphens.
func fileName(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return strings.Join(words, "-")
}
