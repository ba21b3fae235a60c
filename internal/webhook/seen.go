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

// When a night empties the inbox, it writes the marks of the removed events to one file in
// the folder seen. Marks consist of hashes and contain no data of an event.
const (
	marksDir = "seen"
	// marksKept is how long marks are kept. No longer window can be configured.
	marksKept = 14 * 24 * time.Hour
	// markBytes is the size of a mark: three fingerprints and a time.
	markBytes = 3*len(fingerprint{}) + 8
)

// keepMarks writes the marks of the events that Empty is about to remove, and removes files
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
			if line.ok {
				marks = markOf(line.event).appendTo(marks)
			}
		}
	}
	old, err := markFiles(dir)
	for _, path := range old {
		if info, statErr := os.Stat(path); statErr == nil && time.Since(info.ModTime()) > marksKept {
			err = errors.Join(err, b.disk.Remove(path))
		}
	}
	if len(marks) > 0 {
		err = errors.Join(err, os.MkdirAll(dir, privateDir))
		err = errors.Join(err, b.disk.WriteFile(filepath.Join(dir, strings.TrimSuffix(b.sealed[0], sealedSuffix)), marks, privateFile))
	}
	if err != nil {
		return fmt.Errorf("write the marks of received events: %w", err)
	}
	return nil
}

// markFiles returns the paths of the files in a folder of marks, oldest first.
func markFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var paths []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, err
}

func (k mark) appendTo(to []byte) []byte {
	for _, one := range []fingerprint{k.id, k.topic, k.body} {
		to = append(to, one[:]...)
	}
	return binary.BigEndian.AppendUint64(to, uint64(k.at.UnixNano()))
}

// parseMark decodes a mark that appendTo encoded.
func parseMark(text []byte) mark {
	var k mark
	for i, one := range []*fingerprint{&k.id, &k.topic, &k.body} {
		copy(one[:], text[i*len(one):])
	}
	k.at = time.Unix(0, int64(binary.BigEndian.Uint64(text[markBytes-8:]))).UTC()
	return k
}

// restore loads the marks of removed events and the marks of the events still in the inbox.
func (m *memory) restore(dir string, window time.Duration) error {
	paths, err := markFiles(filepath.Join(dir, marksDir))
	if err != nil {
		return fmt.Errorf("list the inbox: %w", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a night has removed it
		}
		if err != nil {
			return fmt.Errorf("read the marks of received events: %w", err)
		}
		for ; len(text) >= markBytes; text = text[markBytes:] {
			m.restoreEvent(parseMark(text), window)
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

// restoreEvent adds an event that may be known already.
func (m *memory) restoreEvent(k mark, window time.Duration) {
	const stale = false
	if m.classify(k, stale, window) == Stored {
		m.addEvent(k, window)
		return
	}
	m.ids.setValue(k.id, struct{}{})
}
