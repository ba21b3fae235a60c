// Package torture stores the results of long tests, which are called trials. The trials of all packages write their
// results to docs/reliability/results.json. The page docs/reliability.md, which is written by hand, summarizes them.
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

// Trial is the result of a trial.
type Trial struct {
	// Name identifies the trial.
	Name string `json:"name"`
	// Procedure describes the trial, for example the injected faults.
	Procedure string `json:"procedure"`
	Runs      int    `json:"runs"`
	// Outcome describes the observed results.
	Outcome string  `json:"outcome"`
	Passed  bool    `json:"passed"`
	Seconds float64 `json:"seconds,omitempty"`
	Date    string  `json:"date"`
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

// EndTrial sets the duration and the date of a trial and whether it passed, and stores it. It replaces a stored trial
// with the same name. Trials of several packages store their results at the same time, so it locks the file.
func (st Store) EndTrial(startedAt time.Time, failed bool, t Trial) (err error) {
	if st.Docs == "" {
		return nil
	}
	t.Passed, t.Seconds, t.Date = !failed, time.Since(startedAt).Seconds(), st.Now().UTC().Format(time.DateOnly)
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
	all = append(slices.DeleteFunc(all, func(old Trial) bool { return old.Name == t.Name }), t)
	slices.SortFunc(all, func(a, b Trial) int { return cmp.Compare(a.Name, b.Name) })
	data, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		err = os.WriteFile(st.file(), append(data, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	return nil
}

// Read returns the stored results, sorted by name. If there is no file, there are none.
func (st Store) Read() (all []Trial, err error) {
	data, err := os.ReadFile(st.file())
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0 {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("read the results: %w", err)
	}
	return all, nil
}

func (st Store) file() string { return filepath.Join(st.Docs, "reliability", "results.json") }
