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

// stack is the order of the concerns, outermost first: nothing that landed is
// asked again; a failure is repeated; a rotated token is picked up; no more
// than Concurrency answers are held at once; an answer lands before it is
// read; and the rate is spent right before sending.
func (c *Client) stack() step {
	return c.remembered(c.retried(c.authorised(c.slotted(c.delivered(c.governed(c.attempt))))))
}

// remembered answers from the landing.
func (c *Client) remembered(next step) step {
	if c.landing == nil {
		return next
	}
	return func(ctx context.Context, q *call) error {
		if (q.Fresh || c.refetches(q.Stream)) && !c.cfg.Offline {
			return next(ctx, q)
		}
		hit, err := c.recall(ctx, q)
		if hit {
			return err
		}
		if c.cfg.Offline {
			return &StatusError{Stream: q.Stream, URL: c.redact(q.url), Err: ErrNotLanded}
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

func (c *Client) refetches(stream string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.doubted[stream]
}

// recall reads the landed answer to q. An answer that landed but cannot be
// read, because the reader refuses it or the disk lost it, is no hit: it is
// asked for again.
func (c *Client) recall(ctx context.Context, q *call) (hit bool, err error) {
	if err := c.occupy(ctx, q); err != nil {
		return true, err
	}
	defer c.vacate()
	if err := c.hold(ctx, q, c.landing.size(q.Request)); err != nil {
		return true, stopped(ctx, q.Stream)
	}
	defer c.narrow(q)
	buffer := c.buffer()
	defer c.recycle(buffer)
	r, found := c.landing.Lookup(q.Request, *buffer)
	if !found {
		return false, nil
	}
	*buffer = r.Body
	err = c.interpret(ctx, q, r)
	if errors.Is(err, ErrMalformed) {
		return false, nil
	}
	q.meter.hits.Add(1)
	return true, err
}

// slotted bounds the calls in flight, and with them the bodies in memory.
func (c *Client) slotted(next step) step {
	return func(ctx context.Context, q *call) error {
		if err := c.occupy(ctx, q); err != nil {
			return err
		}
		defer c.vacate()
		return next(ctx, q)
	}
}

func (c *Client) occupy(ctx context.Context, q *call) error {
	// Asked first, since select chooses at random when both are ready.
	if ctx.Err() != nil {
		return stopped(ctx, q.Stream)
	}
	select {
	case c.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return stopped(ctx, q.Stream)
	}
}

func (c *Client) vacate() { <-c.slots }

// delivered lands what the attempt brought and hands it to the reader.
func (c *Client) delivered(next step) step {
	return func(ctx context.Context, q *call) error {
		buffer := c.buffer()
		defer c.recycle(buffer)
		defer c.narrow(q)
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
		return c.interpret(ctx, q, r)
	}
}

func (c *Client) land(q *call, r Response) (uint64, error) {
	if c.landing == nil {
		return 0, nil
	}
	return c.landing.Append(r, q.sent, q.took)
}

// interpret turns a landed response into facts or into a decision.
func (c *Client) interpret(ctx context.Context, q *call, r Response) error {
	if r.Status == http.StatusNotFound {
		return &GoneError{StatusError{Code: r.Status, Stream: q.Stream, URL: c.redact(q.url), Attempts: 1}}
	}
	// A landing of an older program may hold what is no answer.
	page, err := stream.Page{}, error(ErrMalformed)
	if isAnswer(r.Status) {
		page, err = q.read(ctx, r)
	}
	if errors.Is(err, ErrMalformed) {
		return &StatusError{
			Code: r.Status, Stream: q.Stream, URL: c.redact(q.url), Attempts: 1,
			Excerpt: c.excerptOf(r.Status, r.Body), Err: c.scrubbed(err),
		}
	}
	q.page = page
	return err
}

// maxPooled keeps one wide body from staying in memory for the whole run.
const maxPooled = wide

func (c *Client) buffer() *[]byte {
	if b, ok := c.buffers.Get().(*[]byte); ok {
		return b
	}
	return new([]byte)
}

func (c *Client) recycle(b *[]byte) {
	if cap(*b) <= maxPooled {
		*b = (*b)[:0]
		c.buffers.Put(b)
	}
}
