package webhook

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// When a night empties the inbox, it writes the marks of the removed events to a file in the folder
// "seen". A mark consists of hashes and a time, and contains no other data of the event.
const (
	marksDir    = "seen"
	maxMarksAge = 14 * 24 * time.Hour // the configuration does not allow a longer window
)

// keepMarks writes the marks of the events that EmptyInbox is about to remove, and removes files
// of expired marks.
func (b Batch) keepMarks() error {
	var marks []byte
	dir := filepath.Join(b.inbox, marksDir)
	for _, name := range b.sealed {
		for line, err := range segmentLines(filepath.Join(b.inbox, name)) {
			if errors.Is(err, fs.ErrNotExist) {
				break // another night has removed it
			}
			if err != nil {
				return fmt.Errorf("write the marks of received events: %w", err)
			}
			if line.isIntact {
				marks, _ = binary.Append(marks, binary.BigEndian, markOf(line.event)) // no error: a mark has a fixed size
			}
		}
	}
	names, err := listFiles(dir)
	for _, name := range names {
		path := filepath.Join(dir, name)
		if info, statErr := os.Stat(path); statErr == nil && time.Since(info.ModTime()) > maxMarksAge {
			err = errors.Join(err, b.disk.Remove(path))
		}
	}
	if len(marks) > 0 {
		err = errors.Join(err, b.disk.MakeFolder(dir, privateDir))
		err = errors.Join(err, b.disk.WriteFile(filepath.Join(dir, strings.TrimSuffix(b.sealed[0], sealedSuffix)), marks, privateFile))
	}
	if err != nil {
		return fmt.Errorf("write the marks of received events: %w", err)
	}
	return nil
}

func (m *eventMemory) restore(dir string, window time.Duration) error {
	names, err := listFiles(filepath.Join(dir, marksDir))
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, marksDir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // a night has removed it
		}
		if err != nil {
			return fmt.Errorf("read the marks of received events: %w", err)
		}
		marks := make([]mark, len(text)/binary.Size(mark{})) // without a torn mark at the end of the file
		_, _ = binary.Decode(text, binary.BigEndian, marks)  // no error: the text is long enough
		for _, event := range marks {
			m.restoreEvent(event, window)
		}
	}
	for e, err := range Read(dir) {
		if err != nil {
			return err
		}
		m.restoreEvent(markOf(e), window)
	}
	return nil
}

// restoreEvent adds only the id of a repetition.
func (m *eventMemory) restoreEvent(event mark, window time.Duration) {
	const stale = false
	if m.classify(event, stale, window) == Stored {
		m.addEvent(event, window)
		return
	}
	m.ids.setValue(event.ID, struct{}{})
}
