package webhook

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"placementsync/internal/durable"
	"placementsync/internal/stream"
)

// An inbox is a folder of segments, which are files with one JSON object per line. The name of the open
// segment ends in ".open". The names of sealed segments end in ".log". A process appends only to its
// own segment, and never after a failed write, so only the last line of a segment can be torn.
const (
	openSuffix   = ".open"
	sealedSuffix = ".log"
	nameFormat   = "20060102T150405.000000000Z"
	privateFile  = 0o600
	privateDir   = 0o700
)

// maxLine limits the memory for reading a damaged segment, in bytes.
const maxLine = 64 << 20

// sumFormat is the format of the last member of a line, a checksum of the text before it. After a power
// failure a complete line can have wrong bytes.
const sumFormat = `,"sum":"%08x"}` + "\n"

func lineDigest(text []byte) uint32 { return crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)) }

func appendLine(dst []byte, e stream.Event) ([]byte, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return dst, fmt.Errorf("write event %q: %w", e.ID, err)
	}
	text = text[:len(text)-1]
	return fmt.Appendf(append(dst, text...), sumFormat, lineDigest(text)), nil
}

func parseLine(text []byte) (e stream.Event, isIntact bool) {
	cut := len(text) - len(fmt.Sprintf(sumFormat, 0))
	if cut < 0 || string(text[cut:]) != fmt.Sprintf(sumFormat, lineDigest(text[:cut])) {
		return e, false
	}
	return e, json.Unmarshal(text, &e) == nil
}

// Read yields the events of a folder of segments, oldest segment first. It skips torn lines,
// which were never acknowledged, and damaged lines, which CountEvents counts. A missing
// folder has no events.
func Read(dir string) iter.Seq2[stream.Event, error] {
	return func(yield func(stream.Event, error) bool) {
		for line, err := range folderLines(dir) {
			if (err != nil || line.isIntact) && !yield(line.event, err) {
				return
			}
		}
	}
}

// CountEvents counts the events and the damaged lines in a folder of segments. A torn last
// line of a segment is not damage, because it was never acknowledged.
func CountEvents(dir string) (events, damaged int, err error) {
	for line, err := range folderLines(dir) {
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

type segmentLine struct {
	text     []byte // with its newline, valid until the next line is read
	event    stream.Event
	isIntact bool // a damaged line has no event
}

func folderLines(dir string) iter.Seq2[segmentLine, error] {
	return func(yield func(segmentLine, error) bool) {
		names, err := listSegments(dir)
		if err != nil {
			yield(segmentLine{}, err)
			return
		}
		for _, name := range names {
			for line, err := range segmentLines(filepath.Join(dir, name)) {
				if err != nil {
					err = fmt.Errorf("read the inbox: %w", err)
				}
				if !yield(line, err) || err != nil {
					return
				}
			}
		}
	}
}

// segmentLines yields the complete lines of a segment. A line longer than maxLine and the
// rest of the segment count as one damaged line.
func segmentLines(path string) iter.Seq2[segmentLine, error] {
	return func(yield func(segmentLine, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(segmentLine{}, err)
			return
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(make([]byte, 0, 64<<10), maxLine)
		lines.Split(splitLines)
		for lines.Scan() {
			event, isIntact := parseLine(lines.Bytes())
			if !yield(segmentLine{lines.Bytes(), event, isIntact}, nil) {
				return
			}
		}
		if err = lines.Err(); errors.Is(err, bufio.ErrTooLong) {
			yield(segmentLine{}, nil)
		} else if err != nil {
			yield(segmentLine{}, err)
		}
	}
}

// listSegments returns names, oldest first.
func listSegments(dir string) ([]string, error) {
	names, err := listFiles(dir)
	return slices.DeleteFunc(names, func(name string) bool {
		ext := filepath.Ext(name)
		return ext != openSuffix && ext != sealedSuffix
	}), err
}

// listFiles returns the sorted names of the files in a folder. It omits temporary files, whose names
// begin with a dot. A missing folder has no files.
func listFiles(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the inbox: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// splitLines is a bufio.SplitFunc that drops a torn last line.
func splitLines(data []byte, atEOF bool) (int, []byte, error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i+1], nil
	}
	if atEOF {
		return len(data), nil, nil
	}
	return 0, nil, nil
}

type openSegment struct {
	disk durable.Disk
	file *os.File
	size int64
}

// newSegment creates a segment and syncs its folder, so that a crash cannot remove the name of a file
// with acknowledged lines. If the name exists already, it tries the next nanosecond.
func newSegment(disk durable.Disk, dir string, now time.Time) (*openSegment, error) {
	for at := now.UTC(); ; at = at.Add(1) {
		path := filepath.Join(dir, at.Format(nameFormat)+openSuffix)
		if _, err := os.Lstat(sealedPath(path)); err == nil {
			continue
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, privateFile)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("create a segment of the inbox: %w", err)
		}
		if err := disk.Sync(dir); err != nil {
			return nil, errors.Join(fmt.Errorf("create a segment of the inbox: %w", err), f.Close(), os.Remove(path))
		}
		return &openSegment{disk: disk, file: f}, nil
	}
}

func (s *openSegment) seal() error {
	if err := s.file.Close(); err != nil {
		return err
	}
	return s.disk.Rename(s.file.Name(), sealedPath(s.file.Name()))
}

func (s *openSegment) discard() error {
	if err := s.disk.Remove(s.file.Name()); err != nil {
		return err
	}
	_ = s.file.Close() // its error does not matter, the file is removed
	return nil
}

func sealedPath(path string) string {
	return strings.TrimSuffix(path, filepath.Ext(path)) + sealedSuffix
}

// sealAll seals the open segments of a killed process. The caller holds the lock of the inbox.
func sealAll(disk durable.Disk, dir string) error {
	names, err := listSegments(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if filepath.Ext(name) != openSuffix {
			continue
		}
		if err := disk.Rename(path, sealedPath(path)); err != nil {
			return fmt.Errorf("seal a segment of the inbox: %w", err)
		}
	}
	return nil
}
