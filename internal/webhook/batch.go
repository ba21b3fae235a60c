package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"placementsync/internal/durable"
)

// Batch is the part of an inbox that Land copied to a folder of the run, so that the run can be resumed
// or replayed. After the publish, EmptyInbox removes this part from the inbox.
type Batch struct {
	disk          durable.Disk
	inbox, folder string
	sealed        []string // names of the landed sealed segments
	// landedBytes contains the number of landed bytes of open segments, by the name that the
	// segment will have when it is sealed.
	landedBytes map[string]int64
}

// Land links or copies all acknowledged events into a folder. A receiver in this or another
// process may write at the same time. Landing again into the same folder adds the new events.
func Land(disk durable.Disk, inbox, folder string) (Batch, error) {
	b := Batch{disk: disk, inbox: inbox, folder: folder}
	for attempt := 1; ; attempt++ {
		names, err := listSegments(inbox)
		if err != nil || len(names) == 0 {
			return b, err
		}
		if err = disk.MakeFolder(folder, privateDir); err == nil {
			err = b.landSegments(names)
		}
		// The receiver can seal a listed segment, and the listed name is then missing.
		if errors.Is(err, fs.ErrNotExist) && attempt < 5 {
			continue
		}
		if err != nil {
			return b, fmt.Errorf("copy the inbox into the run: %w", err)
		}
		return b, nil
	}
}

func (b *Batch) landSegments(names []string) error {
	b.sealed, b.landedBytes = nil, map[string]int64{}
	for _, name := range names {
		from, to := filepath.Join(b.inbox, name), sealedPath(filepath.Join(b.folder, name))
		if filepath.Ext(name) == openSuffix {
			if err := b.copyLines(from, to); err != nil {
				return err
			}
			continue
		}
		if !durable.SameFile(from, to) {
			if err := b.disk.Link(from, to); err != nil {
				return err
			}
		}
		b.sealed = append(b.sealed, name)
	}
	return nil
}

func (b *Batch) copyLines(from, to string) error {
	var intact bytes.Buffer
	var size int64
	for line, err := range segmentLines(from) {
		if err != nil {
			return err
		}
		size += int64(len(line.text))
		if line.isIntact {
			intact.Write(line.text)
		}
	}
	b.landedBytes[filepath.Base(to)] = size
	return b.disk.WriteFile(to, intact.Bytes(), privateFile)
}

// EmptyInbox removes the landed sealed segments after the publish. The next night lands the open segment
// again and recognizes its events by their ids. EmptyInbox also writes the marks of the removed events. If
// they cannot be written, the segments are removed nevertheless and the error is returned.
func (b Batch) EmptyInbox() error {
	err := b.writePublished()
	if len(b.sealed) == 0 {
		return err
	}
	err = errors.Join(err, b.keepMarks())
	for _, name := range b.sealed {
		if removeErr := b.disk.Remove(filepath.Join(b.inbox, name)); removeErr != nil {
			return fmt.Errorf("empty the inbox: %w", errors.Join(err, removeErr))
		}
	}
	return err
}

// publishedFile contains Batch.landedBytes of the last published night.
const publishedFile = "published.json"

func (b Batch) writePublished() error {
	path := filepath.Join(b.inbox, publishedFile)
	if _, err := os.Lstat(path); len(b.landedBytes) == 0 && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	text, err := json.Marshal(b.landedBytes)
	if err == nil {
		err = b.disk.WriteFile(path, text, privateFile)
	}
	if err != nil {
		return fmt.Errorf("record the published part of the inbox: %w", err)
	}
	return nil
}

// WaitingBytes returns the number of unpublished bytes in an inbox. An open segment can have a published
// part.
func WaitingBytes(inbox string) (int64, error) {
	if _, err := os.Stat(inbox); err != nil {
		return 0, fmt.Errorf("measure the inbox: %w", err)
	}
	var published map[string]int64
	text, err := os.ReadFile(filepath.Join(inbox, publishedFile))
	if err == nil {
		err = json.Unmarshal(text, &published)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("measure the inbox: %w", err)
	}
	return sumSegments(inbox, func(name string, size int64) int64 { return size - min(size, published[sealedPath(name)]) })
}
