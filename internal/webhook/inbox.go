package webhook

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"placementsync/internal/checksum"
	"placementsync/internal/durable"
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

// add returns when the event is on disk, or when it is rejected.
func (i *inbox) add(ctx context.Context, e stream.Event, maxAge time.Duration) outcome {
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
	result := i.seen.classify(event, maxAge)
	// A stale delivery of a known event is accepted, because the service can retry late.
	if result != Replayed && !isFresh(e, maxAge) {
		result = Stale
	}
	if result != Stored {
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
	size, events := int64(0), 0
	for _, entry := range entries {
		if !isEventFile(entry.Name()) {
			continue
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // a night has removed it
		}
		if err != nil {
			return InboxState{}, fmt.Errorf("measure the inbox: %w", err)
		}
		size += info.Size()
		events++
	}
	limit := i.cfg.Owner.InboxLimit(size)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.measuredAt = now
	i.state.Bytes, i.state.Events, i.state.Limit = size, events, limit
	if i.hasRoom(i.cfg.MaxBody*4/3 + maxEnvelope) {
		i.state.FullSince = time.Time{}
	}
	return i.state, nil
}

const (
	// maxSeen limits the number of remembered events. They need about 20 MB. A repetition of a forgotten event
	// is stored again, and the night recognizes it if its id is the same.
	maxSeen = 1 << 16
	// minWindow is the minimum of the window. Within the window, a repeated topic and body mean the same
	// event, regardless of the id. Real events differ, because their bodies contain times.
	// If two events had the same body nevertheless, only the first would be stored, and the next
	// night would still read the changed record.
	minWindow = time.Hour
	// maxTopics is the number of topics under which one body is stored within the window.
	// Comments have three topics.
	maxTopics = 8
)

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

// classify returns Replayed, Repeated or Relabeled, or Stored for a new event. While the timestamp of a delivery
// is accepted, a repetition of it is in the window. The window extends in both directions, because the clock can
// be set back.
func (s *seenEvents) classify(event mark, maxAge time.Duration) string {
	window := max(minWindow, 2*maxAge)
	if s.ids[event.id] {
		return Replayed
	}
	topics := 0
	for _, m := range s.bodies[event.body] {
		if event.at.Sub(m.at).Abs() >= window {
			continue
		}
		if m.topic == event.topic {
			return Repeated
		}
		topics++
	}
	if topics >= maxTopics {
		return Relabeled
	}
	return Stored
}

func (s *seenEvents) add(event mark) {
	if s.ids == nil || len(s.ids) >= maxSeen {
		s.ids, s.bodies = map[digest]bool{}, map[digest][]mark{}
	}
	s.ids[event.id] = true
	s.bodies[event.body] = append(s.bodies[event.body], event)
}

// A folder of events has one file for each event: a line of JSON with a checksum. The files of releases up to
// 1.0.1 contain several lines, and have other names. The next night removes them from the inbox, but they
// remain in the stored responses of earlier runs.
const (
	eventSuffix = ".log"  // as in earlier releases, so that they can read the files of this release
	openSuffix  = ".open" // of a file to which the receiver of an earlier release appends or appended
	timeFormat  = "20060102T150405.000000000Z"
	privateFile = 0o600
	privateDir  = 0o700
)

// fileName begins with the time, so that the names are in the order of receipt. The rest is a hash, because an
// id can contain any characters.
func fileName(e stream.Event) string {
	sum := sha256.Sum256([]byte(e.ID))
	return e.Received.Format(timeFormat) + "-" + hex.EncodeToString(sum[:8]) + eventSuffix
}

// isEventFile returns false for temporary files, because their names have other suffixes.
func isEventFile(name string) bool {
	ext := filepath.Ext(name)
	return ext == eventSuffix || ext == openSuffix
}

// closedName returns the name of a file of an earlier release after its receiver has closed it.
func closedName(name string) string {
	return strings.TrimSuffix(name, filepath.Ext(name)) + eventSuffix
}

// Read yields the events of a folder, the oldest first. It skips damaged events, which CountEvents counts.
// A missing folder has no events.
func Read(dir string) iter.Seq2[stream.Event, error] {
	return func(yield func(stream.Event, error) bool) {
		for line, err := range readLines(dir) {
			if err == nil && !line.isIntact {
				continue
			}
			if !yield(line.event, err) {
				return
			}
		}
	}
}

// CountEvents counts the events and the damaged events of a folder.
func CountEvents(dir string) (events, damaged int, err error) {
	for line, err := range readLines(dir) {
		switch {
		case err != nil:
			return events, damaged, err
		case line.isIntact:
			events++
		default:
			damaged++
		}
	}
	return events, damaged, nil
}

type eventLine struct {
	event    stream.Event
	isIntact bool // a damaged line has no event
}

func readLines(dir string) iter.Seq2[eventLine, error] {
	return func(yield func(eventLine, error) bool) {
		names, err := listFiles(dir)
		if err != nil {
			yield(eventLine{}, err)
			return
		}
		for _, name := range names {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if errors.Is(err, fs.ErrNotExist) {
				continue // a night has removed it
			}
			if err != nil {
				yield(eventLine{}, fmt.Errorf("read the inbox: %w", err))
				return
			}
			for _, line := range parseFile(name, text) {
				if !yield(line, nil) {
					return
				}
			}
		}
	}
}

// parseFile ignores an incomplete line at the end of a file of several events: it was never acknowledged.
func parseFile(name string, text []byte) (lines []eventLine) {
	for line := range bytes.Lines(text) {
		content, isComplete := bytes.CutSuffix(line, []byte("\n"))
		if !isComplete {
			break
		}
		var parsed eventLine
		parsed.isIntact = checksum.UnsealLine(content, &parsed.event) == nil
		lines = append(lines, parsed)
	}
	isOneEvent := strings.Contains(name, "-")
	if isOneEvent && len(lines) == 0 {
		lines = append(lines, eventLine{}) // the file is cut off
	}
	return lines
}

// listFiles returns the sorted names of the files of events. A missing folder has no files.
func listFiles(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the inbox: %w", err)
	}
	for _, e := range entries {
		if isEventFile(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// upgrade renames the open files of a killed receiver of an earlier release. It also removes the files that only earlier
// releases need: hashes of published events, and the size of the published part of an open file.
func upgrade(disk durable.Disk, dir string) error {
	names, err := listFiles(dir)
	for _, name := range names {
		if filepath.Ext(name) == openSuffix {
			err = errors.Join(err, disk.Rename(filepath.Join(dir, name), filepath.Join(dir, closedName(name))))
		}
	}
	err = errors.Join(err, disk.Remove(filepath.Join(dir, "published.json")))
	if _, statErr := os.Lstat(filepath.Join(dir, "seen")); statErr == nil {
		err = errors.Join(err, disk.RemoveAll(filepath.Join(dir, "seen")))
	}
	if err != nil {
		return fmt.Errorf("upgrade the inbox: %w", err)
	}
	return nil
}

// Batch is the part of an inbox that LinkEvents linked into a folder of the run, so that the run can be resumed
// or replayed.
type Batch struct {
	disk  durable.Disk
	inbox string
	names []string
}

// LinkEvents links all acknowledged events into a folder. A receiver in this or another process may write at the
// same time. Linking again into the same folder adds the new events.
func LinkEvents(disk durable.Disk, inbox, folder string) (Batch, error) {
	b := Batch{disk: disk, inbox: inbox}
	names, err := listFiles(inbox)
	if err == nil && len(names) > 0 {
		b.names = names
		err = b.link(folder)
	}
	if err != nil {
		return b, fmt.Errorf("copy the inbox into the run: %w", err)
	}
	return b, nil
}

func (b Batch) link(folder string) error {
	if err := b.disk.MakeFolder(folder, privateDir); err != nil {
		return err
	}
	for _, name := range b.names {
		from, to := filepath.Join(b.inbox, name), filepath.Join(folder, closedName(name))
		if durable.SameFile(from, to) {
			continue
		}
		if err := b.disk.LinkUnsynced(from, to); err != nil {
			return err
		}
	}
	return b.disk.Sync(folder)
}

// EmptyInbox removes the linked events. Call it after the publish: until then, the next run needs them. An open
// file remains, because a receiver of an earlier release can append to it. The next night recognizes its events.
func (b Batch) EmptyInbox() error {
	for _, name := range b.names {
		if filepath.Ext(name) == openSuffix {
			continue
		}
		if err := b.disk.Remove(filepath.Join(b.inbox, name)); err != nil {
			return fmt.Errorf("empty the inbox: %w", err)
		}
	}
	return nil
}
