package sqlmutants

import (
	"cmp"
	_ "embed" // the reasons
	"fmt"
	"path"
	"slices"
	"strings"

	"placementsync/internal/testing/torture"
)

// FileResult contains the number of mutants of one SQL file, and those that the tests did not notice.
type FileResult struct {
	// Name is the path of the file from the root of the repository.
	Name string `json:"name"`
	// Mutants counts the mutants that DuckDB accepts as SQL.
	Mutants   int        `json:"mutants"`
	Survivors []Survivor `json:"survivors,omitempty"`
	Date      string     `json:"date"`
}

// Survivor is a mutant that the tests did not notice.
type Survivor struct {
	Line int `json:"line"`
	// Old is the changed text, and New its replacement.
	Old string `json:"old"`
	New string `json:"new"`
	// Before and After are the changed lines. They identify the mutant in a file.
	Before string `json:"before"`
	After  string `json:"after"`
}

// Survivor returns the mutant as a survivor. sql is the content of its file.
func (m Mutant) Survivor(sql string) Survivor {
	before, after := m.Lines(sql)
	line := strings.Count(sql[:m.From], "\n") + 1
	return Survivor{line, oneLine(sql[m.From:m.To]), oneLine(m.Text), before, after}
}

// Reason explains why a mutant of a file has the same results as the original. Before and After
// identify the mutant, as in [Survivor].
type Reason struct{ File, Before, After, Text string }

// reasonText contains reasons in the form of [ParseReasons].
//
//go:embed equivalent.txt
var reasonText string

// Reasons returns the reasons in equivalent.txt.
func Reasons() ([]Reason, error) { return ParseReasons(reasonText) }

// Explains reports whether the reason belongs to a survivor.
func (r Reason) Explains(file string, s Survivor) bool {
	return r.File == file && r.Before == s.Before && r.After == s.After
}

// ParseReasons reads paragraphs of the form
//
//	file
//	- line before the change
//	+ line after the change
//	reason
func ParseReasons(text string) (all []Reason, err error) {
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if paragraph == "" {
			continue // text is empty
		}
		lines := strings.SplitN(paragraph, "\n", 4)
		if len(lines) < 4 || !strings.HasPrefix(lines[1], "- ") || !strings.HasPrefix(lines[2], "+ ") {
			return nil, fmt.Errorf("read the reasons: want a file, two lines and a reason, got %q", paragraph)
		}
		all = append(all, Reason{lines[0], lines[1][2:], lines[2][2:], oneLine(lines[3])})
	}
	return all, nil
}

// StaleReasons returns the reasons that explain no survivor.
func StaleReasons(reasons []Reason, files []FileResult) (stale []Reason) {
	for _, r := range reasons {
		isUsed := slices.ContainsFunc(files, func(f FileResult) bool {
			return slices.ContainsFunc(f.Survivors, func(s Survivor) bool { return r.Explains(f.Name, s) })
		})
		if !isUsed {
			stale = append(stale, r)
		}
	}
	return stale
}

const resultsFile = "sql-mutants.json"

// ReadResults returns the stored results, sorted by name. docs is the folder docs of the project.
func ReadResults(docs string) (files []FileResult, err error) {
	err = torture.Store{Docs: docs}.Read(resultsFile, &files)
	return files, err
}

// StoreResult stores the result of a file and replaces its earlier result. It removes the results of
// files for which exists returns false.
func StoreResult(docs string, f FileResult, exists func(name string) bool) error {
	isReplaced := func(old, f FileResult) bool { return old.Name == f.Name || !exists(old.Name) }
	return torture.Replace(torture.Store{Docs: docs}, resultsFile, []FileResult{f}, isReplaced,
		func(a, b FileResult) int { return cmp.Compare(a.Name, b.Name) })
}

// Tables returns two tables as Markdown: the results by folder, and the survivors with their
// reasons.
func Tables(files []FileResult, reasons []Reason) (folders, survivors string) {
	type sums struct {
		folder                                string
		files, mutants, equivalent, unnoticed int
		date                                  string
	}
	var all []sums
	var rows strings.Builder
	for _, f := range files {
		folder := path.Dir(f.Name)
		at := slices.IndexFunc(all, func(s sums) bool { return s.folder == folder })
		if at < 0 {
			at = len(all)
			all = append(all, sums{folder: folder})
		}
		s := &all[at]
		s.files++
		s.mutants += f.Mutants
		s.date = max(s.date, f.Date)
		for _, survivor := range f.Survivors {
			reason := "not explained yet"
			i := slices.IndexFunc(reasons, func(r Reason) bool { return r.Explains(f.Name, survivor) })
			if i < 0 {
				s.unnoticed++
			} else {
				s.equivalent++
				reason = reasons[i].Text
			}
			fmt.Fprintf(&rows, "| %s:%d | %s | %s | %s |\n", f.Name, survivor.Line, cell(survivor.Old), cell(survivor.New), reason)
		}
	}
	var b strings.Builder
	b.WriteString("| folder | files | mutants | noticed | equivalent | not noticed | date |\n|---|---|---|---|---|---|---|\n")
	for _, s := range all {
		noticed := s.mutants - s.equivalent - s.unnoticed
		fmt.Fprintf(&b, "| %s | %d | %d | %d (%.1f %%) | %d | %d | %s |\n", s.folder, s.files, s.mutants, noticed,
			100*float64(noticed)/float64(max(s.mutants, 1)), s.equivalent, s.unnoticed, s.date)
	}
	return b.String(), "| place | original | mutant | reason |\n|---|---|---|---|\n" + rows.String()
}

// cell formats SQL for a table.
func cell(sql string) string {
	return "`" + strings.ReplaceAll(sql, "|", `\|`) + "`"
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
