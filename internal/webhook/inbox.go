package webhook

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"placementsync/internal/checksum"
	"placementsync/internal/stream"
)

// InboxState describes how full the inbox is.
type InboxState struct {
	// Bytes is the size of the events. Limit is the largest allowed size. 0 means no limit.
	Bytes, Limit int64
	Events       int
	// FullSince is the time when the inbox became full. It is zero while there is room.
	FullSince time.Time
}

const (
	// turnTimeout limits how long a delivery waits for the deliveries before it.
	turnTimeout = 5 * time.Second
	// measureEvery limits how often a delivery measures a full inbox, which nights of other processes empty.
	measureEvery = 10 * time.Second
	// maxEnvelope is an upper limit for the bytes of an event without its body.
	maxEnvelope = 16 << 10
)

// inbox is the only writer of a folder of events.
type inbox struct {
	cfg Config
	// turn contains a value while an event is written. Unlike a mutex, it allows waiting for a limited time.
	turn chan struct{}
	lock *flock.Flock // nil if the inbox is not open
	seen seenEvents

	mu         sync.Mutex // guards the following fields
	state      InboxState
	measuredAt time.Time
}

func (i *inbox) open() error {
	i.turn <- struct{}{}
	defer func() { <-i.turn }()
	if err := i.cfg.Disk.MakeFolder(i.cfg.Dir, privateDir); err != nil {
		return fmt.Errorf("open the inbox: %w", err)
	}
	lock := flock.New(filepath.Join(i.cfg.Dir, "lock"), flock.SetPermissions(privateFile))
	ok, err := lock.TryLock()
	if err != nil {
		return fmt.Errorf("open the inbox: %w", err)
	}
	if !ok {
		return fmt.Errorf("receive webhooks: another process receives into %s: stop it first", i.cfg.Dir)
	}
	if err := i.load(); err != nil {
		return errors.Join(err, lock.Unlock())
	}
	i.lock = lock
	return nil
}

func (i *inbox) load() error {
	if err := upgrade(i.cfg.Disk, i.cfg.Dir); err != nil {
		return err
	}
	for e, err := range Read(i.cfg.Dir) {
		if err != nil {
			return err
		}
		i.seen.add(newMark(e))
	}
	_, err := i.measure(i.cfg.now())
	return err
}

func (i *inbox) close() error {
	i.turn <- struct{}{}
	defer func() { <-i.turn }()
	lock := i.lock
	i.lock = nil
	return lock.Unlock()
}

// add returns when the event is on disk, or when it is rejected. isStale means that the timestamp is too
// far from now. Within the window, the same topic and body mean the same event.
func (i *inbox) add(ctx context.Context, e stream.Event, isStale bool, window time.Duration) outcome {
	select {
	case i.turn <- struct{}{}:
		defer func() { <-i.turn }()
	case <-ctx.Done():
		return notStored("the sender disconnected before the event was stored")
	case <-time.After(turnTimeout):
		return notStored(fmt.Sprintf("the disk did not store earlier events within %s", turnTimeout))
	}
	if i.lock == nil {
		return notStored("the receiver is not running")
	}
	event := newMark(e)
	if result := i.seen.classify(event, isStale, window); result != Stored {
		return outcome{result: result}
	}
	line, err := checksum.SealLine(e)
	if err != nil {
		return outcome{Unavailable, fmt.Errorf("write event %q: %w", e.ID, err)}
	}
	line = append(line, '\n')
	if !i.reserve(int64(len(line)), e.Received) {
		return outcome{result: Full}
	}
	if err := i.write(fileName(e), line); err != nil {
		return outcome{Unavailable, fmt.Errorf("write to the inbox: %w", err)}
	}
	i.seen.add(event)
	return outcome{result: Stored}
}

func notStored(reason string) outcome {
	return outcome{Unavailable, errors.New("receive a webhook: " + reason)}
}

// write makes the event visible to nights only when it is complete and synced. After an error the event may be
// stored nevertheless. The service then sends it again, and the night recognizes its id.
func (i *inbox) write(name string, line []byte) error {
	f, err := os.OpenFile(filepath.Join(i.cfg.Dir, ".arriving"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, privateFile)
	if err != nil {
		return err
	}
	err = i.cfg.Disk.Append(f, line)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return i.cfg.Disk.Rename(f.Name(), filepath.Join(i.cfg.Dir, name)) // also syncs the folder
}

// reserve counts an event of n bytes before it is written. It returns false if the inbox is full.
func (i *inbox) reserve(n int64, now time.Time) bool {
	i.mu.Lock()
	isMeasured := now.Sub(i.measuredAt).Abs() < measureEvery
	hasRoom := i.hasRoom(n)
	i.mu.Unlock()
	if !hasRoom && !isMeasured {
		if _, err := i.measure(now); err != nil {
			i.cfg.log.Warn("inbox not measured", "error", err)
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.hasRoom(n) {
		i.state.Bytes += n
		i.state.Events++
		return true
	}
	if i.state.FullSince.IsZero() {
		i.state.FullSince = now
	}
	return false
}

func (i *inbox) hasRoom(n int64) bool {
	return i.state.Events < i.cfg.MaxEvents && (i.state.Limit <= 0 || i.state.Bytes+n <= i.state.Limit)
}

// measure reads the sizes from the disk. It clears FullSince only if there is room for the longest
// possible event. Otherwise FullSince would be cleared for a short delivery, and set again by the
// next long delivery.
func (i *inbox) measure(now time.Time) (InboxState, error) {
	entries, err := os.ReadDir(i.cfg.Dir)
	if err != nil {
		return InboxState{}, fmt.Errorf("measure the inbox: %w", err)
	}
	var bytes int64
	events := 0
	for _, entry := range entries {
		if !isEventFile(entry.Name()) {
			continue
		}
		info, err := entry.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed by a night
		case err != nil:
			return InboxState{}, fmt.Errorf("measure the inbox: %w", err)
		default:
			bytes += info.Size()
			events++
		}
	}
	limit := i.cfg.Owner.InboxLimit(bytes)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.measuredAt = now
	i.state.Bytes, i.state.Events, i.state.Limit = bytes, events, limit
	if i.hasRoom(i.cfg.MaxBody*4/3 + maxEnvelope) {
		i.state.FullSince = time.Time{}
	}
	return i.state, nil
}

const (
	// maxSeen limits the number of remembered events. They need about 20 MB. A repetition of a forgotten event
	// is stored again, and the night recognizes it if its id is the same.
	maxSeen = 1 << 16
	// minWindow is the minimum of the window, in which a repeated topic and body mean the same
	// event, regardless of the id. Real events differ, because their bodies contain times.
	// If two events had the same body nevertheless, only the first would be stored, and the next
	// night would still read the changed record.
	minWindow = time.Hour
	// maxTopics is the number of topics under which one body is stored within the window.
	// Comments have three topics.
	maxTopics = 8
)

func windowOf(maxAge time.Duration) time.Duration { return max(minWindow, 2*maxAge) }

type digest [sha256.Size]byte

// mark identifies an event.
type mark struct {
	id, topic, body digest
	at              time.Time
}

func newMark(e stream.Event) mark {
	return mark{sha256.Sum256([]byte(e.ID)), sha256.Sum256([]byte(e.Topic)), sha256.Sum256(e.Body), e.Received}
}

// seenEvents contains the ids, topics and bodies of the events in the inbox and of recent events. The signature
// covers only the body, so an attacker can repeat a captured delivery with any id, topic and timestamp.
type seenEvents struct {
	ids    map[digest]bool
	bodies map[digest][]mark
}

// classify returns Replayed, Stale, Repeated or Relabeled, or Stored for a new event. A known
// id is Replayed even if the delivery is stale, because the service can retry late.
func (s *seenEvents) classify(event mark, isStale bool, window time.Duration) string {
	sameBody := s.recent(event, window)
	isRepeated := slices.ContainsFunc(sameBody, func(m mark) bool { return m.topic == event.topic })
	switch {
	case s.ids[event.id]:
		return Replayed
	case isStale:
		return Stale
	case isRepeated:
		return Repeated
	case len(sameBody) >= maxTopics:
		return Relabeled
	}
	return Stored
}

// recent returns the events with the same body. The window extends in both directions, because the clock can be
// set back.
func (s *seenEvents) recent(event mark, window time.Duration) (marks []mark) {
	for _, m := range s.bodies[event.body] {
		if event.at.Sub(m.at).Abs() < window {
			marks = append(marks, m)
		}
	}
	return marks
}

func (s *seenEvents) add(event mark) {
	if s.ids == nil || len(s.ids) >= maxSeen {
		s.ids, s.bodies = map[digest]bool{}, map[digest][]mark{}
	}
	s.ids[event.id] = true
	s.bodies[event.body] = append(s.bodies[event.body], event)
}
