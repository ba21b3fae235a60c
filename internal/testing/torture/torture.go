// Package torture stores the results of long tests, which are called trials. The trials of all
// packages write their results to a [Store], the file docs/reliability/results.json. The page
// docs/reliability.md, which is written by hand, summarizes them.
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
	"time"

	"github.com/gofrs/flock"
)

// Row is the result of the nights with one fault at one rate.
type Row struct {
	// Fault and Rate identify the row.
	Fault    string `json:"fault"`
	Rate     string `json:"rate"`
	Position int    `json:"place"` // of the row among all rows
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
	// Name identifies the trial.
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
	// Upgrade is set if the season began with the warehouse of release 1.0.0.
	Upgrade bool `json:"upgrade"`
	Nights  int  `json:"nights"`
	// Counts counts the events that took effect, and the results of nights, by name.
	Counts  map[string]int `json:"counts"`
	Passed  bool           `json:"held"`
	Seconds float64        `json:"took"`
	Date    string         `json:"date"`
}

// Store is a file of results.
type Store struct {
	// Docs is the folder docs of the project. If it is empty, no results are stored.
	Docs string
	// Now is the clock for the dates.
	Now func() time.Time
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

// Results are all stored results.
type Results struct {
	Faults  []Row    `json:"faults"`  // sorted by position
	Trials  []Trial  `json:"trials"`  // sorted by name
	Seasons []Season `json:"seasons"` // sorted by seed
}

// StoreRows stores rows, and replaces stored rows with the same fault and rate.
func (st Store) StoreRows(rows ...Row) error {
	return st.update(func(all *Results) {
		for _, r := range rows {
			r.Date = st.currentDate()
			isSame := func(old Row) bool { return old.Fault == r.Fault && old.Rate == r.Rate }
			all.Faults = append(slices.DeleteFunc(all.Faults, isSame), r)
		}
		slices.SortStableFunc(all.Faults, func(a, b Row) int { return cmp.Compare(a.Position, b.Position) })
	})
}

// StoreTrial stores a trial, and replaces a stored trial with the same name.
func (st Store) StoreTrial(t Trial) error {
	t.Date = st.currentDate()
	return st.update(func(all *Results) {
		all.Trials = append(slices.DeleteFunc(all.Trials, func(old Trial) bool { return old.Name == t.Name }), t)
		slices.SortFunc(all.Trials, func(a, b Trial) int { return cmp.Compare(a.Name, b.Name) })
	})
}

// StoreSeason stores a season, and replaces a stored season with the same seed.
func (st Store) StoreSeason(s Season) error {
	s.Date = st.currentDate()
	return st.update(func(all *Results) {
		all.Seasons = append(slices.DeleteFunc(all.Seasons, func(old Season) bool { return old.Seed == s.Seed }), s)
		slices.SortFunc(all.Seasons, func(a, b Season) int { return cmp.Compare(a.Seed, b.Seed) })
	})
}

// Read returns the stored results. If there is no file, they are empty.
func (st Store) Read() (Results, error) {
	var all Results
	data, err := os.ReadFile(st.file())
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0 {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return all, fmt.Errorf("read the results: %w", err)
	}
	return all, nil
}

// update changes the stored results. Trials of several packages store their results at the same time, so it
// locks the file.
func (st Store) update(change func(all *Results)) (err error) {
	if st.Docs == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(st.file()), 0o755); err != nil {
		return fmt.Errorf("store results: %w", err)
	}
	lock := flock.New(st.file(), flock.SetPermissions(0o644))
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("lock the results: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	all, err := st.Read()
	if err != nil {
		return err
	}
	change(&all)
	data, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		err = os.WriteFile(st.file(), append(data, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	return nil
}

func (st Store) file() string { return filepath.Join(st.Docs, "reliability", "results.json") }

func (st Store) currentDate() string { return st.Now().UTC().Format(time.DateOnly) }
