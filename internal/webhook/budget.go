package webhook

import (
	"container/list"
	"errors"
	"io"
	"sync"
	"time"
)

// errEvicted is the error of a body that was evicted before it was complete.
var errEvicted = errors.New("receive a webhook: too many deliveries at the same time")

// memoryBudget limits the memory of all pending deliveries. A request body reserves memory as its
// bytes arrive, regardless of its Content-Length. When the budget is used up, the incomplete
// body that started first is evicted. A real delivery arrives within milliseconds, so a
// stalled sender cannot block others.
type memoryBudget struct {
	mu         sync.Mutex
	free       int64
	incomplete list.List // of *bodyReader, in the order of their first bytes
}

// readDeadliner is implemented by *http.ResponseController.
type readDeadliner interface{ SetReadDeadline(time.Time) error }

// bodyReader reads a request body. The caller calls protect after the last Read, and release when the bytes
// are no longer needed.
type bodyReader struct {
	budget *memoryBudget
	from   io.Reader
	conn   readDeadliner

	reserved int64         // bytes
	element  *list.Element // nil before the first byte, and when complete or evicted
	evicted  bool
}

func (b *bodyReader) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if !b.reserve(int64(n)) {
		return 0, errEvicted
	}
	return n, err
}

// readContent continues with the content of a body that has arrived. An eviction then must not end reads from the
// connection, because the next delivery may use it already.
func (b *bodyReader) readContent(content io.Reader) {
	b.budget.mu.Lock()
	defer b.budget.mu.Unlock()
	b.from, b.conn = content, noConnection{}
}

type noConnection struct{}

func (noConnection) SetReadDeadline(time.Time) error { return nil }

// reserve returns false if the body is evicted.
func (b *bodyReader) reserve(n int64) bool {
	b.budget.mu.Lock()
	defer b.budget.mu.Unlock()
	if !b.evicted && b.element == nil && n > 0 {
		b.element = b.budget.incomplete.PushBack(b)
	}
	for !b.evicted && b.budget.free < n {
		b.budget.incomplete.Front().Value.(*bodyReader).evict()
	}
	if b.evicted {
		return false
	}
	b.budget.free -= n
	b.reserved += n
	return true
}

// evict also ends a pending Read. The process frees the memory shortly afterwards.
func (b *bodyReader) evict() {
	b.budget.incomplete.Remove(b.element)
	b.budget.free += b.reserved
	b.reserved, b.element, b.evicted = 0, nil, true
	_ = b.conn.SetReadDeadline(time.Unix(0, 0)) // if that fails, the next Read returns errEvicted
}

// protect keeps a complete body from eviction until release. It returns false if the body was already
// evicted.
func (b *bodyReader) protect() bool {
	b.budget.mu.Lock()
	defer b.budget.mu.Unlock()
	b.unlist()
	return !b.evicted
}

func (b *bodyReader) release() {
	b.budget.mu.Lock()
	defer b.budget.mu.Unlock()
	b.unlist()
	b.budget.free += b.reserved
	b.reserved = 0
}

func (b *bodyReader) unlist() {
	if b.element != nil {
		b.budget.incomplete.Remove(b.element)
		b.element = nil
	}
}
