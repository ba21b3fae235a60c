package fetch

import (
	"fmt"
	"slices"

	"placementsync/internal/humanize"
	"placementsync/internal/stream"
)

// A walk reads a list in one or more passes over all its pages. This file proves that no record
// is missing that existed during the whole walk. The proof assumes that a response shows one state
// of the service, that a deleted id is not used again, and that total_records is true.
//
// If a response contains total_records records, it is the complete list at one instant.
//
// A pass is unchanged if no change was seen during it (isUnchanged). An unchanged pass over
// a list that grows only at its head is proven by reading page 1 again. Records inserted
// during the pass, if they still exist, are at the top of page 1. If page 1 has the same ids as
// before, no record was inserted. Without inserts, an equal total shows that no older record
// was deleted. The same argument applies to each response of
// the pass, because all have this total. So all responses show one state, and all records of this state
// were counted.
//
// Such a list is requested newest first where the service can sort (spec 4.1), and the order is proven from the dates that
// arrive. A new record must have a later created_at than the others: an imported record with an earlier created_at
// enters elsewhere, and a record that is deleted during the same pass can hide it. A service without a fixed order for
// records of the same time repeats and leaves out records at the boundaries of pages, so that no pass is unchanged.
// The walk then continues in the service's own order.
//
// If a list can grow elsewhere, an unchanged pass proves nothing. If a record is deleted from a page
// that was already read and another record is inserted on a later page, the total does not change,
// and the record that moves up over the page boundary is never read. Such lists, and lists
// that changed during the pass, are proven at an instant. An id existed at an instant if it occurs
// in a response before the instant and in a response after the instant. If the number of these ids equals the
// total at that instant, they are all the ids that existed, including every record that
// existed all the time. The instants are the reads of page 1 of each pass, when no other
// request is in flight. Two unchanged passes with the same ids are a special case of this proof.
//
// It is not enough that the final pass has no new ids: deletions in two passes can hide the same
// record twice.
//
// Without totals, two consecutive passes with the same ids are the best available proof. The pages
// are read one at a time. If all pages before the last are full, the last page shows the length of the
// list. For example, three pages contain the ids 1 and 2, 3 and 4, and 5 and 6. If 1 is deleted after page 1
// was read, 3 moves up to page 1 and is missed: the pass reads 1 and 2, 4 and 5, and 6. The next pass
// lacks 1. If it has the same ids instead, all of them existed when page 3 was read. They are as many
// as the list had records, so no record is missing.
//
// A page that repeats an earlier page is taken for the end of the list. This is wrong if 7 and 8 are
// inserted before 1 between the reads of pages 1 and 2, because page 2 then contains 1 and 2 again.

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

// sightings are the ids read so far, sorted, with the first and the last pass that contained
// each id. An id existed from its first to its last pass.
type sightings struct {
	ids         []uint64
	first, last []uint8
}

// addPass adds the sorted, distinct ids of one pass.
func (s *sightings) addPass(pass uint8, ids []uint64) {
	n := max(len(s.ids), len(ids))
	next := sightings{make([]uint64, 0, n), make([]uint8, 0, n), make([]uint8, 0, n)}
	put := func(id uint64, first, last uint8) {
		next.ids, next.first, next.last = append(next.ids, id), append(next.first, first), append(next.last, last)
	}
	i := 0
	for j := range s.ids {
		for ; i < len(ids) && ids[i] < s.ids[j]; i++ {
			put(ids[i], pass, pass)
		}
		last := s.last[j]
		if i < len(ids) && ids[i] == s.ids[j] {
			last = pass
			i++
		}
		put(s.ids[j], s.first[j], last)
	}
	for ; i < len(ids); i++ {
		put(ids[i], pass, pass)
	}
	*s = next
}

// countExisting counts the ids that existed when page 1 of a pass was read: the ids that were seen in an
// earlier pass and in this or a later pass, and the ids of page 1 that no earlier pass contained.
func (s *sightings) countExisting(pass uint8, page1 []uint64) int {
	n := 0
	for i := range s.first {
		if s.first[i] < pass && s.last[i] >= pass {
			n++
		}
	}
	for _, id := range page1 {
		if i, found := slices.BinarySearch(s.ids, id); found && s.first[i] >= pass {
			n++
		}
	}
	return n
}

// evaluateFirstPage evaluates page 1 of a pass: as a complete list, and as the confirmation of the
// previous pass. previous may be nil. evaluateFirstPage returns true if the list is proven.
func (w *walk) evaluateFirstPage(previous *view, p *pass) bool {
	e := &w.evidence
	if previous == nil {
		e.TotalFirst = p.total
	}
	e.TotalLast = p.total
	w.firstPages = append(w.firstPages, firstPage{p.total, p.firstIDs})
	confirmed := previous != nil && previous.total == p.total && slices.Equal(previous.firstIDs, p.firstIDs)
	switch {
	case confirmed && previous.hasEmptyPage2():
		w.gradeProven(previous.rejectedRecords, "page 2 is empty and page 1 did not change")
		return true
	case confirmed && previous.isConfirmable():
		w.gradeProven(previous.rejectedRecords, "the list is sorted newest first; totals and page 1 did not change, and no id was repeated")
		return true
	}
	// In another order, page 1 has other ids without a change of the list.
	if previous != nil && !confirmed && previous.asksSorted == p.asksSorted {
		w.listChanged = true
	}
	if !p.isCompleteOnPage1() {
		return false
	}
	seen := p.end()
	e.Passes, e.Pages = seen.number, max(e.Pages, 1)
	w.seen.addPass(uint8(seen.number), seen.ids)
	w.gradeProven(seen.rejectedRecords, "complete in one response")
	return true
}

// evaluatePass evaluates a pass that has ended, together with the previous passes. It returns true
// if the list is proven, or if no further pass can prove more.
func (w *walk) evaluatePass(previous, seen *view) bool {
	w.seen.addPass(uint8(seen.number), seen.ids)
	e := &w.evidence
	e.Passes = seen.number
	e.Pages = max(e.Pages, seen.countFilledPages())
	e.Repeated += seen.repeatedIDs
	e.Rejected = seen.rejectedRecords
	e.TotalLast = seen.lastTotal
	sameIDs := previous != nil && slices.Equal(previous.ids, seen.ids)
	if !seen.isUnchanged() || previous != nil && !sameIDs {
		w.listChanged = true
	}
	switch {
	case seen.isUnpaged():
		w.gradeProven(seen.rejectedRecords, "complete in one response: the service does not page the list")
	case w.isProvenAtPage1(previous, seen):
		w.gradeProven(seen.rejectedRecords, "at one moment, the number of existing ids was equal to total_records")
	case seen.total < 0 && sameIDs && previous.isUnchanged() && seen.isUnchanged():
		w.gradeProven(seen.rejectedRecords, "the service states no totals; two consecutive passes read the same ids")
	case sameIDs && len(seen.failedPages) > 0:
		w.gradeUnproven(seen)
	case sameIDs && previous.total == seen.total && !previous.changeSeen && !seen.changeSeen:
		e.setGrade(stream.BestEffort, "two passes were identical but do not prove completeness: %s", seen.whyUnproven())
	default:
		return false
	}
	return true
}

// isProvenAtPage1 reports whether the number of existing ids was equal to total_records when page 1 of
// one of the passes was read. Copies on one page and records without an id are counted without being
// identified. Their number proves something only if the list did not change.
func (w *walk) isProvenAtPage1(previous, seen *view) bool {
	if previous == nil {
		return false
	}
	unidentified := seen.recordsWithoutID + seen.copies
	sameNumber := previous.recordsWithoutID+previous.copies == unidentified
	if unidentified > 0 && (w.listChanged || !sameNumber) {
		return false
	}
	for number := 2; number <= seen.number; number++ {
		page1 := w.firstPages[number-1]
		if page1.total >= 0 && int64(w.seen.countExisting(uint8(number), page1.ids)+unidentified) == page1.total {
			return true
		}
	}
	return false
}

// gradeProven grades a list that is proven to be complete. Rejected records make it best_effort,
// because their rows are missing.
func (w *walk) gradeProven(rejected int, reason string) {
	w.evidence.Rejected = rejected
	switch {
	case rejected > 0:
		w.evidence.setGrade(stream.BestEffort, "%s rejected (meta.rejects); apart from that: %s", humanize.Count(rejected, "record"), reason)
	case w.listChanged:
		w.evidence.setGrade(stream.Repaired, "the list changed while it was read; %s", reason)
	default:
		w.evidence.setGrade(stream.Exact, "%s", reason)
	}
}

func (w *walk) gradeUnproven(seen *view) {
	if err := seen.failure(); err != nil {
		w.gradeFailed(seen, err)
		return
	}
	w.evidence.setGrade(stream.BestEffort, "not proven in %s (streams.max_passes): %s", humanize.Count(w.c.cfg.MaxPasses, "pass"), seen.whyUnproven())
}

// gradeFailed grades a list after a pass in which pages could not be read.
func (w *walk) gradeFailed(seen *view, err error) {
	w.evidence.Failure, w.evidence.FailedPages = err, max(len(seen.failedPages), 1)
	w.evidence.setGrade(stream.BestEffort, "%v", err)
}
