package webhook

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"placementsync/internal/stream"
)

// delivery is an event on its way to the disk.
type delivery struct {
	event stream.Event
	mark  mark
	// stale deliveries are refused, unless their event is known already.
	stale bool
	// window is how long a topic and a body stand for one event.
	window time.Duration
	// verdict is the result of a delivery in a batch that the disk takes.
	verdict string
	// done receives the answer, once.
	done chan answer
}

// answer is the result of a delivery.
type answer struct {
	result string
	err    error
}

// BusyError says that another process receives into this inbox.
type BusyError struct{ Dir string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("receive webhooks: another process receives into %s: stop it first", e.Dir)
}

// committer is the one owner of the journal and of the ids in it. Deliveries that
// arrive while the disk is busy share the next sync, so that each waits for at most
// two syncs, whatever the rate.
type committer struct {
	cfg   Config
	now   func() time.Time
	queue chan *delivery
	// closed is closed at the end, for those who wait for an answer.
	closed chan struct{}

	lock   *flock.Flock
	memory memory
	open   *segment
	batch  []*delivery
	lines  []byte
	inbox  gauge
}

const (
	// The bounds of one sync.
	queued     = 1024
	batchCount = 512
	batchBytes = 4 << 20
	// measureEvery is how often the inbox is measured: nights of any process empty it.
	measureEvery = 10 * time.Second
)

// openCommitter locks the inbox, seals what a killed process left, and remembers the
// events of the window: those in the inbox, and those that nights have taken from it.
func openCommitter(cfg Config, window time.Duration, now func() time.Time, state *atomic.Pointer[InboxState]) (*committer, error) {
	if err := os.MkdirAll(cfg.Dir, privateDir); err != nil {
		return nil, fmt.Errorf("open the inbox: %w", err)
	}
	c := &committer{cfg: cfg, now: now, queue: make(chan *delivery, queued), closed: make(chan struct{}),
		lock:  flock.New(filepath.Join(cfg.Dir, "lock"), flock.SetPermissions(privateFile)),
		inbox: gauge{dir: cfg.Dir, limit: cfg.MaxInbox, longest: cfg.MaxBody*4/3 + longestEnvelope, state: state}}
	ok, err := c.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("open the inbox: %w", err)
	}
	if !ok {
		return nil, &BusyError{cfg.Dir}
	}
	err = sealAll(cfg.Disk, cfg.Dir)
	if err == nil {
		err = c.memory.restore(cfg.Dir, window)
	}
	if err == nil {
		err = c.inbox.measure()
	}
	if err != nil {
		return nil, errors.Join(err, c.lock.Unlock())
	}
	return c, nil
}

// run commits until ctx ends, then what is queued, and closes the segment.
func (c *committer) run(ctx context.Context) error {
	age, look := time.NewTicker(c.cfg.SegmentAge), time.NewTicker(measureEvery)
	defer age.Stop()
	defer look.Stop()
	for {
		select {
		case d := <-c.queue:
			c.commitBatch(d)
		case <-age.C:
			c.sealOpen()
		case <-look.C:
			if err := c.inbox.measure(); err != nil {
				c.cfg.log.Warn("inbox not measured", "error", err)
			}
		case <-ctx.Done():
			for len(c.queue) > 0 {
				c.commitBatch(<-c.queue)
			}
			close(c.closed)
			c.sealOpen()
			return c.lock.Unlock()
		}
	}
}

// commitBatch writes a delivery and all that wait behind it with one sync.
func (c *committer) commitBatch(d *delivery) {
	c.batch, c.lines = c.batch[:0], c.lines[:0]
	if cap(c.lines) > batchBytes {
		c.lines = nil // do not hold the memory of one large batch forever
	}
	c.addToBatch(d)
	for len(c.queue) > 0 && len(c.batch) < batchCount && len(c.lines) < batchBytes {
		c.addToBatch(<-c.queue)
	}
	if len(c.lines) > 0 {
		err := c.writeLines()
		for _, d := range c.batch {
			if err == nil {
				d.done <- answer{result: d.verdict}
				continue
			}
			if d.verdict == Stored {
				c.memory.removeEvent(d.mark)
			}
			d.done <- answer{Unavailable, err}
		}
	}
	clear(c.batch)
}

// addToBatch adds a delivery to the batch, or answers it at once. An event that is
// known is not written again; what it repeats may be in the batch, so it is answered
// after that.
func (c *committer) addToBatch(d *delivery) {
	d.verdict = c.memory.judge(d.mark, d.stale, d.window)
	switch {
	case d.verdict == Stored:
		lines, err := appendLine(c.lines, d.event)
		if err != nil {
			d.done <- answer{Unavailable, err}
			return
		}
		if !c.inbox.hasRoom(int64(len(lines)), d.event.Received) {
			c.sealOpen() // so that the next night can remove it
			d.done <- answer{result: Full}
			return
		}
		c.lines = lines
		c.memory.addEvent(d.mark, d.window)
	case len(c.batch) == 0:
		d.done <- answer{result: d.verdict}
		return
	}
	c.batch = append(c.batch, d)
}

// writeLines writes the lines to the segment and syncs them. After a failed write the
// segment is sealed: it may end in a torn line, and nothing may follow that. One without
// an acknowledged line is removed: a full disk would leave one for each batch.
func (c *committer) writeLines() error {
	now := c.now()
	if c.open != nil && c.open.size >= c.cfg.SegmentBytes {
		c.sealOpen()
	}
	if c.open == nil {
		next, err := newSegment(c.cfg.Disk, c.cfg.Dir, now)
		if err != nil {
			return err
		}
		c.open = next
	}
	empty := c.open.size == 0
	c.open.size += int64(len(c.lines))
	c.inbox.grow(int64(len(c.lines)))
	if err := c.cfg.Disk.Append(c.open.file, c.lines); err != nil {
		if empty && c.open.discard() == nil {
			c.inbox.grow(-int64(len(c.lines)))
			c.open = nil
		}
		c.sealOpen()
		return fmt.Errorf("write to the inbox: %w", err)
	}
	return nil
}

// sealOpen seals the segment that is written to, if there is one. When that fails the
// segment keeps its name: it is read all the same, and sealed when the inbox is
// opened again.
func (c *committer) sealOpen() {
	if c.open == nil {
		return
	}
	if err := c.open.seal(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.cfg.log.Warn("segment not sealed", "segment", c.open.file.Name(), "error", err)
	}
	c.open = nil
}
