package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"

	"placementsync/internal/stream"
)

// Walk reads a whole list: all pages, in as many passes as the proof of completeness needs.
// param is the value of the path parameter, if there is one. All responses are passed to
// read; of several copies of a record the copy with the highest Seq is the latest. With an
// error, Walk returns the evidence so far.
func (c *Client) Walk(ctx context.Context, s stream.Stream, param string, read Reader) (Evidence, error) {
	w := &walk{
		c: c, stream: s, param: param, read: read,
		evidence: Evidence{TotalFirst: -1, TotalLast: -1},
	}
	w.isSorted = w.beginsSorted()
	w.evidence.Unsortable = !w.isSorted && slices.Contains(c.cfg.Unsortable, s.Name)
	var err error
	if isPaged(s) {
		err = w.readList(ctx)
	} else {
		err = w.readSingle(ctx)
	}
	w.evidence.Distinct = len(w.seen.ids)
	return w.evidence, err
}

// ReadFirstPage reads page 1 of a list, or the response of a list without pages.
func (c *Client) ReadFirstPage(ctx context.Context, s stream.Stream, param string, read Reader) (stream.PageFacts, error) {
	w := walk{c: c, stream: s, param: param}
	return c.Get(ctx, w.firstRequest(), read)
}

type walk struct {
	c        *Client
	stream   stream.Stream
	param    string
	read     Reader
	evidence Evidence
	seen     sightings
	isSorted bool // newestFirst is requested
	// listChanged is set when a change of the list was seen.
	listChanged bool
	firstPages  []firstPage // of each pass
}

// firstPage is the content of page 1 of a pass. No other page of the list was in flight
// when it was read, so completeness can be proven for that instant.
type firstPage struct {
	total int64
	ids   []uint64 // sorted and without duplicates
}

// readSingle reads an endpoint that has no pages in the spec (4.1). A single response shows one state of
// the service, so it is complete. An array that turns out to be paginated is read as a list.
func (w *walk) readSingle(ctx context.Context) error {
	facts, err := w.c.Get(ctx, w.pageRequest(0, 0), w.read)
	if err != nil {
		return err
	}
	if facts.Paginated && w.stream.Envelope == stream.Array {
		return w.readList(ctx)
	}
	w.evidence.Pages, w.evidence.Passes = 1, 1
	w.evidence.IsDoubtful = facts.IsDoubtful
	w.seen.addPass(1, slices.Compact(slices.Sorted(slices.Values(facts.IDs))))
	w.gradeProven(facts.RejectedRecords, "complete in one response")
	return nil
}

// newestFirst requests the newest records first. In this order, one pass is enough to prove that the list is
// complete (spec 4.1).
const newestFirst = "sort_by=created_at&order_by=desc"

// beginsSorted reports whether the first pass is requested newest first. A resumed or replayed run repeats the
// requests of its first attempt.
func (w *walk) beginsSorted() bool {
	if !w.stream.Sorts {
		return false
	}
	if w.c.sender.usesStored(w.stream.Name) {
		for _, isSorted := range []bool{false, true} {
			earlier := walk{c: w.c, stream: w.stream, param: w.param, isSorted: isSorted}
			if _, found := w.c.store.find(earlier.pageRequest(1, 1)); found {
				return isSorted
			}
		}
	}
	return !slices.Contains(w.c.cfg.Unsortable, w.stream.Name)
}

func (w *walk) firstRequest() Request {
	if isPaged(w.stream) {
		return w.pageRequest(1, 1)
	}
	return w.pageRequest(0, 0)
}

// The order and the limit are part of the query, because pages with different limits are different pages.
func (w *walk) pageRequest(pass, page int) Request {
	r := Request{
		Stream: w.stream.Name, Path: w.stream.Path, Query: w.stream.Query, Param: w.param, Pass: pass, Page: page,
	}
	if page > 0 {
		if w.isSorted {
			r.Query = joinQuery(r.Query, newestFirst)
		}
		r.Query = joinQuery(r.Query, "limit="+strconv.Itoa(w.c.cfg.PageSize))
	}
	return r
}

// readList reads passes until one completes the proof. Page 1 of a pass also confirms the
// previous pass. A failure after the first pass only ends the proof.
func (w *walk) readList(ctx context.Context) error {
	var previous *view
	for number := 1; ; number++ {
		p := &pass{previous: previous, keySums: map[uint64]bool{}}
		p.view = view{number: number, cfg: w.c.cfg, minPageSize: min(w.c.cfg.PageSize, w.c.sizes.shortest()), pages: make([]pageState, 1)}
		seen, err := w.readPass(ctx, previous, p)
		if err != nil && previous != nil && !endsStream(err) {
			w.gradeFailed(&p.view, fmt.Errorf("the pages were read, but not a second time: %w", err))
			return nil
		}
		if err != nil || seen == nil {
			return err
		}
		previous = seen
	}
}

// readPass returns the view of the pass, or nil if the list is proven, or if no further pass can prove more.
func (w *walk) readPass(ctx context.Context, previous *view, p *pass) (*view, error) {
	if w.evidence.Unsortable {
		w.isSorted = false
	}
	err := w.readPage(ctx, p, 1)
	if err != nil && w.isSorted && p.number == 1 && canRefuseOrder(err) {
		w.isSorted = false
		err = w.readPage(ctx, p, 1)
		w.evidence.Unsortable = err == nil
	}
	if err != nil {
		return nil, err
	}
	p.asksSorted = w.isSorted
	if w.evaluateFirstPage(previous, p) {
		return nil, nil
	}
	// Page 1 of one more pass than MaxPasses was read to confirm the last pass.
	if p.number > w.c.cfg.MaxPasses {
		w.gradeUnproven(previous)
		return nil, nil
	}
	for !p.hasEnded() {
		if err := w.readPages(ctx, p, p.nextWave()); err != nil {
			return nil, err
		}
	}
	seen := p.end()
	if seen.asksSorted && (!seen.isSorted() || seen.overlapsLike(previous)) {
		w.evidence.Unsortable = true
	}
	if w.evaluatePass(previous, seen) {
		return nil, nil
	}
	if seen.number == w.c.cfg.MaxPasses && !seen.isConfirmable() {
		w.gradeUnproven(seen)
		return nil, nil
	}
	return seen, nil
}

// errFailedBefore is the failure of a page in an earlier attempt at the run.
var errFailedBefore = errors.New("the page could not be read before the run was resumed")

// failedBefore reports whether the page could not be read in an earlier attempt at the run, which then began the next
// pass. The page is not requested again: its response would be later than that pass, but the proof needs the passes
// in order.
func (w *walk) failedBefore(pass, page int) bool {
	if !w.c.sender.usesStored(w.stream.Name) {
		return false
	}
	if _, found := w.c.store.find(w.pageRequest(pass, page)); found {
		return false
	}
	for _, isSorted := range []bool{w.isSorted, false} {
		next := walk{c: w.c, stream: w.stream, param: w.param, isSorted: isSorted}
		if _, found := w.c.store.find(next.pageRequest(pass+1, 1)); found {
			return true
		}
	}
	return false
}

func (w *walk) readPage(ctx context.Context, p *pass, number int) error {
	if number > 1 && w.failedBefore(p.number, number) {
		return p.addFailedPage(number, errFailedBefore)
	}
	var bodySum xxh3.Uint128
	facts, err := w.c.Get(ctx, w.pageRequest(p.number, number), func(ctx context.Context, r Response) (stream.PageFacts, error) {
		bodySum = xxh3.Hash128(r.Body)
		r.Previous = p.knownFacts(number, bodySum)
		return w.read(ctx, r)
	})
	if number > 1 && isBeyondEnd(err) {
		facts, err = p.factsBeyondEnd(), nil
	}
	if err != nil && number > 1 && !endsStream(err) {
		return p.addFailedPage(number, err)
	}
	if err != nil {
		return err
	}
	if number == 1 {
		w.c.sizes.addFirstPage(facts)
		w.evidence.IsDoubtful = facts.IsDoubtful
	}
	p.addPage(number, facts, bodySum)
	return nil
}

// canRefuseOrder reports whether the failure of a page can be the service's answer to the requested order. Some
// services answer an unknown parameter with 400, some with 500, and some do not answer.
func canRefuseOrder(err error) bool {
	failed, ok := ownErr(err)
	if !ok || failed.patienceUsedUp || errors.Is(err, ErrUnreachable) {
		return false
	}
	return !failed.Is(ErrAuth) && !failed.Is(ErrScope)
}

// isBeyondEnd reports whether the error of a later page means that the list ends before it. Some services answer
// such a page with an error instead of an empty list.
func isBeyondEnd(err error) bool {
	failed, ok := ownErr(err)
	return ok && isBeyondEndStatus(failed.Code)
}

// defaultPageSize is the page size of requests without a limit (spec 4.1). No service caps
// explicit limits below it.
const defaultPageSize = 25

// pageSizes contains the length of the shortest page that was followed by another page, or 0.
type pageSizes struct {
	mu           sync.Mutex
	shortestFull int
}

// addFirstPage evaluates page 1 of a list with a total. If more records follow, the length of page 1 is
// a page size of the service.
func (p *pageSizes) addFirstPage(facts stream.PageFacts) {
	n := facts.Records
	if !facts.Paginated || n == 0 || facts.Total <= int64(n) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shortestFull == 0 || n < p.shortestFull {
		p.shortestFull = n
	}
}

// shortest returns the length below which a list certainly fits on one page of the service.
func (p *pageSizes) shortest() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return cmp.Or(p.shortestFull, defaultPageSize)
}

// The pages are read in parallel, because a shorter walk gives the list less time to change. If the stated total
// is too high, at most the requests in flight are sent in vain.
func (w *walk) readPages(ctx context.Context, p *pass, n int) error {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(w.c.cfg.Concurrency)
	for range n {
		number, ok := p.reserveNext()
		if !ok || inner.Err() != nil {
			break
		}
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

// An endpoint with a single response in the spec is first requested without a page number.
func isPaged(s stream.Stream) bool {
	return s.Envelope != stream.Object && s.Envelope != stream.StatusCounts && s.Envelope != stream.Array
}

// HasStored reports whether the first response of a walk is stored, so that the walk begins
// without a request.
func (c *Client) HasStored(s stream.Stream, param string) bool {
	if c.store == nil {
		return false
	}
	w := walk{c: c, stream: s, param: param}
	w.isSorted = w.beginsSorted()
	_, found := c.store.find(w.firstRequest())
	return found
}
