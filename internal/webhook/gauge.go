package webhook

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// InboxState describes how full the inbox is.
type InboxState struct {
	// Bytes is the size of all segments. Limit is the largest allowed size. 0 means no limit.
	Bytes, Limit int64
	// FullSince is the time when the inbox became full. It is zero while there is room.
	FullSince time.Time
}

// maxEnvelope is an upper limit for the bytes of a line without its body.
const maxEnvelope = 16 << 10

// gauge contains the size of the inbox, which nights of this and of other processes empty.
type gauge struct {
	dir   string
	owner Owner
	// longestLine is the size of the longest line that the receiver can write, in bytes.
	longestLine int64
	current     InboxState
	state       *atomic.Pointer[InboxState] // a copy of current for other goroutines
}

// measure reads the sizes from the disk. It clears FullSince only if there is room for the longest
// possible line. Otherwise FullSince would be cleared for a short delivery, and set again by the
// next long delivery.
func (g *gauge) measure() error {
	bytes, err := sumSegments(g.dir, func(_ string, size int64) int64 { return size })
	if err != nil {
		return err
	}
	g.current.Bytes, g.current.Limit = bytes, g.owner.InboxLimit(bytes)
	if g.current.Limit <= 0 || bytes+g.longestLine <= g.current.Limit {
		g.current.FullSince = time.Time{}
	}
	g.storeState()
	return nil
}

// hasRoom reports whether the inbox has room for n more bytes. It measures a full inbox,
// because a night may have emptied it.
func (g *gauge) hasRoom(n int64, now time.Time) bool {
	fits := func() bool { return g.current.Limit <= 0 || g.current.Bytes+n <= g.current.Limit }
	if fits() || g.measure() == nil && fits() {
		return true
	}
	if g.current.FullSince.IsZero() {
		g.current.FullSince = now
		g.storeState()
	}
	return false
}

// grow adds n bytes to the size. The committer calls it before a write, because a failed write may
// have written a part of the bytes.
func (g *gauge) grow(n int64) {
	g.current.Bytes += n
	g.storeState()
}

func (g *gauge) storeState() {
	state := g.current
	g.state.Store(&state)
}

func sumSegments(dir string, bytesOf func(name string, size int64) int64) (int64, error) {
	names, err := listSegments(dir)
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed by a night, or renamed by sealing
		case err != nil:
			return 0, fmt.Errorf("measure the inbox: %w", err)
		default:
			sum += bytesOf(name, info.Size())
		}
	}
	return sum, nil
}
