package fetch

import (
	"context"
	"sync"
)

// wideBody is the size beyond which a body is held alone: what all the calls in
// flight hold together is bounded by it and by one body of Config.MaxBody. A
// Content-Length alone does not make us allocate more either.
const wideBody = 8 << 20

// memory bounds what the answers in flight hold together.
type memory struct {
	maxBody int64
	// slots has a place for each answer in flight, wide one for a body beyond
	// wideBody.
	slots, wide chan struct{}
	buffers     sync.Pool
}

func newMemory(cfg Config) *memory {
	return &memory{maxBody: cfg.MaxBody, slots: make(chan struct{}, cfg.Concurrency), wide: make(chan struct{}, 1)}
}

// growBody makes room for more of a body. It waits while another wide one is held; the
// wait is part of the attempt and of its timeout.
func (m *memory) growBody(ctx context.Context, q *call, announced int64) error {
	room := 2 * int64(len(q.body))
	if err := m.holdWide(ctx, q, room); err != nil {
		return err
	}
	if q.wide {
		room = max(room, announced+512)
	}
	// One byte more than is allowed shows that more came.
	grown := make([]byte, len(q.body), min(room, m.maxBody+1))
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

// releaseWide lets the next wide body in.
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

func (m *memory) getBuffer() *[]byte {
	if b, ok := m.buffers.Get().(*[]byte); ok {
		return b
	}
	return new([]byte)
}

// putBuffer reuses a buffer, but for wide ones: they would stay in memory for the
// whole run.
func (m *memory) putBuffer(b *[]byte) {
	if cap(*b) <= wideBody {
		*b = (*b)[:0]
		m.buffers.Put(b)
	}
}
