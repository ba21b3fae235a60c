package stream

import (
	"fmt"
	"slices"
)

// Grade is the certainty that a stream was read completely, as in the column grade of meta.streams.
// The empty grade means that no run contains the stream.
type Grade string

const (
	// Exact: proven complete, and unchanged while it was read.
	Exact Grade = "exact"
	// Repaired: the list changed while it was read, but no record that existed during the
	// whole walk is missing.
	Repaired Grade = "repaired"
	// Bounded: proven for the records that were read. The other records were last read a
	// bounded number of nights ago.
	Bounded Grade = "bounded"
	// BestEffort: not proven, or records were rejected.
	BestEffort Grade = "best_effort"
	// CarriedForward: not read; the rows of the last snapshot are kept.
	CarriedForward Grade = "carried_forward"
	// Skipped: no night has read the stream, for example because the token lacks the scope.
	Skipped Grade = "skipped"
)

// Grades returns all grades, worst first.
func Grades() []Grade {
	return []Grade{Skipped, CarriedForward, BestEffort, Bounded, Repaired, Exact}
}

// IsProven reports whether no record is missing.
func (g Grade) IsProven() bool { return g == Exact || g == Repaired || g == Bounded }

// IsUnread reports whether the stream was not read: its rows, if there are any, are from an earlier night.
func (g Grade) IsUnread() bool { return g == CarriedForward || g == Skipped || g == "" }

// CompareGrades orders grades, worst first. An unknown grade, from a newer program, is worse than all others.
func CompareGrades(a, b Grade) int {
	return slices.Index(Grades(), a) - slices.Index(Grades(), b)
}

// WorseGrade returns the worse of two grades. The empty grade is better than all others.
func WorseGrade(a, b Grade) Grade {
	if a == "" {
		return b
	}
	if b == "" || CompareGrades(a, b) <= 0 {
		return a
	}
	return b
}

// GradeReason is a grade with the reason for it.
type GradeReason struct {
	Grade  Grade
	Reason string
}

// TableGrade is the grade of the rows of a table.
type TableGrade struct {
	GradeReason
	Stream string // the stream that the grade comes from
	// Note names details that were not read and that the grade does not show. It is empty if there are none.
	Note string
}

// GradeTable returns the worst grade of those of the streams that fill a table. grades contains the grades of a run by
// stream. The grade is empty if the run has none of these streams. isFilled is false if no stream fills the table.
//
// Bounded details lower only the grade of the tables in TablesWithDetailColumns, because the list contains the other
// tables completely. If a list was read and its details were skipped, the root table has the grade of the list, and
// Note names the details. The other tables are then at most BestEffort, because a list may omit nested records.
func GradeTable(streams []Stream, table string, grades map[string]GradeReason) (worst TableGrade, isFilled bool) {
	for _, s := range streams {
		if !slices.ContainsFunc(s.Tables, func(t Table) bool { return t.Name == table }) {
			continue
		}
		isFilled = true
		g, isKnown := grades[s.Name]
		if !isKnown {
			continue
		}
		if s.Completes != "" {
			if g.Grade == Bounded && !slices.Contains(s.TablesWithDetailColumns, table) {
				continue
			}
			if g.Grade == Skipped && !grades[s.Completes].Grade.IsUnread() {
				worst.Note = fmt.Sprintf("%s was not read: %s", s.Name, g.Reason)
				if table == s.Root().Name {
					continue
				}
				g = GradeReason{Grade: BestEffort, Reason: worst.Note}
			}
		}
		if worst.Stream == "" || CompareGrades(g.Grade, worst.Grade) < 0 {
			worst.GradeReason, worst.Stream = g, s.Name
		}
	}
	return worst, isFilled
}
