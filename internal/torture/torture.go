// Package torture keeps what the long trials found, so that docs/reliability.md
// can tell of it without a number written by hand. A trial of any package calls
// a [Book]; the test of this package makes the page of all that was kept.
//
// It is for tests alone, and must not know what a trial does.
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
	"time"
	"unicode"
)

// Row is what the nights under one fault at one rate came to.
type Row struct {
	// Fault and Rate name the row; a later row of the same name replaces it.
	Fault string `json:"fault"`
	Rate  string `json:"rate"`
	// Place orders the rows, so that a part can be tried alone.
	Place int `json:"place"`
	// Runs counts the nights, Asked the requests that they made, Struck those
	// of them that met the fault.
	Runs   int `json:"runs"`
	Asked  int `json:"asked"`
	Struck int `json:"struck"`
	// Every night is one of these: Exact equals the service value by value,
	// Partial says what it lacks, Failed published nothing, and Wrong is none
	// of the three.
	Exact   int `json:"exact"`
	Partial int `json:"partial"`
	Failed  int `json:"failed"`
	Wrong   int `json:"wrong"`
	// Lost counts rows that a night lost, or a night in peace did not bring
	// back.
	Lost int `json:"lost"`
	// Longest is the longest night in seconds.
	Longest float64 `json:"longest"`
	// Peak is the most memory that the process held in a night, in bytes.
	// 0: not measured.
	Peak int64 `json:"peak,omitempty"`
	// Date is the day on which it was tried.
	Date string `json:"date"`
}

// Trial is what another trial came to.
type Trial struct {
	// Name names the row and the file.
	Name string `json:"name"`
	// Fault says what was done to the program, and how often.
	Fault string `json:"fault"`
	Runs  int    `json:"runs"`
	// Outcome says what was seen.
	Outcome string `json:"outcome"`
	// Held is set when all that the trial looks at was as promised.
	Held bool `json:"held"`
	// Took is the trial's duration in seconds.
	Took float64 `json:"took"`
	// Date is the day on which it was tried.
	Date string `json:"date"`
}

// Book is a folder of findings. The zero value keeps nothing.
type Book struct {
	// Docs is the folder of the page; empty: nothing is kept.
	Docs string
	// Now dates what is kept.
	Now func() time.Time
}

// docsVar is the environment variable with the folder of the page; "make torture"
// and "make fuzz" set it.
const docsVar = "PLACEMENTSYNC_TORTURE_DOCS"

// Open gives the book that the environment names; without one, nothing is kept.
func Open(getenv func(name string) string) Book { return Book{Docs: getenv(docsVar), Now: time.Now} }

// EndTrial keeps a trial that began at a time and has come to its end, failed or not.
func (b Book) EndTrial(begun time.Time, failed bool, t Trial) error {
	t.Held, t.Took = !failed, time.Since(begun).Seconds()
	return b.KeepTrial(t)
}

// matrix is the file of the rows; trials have a file each.
const matrix = "matrix.json"

// Folder is where the findings stand beside the page.
const Folder = "reliability"

// KeepRows puts rows in the place of those of their names; other rows stay. It
// is for one process at a time.
func (b Book) KeepRows(rows ...Row) error {
	if b.Docs == "" {
		return nil
	}
	all, err := b.Rows()
	if err != nil {
		return err
	}
	for _, r := range rows {
		r.Date = b.today()
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

// KeepTrial puts a trial in the place of the one of its name.
func (b Book) KeepTrial(t Trial) error {
	if b.Docs == "" {
		return nil
	}
	t.Date = b.today()
	return b.writeFile("trial-"+fileName(t.Name)+".json", t)
}

// Rows are those that were kept, in their places.
func (b Book) Rows() ([]Row, error) {
	var all []Row
	err := b.readFile(matrix, &all)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return all, err
}

// Trials are those that were kept, by name.
func (b Book) Trials() ([]Trial, error) {
	paths, err := filepath.Glob(filepath.Join(b.Docs, Folder, "trial-*.json"))
	if err != nil {
		return nil, err
	}
	all := make([]Trial, len(paths))
	for i, path := range paths {
		if err := b.readFile(filepath.Base(path), &all[i]); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b Trial) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

func (b Book) readFile(name string, into any) error {
	data, err := os.ReadFile(filepath.Join(b.Docs, Folder, name))
	if err != nil {
		return fmt.Errorf("read the findings: %w", err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("read the findings in %q: %w", name, err)
	}
	return nil
}

func (b Book) writeFile(name string, findings any) error {
	data, err := json.MarshalIndent(findings, "", "  ")
	if err != nil {
		return fmt.Errorf("keep the findings in %q: %w", name, err)
	}
	folder := filepath.Join(b.Docs, Folder)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("keep the findings in %q: %w", name, err)
	}
	if err := os.WriteFile(filepath.Join(folder, name), append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("keep the findings: %w", err)
	}
	return nil
}

func (b Book) today() string { return b.Now().UTC().Format(time.DateOnly) }

// fileName makes a file name of a name.
func fileName(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return strings.Join(words, "-")
}
