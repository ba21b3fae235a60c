package fetch

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"placementsync/internal/stream"
)

// Walk reads a list whole: all pages, as often as the proof of completeness
// takes. param fills the path parameter, if there is one.
// Every answer is handed to read; of several copies of a record the one with the
// highest Seq is the latest. The evidence so far is also returned with an error.
func (c *Client) Walk(ctx context.Context, s stream.Stream, param string, read Reader) (Evidence, error) {
	w := &walk{
		c: c, stream: s, param: param, read: read,
		evidence: Evidence{Stream: s.Name, TotalFirst: -1, TotalLast: -1},
	}
	var err error
	if isPaged(s) {
		err = w.readList(ctx)
	} else {
		err = w.readSingle(ctx)
	}
	w.evidence.Distinct = len(w.seen.ids)
	return w.evidence, err
}

// walk is one list being read.
type walk struct {
	c        *Client
	stream   stream.Stream
	param    string
	read     Reader
	evidence Evidence
	seen     sightings
	// moved is set once the list was seen to change.
	moved bool
	// firstPages are the page 1 of each pass.
	firstPages []firstPage
}

// firstPage is what page 1 of a pass states, read while no other page of the
// list was in flight: the instants at which completeness can be proven.
type firstPage struct {
	total int64
	ids   []uint64 // sorted
}

// readSingle reads an endpoint that the spec gives no pages: one object, a raw
// object, or a bare array without pages (spec 4.1). One answer is
// one state of the service, so it is whole. An array that turns out to be
// paginated is read as a list after all.
func (w *walk) readSingle(ctx context.Context) error {
	page, err := w.c.Get(ctx, w.pageRequest(0, 0), w.read)
	if err != nil {
		return err
	}
	if page.Paginated && w.stream.Envelope == stream.Array {
		return w.readList(ctx)
	}
	w.evidence.Requests, w.evidence.Pages, w.evidence.Passes = 1, 1, 1
	w.evidence.Bare = page.Bare
	w.seen.addPass(1, sortedCopy(page.IDs))
	w.gradeProven(page.Refused, "answered whole in one response")
	return nil
}

// pageRequest is the question for one page. The limit is part of the query, since
// pages of different limits are different pages.
func (w *walk) pageRequest(pass, page int) Request {
	r := Request{
		Stream: w.stream.Name, Path: w.stream.Path, Query: w.stream.Query, Param: w.param, Pass: pass, Page: page,
	}
	if page > 0 {
		r.Query = joinQuery(r.Query, "limit="+strconv.Itoa(w.c.cfg.PageSize))
	}
	return r
}

// readList reads pass after pass until one of them completes the proof. Page 1 of
// a pass is at the same time the confirmation of the pass before.
func (w *walk) readList(ctx context.Context) error {
	var last *pass
	for number := 1; ; number++ {
		p := newPass(number, w.c.cfg, w.c.sizes.shortest())
		if w.c.mayReadAgain(w.stream) {
			p.setBefore(last)
		}
		if err := w.readPage(ctx, p, 1); err != nil {
			return err
		}
		if w.provenByFirstPage(last, p) {
			return nil
		}
		if number > w.c.cfg.MaxPasses {
			w.gradeUnproven(last)
			return nil
		}
		for !p.hasEnded() {
			if err := w.readPages(ctx, p, p.nextWave()); err != nil {
				return err
			}
		}
		p.sortIDs()
		if err := w.readRecalled(ctx, p); err != nil {
			return err
		}
		if w.provenByPass(last, p) {
			return nil
		}
		if number == w.c.cfg.MaxPasses && !p.isConfirmable() {
			w.gradeUnproven(p)
			return nil
		}
		last = p
	}
}

// readRecalled hands the recalled pages of a pass to the reader after all, if the pass
// turned out to have copies of records: of these the one that landed last counts.
func (w *walk) readRecalled(ctx context.Context, p *pass) error {
	if !p.hasCopies() {
		return nil
	}
	for i, f := range p.pages {
		if !f.recalled {
			continue
		}
		var answer uint64
		body, err := w.c.Get(ctx, w.pageRequest(p.number, i+1), func(ctx context.Context, r Response) (stream.PageFacts, error) {
			answer = cmp.Or(r.Same, r.Seq)
			return w.read(ctx, r)
		})
		if err != nil {
			return err
		}
		if answer != f.answer {
			// The disk lost the recalled one, and the service was asked again.
			p.moving = true
			w.seen.addPass(uint8(p.number), slices.Compact(sortedCopy(body.IDs)))
		}
	}
	return nil
}

// readPage reads one page into the pass.
func (w *walk) readPage(ctx context.Context, p *pass, number int) error {
	var answer uint64
	body, err := w.c.Get(ctx, w.pageRequest(p.number, number), func(ctx context.Context, r Response) (stream.PageFacts, error) {
		answer = cmp.Or(r.Same, r.Seq)
		r.Before = p.recall(number, answer)
		return w.read(ctx, r)
	})
	if err != nil {
		return err
	}
	if number == 1 {
		w.c.sizes.learn(body)
	}
	p.addPage(number, body, answer)
	return nil
}

// defaultPageSize is the limit of a request that names none (spec 4.1).
// No service caps its pages below what it cuts by itself.
const defaultPageSize = 25

// pageSizes is what the lists read so far show of the length of the service's pages:
// the shortest full page of a list that goes on behind it, 0 while there was none, and
// the longest page that held a whole list with a total.
type pageSizes struct{ cut, whole atomic.Int64 }

// learn looks at page 1 of a list with a total: one that leaves records
// over shows at how many the service cuts, one that does not that it cuts at no
// fewer.
func (p *pageSizes) learn(page stream.PageFacts) {
	n := int64(page.Records)
	if !page.Paginated || page.Total < 0 || n == 0 {
		return
	}
	known, better := &p.whole, func(seen int64) bool { return n > seen }
	if page.Total > n {
		known, better = &p.cut, func(seen int64) bool { return seen == 0 || n < seen }
	}
	for seen := known.Load(); better(seen) && !known.CompareAndSwap(seen, n); seen = known.Load() {
	}
}

// shortest is the number of records below which a list fills no page of the service,
// as far as that is known.
func (p *pageSizes) shortest() int {
	if cut := p.cut.Load(); cut > 0 {
		return int(cut)
	}
	return int(max(defaultPageSize, p.whole.Load()))
}

// readPages reads the next n pages in parallel: the shorter the walk, the less can
// move under it. A page that shows the end stops it, so that a total that lies
// high costs no more than what is in flight.
func (w *walk) readPages(ctx context.Context, p *pass, n int) error {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(w.c.cfg.Concurrency)
	from := len(p.pages) + 1
	for number := from; number < from+n && !p.sawEnd() && inner.Err() == nil; number++ {
		p.reservePage(number)
		group.Go(func() error { return w.readPage(inner, p, number) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return stoppedErr(ctx, w.stream.Name)
	}
	return nil
}

// isPaged reports whether a stream may answer page by page. An endpoint that the
// spec gives one answer is asked without a page number first.
func isPaged(s stream.Stream) bool {
	return s.Envelope != stream.Object && s.Envelope != stream.Raw && s.Envelope != stream.Array
}

// HasLanded reports whether the first answer has landed that a walk of s, or of
// what s holds for the path parameter param, would use: such a walk begins
// without a request.
func (c *Client) HasLanded(s stream.Stream, param string) bool {
	if c.landing == nil {
		return false
	}
	w := walk{c: c, stream: s, param: param}
	first := w.pageRequest(0, 0)
	if isPaged(s) {
		first = w.pageRequest(1, 1)
	}
	_, found := c.landing.find(first)
	return found
}
