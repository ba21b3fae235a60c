package webhook

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"placementsync/internal/stream"
)

// delivery is an event on its way to the disk.
type delivery struct {
	event stream.Event
	// stale deliveries are refused, unless their event is known already.
	stale bool
	// done takes what became of it, once.
	done chan answer
}

// answer is what became of a delivery.
type answer struct {
	result string
	err    error
}

// BusyError says that another process receives into this inbox.
type BusyError struct{ Dir string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("receive webhooks: another process receives into %s: end it first", e.Dir)
}

// committer is the one owner of the journal and of the ids that it knows.
// Deliveries that come while the disk is busy share the next sync: at any rate
// of deliveries a sync is waited for twice at most.
type committer struct {
	cfg   Config
	now   func() time.Time
	queue chan *delivery
	// closed ends whoever waits for an answer.
	closed chan struct{}

	lock   *flock.Flock
	recent *recent
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

// openCommitter takes the inbox, closes what a killed process left, and learns
// the ids of what waits there.
func openCommitter(cfg Config, now func() time.Time) (*committer, error) {
	if err := os.MkdirAll(cfg.Dir, privateDir); err != nil {
		return nil, fmt.Errorf("open the inbox: %w", err)
	}
	c := &committer{cfg: cfg, now: now, queue: make(chan *delivery, queued), closed: make(chan struct{}),
		lock: flock.New(filepath.Join(cfg.Dir, "lock"), flock.SetPermissions(privateFile)), recent: newRecent(recentIDs)}
	ok, err := c.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("open the inbox: %w", err)
	}
	if !ok {
		return nil, &BusyError{cfg.Dir}
	}
	if err := c.learn(); err != nil {
		return nil, errors.Join(err, c.lock.Unlock())
	}
	return c, nil
}

func (c *committer) learn() error {
	if err := sealAll(c.cfg.Disk, c.cfg.Dir); err != nil {
		return err
	}
	for e, err := range Read(c.cfg.Dir) {
		if err != nil {
			return err
		}
		c.recent.add(e.ID)
	}
	return nil
}

// run commits until ctx ends, then what is queued, and closes the segment.
func (c *committer) run(ctx context.Context) error {
	age := time.NewTicker(c.cfg.SegmentAge)
	defer age.Stop()
	for {
		select {
		case d := <-c.queue:
			c.commit(d)
		case <-age.C:
			c.rotate(c.open != nil)
		case <-ctx.Done():
			for len(c.queue) > 0 {
				c.commit(<-c.queue)
			}
			close(c.closed)
			c.rotate(c.open != nil)
			return c.lock.Unlock()
		}
	}
}

// commit writes a delivery and all that wait behind it with one sync.
func (c *committer) commit(first *delivery) {
	c.gather(first)
	if len(c.lines) > 0 {
		err := c.write()
		for _, d := range c.batch {
			c.settle(d, err)
		}
	}
	clear(c.batch)
}

// gather answers what needs no writing and collects the rest.
func (c *committer) gather(d *delivery) {
	c.batch, c.lines = c.batch[:0], c.lines[:0]
	if cap(c.lines) > batchBytes {
		c.lines = nil // one large batch must not be remembered for good
	}
	for {
		c.take(d)
		if len(c.batch) >= batchCount || len(c.lines) >= batchBytes {
			return
		}
		select {
		case d = <-c.queue:
		default:
			return
		}
	}
}

// take adds a delivery to the batch. Known events are not written again, and
// known is also what stands before it in the batch: that one is answered first.
func (c *committer) take(d *delivery) {
	if c.recent.has(d.event.ID) {
		d.done <- answer{result: Replayed}
		return
	}
	if d.stale {
		d.done <- answer{result: Stale}
		return
	}
	for _, other := range c.batch {
		if other.event.ID == d.event.ID {
			c.batch = append(c.batch, d)
			return
		}
	}
	lines, err := appendLine(c.lines, d.event)
	if err != nil {
		d.done <- answer{Unavailable, err}
		return
	}
	c.lines = lines
	c.batch = append(c.batch, d)
}

// settle answers a delivery of the batch that was written, or was not. The
// second of two with one id finds it known.
func (c *committer) settle(d *delivery, err error) {
	switch {
	case err != nil:
		d.done <- answer{Unavailable, err}
	case c.recent.has(d.event.ID):
		d.done <- answer{result: Replayed}
	default:
		c.recent.add(d.event.ID)
		d.done <- answer{result: Stored}
	}
}

// write puts the lines on the disk. A segment that failed is given up: what the
// disk has of its end is unknown, and nothing may stand behind a torn line.
func (c *committer) write() error {
	now := c.now()
	if c.open != nil && c.open.size >= c.cfg.SegmentBytes {
		c.rotate(true)
	}
	if c.open == nil {
		next, err := newSegment(c.cfg.Disk, c.cfg.Dir, now)
		if err != nil {
			return err
		}
		c.open = next
	}
	if err := c.open.append(c.lines); err != nil {
		c.rotate(true)
		return err
	}
	return nil
}

// rotate closes the segment. Should its new name fail, it is read under the old
// one, and gets it when the inbox is opened again.
func (c *committer) rotate(do bool) {
	if !do {
		return
	}
	if err := c.open.seal(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.cfg.log.Warn("segment not sealed", "segment", c.open.file.Name(), "error", err)
	}
	c.open = nil
}
