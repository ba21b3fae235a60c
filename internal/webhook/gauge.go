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

// InboxState is how full the inbox is.
type InboxState struct {
	// Bytes are those of all segments, Limit how many there may be; 0: any number.
	Bytes, Limit int64
	// FullSince is when the first delivery was refused for want of room; zero: there is
	// room.
	FullSince time.Time
}

// longestEnvelope is more than what a line has besides its body, in bytes.
const longestEnvelope = 16 << 10

// measureShare is the part of the time that may go into measuring an inbox that is full.
const measureShare = 100

// gauge knows how full the inbox is. The committer writes to it, nights of any process
// empty it.
type gauge struct {
	dir   string
	limit func(bytes int64) int64
	// longest is the longest line that can come, in bytes.
	longest int64
	// state is what others see.
	state *atomic.Pointer[InboxState]

	now InboxState
	// again is when the inbox may be measured before a refusal.
	again time.Time
}

// measure looks at the disk. The inbox is full until it has room for the longest line,
// so that a series of deliveries of all lengths does not end the state again and again.
func (g *gauge) measure() error {
	began := time.Now()
	bytes, err := sumSegments(g.dir, func(_ string, size int64) int64 { return size })
	g.again = time.Now().Add(measureShare * time.Since(began))
	if err != nil {
		return err
	}
	g.now.Bytes, g.now.Limit = bytes, g.limit(bytes)
	if g.now.Limit <= 0 || bytes+g.longest <= g.now.Limit {
		g.now.FullSince = time.Time{}
	}
	g.publish()
	return nil
}

// hasRoom reports whether the inbox may have n bytes more.
func (g *gauge) hasRoom(n int64, at time.Time) bool {
	fits := func() bool { return g.now.Limit <= 0 || g.now.Bytes+n <= g.now.Limit }
	if fits() || !time.Now().Before(g.again) && g.measure() == nil && fits() {
		return true
	}
	if g.now.FullSince.IsZero() {
		g.now.FullSince = at
		g.publish()
	}
	return false
}

// grow counts what was written, also what a failed write may have left.
func (g *gauge) grow(n int64) {
	g.now.Bytes += n
	g.publish()
}

func (g *gauge) publish() {
	state := g.now
	g.state.Store(&state)
}

// sumSegments adds up what counts of each segment.
func sumSegments(dir string, count func(name string, size int64) int64) (int64, error) {
	names, err := listSegments(dir)
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist): // a night has removed or sealed it
		case err != nil:
			return 0, fmt.Errorf("measure the inbox: %w", err)
		default:
			sum += count(name, info.Size())
		}
	}
	return sum, nil
}
