package fetch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"

	"placementsync/internal/humanize"
	"placementsync/internal/stream"
)

// view contains what a pass has read of a list. Its methods evaluate it and do not change it.
type view struct {
	number      int // of the pass
	cfg         Config
	minPageSize int  // a list with fewer records fits on one page
	asksSorted  bool // the pages were requested newest first
	pages       []pageState
	// ids are the ids of all pages that do not repeat an earlier page, sorted and without duplicates. ids and
	// repeatedIDs are set when the pass ends.
	ids              []uint64
	firstIDs         []uint64 // ids of page 1, sorted
	records          int
	recordsWithoutID int
	rejectedRecords  int
	copies           int   // records whose id occurred earlier on the same page
	repeatedIDs      int   // ids on several pages
	total            int64 // total_records of page 1, or -1
	lastTotal        int64 // total_records of the last response, or -1
	changeSeen       bool  // total_records changed
	atPageBound      bool  // the pass was stopped at pageBound
	failedPages      []int // pages that could not be read
	firstFailure     error // of a page
}

type pageState struct {
	stream.PageFacts
	bodySum xxh3.Uint128
	// repeats means that an earlier page had the same ids: the service ignores the page
	// number, or returns the last page for all later numbers.
	repeats  bool
	isFailed bool // the page could not be read
}

// failure names the pages that could not be read. It returns nil if there are none.
func (v *view) failure() error {
	if len(v.failedPages) == 0 {
		return nil
	}
	const maxNamed = 5
	var names []string
	for _, number := range v.failedPages[:min(len(v.failedPages), maxNamed)] {
		names = append(names, strconv.Itoa(number))
	}
	text := humanize.Noun(len(v.failedPages), "page") + " " + strings.Join(names, ", ")
	if more := len(v.failedPages) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Errorf("%s could not be read; the other pages are used; first error: %w", text, v.firstFailure)
}

// isUnchanged reports whether the whole list was read without a sign of a change.
func (v *view) isUnchanged() bool {
	if v.changeSeen || v.atPageBound || v.repeatedIDs > 0 || len(v.failedPages) > 0 {
		return false
	}
	return v.total < 0 || int64(v.countRecords()) == v.total
}

// countRecords counts records as total_records does, which includes copies within a response.
func (v *view) countRecords() int { return len(v.ids) + v.copies + v.recordsWithoutID }

// isCompleteOnPage1 relies on the total: a single response shows one state of the service.
func (v *view) isCompleteOnPage1() bool {
	first := v.pages[0]
	return v.total >= 0 && first.Next <= 0 && int64(first.Records) == v.total &&
		len(slices.Compact(slices.Clone(v.firstIDs)))+v.copies+v.recordsWithoutID == first.Records
}

func (v *view) isOneShortPage() bool {
	return len(v.pages) == 1 && !v.pages[0].Paginated && v.pages[0].Records < v.minPageSize
}

// isUnpaged reports whether a list without totals was complete on page 1.
func (v *view) isUnpaged() bool {
	if v.total >= 0 || v.changeSeen || v.repeatedIDs > 0 {
		return false
	}
	if v.cfg.PageSize == 1 && v.pages[0].Records == 1 {
		return false // a single insert moves page 1 to page 2, so a repetition proves nothing
	}
	return v.isOneShortPage() || v.pages[0].Records == 0 || len(v.pages) == 2 && v.pages[1].repeats
}

func (v *view) hasEmptyPage2() bool {
	return v.total < 0 && v.isUnchanged() && len(v.pages) == 2 && v.pages[1].Records == 0
}

// isConfirmable reports whether reading page 1 again can complete the proof. If all records of page 1 have the same
// created_at, a new record can have it too, and then be on a later page.
func (v *view) isConfirmable() bool {
	if v.hasEmptyPage2() {
		return true
	}
	first := &v.pages[0]
	return v.total >= 0 && v.isUnchanged() && v.isNewestFirst() && first.First.After(first.Last)
}

// minFalls is the number of descending steps of created_at that prove the order: nine records
// are in descending order by chance once in 9! lists.
const minFalls = 8

func (v *view) isNewestFirst() bool { return v.countFalls() >= minFalls }

// repeatsLike reports whether ids were repeated in two passes although the total did not change: the service has no
// fixed order for records of the same time, so that pages overlap and leave out records.
func (v *view) repeatsLike(previous *view) bool {
	return previous != nil && previous.asksSorted && previous.repeatedIDs > 0 && v.repeatedIDs > 0 &&
		previous.total == v.total && !previous.changeSeen && !v.changeSeen
}

// isSorted reports whether no record contradicts the order newest first.
func (v *view) isSorted() bool { return v.countFalls() >= 0 }

// countFalls counts the descending steps of created_at. It returns -1 if created_at rises or is missing.
func (v *view) countFalls() int {
	falls := 0
	var above *pageState
	for i := range v.pages {
		f := &v.pages[i]
		if f.Records == 0 || f.repeats {
			continue
		}
		if !f.IsNewestFirst || above != nil && f.First.After(above.Last) {
			return -1
		}
		if above != nil && above.Last.After(f.First) {
			falls++
		}
		falls += f.Falls
		above = f
	}
	return falls
}

// countFilledPages returns at least 1.
func (v *view) countFilledPages() int {
	n := 0
	for _, f := range v.pages {
		if f.Records > 0 && !f.repeats {
			n++
		}
	}
	return max(n, 1)
}

func (v *view) whyUnproven() string {
	switch records := v.countRecords(); {
	case v.atPageBound:
		if len(v.pages) >= v.cfg.MaxPages {
			return fmt.Sprintf("streams.max_pages (%d) was reached", v.cfg.MaxPages)
		}
		return fmt.Sprintf("the list did not end after %d pages, more than total_records needs", len(v.pages))
	case v.changeSeen && v.total == v.lastTotal:
		return "the list changed during the pass"
	case v.changeSeen:
		return fmt.Sprintf("total_records changed from %d to %d", v.total, v.lastTotal)
	case v.repeatedIDs > 0:
		return fmt.Sprintf("%s occurred more than once", humanize.Count(v.repeatedIDs, "id"))
	case v.total >= 0 && int64(records) != v.total:
		return fmt.Sprintf("total_records is %d, but the pages contain %s", v.total, humanize.Count(records, "record"))
	case v.number == 1:
		return "the list is not sorted newest first, so one pass is no proof"
	}
	return "the list changed between the passes"
}
