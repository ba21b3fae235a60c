package fetch

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"placementsync/internal/humanize"
	"placementsync/internal/stream"

	"github.com/zeebo/xxh3"
)

// pass is one reading of a list from page 1 to the end. After page 1 it requests the pages in waves:
// several pages in parallel.
type pass struct {
	number      int
	cfg         Config
	minPageSize int  // a list with fewer records fits on one page
	asksSorted  bool // the pages are requested newest first
	waveSize    int  // size of the latest growing wave; 0 before the first

	mu       sync.Mutex
	pages    []pageState
	previous *pass // may be nil
	// ids are the ids of all pages that do not repeat an earlier page, sorted and without duplicates.
	// finishIDs sets them.
	ids              []uint64
	firstIDs         []uint64        // ids of page 1, sorted
	keySums          map[uint64]bool // PageFacts.KeySum of all pages
	records          int
	recordsWithoutID int
	rejectedRecords  int
	copies           int   // records whose id occurred earlier on the same page
	repeatedIDs      int   // ids on several pages
	total            int64 // total_records of page 1, or -1
	lastTotal        int64 // total_records of the last response, or -1
	changeSeen       bool  // total_records changed
	endSeen          bool  // a page of this wave is empty or repeats an earlier page
	atPageBound      bool  // the pass was stopped at pageBound
	failedPages      []int // pages that could not be read
	failuresInARow   int
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
		p.firstIDs = slices.Sorted(slices.Values(facts.IDs))
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

// failure names the pages that could not be read. It returns nil if there are none.
func (p *pass) failure() error {
	if len(p.failedPages) == 0 {
		return nil
	}
	const maxNamed = 5
	slices.Sort(p.failedPages)
	var names []string
	for _, number := range p.failedPages[:min(len(p.failedPages), maxNamed)] {
		names = append(names, strconv.Itoa(number))
	}
	text := humanize.Noun(len(p.failedPages), "page") + " " + strings.Join(names, ", ")
	if more := len(p.failedPages) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Errorf("%s could not be read; the other pages are used; first error: %w", text, p.firstFailure)
}

// factsBeyondEnd returns the facts of an empty page. The page states no total, so the total of page 1 stays. If the
// list has fewer records than this total, the pass is not unchanged.
func (p *pass) factsBeyondEnd() stream.PageFacts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return stream.PageFacts{Paginated: p.pages[0].Paginated, Total: p.total, TotalPages: p.pages[0].TotalPages, Next: 0}
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

// nextWave starts a wave and returns its number of pages. All pages that the total implies
// are requested in one wave; total_pages can only reduce their number. Further pages are
// requested in growing waves. Without a total, all pages are requested one at a time,
// because otherwise two passes with the same ids would prove nothing.
func (p *pass) nextWave() int {
	p.endSeen = false
	pageCount := int64(len(p.pages))
	if p.total < 0 {
		return 1
	}
	if n := p.plannedPages(); pageCount == 1 && n > 1 {
		if stated := p.pages[0].TotalPages; stated > 1 {
			n = min(n, stated)
		}
		return int(n - pageCount)
	}
	p.waveSize = min(max(1, 2*p.waveSize), p.cfg.Concurrency)
	return int(min(int64(p.waveSize), p.pageBound()-pageCount))
}

// hasEnded sets atPageBound if the pass ends at its page bound.
func (p *pass) hasEnded() bool {
	if p.reachedEnd() {
		return true
	}
	p.atPageBound = int64(len(p.pages)) >= p.pageBound()
	return p.atPageBound
}

// reachedEnd reports whether the pass is at the end of the list. A short page with an envelope does
// not show the end, since the service may cap or filter pages. The total and next_page
// show the end if they agree. If the total, the pages and next_page agree on a wrong end, the mistake
// cannot be detected.
func (p *pass) reachedEnd() bool {
	last := p.pages[len(p.pages)-1]
	lacksRecords := p.total >= 0 && int64(p.records) < p.total
	switch {
	case p.isOneShortPage():
		return true
	case last.isFailed:
		return p.total >= 0 && int64(len(p.pages)) >= p.plannedPages()
	case last.repeats:
		// If the service has one record per page, a single insert repeats a page, so two
		// repetitions are required. No service caps a larger requested size at one record.
		return p.total >= 0 || last.Records > 1 || p.cfg.PageSize > 1 || p.pages[len(p.pages)-2].repeats
	case last.Records == 0:
		tail := p.pages[max(len(p.pages)-maxEmptyPages, 0):]
		return last.Next <= 0 || !lacksRecords ||
			len(tail) == maxEmptyPages && !slices.ContainsFunc(tail, func(f pageState) bool { return f.Records > 0 })
	case last.Next > 0 || lacksRecords || p.total >= 0 && int64(p.records) > p.total:
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

// finishIDs gathers and sorts the ids of all pages and counts repeated ids. The ids of a page that
// repeats an earlier page count as repeated if a later page has other records. Otherwise the page is beyond
// the end of the list, and its ids do not count.
func (p *pass) finishIDs() {
	p.previous = nil // its memory is no longer needed
	for _, f := range p.pages {
		if !f.repeats {
			p.ids = append(p.ids, f.IDs...)
		}
	}
	if p.isNewestFirst() {
		// A change in such a list shifts all pages, so the next pass can know only page 1.
		for i := 1; i < len(p.pages); i++ {
			p.pages[i].IDs, p.pages[i].bodySum = nil, xxh3.Uint128{}
		}
	}
	slices.Sort(p.ids)
	withRepeated := len(p.ids)
	p.ids = slices.Compact(p.ids)
	p.repeatedIDs = withRepeated - len(p.ids)
	end := len(p.pages)
	for end > 0 && (p.pages[end-1].repeats || p.pages[end-1].Records == 0) {
		end--
	}
	for _, f := range p.pages[:end] {
		if f.repeats {
			p.repeatedIDs += f.Records
		}
	}
}

// isUnchanged reports whether the whole list was read without a sign of a change.
func (p *pass) isUnchanged() bool {
	if p.changeSeen || p.atPageBound || p.repeatedIDs > 0 || len(p.failedPages) > 0 {
		return false
	}
	return p.total < 0 || int64(p.countRecords()) == p.total
}

// countRecords counts records as total_records does, which includes copies within a response.
func (p *pass) countRecords() int { return len(p.ids) + p.copies + p.recordsWithoutID }

// isCompleteOnPage1 relies on the total: a single response shows one state of the service.
func (p *pass) isCompleteOnPage1() bool {
	first := p.pages[0]
	return p.total >= 0 && first.Next <= 0 && int64(first.Records) == p.total &&
		len(slices.Compact(slices.Clone(p.firstIDs)))+p.copies+p.recordsWithoutID == first.Records
}

func (p *pass) isOneShortPage() bool {
	return len(p.pages) == 1 && !p.pages[0].Paginated && p.pages[0].Records < p.minPageSize
}

// isUnpaged reports whether a list without totals was complete on page 1.
func (p *pass) isUnpaged() bool {
	if p.total >= 0 || p.changeSeen || p.repeatedIDs > 0 {
		return false
	}
	if p.cfg.PageSize == 1 && p.pages[0].Records == 1 {
		return false // a single insert moves page 1 to page 2, so a repetition proves nothing
	}
	return p.isOneShortPage() || p.pages[0].Records == 0 || len(p.pages) == 2 && p.pages[1].repeats
}

func (p *pass) hasEmptyPage2() bool {
	return p.total < 0 && p.isUnchanged() && len(p.pages) == 2 && p.pages[1].Records == 0
}

// isConfirmable reports whether reading page 1 again can complete the proof. If all records of page 1 have the same
// created_at, a new record can have it too, and then be on a later page.
func (p *pass) isConfirmable() bool {
	if p.hasEmptyPage2() {
		return true
	}
	first := &p.pages[0]
	return p.total >= 0 && p.isUnchanged() && p.isNewestFirst() && first.First.After(first.Last)
}

// minFalls is the number of descending steps of created_at that prove the order: nine records
// are in descending order by chance once in 9! lists.
const minFalls = 8

func (p *pass) isNewestFirst() bool { return p.countFalls() >= minFalls }

// repeatsLike reports whether ids were repeated in two passes although the total did not change: the service has no
// fixed order for records of the same time, so that pages overlap and leave out records.
func (p *pass) repeatsLike(previous *pass) bool {
	return previous != nil && previous.asksSorted && previous.repeatedIDs > 0 && p.repeatedIDs > 0 &&
		previous.total == p.total && !previous.changeSeen && !p.changeSeen
}

// isSorted reports whether no record contradicts the order newest first.
func (p *pass) isSorted() bool { return p.countFalls() >= 0 }

// countFalls counts the descending steps of created_at. It returns -1 if created_at rises or is missing.
func (p *pass) countFalls() int {
	falls := 0
	var above *pageState
	for i := range p.pages {
		f := &p.pages[i]
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
func (p *pass) countFilledPages() int {
	n := 0
	for _, f := range p.pages {
		if f.Records > 0 && !f.repeats {
			n++
		}
	}
	return max(n, 1)
}

func (p *pass) whyUnproven() string {
	switch records := p.countRecords(); {
	case p.atPageBound:
		if len(p.pages) >= p.cfg.MaxPages {
			return fmt.Sprintf("streams.max_pages (%d) was reached", p.cfg.MaxPages)
		}
		return fmt.Sprintf("the list did not end after %d pages, more than total_records needs", len(p.pages))
	case p.changeSeen && p.total == p.lastTotal:
		return "the list changed during the pass"
	case p.changeSeen:
		return fmt.Sprintf("total_records changed from %d to %d", p.total, p.lastTotal)
	case p.repeatedIDs > 0:
		return fmt.Sprintf("%s occurred more than once", humanize.Count(p.repeatedIDs, "id"))
	case p.total >= 0 && int64(records) != p.total:
		return fmt.Sprintf("total_records is %d, but the pages contain %s", p.total, humanize.Count(records, "record"))
	case p.number == 1:
		return "the list is not sorted newest first, so one pass is no proof"
	}
	return "the list changed between the passes"
}
