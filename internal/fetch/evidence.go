package fetch

import (
	"fmt"
	"slices"
)

// Grade is the certainty that a stream was read completely.
type Grade string

// Grades, best first. This package assigns Exact, Repaired and BestEffort. The pipeline
// assigns the others, because they depend on the records that were not requested.
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

var grades = []Grade{Exact, Repaired, Bounded, BestEffort, CarriedForward, Skipped} // best first

// WorseGrade returns the worse of two grades. The empty grade is better than all others.
func WorseGrade(a, b Grade) Grade {
	if slices.Index(grades, b) > slices.Index(grades, a) {
		return b
	}
	return a
}

// Evidence is the result of a walk, with the numbers that the grade depends on.
type Evidence struct {
	Grade  Grade
	Reason string // explains the grade
	Pages  int    // number of pages with records in the longest pass, at least 1
	Passes int    // without the confirmation that reads page 1 again
	// TotalFirst and TotalLast are total_records of the first and last response. -1 means absent.
	TotalFirst, TotalLast int64
	Distinct              int  // number of different ids over all passes
	Repeated              int  // number of ids that occurred on different pages of one pass
	Rejected              int  // number of rejected records of the last pass
	IsDoubtful            bool // see stream.PageFacts
	// Unsortable means that the service refuses to send the list newest first, or does not keep this order.
	Unsortable bool
	// Failure names the pages of a list that could not be read. It is nil if the walk ended with an error, or if the
	// list is proven nevertheless.
	Failure     error
	FailedPages int // number of pages that Failure names
}

func (e *Evidence) setGrade(g Grade, format string, args ...any) {
	e.Grade, e.Reason = g, fmt.Sprintf(format, args...)
}
