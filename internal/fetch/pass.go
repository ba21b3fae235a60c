package fetch

import (
	"fmt"
	"slices"
	"sync"

	"placementsync/internal/plural"
	"placementsync/internal/stream"
)

// pass is one reading of a list from page 1 to its end.
type pass struct {
	number      int
	limit       int // records asked for per page
	short       int // fewer records than these fill no page
	maxPages    int
	concurrency int
	width       int // of the last wave

	mu    sync.Mutex
	pages []page
	// before is the pass whose facts stand for the pages that did not change; nil: none.
	before *pass
	// ids are those of all pages but the recalled ones: in the order of the answers while
	// the pass is read. After sortIDs they are those of all, sorted and each once.
	ids       []uint64
	firstIDs  []uint64 // of page 1, sorted
	prints    map[uint64]bool
	records   int
	anonymous int // records without an id
	refused   int // those of them that were not taken
	copies    int // records that their own page held twice
	repeated  int
	total     int64 // of page 1; -1: not stated
	lastTotal int64 // of the last answer
	moving    bool  // an answer had another total
	end       bool  // this wave had an empty or repeated page
	bounded   bool  // the chain of pages was cut
}

// page is what is kept of one page: what its body says, and which body it is.
type page struct {
	// The ids are nil until sortIDs; after it they are, in any order, those of pages that
	// the next pass may recall.
	stream.PageFacts
	// answer is the Seq of the first one with this body.
	answer uint64
	// from is where the ids of the page begin in those of the pass, count their number.
	from, count int
	// recalled says that the facts are those of the pass before.
	recalled bool
	// repeats says that the page held the same ids as an earlier one: the
	// service ignores the page number or stays on the last page.
	repeats bool
}

func newPass(number int, cfg Config, pageSize int) *pass {
	return &pass{
		number: number, limit: cfg.PageSize, short: min(cfg.PageSize, pageSize), maxPages: cfg.MaxPages,
		concurrency: cfg.Concurrency, prints: make(map[uint64]bool),
	}
}

// setBefore lets the pass recall the pages of the one before. An answer that is recalled
// does not make its records the latest copies, so that no other answer may have copies of
// them.
func (p *pass) setBefore(last *pass) {
	if last != nil {
		last.before = nil
		if !last.hasCopies() {
			p.before = last
		}
	}
}

// hasCopies reports whether two answers of the pass had the same record.
func (p *pass) hasCopies() bool {
	return p.repeated > 0 || slices.ContainsFunc(p.pages, func(f page) bool { return f.repeats })
}

// recall returns what the pass before has of a page with the same body; nil: nothing.
func (p *pass) recall(number int, answer uint64) *stream.PageFacts {
	if p.before == nil || number > len(p.before.pages) {
		return nil
	}
	f := &p.before.pages[number-1]
	// What was rejected counts in the pass that saw most of it: each has to see it all.
	if f.answer != answer || f.Records == 0 || f.Rejects > 0 || len(f.IDs) != f.count {
		return nil
	}
	return &f.PageFacts
}

// reservePage adds a page before it is asked for.
func (p *pass) reservePage(number int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.pages) < number {
		p.pages = append(p.pages, page{})
	}
}

// sawEnd reports whether a page of this wave lay beyond the list's end.
func (p *pass) sawEnd() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.end
}

// believedIDs bounds the ids for which memory is reserved because page 1 states a total.
// What a pass does not use of it costs addresses and no memory, while a slice that
// grows costs half of its size more for a moment.
const believedIDs = 1 << 23

// addPage enters what one page says.
func (p *pass) addPage(number int, body stream.PageFacts, answer uint64) {
	if !body.Paginated {
		body.Total, body.TotalPages, body.Next = -1, -1, -1
	}
	p.reservePage(number)
	p.mu.Lock()
	defer p.mu.Unlock()
	recalled := p.recall(number, answer) != nil
	if number == 1 {
		p.total = body.Total
		p.firstIDs = sortedCopy(body.IDs)
		if !recalled {
			p.ids = make([]uint64, 0, min(max(body.Total, 0), believedIDs)+int64(len(body.IDs)))
		}
	}
	p.lastTotal = body.Total
	p.moving = p.moving || body.Total != p.total
	// An earlier page may have held the same ids, in any order.
	fingerprint := body.Fingerprint()
	repeats := body.Records > 0 && p.prints[fingerprint]
	p.prints[fingerprint] = true
	f := page{PageFacts: body, answer: answer, from: len(p.ids), count: len(body.IDs), repeats: repeats, recalled: recalled}
	if !recalled {
		f.IDs = nil
	}
	if !repeats {
		if !recalled {
			p.ids = append(p.ids, body.IDs...)
		}
		p.records += body.Records
		p.copies += body.Copies
		p.refused += body.Refused
		p.anonymous += body.Records - body.Copies - len(body.IDs)
	}
	p.end = p.end || repeats || body.Records == 0
	p.pages[number-1] = f
}

// plannedPages is the number of pages that the total makes of the count that page
// 1 returned, which may be lower than the limit that was asked. A total that
// lies costs no more than the bound.
func (p *pass) plannedPages() int64 {
	per := int64(max(p.pages[0].Records, 1))
	return min((max(p.total, 1)-1)/per+1, int64(p.maxPages))
}

// pageBound is where a chain of pages is cut.
func (p *pass) pageBound() int64 {
	if p.total < 0 {
		return int64(p.maxPages)
	}
	return min(2*p.plannedPages()+16, int64(p.maxPages))
}

// nextWave begins a wave and is the number of its pages. What the total promises is
// asked for at once; total_pages can only make it fewer. Beyond that the next
// pages are felt for, more at a time the longer it goes on. Without a total
// they are read one after the other: only then do the same ids twice in a row
// prove anything.
func (p *pass) nextWave() int {
	p.end = false
	read := int64(len(p.pages))
	if p.total < 0 {
		return 1
	}
	if n := p.plannedPages(); read == 1 && n > 1 {
		if stated := p.pages[0].TotalPages; stated > 1 {
			n = min(n, stated)
		}
		return int(n - read)
	}
	p.width = min(max(1, 2*p.width), p.concurrency)
	return int(min(int64(p.width), p.pageBound()-read))
}

// hasEnded reports whether the pass is at the end of the list. The length of a
// page in an envelope never says so: a service may cap or filter its pages.
// Total and next_page do when they agree; a service whose total, pages and
// next_page all state the same false end looks like an honest one.
func (p *pass) hasEnded() bool {
	if p.reachedEnd() {
		return true
	}
	p.bounded = int64(len(p.pages)) >= p.pageBound()
	return p.bounded
}

func (p *pass) reachedEnd() bool {
	last := p.pages[len(p.pages)-1]
	short := p.total >= 0 && int64(p.records) < p.total
	switch {
	case p.fillsNoPage():
		return true
	case last.repeats:
		// One insert makes a page of one record repeat, where one was asked
		// for; it takes two. No service caps a higher limit at one.
		return p.total >= 0 || last.Records > 1 || p.limit > 1 || p.pages[len(p.pages)-2].repeats
	case last.Records == 0:
		return last.Next <= 0 || !short || p.emptyTail()
	case last.Next > 0 || short || p.total >= 0 && int64(p.records) > p.total:
		return false
	case last.Next == 0:
		return true
	}
	// Without next_page only a page beyond the end shows the end, unless the
	// total has been reached and the last page was not even full.
	return p.total >= 0 && last.Records < p.pages[0].Records
}

// emptyPages is how many empty pages in a row are followed by their next_page
// while records are missing: a service may filter its pages after cutting them.
const emptyPages = 16

func (p *pass) emptyTail() bool {
	if len(p.pages) < emptyPages {
		return false
	}
	tail := p.pages[len(p.pages)-emptyPages:]
	return !slices.ContainsFunc(tail, func(f page) bool { return f.Records > 0 })
}

// sortIDs sorts the ids and counts the repeated ones. A repeated page beyond the end
// does not count, one within the list does.
func (p *pass) sortIDs() {
	if p.before == nil || len(p.ids) > 0 || !p.recallAll() {
		p.gatherIDs()
		slices.Sort(p.ids)
		all := len(p.ids)
		p.ids = slices.Compact(p.ids)
		p.repeated = all - len(p.ids)
	}
	within := len(p.pages)
	for within > 0 && (p.pages[within-1].repeats || p.pages[within-1].Records == 0) {
		within--
	}
	for _, f := range p.pages[:within] {
		if f.repeats {
			p.repeated += f.Records
		}
	}
}

// recallAll shares the ids of the pass before, if all its pages were recalled.
func (p *pass) recallAll() bool {
	n := 0
	for _, f := range p.pages {
		n += f.count
	}
	if n != len(p.before.ids) || p.hasCopies() {
		return false
	}
	p.ids = p.before.ids
	return true
}

// gatherIDs makes the ids those of all pages, and leaves each page its own for the next
// pass to recall: 8 bytes a record. A list that is newest first does without them but for
// page 1: what makes it need a second pass has moved all its pages.
func (p *pass) gatherIDs() {
	read := len(p.ids)
	for i := range p.pages {
		if f := &p.pages[i]; f.recalled && !f.repeats {
			p.ids = append(p.ids, f.IDs...)
		}
	}
	if p.newestFirst() {
		p.pages[0].IDs = p.firstIDs
		return
	}
	own := slices.Clone(p.ids[:read])
	for i := range p.pages {
		if f := &p.pages[i]; !f.recalled && !f.repeats {
			f.IDs = own[f.from : f.from+f.count : f.from+f.count]
		}
	}
}

// isQuiet reports whether nothing was seen to change: the total was the same in
// every answer, no id was repeated, and together they make the total. Where the
// service states no total the last condition is void.
func (p *pass) isQuiet() bool {
	if p.moving || p.bounded || p.repeated > 0 {
		return false
	}
	return p.total < 0 || int64(p.countDistinct()) == p.total
}

// countDistinct counts the records as total_records does: a copy within one answer is
// a record to it.
func (p *pass) countDistinct() int { return len(p.ids) + p.copies + p.anonymous }

// isWhole reports whether page 1 alone holds everything the total counts. One
// answer is one state of the service: nothing can move within it.
func (p *pass) isWhole() bool {
	first := p.pages[0]
	return p.total >= 0 && first.Next <= 0 && int64(first.Records) == p.total &&
		len(slices.Compact(slices.Clone(p.firstIDs)))+p.copies+p.anonymous == first.Records
}

// fillsNoPage reports whether page 1 is a list without envelope and shorter than
// any page that the service is known to cut.
func (p *pass) fillsNoPage() bool {
	return len(p.pages) == 1 && !p.pages[0].Paginated && p.pages[0].Records < p.short
}

// isUnpaged reports whether a list without totals was answered whole by page 1,
// since it would not fill a page, page 2 was page 1 once more, or page 1 was
// empty. Pages of one record are no ground to stand on: a single insert moves
// page 1 to page 2.
func (p *pass) isUnpaged() bool {
	if p.total >= 0 || p.moving || p.repeated > 0 {
		return false
	}
	if p.limit == 1 && p.pages[0].Records == 1 {
		return false
	}
	return p.fillsNoPage() || p.pages[0].Records == 0 || len(p.pages) == 2 && p.pages[1].repeats
}

// isSinglePage reports whether a list without totals had one page and nothing on the
// next.
func (p *pass) isSinglePage() bool {
	return p.total < 0 && p.isQuiet() && len(p.pages) == 2 && p.pages[1].Records == 0
}

// isConfirmable reports whether reading page 1 once more can complete the proof.
func (p *pass) isConfirmable() bool {
	return p.isSinglePage() || p.total >= 0 && p.isQuiet() && p.newestFirst()
}

// enoughFalls is how often created_at must fall before the order counts as
// seen: nine records fall by chance once in 9! lists.
const enoughFalls = 8

// newestFirst reports whether created_at never rises along the pass and falls
// often enough for that to be no accident.
func (p *pass) newestFirst() bool {
	falls := 0
	var above *page
	for i := range p.pages {
		f := &p.pages[i]
		if f.Records == 0 || f.repeats {
			continue
		}
		if !f.Falling || above != nil && f.First.After(above.Last) {
			return false
		}
		if above != nil && above.Last.After(f.First) {
			falls++
		}
		falls += f.Falls
		above = f
	}
	return falls >= enoughFalls
}

// countFilled is the number of pages that brought records.
func (p *pass) countFilled() int {
	n := 0
	for _, f := range p.pages {
		if f.Records > 0 && !f.repeats {
			n++
		}
	}
	return max(n, 1)
}

// whyUnproven says why the pass proves nothing.
func (p *pass) whyUnproven() string {
	switch distinct := p.countDistinct(); {
	case p.bounded:
		return fmt.Sprintf("the limit of pages was reached at page %d", len(p.pages))
	case p.moving:
		return fmt.Sprintf("total_records changed from %d to %d", p.total, p.lastTotal)
	case p.repeated > 0:
		return fmt.Sprintf("%s read more than once", plural.Count(p.repeated, "id"))
	case p.total >= 0 && int64(distinct) != p.total:
		return fmt.Sprintf("total_records is %d and %s came", p.total, plural.Count(distinct, "record"))
	case p.number == 1:
		return "the list is not sorted newest first, so that one pass proves nothing"
	}
	return "the list changed between the passes"
}
