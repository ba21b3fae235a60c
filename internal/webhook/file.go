package webhook

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"placementsync/internal/checksum"
	"placementsync/internal/durable"
	"placementsync/internal/stream"
)

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
			if (err != nil || line.isIntact) && !yield(line.event, err) {
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

// upgrade renames the open files of a killed receiver of an earlier release. It also removes what only earlier
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
