package fetch

import (
	"context"
	"strconv"

	"golang.org/x/sync/errgroup"

	"placementsync/internal/stream"
)

// Walk reads a list whole: all pages, as often as the proof of completeness
// takes (design: a walk). param fills the path parameter, if there is one.
// Every answer is handed to read; of a record that came more than once the
// copy with the highest Seq is the latest. The evidence is also returned
// beside an error, as far as it goes.
func (c *Client) Walk(ctx context.Context, s stream.Stream, param string, read Reader) (Evidence, error) {
	w := &walk{
		c: c, stream: s, param: param, read: read,
		evidence: Evidence{Stream: s.Name, Param: param, TotalFirst: -1, TotalLast: -1},
	}
	var err error
	if paged(s) {
		err = w.list(ctx)
	} else {
		err = w.single(ctx)
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

// firstPage is what page 1 of a pass told, read while nothing else of the
// list was in flight: the instants at which completeness can be proven.
type firstPage struct {
	total int64
	ids   []uint64 // sorted
}

// single reads an endpoint that the spec gives no pages: one object, a raw
// object, or a bare array without pages (spec 4.1). One answer is
// one state of the service, so it is whole. An array that turns out to be
// paginated is read as a list after all.
func (w *walk) single(ctx context.Context) error {
	page, err := w.c.Get(ctx, w.request(0, 0), w.read)
	if err != nil {
		return err
	}
	if page.Paginated && w.stream.Envelope == stream.Array {
		return w.list(ctx)
	}
	w.evidence.Requests, w.evidence.Pages, w.evidence.Passes = 1, 1, 1
	w.evidence.Bare = page.Bare
	w.seen.add(1, sorted(page.IDs))
	w.proven(page.Refused, "answered whole in one response")
	return nil
}

// request is the question for one page. The limit is part of the query, since
// pages of different limits are different pages.
func (w *walk) request(pass, page int) Request {
	r := Request{
		Stream: w.stream.Name, Path: w.stream.Path, Query: w.stream.Query, Param: w.param, Pass: pass, Page: page,
	}
	if page > 0 {
		r.Query = join(r.Query, "limit="+strconv.Itoa(w.c.cfg.PageSize))
	}
	return r
}

// list reads pass after pass until one of them completes the proof. Page 1 of
// a pass is at the same time the confirmation of the pass before.
func (w *walk) list(ctx context.Context) error {
	var last *pass
	for number := 1; ; number++ {
		p := newPass(number, w.c.cfg, w.c.pageSize())
		if err := w.page(ctx, p, 1); err != nil {
			return err
		}
		if w.provenByFirstPage(last, p) {
			return nil
		}
		if number > w.c.cfg.MaxPasses {
			w.giveUp(last)
			return nil
		}
		if err := w.rest(ctx, p); err != nil {
			return err
		}
		if w.provenByPass(last, p) {
			return nil
		}
		if number == w.c.cfg.MaxPasses && !p.confirmable() {
			w.giveUp(p)
			return nil
		}
		last = p
	}
}

// page reads one page into the pass.
func (w *walk) page(ctx context.Context, p *pass, number int) error {
	body, err := w.c.Get(ctx, w.request(p.number, number), w.read)
	if err != nil {
		return err
	}
	if number == 1 {
		w.c.learnPageSize(body)
	}
	p.add(number, body)
	return nil
}

// defaultPageSize is the limit of a request that names none (spec section 4.1).
// No service caps its pages below what it cuts by itself.
const defaultPageSize = 25

// learnPageSize looks at page 1 of a list with a total: one that leaves records
// over shows at how many the service cuts, one that does not that it cuts at no
// fewer.
func (c *Client) learnPageSize(page stream.Page) {
	n := int64(page.Records)
	if !page.Paginated || page.Total < 0 || n == 0 {
		return
	}
	known, better := &c.wholePage, func(seen int64) bool { return n > seen }
	if page.Total > n {
		known, better = &c.cutPage, func(seen int64) bool { return seen == 0 || n < seen }
	}
	for seen := known.Load(); better(seen) && !known.CompareAndSwap(seen, n); seen = known.Load() {
	}
}

// pageSize is the number of records below which a list fills no page of the service,
// as far as that is known.
func (c *Client) pageSize() int {
	if cut := c.cutPage.Load(); cut > 0 {
		return int(cut)
	}
	return int(max(defaultPageSize, c.wholePage.Load()))
}

// rest reads what follows page 1.
func (w *walk) rest(ctx context.Context, p *pass) error {
	for !p.ended() {
		if err := w.span(ctx, p, p.wave()); err != nil {
			return err
		}
	}
	return nil
}

// span reads the next n pages in parallel: the shorter the walk, the less can
// move under it. A page that shows the end stops it, so that a total that lies
// high costs no more than what is in flight.
func (w *walk) span(ctx context.Context, p *pass, n int) error {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(w.c.cfg.Concurrency)
	p.begin()
	from := len(p.pages) + 1
	for number := from; number < from+n && !p.sawEnd() && inner.Err() == nil; number++ {
		p.open(number)
		group.Go(func() error { return w.page(inner, p, number) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return stopped(ctx, w.stream.Name)
	}
	return nil
}
