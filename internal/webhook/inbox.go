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

// Batch is what a night read from the inbox: copies in a folder of its own, so
// that the run can be resumed or replayed, and the segments to remove after it has
// published.
type Batch struct {
	disk          durable.Disk
	inbox, folder string
	done          []string
	// read are the bytes of whole lines that were landed of segments which are still
	// written to, by the name of the sealed segment.
	read map[string]int64
}

// Land links or copies everything acknowledged so far into a folder. A receiver, in
// this process or another, may write meanwhile. Landing again into the same folder
// adds what is new.
func Land(disk durable.Disk, inbox, folder string) (Batch, error) {
	b := Batch{disk: disk, inbox: inbox, folder: folder}
	for attempt := 1; ; attempt++ {
		names, err := listSegments(inbox)
		if err != nil || len(names) == 0 {
			return b, err
		}
		if err = os.MkdirAll(folder, privateDir); err == nil {
			err = b.landSegments(names)
		}
		// The receiver sealed a segment between listing and opening it.
		if errors.Is(err, fs.ErrNotExist) && attempt < 5 {
			continue
		}
		if err != nil {
			return b, fmt.Errorf("land the inbox: %w", err)
		}
		return b, nil
	}
}

func (b *Batch) landSegments(names []string) error {
	b.done, b.read = nil, map[string]int64{}
	for _, name := range names {
		from, to := filepath.Join(b.inbox, name), sealedPath(filepath.Join(b.folder, name))
		if filepath.Ext(name) == openSuffix {
			if err := b.copyWhole(from, to); err != nil {
				return err
			}
			continue
		}
		if !durable.SameFile(from, to) {
			if err := b.disk.Link(from, to); err != nil {
				return err
			}
		}
		b.done = append(b.done, name)
	}
	return nil
}

// copyWhole copies the intact whole lines of a segment that is still written to.
func (b *Batch) copyWhole(from, to string) error {
	var whole bytes.Buffer
	var read int64
	for line, err := range segmentLines(from) {
		if err != nil {
			return err
		}
		read += int64(len(line.text))
		if line.ok {
			whole.Write(line.text)
		}
	}
	b.read[filepath.Base(to)] = read
	return b.disk.WriteFile(to, whole.Bytes(), privateFile)
}

// Empty removes the closed segments that were landed. Call it after the publish. A
// segment that was still written to is landed once more, and its events are
// recognized by their ids. The marks of the others stay, for a receiver that starts
// later. When they cannot be written, the segments are removed all the same.
func (b Batch) Empty() error {
	problem := b.notePublished()
	if len(b.done) == 0 {
		return problem
	}
	problem = errors.Join(problem, b.keepMarks())
	for _, name := range b.done {
		if err := b.disk.Remove(filepath.Join(b.inbox, name)); err != nil {
			return fmt.Errorf("empty the inbox: %w", errors.Join(problem, err))
		}
	}
	return problem
}

// publishedFile says how much of the segments that were still written to the last night has
// published.
const publishedFile = "published.json"

func (b Batch) notePublished() error {
	path := filepath.Join(b.inbox, publishedFile)
	if _, err := os.Lstat(path); len(b.read) == 0 && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	text, err := json.Marshal(b.read)
	if err == nil {
		err = b.disk.WriteFile(path, text, privateFile)
	}
	if err != nil {
		return fmt.Errorf("note what was published of the inbox: %w", err)
	}
	return nil
}

// WaitingBytes are the bytes of an inbox that no night has published. They are less than
// those of its files: a segment that is written to stays until it is sealed, and the next
// night removes it.
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
