package fetch

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/zeebo/xxh3"

	"placementsync/internal/humanize"
	"placementsync/internal/stream"
)

// pass is one reading of a list from page 1 to the end. After page 1, the pages are requested in waves. The pages
// of a wave are requested in parallel.
type pass struct {
	previous *view // of the previous pass; nil for the first pass

	mu             sync.Mutex      // guards the fields below
	view                           // so far
	keySums        map[uint64]bool // PageFacts.KeySum of all pages
	endSeen        bool            // a page of this wave is empty or repeats an earlier page
	failuresInARow int
}

// knownFacts returns the facts of the page in the previous pass if its body was the same, or nil. A page with
// rejects is decoded in every pass, because the pass with the most rejects is reported.
func (p *pass) knownFacts(number int, bodySum xxh3.Uint128) *stream.PageFacts {
	if p.previous == nil || number > len(p.previous.pages) {
		return nil
	}
	f := &p.previous.pages[number-1]
	if f.bodySum != bodySum || f.Records == 0 || f.Rejects > 0 {
		return nil
	}
	return &f.PageFacts
}

// reserveNext adds a page and returns its number, unless a page of this wave was beyond the end of the list.
func (p *pass) reserveNext() (number int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.endSeen {
		p.pages = append(p.pages, pageState{})
	}
	return len(p.pages), !p.endSeen
}

func (p *pass) addPage(number int, facts stream.PageFacts, bodySum xxh3.Uint128) {
	if !facts.Paginated {
		facts.Total, facts.TotalPages, facts.Next = -1, -1, -1
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failuresInARow = 0
	if number == 1 {
		p.total = facts.Total
		p.firstIDs = slices.Compact(slices.Sorted(slices.Values(facts.IDs)))
	}
	p.lastTotal = facts.Total
	p.changeSeen = p.changeSeen || facts.Total != p.total
	// An earlier page may have the same ids in another order.
	keySum := facts.KeySum()
	repeats := facts.Records > 0 && p.keySums[keySum]
	p.keySums[keySum] = true
	if !repeats {
		p.records += facts.Records
		p.copies += facts.Copies
		p.rejectedRecords += facts.RejectedRecords
		p.recordsWithoutID += facts.RecordsWithoutID()
	}
	p.endSeen = p.endSeen || repeats || facts.Records == 0
	p.pages[number-1] = pageState{PageFacts: facts, bodySum: bodySum, repeats: repeats}
}

// addFailedPage records a page that could not be read. It returns an error if no further page should be requested.
func (p *pass) addFailedPage(number int, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pages[number-1].isFailed = true
	p.failedPages = append(p.failedPages, number)
	p.firstFailure = cmp.Or(p.firstFailure, err)
	p.failuresInARow++
	if p.failuresInARow >= maxFailuresInARow {
		return fmt.Errorf("stopped after %d failed pages in a row, the last one: %w", p.failuresInARow, err)
	}
	return nil
}

// factsBeyondEnd returns the facts of an empty page. The page states no total, so the total of page 1 stays. If the
// list has fewer records than this total, the pass is not unchanged.
func (p *pass) factsBeyondEnd() stream.PageFacts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return stream.PageFacts{Paginated: p.pages[0].Paginated, Total: p.total, Next: 0}
}

// plannedPages relies on the length of page 1, because the service may put fewer records on a page than
// requested. A wrong total costs at most MaxPages requests.
func (p *pass) plannedPages() int64 {
	perPage := int64(max(p.pages[0].Records, 1))
	return min((max(p.total, 1)-1)/perPage+1, int64(p.cfg.MaxPages))
}

// pageBound returns the number of pages at which the pass stops. The total may be too low, so the
// bound is more than twice the planned number.
func (p *pass) pageBound() int64 {
	if p.total < 0 {
		return int64(p.cfg.MaxPages)
	}
	return min(2*p.plannedPages()+16, int64(p.cfg.MaxPages))
}

// nextWave starts a wave and returns its number of pages. All pages that the total implies are requested in one
// wave, and total_pages can only reduce their number. Further pages are requested one at a time. Without a total, all
// pages are: otherwise two passes with the same ids would prove nothing.
func (p *pass) nextWave() int {
	p.endSeen = false
	planned := p.plannedPages()
	isFirstWave := len(p.pages) == 1
	if p.total < 0 || !isFirstWave || planned == 1 {
		return 1
	}
	if stated := p.pages[0].TotalPages; stated > 1 {
		planned = min(planned, stated)
	}
	return int(planned - 1)
}

func (p *pass) hasEnded() bool { return p.reachedEnd() || int64(len(p.pages)) >= p.pageBound() }

// reachedEnd reports whether the pass is at the end of the list. A short page with an envelope does
// not show the end, since the service may cap or filter pages. The total and next_page
// show the end if they agree. If the total, the pages and next_page agree on a wrong end, the mistake
// cannot be detected.
func (p *pass) reachedEnd() bool {
	last := p.pages[len(p.pages)-1]
	lacksRecords := p.total >= 0 && int64(p.records) < p.total
	hasTooMany := p.total >= 0 && int64(p.records) > p.total
	switch {
	case p.isOneShortPage():
		return true
	case last.isFailed:
		return p.total >= 0 && int64(len(p.pages)) >= p.plannedPages()
	case last.repeats:
		if p.total >= 0 || !p.hasPagesOfOneRecord() {
			return true
		}
		return p.pages[len(p.pages)-2].repeats // a single insert repeats a page
	case last.Records == 0:
		return last.Next <= 0 || !lacksRecords || p.countEmptyAtEnd() >= maxEmptyPages
	case last.Next > 0 || lacksRecords || hasTooMany:
		return false
	case last.Next == 0:
		return true
	}
	// Without next_page only a page beyond the end shows the end, unless the total was
	// reached and the last page was not full.
	return p.total >= 0 && last.Records < p.pages[0].Records
}

// maxEmptyPages limits the consecutive empty pages whose next_page is followed while records are
// missing: a service may filter the records after dividing them into pages.
const maxEmptyPages = 16

func (p *pass) countEmptyAtEnd() int {
	n := 0
	for _, f := range slices.Backward(p.pages) {
		if f.Records > 0 {
			break
		}
		n++
	}
	return n
}

// end returns the view of the pass. It gathers and sorts the ids of all pages and counts repeated ids. The ids of a
// page that repeats an earlier page count as repeated if a later page has other records. Otherwise the page is beyond
// the end of the list, and its ids do not count.
func (p *pass) end() *view {
	v := p.view
	v.atPageBound = !p.reachedEnd()
	slices.Sort(v.failedPages)
	for _, f := range v.pages {
		if !f.repeats {
			v.ids = append(v.ids, f.IDs...)
		}
	}
	if v.isNewestFirst() {
		// A change in such a list shifts all pages, so the next pass can know only page 1.
		for i := 1; i < len(v.pages); i++ {
			v.pages[i].IDs, v.pages[i].bodySum = nil, xxh3.Uint128{}
		}
	}
	slices.Sort(v.ids)
	withRepeated := len(v.ids)
	v.ids = slices.Compact(v.ids)
	v.repeatedIDs = withRepeated - len(v.ids)
	last := len(v.pages)
	for last > 0 && (v.pages[last-1].repeats || v.pages[last-1].Records == 0) {
		last--
	}
	for _, f := range v.pages[:last] {
		if f.repeats {
			v.repeatedIDs += f.Records
		}
	}
	return &v
}

// view contains the pages that a pass has read. Its methods evaluate them and change nothing.
type view struct {
	number      int // of the pass
	cfg         Config
	minPageSize int  // a list with fewer records fits on one page
	asksSorted  bool // the pages were requested newest first
	pages       []pageState
	// ids are the ids of all pages that do not repeat an earlier page, sorted and without duplicates. ids and
	// repeatedIDs are set when the pass ends.
	ids              []uint64
	firstIDs         []uint64 // ids of page 1, sorted and without duplicates
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
	return v.total >= 0 && first.Next <= 0 && int64(first.Records) == v.total
}

func (v *view) isOneShortPage() bool {
	return len(v.pages) == 1 && !v.pages[0].Paginated && v.pages[0].Records < v.minPageSize
}

// isUnpaged reports whether a list without totals was complete on page 1.
func (v *view) isUnpaged() bool {
	if v.total >= 0 || v.changeSeen || v.repeatedIDs > 0 {
		return false
	}
	if v.hasPagesOfOneRecord() {
		return false // a single insert moves page 1 to page 2, so a repetition proves nothing
	}
	if v.isOneShortPage() || v.pages[0].Records == 0 {
		return true
	}
	return len(v.pages) == 2 && v.pages[1].repeats
}

// hasPagesOfOneRecord relies on the requested size: no service caps a larger size at one record.
func (v *view) hasPagesOfOneRecord() bool { return v.cfg.PageSize == 1 && v.pages[0].Records == 1 }

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

// overlapsLike reports whether pages overlap in two passes although the total did not change: they repeat ids. Then the
// service has no fixed order for records of the same time, and the pages also leave out records.
func (v *view) overlapsLike(previous *view) bool {
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
