package fetch

import (
	"context"
	"sync"
)

// wideBody is the size in bytes beyond which only one body is held at a time: all calls
// in flight together hold at most this much each, and one body of Config.MaxBody. Nor
// does a Content-Length alone make the client allocate more.
const wideBody = 8 << 20

// memory bounds what the answers in flight hold together.
type memory struct {
	maxBody int64
	// slots has a place for each answer in flight, wide one for a body beyond
	// wideBody.
	slots, wide chan struct{}
	buffers     bufferPool
}

// growBody gives a body a larger buffer. It waits while another wide one is held; the
// wait is part of the attempt and of its timeout.
func (m *memory) growBody(ctx context.Context, q *call, announced int64) error {
	size := 2 * int64(len(q.body))
	if err := m.holdWide(ctx, q, size); err != nil {
		return err
	}
	if q.wide {
		size = max(size, announced+512)
	}
	// One byte more than is allowed shows that the body is too long.
	grown := make([]byte, len(q.body), min(size, m.maxBody+1))
	copy(grown, q.body)
	q.body = grown
	return nil
}

// holdWide waits, for a body that is wide at that size, until no other is held.
func (m *memory) holdWide(ctx context.Context, q *call, size int64) error {
	if size <= wideBody || q.wide {
		return nil
	}
	select {
	case m.wide <- struct{}{}:
		q.wide = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// releaseWide allows the next wide body.
func (m *memory) releaseWide(q *call) {
	if q.wide {
		q.wide = false
		<-m.wide
	}
}

func (m *memory) acquireSlot(ctx context.Context, q *call) error {
	// The context is asked first, since select chooses at random when both are ready.
	if ctx.Err() != nil {
		return stoppedErr(ctx, q.Stream)
	}
	select {
	case m.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return stoppedErr(ctx, q.Stream)
	}
}

func (m *memory) releaseSlot() { <-m.slots }

// bufferPool holds buffers for later use.
type bufferPool struct{ pool sync.Pool }

func (p *bufferPool) get() *[]byte {
	if b, ok := p.pool.Get().(*[]byte); ok {
		return b
	}
	return new([]byte)
}

// put does not keep wide buffers: they would stay in memory for the whole run.
func (p *bufferPool) put(b *[]byte) {
	if cap(*b) <= wideBody {
		*b = (*b)[:0]
		p.pool.Put(b)
	}
}
