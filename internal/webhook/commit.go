package webhook

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"placementsync/internal/stream"
)

// delivery is an event in the queue of the committer.
type delivery struct {
	event stream.Event
	mark  mark
	// stale means that the timestamp is too far from now. A stale delivery of an unknown event is
	// rejected.
	stale bool
	// window is the time within which the same topic and body mean the same event.
	window time.Duration
	result string       // if its group can be written
	done   chan outcome // receives one outcome
}

type outcome struct {
	result string
	err    error
}

// committer is the only writer of segments. Deliveries that arrive during a sync share the next
// sync, so that each delivery waits for at most two syncs.
type committer struct {
	cfg   Config
	queue chan *delivery
	// closed is closed when run ends. It unblocks the goroutines that wait for an outcome.
	closed chan struct{}

	lock   *flock.Flock
	recent eventMemory
	open   *openSegment
	group  []*delivery // deliveries that share a sync
	lines  []byte      // the new events of the group
	inbox  gauge
}

const (
	queueLength   = 1024
	maxGroupBytes = 4 << 20
	sealEvery     = 15 * time.Minute // so that the next night can remove the segment
	measureEvery  = 10 * time.Second // because nights of other processes empty the inbox
)

// openCommitter locks the inbox, seals the open segment of a killed process, and loads the
// marks of removed events and of events still in the inbox.
func openCommitter(cfg Config, window time.Duration, state *atomic.Pointer[InboxState]) (*committer, error) {
	if err := cfg.Disk.MakeFolder(cfg.Dir, privateDir); err != nil {
		return nil, fmt.Errorf("open the inbox: %w", err)
	}
	c := &committer{cfg: cfg, queue: make(chan *delivery, queueLength), closed: make(chan struct{}),
		lock:  flock.New(filepath.Join(cfg.Dir, "lock"), flock.SetPermissions(privateFile)),
		inbox: gauge{dir: cfg.Dir, owner: cfg.Owner, longestLine: cfg.MaxBody*4/3 + maxEnvelope, state: state}}
	ok, err := c.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("open the inbox: %w", err)
	}
	if !ok {
		return nil, fmt.Errorf("receive webhooks: another process receives into %s: stop it first", cfg.Dir)
	}
	err = sealAll(cfg.Disk, cfg.Dir)
	if err == nil {
		err = c.recent.restore(cfg.Dir, window)
	}
	if err == nil {
		err = c.inbox.measure()
	}
	if err != nil {
		return nil, errors.Join(err, c.lock.Unlock())
	}
	return c, nil
}

// run commits deliveries until ctx is done. Then it commits the queued deliveries and seals the
// segment.
func (c *committer) run(ctx context.Context) error {
	sealTicker, measureTicker := time.NewTicker(sealEvery), time.NewTicker(measureEvery)
	defer sealTicker.Stop()
	defer measureTicker.Stop()
	for {
		select {
		case d := <-c.queue:
			c.commitGroup(d)
		case <-sealTicker.C:
			c.sealOpen()
		case <-measureTicker.C:
			if err := c.inbox.measure(); err != nil {
				c.cfg.log.Warn("inbox not measured", "error", err)
			}
		case <-ctx.Done():
			for len(c.queue) > 0 {
				c.commitGroup(<-c.queue)
			}
			close(c.closed)
			c.sealOpen()
			return c.lock.Unlock()
		}
	}
}

func (c *committer) commitGroup(first *delivery) {
	c.group, c.lines = c.group[:0], c.lines[:0]
	c.addToGroup(first)
	for len(c.queue) > 0 && len(c.lines) < maxGroupBytes {
		c.addToGroup(<-c.queue)
	}
	if len(c.lines) > 0 {
		err := c.writeLines()
		for _, d := range c.group {
			if err == nil {
				d.done <- outcome{result: d.result}
				continue
			}
			if d.result == Stored {
				c.recent.removeEvent(d.mark)
			}
			d.done <- outcome{Unavailable, err}
		}
	}
	clear(c.group)
}

// addToGroup adds a delivery to the group, or sends its outcome immediately. Only a new event is
// written. Any other delivery nevertheless joins a group that is not empty, because the group may
// contain the first delivery of the same event.
func (c *committer) addToGroup(d *delivery) {
	d.result = c.recent.classify(d.mark, d.stale, d.window)
	switch {
	case d.result == Stored:
		lines, err := appendLine(c.lines, d.event)
		if err != nil {
			d.done <- outcome{Unavailable, err}
			return
		}
		if !c.inbox.hasRoom(int64(len(lines)), d.event.Received) {
			c.sealOpen() // so that the next night can remove the segment
			d.done <- outcome{result: Full}
			return
		}
		c.lines = lines
		c.recent.addEvent(d.mark, d.window)
	case len(c.group) == 0:
		d.done <- outcome{result: d.result}
		return
	}
	c.group = append(c.group, d)
}

// writeLines appends the lines to the segment and syncs the segment. After a failed write it seals
// the segment, because the segment may end in a torn line. A segment without acknowledged lines is
// removed instead. Otherwise a full disk would leave a segment for each group.
func (c *committer) writeLines() error {
	if c.open != nil && c.open.size >= c.cfg.SegmentBytes {
		c.sealOpen()
	}
	if c.open == nil {
		next, err := newSegment(c.cfg.Disk, c.cfg.Dir, c.cfg.now())
		if err != nil {
			return err
		}
		c.open = next
	}
	wasEmpty := c.open.size == 0
	c.open.size += int64(len(c.lines))
	c.inbox.grow(int64(len(c.lines)))
	if err := c.cfg.Disk.Append(c.open.file, c.lines); err != nil {
		if wasEmpty && c.open.discard() == nil {
			c.inbox.grow(-int64(len(c.lines)))
			c.open = nil
		}
		c.sealOpen()
		return fmt.Errorf("write to the inbox: %w", err)
	}
	return nil
}

// sealOpen seals the open segment, if any. If that fails, the segment keeps its name. Nights
// read it nevertheless, and the next openCommitter seals it.
func (c *committer) sealOpen() {
	if c.open == nil {
		return
	}
	if err := c.open.seal(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.cfg.log.Warn("segment not sealed", "segment", c.open.file.Name(), "error", err)
	}
	c.open = nil
}
