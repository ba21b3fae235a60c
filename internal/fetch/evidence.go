package fetch

import (
	"fmt"
	"slices"
)

// Grade says how sure it is that a stream's rows are all there.
type Grade string

// The grades, best first. Fetching gives Exact, Repaired and BestEffort; the
// others are given by the pipeline, which knows what was not fetched.
const (
	// Exact: proven, and nothing changed while it was read.
	Exact Grade = "exact"
	// Repaired: the list changed while it was read, but it is proven that no record is
	// missing that existed all the time.
	Repaired Grade = "repaired"
	// Bounded: proven for what was read; the rest was last read a bounded number
	// of nights ago.
	Bounded Grade = "bounded"
	// BestEffort: the bound was reached without a proof, or records were refused.
	BestEffort Grade = "best_effort"
	// CarriedForward: the rows are those of the last snapshot.
	CarriedForward Grade = "carried_forward"
	// Skipped: the stream was not asked, since the token lacks the scope.
	Skipped Grade = "skipped"
)

// grades are all of them, best first.
var grades = []Grade{Exact, Repaired, Bounded, BestEffort, CarriedForward, Skipped}

// Worse returns the worse of two grades; the empty grade is better than any.
func (g Grade) Worse(o Grade) Grade {
	if slices.Index(grades, o) > slices.Index(grades, g) {
		return o
	}
	return g
}

// Evidence is what a walk saw: the ground that its grade stands on.
type Evidence struct {
	Stream string
	Grade  Grade
	// Reason says in words why the grade is what it is.
	Reason string
	// Pages is the number of pages in the longest pass.
	Pages int
	// Requests counts the answers used, landed ones included, repeats of a
	// failed attempt not.
	Requests int
	// Passes counts the passes that went beyond page 1.
	Passes int
	// TotalFirst and TotalLast are total_records of the first and the last
	// answer; -1: not stated.
	TotalFirst, TotalLast int64
	// Distinct is the number of ids over all passes.
	Distinct int
	// Repeated counts ids that one pass read more than once, on different pages.
	Repeated int
	// Refused counts the records of the last pass that were not taken.
	Refused int
	// Bare says that the answer was an empty object where entries are
	// expected.
	Bare bool
}

func (e *Evidence) setGrade(g Grade, format string, args ...any) {
	e.Grade, e.Reason = g, fmt.Sprintf(format, args...)
}
