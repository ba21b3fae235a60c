package webhook

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"placementsync/internal/stream"
)

// delivery is an event on its way to the disk.
type delivery struct {
	event stream.Event
	// stale deliveries are refused, unless their event is known already.
	stale bool
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
	recent *recentSet
	open   *segment
	batch  []*delivery
	lines  []byte
}

// The bounds of one sync.
const (
	queued     = 1024
	batchCount = 512
	batchBytes = 4 << 20
)

// openCommitter locks the inbox, seals what a killed process left, and reads the ids
// of the events in it.
func openCommitter(cfg Config, now func() time.Time) (*committer, error) {
	if err := os.MkdirAll(cfg.Dir, privateDir); err != nil {
		return nil, fmt.Errorf("open the inbox: %w", err)
	}
	c := &committer{cfg: cfg, now: now, queue: make(chan *delivery, queued), closed: make(chan struct{}),
		lock: flock.New(filepath.Join(cfg.Dir, "lock"), flock.SetPermissions(privateFile)), recent: newRecent()}
	ok, err := c.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("open the inbox: %w", err)
	}
	if !ok {
		return nil, &BusyError{cfg.Dir}
	}
	err = sealAll(cfg.Disk, cfg.Dir)
	if err == nil {
		for e, readErr := range Read(cfg.Dir) {
			if err = readErr; err != nil {
				break
			}
			c.recent.add(e.ID)
		}
	}
	if err != nil {
		return nil, errors.Join(err, c.lock.Unlock())
	}
	return c, nil
}

// run commits until ctx ends, then what is queued, and closes the segment.
func (c *committer) run(ctx context.Context) error {
	age := time.NewTicker(c.cfg.SegmentAge)
	defer age.Stop()
	for {
		select {
		case d := <-c.queue:
			c.commitBatch(d)
		case <-age.C:
			c.sealOpen()
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
			switch {
			case err != nil:
				d.done <- answer{Unavailable, err}
			case c.recent.has(d.event.ID): // the second of two with the same id
				d.done <- answer{result: Replayed}
			default:
				c.recent.add(d.event.ID)
				d.done <- answer{result: Stored}
			}
		}
	}
	clear(c.batch)
}

// addToBatch adds a delivery to the batch, or answers it at once. An event that is
// known is not written again. An event that is in the batch already is answered
// after the first one.
func (c *committer) addToBatch(d *delivery) {
	if c.recent.has(d.event.ID) {
		d.done <- answer{result: Replayed}
		return
	}
	if d.stale {
		d.done <- answer{result: Stale}
		return
	}
	if !slices.ContainsFunc(c.batch, func(other *delivery) bool { return other.event.ID == d.event.ID }) {
		lines, err := appendLine(c.lines, d.event)
		if err != nil {
			d.done <- answer{Unavailable, err}
			return
		}
		c.lines = lines
	}
	c.batch = append(c.batch, d)
}

// writeLines writes the lines to the segment and syncs them. After a failed write the
// segment is sealed: it may end in a torn line, and nothing may follow that.
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
	c.open.size += int64(len(c.lines))
	if err := c.cfg.Disk.Append(c.open.file, c.lines); err != nil {
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
