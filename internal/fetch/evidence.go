package fetch

import (
	"fmt"

	"placementsync/internal/stream"
)

// Evidence is the result of a walk, with the numbers that the grade depends on.
type Evidence struct {
	// Grade is stream.Exact, stream.Repaired or stream.BestEffort. The pipeline assigns the others, because they
	// depend on the records that were not requested.
	Grade  stream.Grade
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

func (e *Evidence) setGrade(g stream.Grade, format string, args ...any) {
	e.Grade, e.Reason = g, fmt.Sprintf(format, args...)
}
