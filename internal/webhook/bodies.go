package webhook

import (
	"container/list"
	"errors"
	"io"
	"sync"
)

// errNoRoom is the error of a body whose room was given to others before it was whole.
var errNoRoom = errors.New("receive a webhook: too many deliveries at once")

// memoryBudget bounds the memory of all deliveries that are not answered yet. A body
// takes memory as it arrives, not as its length was announced. When none is left,
// the body that has been arriving for the longest time is evicted: a delivery
// arrives within milliseconds, so a sender that stalls cannot block others.
type memoryBudget struct {
	mu   sync.Mutex
	free int64
	// arriving holds the *body that are not whole yet, the oldest first.
	arriving list.List
}

// body is the body of a delivery, counted while it is read. markWhole ends the
// reading, release gives the memory back.
type body struct {
	budget *memoryBudget
	from   io.Reader
	// endRead ends a Read that waits. It is called at most once, and never after
	// markWhole or release.
	endRead func()

	held    int64
	place   *list.Element // nil before the first byte, and when whole or evicted
	evicted bool
}

// Read implements io.Reader. The error of an evicted body is errNoRoom.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if !b.reserve(int64(n)) {
		return 0, errNoRoom
	}
	return n, err
}

// reserve takes memory for n more bytes. It returns false when the body is evicted.
func (b *body) reserve(n int64) bool {
	b.budget.mu.Lock()
	defer b.budget.mu.Unlock()
	if !b.evicted && b.place == nil && n > 0 {
		b.place = b.budget.arriving.PushBack(b)
	}
	for !b.evicted && b.budget.free < n {
		b.budget.arriving.Front().Value.(*body).evict()
	}
	if b.evicted {
		return false
	}
	b.budget.free -= n
	b.held += n
	return true
}

// evict takes the memory of a body that is not whole. It is free a moment later,
// when endRead has ended the Read.
func (b *body) evict() {
	b.budget.arriving.Remove(b.place)
	b.budget.free += b.held
	b.held, b.place, b.evicted = 0, nil, true
	b.endRead()
}

// markWhole keeps the memory of a body until release. It returns false when the body
// was evicted before.
func (b *body) markWhole() bool {
	b.budget.mu.Lock()
	defer b.budget.mu.Unlock()
	b.removeFromArriving()
	return !b.evicted
}

func (b *body) release() {
	b.budget.mu.Lock()
	defer b.budget.mu.Unlock()
	b.removeFromArriving()
	b.budget.free += b.held
	b.held = 0
}

func (b *body) removeFromArriving() {
	if b.place != nil {
		b.budget.arriving.Remove(b.place)
		b.place = nil
	}
}
