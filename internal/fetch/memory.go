package fetch

import (
	"context"
	"sync"
)

// wideBody is the size in bytes beyond which only one answer is held at a time: all calls
// in flight hold at most this much each of a body and of its packing, and one of them up
// to Config.MaxBody of both. Nor does a Content-Length alone make the client allocate more.
const wideBody = 8 << 20

// memory bounds what the answers in flight hold together.
type memory struct {
	// slots has a place for each answer in flight, wide one for a body beyond
	// wideBody.
	slots, wide chan struct{}
	buffers     bufferPool
}

// growBuffer returns a body in a buffer of that size. It waits while another wide one is
// held; the wait is part of the attempt and of its timeout.
func (m *memory) growBuffer(ctx context.Context, q *call, b []byte, size int64) ([]byte, error) {
	if err := m.holdWide(ctx, q, size); err != nil {
		return b, err
	}
	grown := make([]byte, len(b), size)
	copy(grown, b)
	return grown, nil
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
