package webhook

import (
	"container/list"
	"errors"
	"io"
	"sync"
)

// errCrowded says that a body had to make room for others before it was whole.
var errCrowded = errors.New("receive a webhook: too many deliveries at once")

// bodies bounds the memory of all deliveries that are not answered yet. A body
// takes room as it arrives, not as it was announced. Where none is left, the one
// that has been arriving for longest gives up its own: a delivery arrives within
// milliseconds, so whoever does not get on makes way, and keeps nobody out.
type bodies struct {
	mu   sync.Mutex
	free int64
	// arriving holds the *body that are not whole yet, the oldest first.
	arriving list.List
}

func newBodies(room int64) *bodies { return &bodies{free: room} }

// body is one that arrives, read through its Read. Whole and leave end that.
type body struct {
	all  *bodies
	from io.Reader
	// cut ends a Read that waits. It is called at most once, and never after
	// whole or leave.
	cut func()

	held  int64
	place *list.Element // nil: nothing has come yet, it is whole, or had to go
	gone  bool          // it had to make room
}

func (b *bodies) enter(from io.Reader, cut func()) *body {
	return &body{all: b, from: from, cut: cut}
}

// Read implements io.Reader. The error of a body that had to make room is
// errCrowded.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if !b.take(int64(n)) {
		return 0, errCrowded
	}
	return n, err
}

// take makes room for n bytes more; false: there is none.
func (b *body) take(n int64) bool {
	b.all.mu.Lock()
	defer b.all.mu.Unlock()
	if !b.gone && b.place == nil && n > 0 {
		b.place = b.all.arriving.PushBack(b)
	}
	for !b.gone && b.all.free < n {
		b.all.arriving.Front().Value.(*body).dislodge()
	}
	if b.gone {
		return false
	}
	b.all.free -= n
	b.held += n
	return true
}

// dislodge takes the room of a body that is not whole. Its memory is free a
// moment later, when its Read has been ended.
func (b *body) dislodge() {
	b.all.arriving.Remove(b.place)
	b.all.free += b.held
	b.held, b.place, b.gone = 0, nil, true
	b.cut()
}

// whole keeps the room of a body until it leaves, whoever wants it; false: it is
// too late for that.
func (b *body) whole() bool {
	b.all.mu.Lock()
	defer b.all.mu.Unlock()
	b.unlist()
	return !b.gone
}

// leave gives the room back.
func (b *body) leave() {
	b.all.mu.Lock()
	defer b.all.mu.Unlock()
	b.unlist()
	b.all.free += b.held
	b.held = 0
}

func (b *body) unlist() {
	if b.place != nil {
		b.all.arriving.Remove(b.place)
		b.place = nil
	}
}
