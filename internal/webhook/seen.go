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

// A night that empties the inbox leaves the marks of its events there, in a folder, in one
// file for all segments that it removes. They are hashes: no event can be read in them.
const (
	seenDir = "seen"
	// seenFor is how long they stay: the longest window that can be configured.
	seenFor = 14 * 24 * time.Hour
	// seenBytes is the length of one mark: three fingerprints and a time.
	seenBytes = 3*len(fingerprint{}) + 8
)

// keepMarks writes the marks of the events that Empty is about to remove, and removes
// those that no window has any more.
func (b Batch) keepMarks() error {
	var marks []byte
	dir := filepath.Join(b.inbox, seenDir)
	for _, name := range b.done {
		for line, err := range segmentLines(filepath.Join(b.inbox, name)) {
			if errors.Is(err, fs.ErrNotExist) {
				break // another night has removed it
			}
			if err != nil {
				return fmt.Errorf("remember the events of the inbox: %w", err)
			}
			if line.ok {
				marks = markOf(line.event).appendTo(marks)
			}
		}
	}
	old, err := seenFiles(dir)
	for _, path := range old {
		if info, statErr := os.Stat(path); statErr == nil && time.Since(info.ModTime()) > seenFor {
			err = errors.Join(err, b.disk.Remove(path))
		}
	}
	if len(marks) > 0 {
		err = errors.Join(err, os.MkdirAll(dir, privateDir))
		err = errors.Join(err, b.disk.WriteFile(filepath.Join(dir, strings.TrimSuffix(b.done[0], sealedSuffix)), marks, privateFile))
	}
	if err != nil {
		return fmt.Errorf("remember the events of the inbox: %w", err)
	}
	return nil
}

// seenFiles are the files of marks in a folder, in the order of their age.
func seenFiles(dir string) ([]string, error) {
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

// appendTo writes a mark.
func (k mark) appendTo(to []byte) []byte {
	for _, one := range []fingerprint{k.id, k.topic, k.body} {
		to = append(to, one[:]...)
	}
	return binary.BigEndian.AppendUint64(to, uint64(k.at.UnixNano()))
}

// parseMark reads what appendTo wrote.
func parseMark(text []byte) mark {
	var k mark
	for i, one := range []*fingerprint{&k.id, &k.topic, &k.body} {
		copy(one[:], text[i*len(one):])
	}
	k.at = time.Unix(0, int64(binary.BigEndian.Uint64(text[seenBytes-8:]))).UTC()
	return k
}

// restore remembers the events that nights have taken from an inbox, and those in it.
func (m *memory) restore(dir string, window time.Duration) error {
	paths, err := seenFiles(filepath.Join(dir, seenDir))
	if err != nil {
		return fmt.Errorf("list the inbox: %w", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a night has removed it
		}
		if err != nil {
			return fmt.Errorf("read what the inbox had: %w", err)
		}
		for ; len(text) >= seenBytes; text = text[seenBytes:] {
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

// restoreEvent is addEvent for one that may be remembered already.
func (m *memory) restoreEvent(k mark, window time.Duration) {
	if m.judge(k, false, window) == Stored {
		m.addEvent(k, window)
		return
	}
	m.ids.setValue(k.id, struct{}{})
}
