package fetch

import (
	"context"
	"errors"
	"net/http"
	"time"

	"placementsync/internal/stream"
)

// call is one request on its way through the steps.
type call struct {
	Request
	url   string
	read  Reader
	meter *meter

	// What the attempt leaves behind.
	status int
	body   []byte
	sent   time.Time
	took   time.Duration
	// wide is set while the body may be larger than the constant of that name.
	wide bool
	// What the reader made of it.
	page stream.Page
}

// step does its part for a call, usually around another step.
type step func(ctx context.Context, q *call) error

// stackSteps is the order of the concerns, outermost first: nothing that landed is
// asked again; a failure is repeated; a rotated token is picked up; no more
// than Concurrency answers are held at once; an answer lands before it is
// read; and the rate is spent right before sending.
func (c *Client) stackSteps() step {
	return c.answerFromLanding(c.retryFailures(c.retryWithNewToken(c.limitInFlight(c.landAndRead(c.spendRate(c.sendOnce))))))
}

// answerFromLanding answers from the landing.
func (c *Client) answerFromLanding(next step) step {
	if c.landing == nil {
		return next
	}
	return func(ctx context.Context, q *call) error {
		if (q.Fresh || c.isDoubted(q.Stream)) && !c.cfg.Offline {
			return next(ctx, q)
		}
		hit, err := c.readLanded(ctx, q)
		if hit {
			return err
		}
		if c.cfg.Offline {
			return &StatusError{Stream: q.Stream, URL: c.redactURL(q.url), Err: ErrNotLanded}
		}
		return next(ctx, q)
	}
}

// Refetch has the client ask the service for everything of a stream from now on,
// also for what has landed: for answers that are doubted. The new answers land in
// place of the old ones.
func (c *Client) Refetch(stream string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.doubted[stream] = true
}

func (c *Client) isDoubted(stream string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.doubted[stream]
}

// readLanded reads the landed answer to q. An answer that landed but cannot be
// read, because the reader refuses it or the disk lost it, is no hit: it is
// asked for again.
func (c *Client) readLanded(ctx context.Context, q *call) (hit bool, err error) {
	if err := c.acquireSlot(ctx, q); err != nil {
		return true, err
	}
	defer c.releaseSlot()
	if err := c.holdWide(ctx, q, c.landing.bodySize(q.Request)); err != nil {
		return true, stoppedErr(ctx, q.Stream)
	}
	defer c.releaseWide(q)
	buffer := c.getBuffer()
	defer c.putBuffer(buffer)
	r, found := c.landing.Lookup(q.Request, *buffer)
	if !found {
		return false, nil
	}
	*buffer = r.Body
	err = c.readAnswer(ctx, q, r)
	if errors.Is(err, ErrMalformed) {
		return false, nil
	}
	q.meter.hits.Add(1)
	return true, err
}

// limitInFlight bounds the calls in flight, and with them the bodies in memory.
func (c *Client) limitInFlight(next step) step {
	return func(ctx context.Context, q *call) error {
		if err := c.acquireSlot(ctx, q); err != nil {
			return err
		}
		defer c.releaseSlot()
		return next(ctx, q)
	}
}

func (c *Client) acquireSlot(ctx context.Context, q *call) error {
	// Asked first, since select chooses at random when both are ready.
	if ctx.Err() != nil {
		return stoppedErr(ctx, q.Stream)
	}
	select {
	case c.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return stoppedErr(ctx, q.Stream)
	}
}

func (c *Client) releaseSlot() { <-c.slots }

// landAndRead lands what the attempt brought and hands it to the reader.
func (c *Client) landAndRead(next step) step {
	return func(ctx context.Context, q *call) error {
		buffer := c.getBuffer()
		defer c.putBuffer(buffer)
		defer c.releaseWide(q)
		q.body = *buffer
		err := next(ctx, q)
		*buffer = q.body
		if err != nil {
			return err
		}
		r := Response{Request: q.Request, Status: q.status, Body: q.body}
		if r.Seq, err = c.land(q, r); err != nil {
			return err
		}
		return c.readAnswer(ctx, q, r)
	}
}

func (c *Client) land(q *call, r Response) (uint64, error) {
	if c.landing == nil {
		return 0, nil
	}
	return c.landing.Append(r, q.sent, q.took)
}

// readAnswer turns a landed response into facts or into a decision.
func (c *Client) readAnswer(ctx context.Context, q *call, r Response) error {
	if r.Status == http.StatusNotFound {
		return &GoneError{StatusError{Code: r.Status, Stream: q.Stream, URL: c.redactURL(q.url), Attempts: 1}}
	}
	// A landing of an older program may hold what is no answer.
	page, err := stream.Page{}, error(ErrMalformed)
	if isAnswer(r.Status) {
		page, err = q.read(ctx, r)
	}
	if errors.Is(err, ErrMalformed) {
		return &StatusError{
			Code: r.Status, Stream: q.Stream, URL: c.redactURL(q.url), Attempts: 1,
			Excerpt: c.bodyExcerpt(r.Status, r.Body), Err: c.scrubErr(err),
		}
	}
	q.page = page
	return err
}

// maxPooledBody keeps one wide body from staying in memory for the whole run.
const maxPooledBody = wideBody

func (c *Client) getBuffer() *[]byte {
	if b, ok := c.buffers.Get().(*[]byte); ok {
		return b
	}
	return new([]byte)
}

func (c *Client) putBuffer(b *[]byte) {
	if cap(*b) <= maxPooledBody {
		*b = (*b)[:0]
		c.buffers.Put(b)
	}
}
