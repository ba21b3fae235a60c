// Package torture stores the results of the long trials, from which docs/reliability.md is
// generated. The trials of any package write to a [Book], and a test of this package generates
// the page.
//
// The package is for tests only, and does not depend on what a trial does.
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

// Row is the result of the nights under one fault at one rate.
type Row struct {
	// Fault and Rate identify the row. A later row with the same values replaces it.
	Fault string `json:"fault"`
	Rate  string `json:"rate"`
	// Place is the position of the row in the table, counted over the rows of all faults.
	Place int `json:"place"`
	// Runs counts the nights, Requests their requests, Affected the requests with the fault.
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
	// Lost counts lost rows, including those that the later night without faults did not
	// restore.
	Lost int `json:"lost"`
	// Longest is the duration of the longest night, in seconds.
	Longest float64 `json:"longest"`
	// Peak is the highest memory of the process in a night, in bytes. 0 means not measured.
	Peak int64 `json:"peak,omitempty"`
	// Date is the day of the trial.
	Date string `json:"date"`
}

// Trial is the result of a trial outside the fault matrix.
type Trial struct {
	// Name identifies the row of the page and the file of the result.
	Name string `json:"name"`
	// Fault describes the injected faults and their number.
	Fault string `json:"fault"`
	Runs  int    `json:"runs"`
	// Outcome describes the observed results.
	Outcome string `json:"outcome"`
	// Passed is true if the trial passed.
	Passed bool `json:"held"`
	// Seconds is the duration of the trial.
	Seconds float64 `json:"took"`
	// Date is the day of the trial.
	Date string `json:"date"`
}

// Mutation is the result of a measurement of one package: mutants, which are small mistakes, were
// planted in it one at a time, and its own tests were run.
type Mutation struct {
	// Package is the folder below internal. A later result of the package replaces it.
	Package string `json:"package"`
	// Mutants counts the possible mutants that compile, Covered those in code that the tests
	// of the package run.
	Mutants int `json:"mutants"`
	Covered int `json:"covered"`
	// Drawn of Files files were drawn with Seed. Tested counts their covered mutants, and
	// Noticed those for which a test failed or did not end.
	Files   int    `json:"files"`
	Drawn   int    `json:"drawn"`
	Seed    uint64 `json:"seed"`
	Tested  int    `json:"tested"`
	Noticed int    `json:"noticed"`
	// Survivors are the tested mutants that were not noticed.
	Survivors []Survivor `json:"survivors"`
	// Took is the duration in seconds.
	Took float64 `json:"took"`
	// Date is the day of the measurement.
	Date string `json:"date"`
}

// Survivor is a mutant that no test noticed.
type Survivor struct {
	// File is the path below the project. Line and Text are the number and text of the line when
	// it was measured.
	File string `json:"file"`
	Line int    `json:"line"`
	Text string `json:"text"`
	// Kind is the kind of the change, such as "conditionals boundary".
	Kind string `json:"kind"`
	// Reason explains why no test can notice the mutant. It is empty if a test is missing.
	Reason string `json:"reason,omitempty"`
}

// Season is the result of one seed of the seasons.
type Season struct {
	Seed uint64 `json:"seed"`
	// State identifies the program that ran the season.
	State string `json:"state"`
	// Upgrade is set if the season began with the warehouse of release 1.0.0.
	Upgrade bool `json:"upgrade"`
	Nights  int  `json:"nights"`
	// Counts counts the events that took effect, and the results of nights, by name.
	Counts map[string]int `json:"counts"`
	// Held is true if the season passed.
	Held bool `json:"held"`
	// Took is the duration of the season, in seconds.
	Took float64 `json:"took"`
	// Date is the day of the season.
	Date string `json:"date"`
}

// Book is a folder of results. The zero value stores nothing.
type Book struct {
	// Docs is the folder of the page. If it is empty, no results are stored.
	Docs string
	// Now is the clock for the dates.
	Now func() time.Time
}

// docsVar is the environment variable with the folder of the page. "make torture" and "make fuzz"
// set it.
const docsVar = "PLACEMENTSYNC_TORTURE_DOCS"

// trialsVar is the environment variable that enables tests of more than a few seconds. The other
// tests of a package take less than a minute together and can run after every edit.
const trialsVar = "PLACEMENTSYNC_TRIALS"

// TrialsWanted reports whether tests of more than a few seconds are enabled, as by make trials.
func TrialsWanted(getenv func(name string) string) bool { return getenv(trialsVar) != "" }

// RequireTrials skips a test of more than a few seconds unless such tests are enabled.
func RequireTrials(t testing.TB, getenv func(name string) string) {
	t.Helper()
	if !TrialsWanted(getenv) {
		t.Skipf("takes more than a few seconds: run it with make trials or %s=1", trialsVar)
	}
}

// Open returns the book in the folder that the environment names. Without one, the book stores
// nothing.
func Open(getenv func(name string) string) Book { return Book{Docs: getenv(docsVar), Now: time.Now} }

// EndTrial stores the result of a trial, also of a failed one.
func (b Book) EndTrial(begun time.Time, failed bool, t Trial) error {
	t.Passed, t.Seconds = !failed, time.Since(begun).Seconds()
	return b.KeepTrial(t)
}

// matrix is the file with all rows, and seasons the file with all seasons. Each trial has its own
// file.
const (
	matrix  = "matrix.json"
	seasons = "seasons.json"
)

// Folder is the folder of the results, beside the page.
const Folder = "reliability"

// KeepRows stores rows, and replaces stored rows with the same fault and rate. Only one process at a
// time may call it.
func (b Book) KeepRows(rows ...Row) error {
	if b.Docs == "" {
		return nil
	}
	all, err := b.Rows()
	if err != nil {
		return err
	}
	for _, r := range rows {
		r.Date = b.currentDate()
		i := slices.IndexFunc(all, func(o Row) bool { return o.Fault == r.Fault && o.Rate == r.Rate })
		if i < 0 {
			all = append(all, r)
			continue
		}
		all[i] = r
	}
	slices.SortStableFunc(all, func(a, b Row) int { return cmp.Compare(a.Place, b.Place) })
	return b.writeFile(matrix, all)
}

// KeepSeason stores a season, and replaces a stored season with the same seed. Only one goroutine of
// one process at a time may call it.
func (b Book) KeepSeason(s Season) error {
	if b.Docs == "" {
		return nil
	}
	all, err := b.Seasons()
	if err != nil {
		return err
	}
	s.Date = b.currentDate()
	all = append(slices.DeleteFunc(all, func(o Season) bool { return o.Seed == s.Seed }), s)
	slices.SortFunc(all, func(a, b Season) int { return cmp.Compare(a.Seed, b.Seed) })
	return b.writeFile(seasons, all)
}

// Seasons returns the stored seasons by seed.
func (b Book) Seasons() ([]Season, error) {
	var all []Season
	err := b.readFile(seasons, &all)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return all, err
}

// KeepTrial stores a trial, and replaces a stored trial with the same name.
func (b Book) KeepTrial(t Trial) error {
	if b.Docs == "" {
		return nil
	}
	t.Date = b.currentDate()
	return b.writeFile("trial-"+fileName(t.Name)+".json", t)
}

// Rows returns the stored rows in order.
func (b Book) Rows() ([]Row, error) {
	var all []Row
	err := b.readFile(matrix, &all)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return all, err
}

// KeepMutation stores the result of a package, and replaces its stored result.
func (b Book) KeepMutation(m Mutation) error {
	if b.Docs == "" {
		return nil
	}
	m.Date = b.currentDate()
	return b.writeFile("mutants-"+fileName(m.Package)+".json", m)
}

// Trials returns the stored trials by name.
func (b Book) Trials() ([]Trial, error) {
	all, err := readFiles[Trial](b, "trial-*.json")
	slices.SortFunc(all, func(a, b Trial) int { return cmp.Compare(a.Name, b.Name) })
	return all, err
}

// Mutations returns the stored results of packages by name.
func (b Book) Mutations() ([]Mutation, error) {
	all, err := readFiles[Mutation](b, "mutants-*.json")
	slices.SortFunc(all, func(a, b Mutation) int { return cmp.Compare(a.Package, b.Package) })
	return all, err
}

func readFiles[T any](b Book, pattern string) ([]T, error) {
	paths, err := filepath.Glob(filepath.Join(b.Docs, Folder, pattern))
	if err != nil {
		return nil, err
	}
	all := make([]T, len(paths))
	for i, path := range paths {
		if err := b.readFile(filepath.Base(path), &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (b Book) readFile(name string, into any) error {
	data, err := os.ReadFile(filepath.Join(b.Docs, Folder, name))
	if err != nil {
		return fmt.Errorf("read the results: %w", err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("read the results in %q: %w", name, err)
	}
	return nil
}

func (b Book) writeFile(name string, results any) error {
	data, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return fmt.Errorf("write the results in %q: %w", name, err)
	}
	folder := filepath.Join(b.Docs, Folder)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("write the results in %q: %w", name, err)
	}
	if err := os.WriteFile(filepath.Join(folder, name), append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	return nil
}

func (b Book) currentDate() string { return b.Now().UTC().Format(time.DateOnly) }

// fileName returns the file name for the name of a trial.
func fileName(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return strings.Join(words, "-")
}
