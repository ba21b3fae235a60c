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
	"strings"
	"time"

	"placementsync/internal/durable"
	"placementsync/internal/stream"
)

// The journal is a folder of segments, each a file of lines. The name of a segment
// that is written to ends in ".open", that of a sealed one in ".log". Nothing is
// appended to a segment of another process, nor after a failed write, so that a torn
// line can only be the last one of a segment.
const (
	openSuffix   = ".open"
	sealedSuffix = ".log"
	segmentName  = "20060102T150405.000000000Z"
	privateFile  = 0o600
	privateDir   = 0o700
)

// maxLine bounds a line in bytes, and with it the memory to read a damaged segment.
const maxLine = 64 << 20

// lineSum is the last member of a line. It covers the text before it: after a
// power cut a line can be whole and wrong.
const lineSum = `,"sum":"%08x"}` + "\n"

func lineDigest(text []byte) uint32 { return crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)) }

// appendLine writes an event as one line.
func appendLine(to []byte, e stream.Event) ([]byte, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return to, fmt.Errorf("write event %q: %w", e.ID, err)
	}
	text = text[:len(text)-1]
	return fmt.Appendf(append(to, text...), lineSum, lineDigest(text)), nil
}

// parseLine reads a line with its newline. It accepts only what appendLine wrote.
func parseLine(text []byte) (stream.Event, bool) {
	var e stream.Event
	cut := len(text) - len(fmt.Sprintf(lineSum, 0))
	if cut < 0 || string(text[cut:]) != fmt.Sprintf(lineSum, lineDigest(text[:cut])) {
		return e, false
	}
	return e, json.Unmarshal(text, &e) == nil
}

// Read yields the events of a folder of segments, oldest segment first. It skips
// torn lines, which were never acknowledged, and damaged ones; see CountEvents. A
// folder that does not exist has no events.
func Read(dir string) iter.Seq2[stream.Event, error] {
	return func(yield func(stream.Event, error) bool) {
		for line, err := range folderLines(dir) {
			if (err != nil || line.ok) && !yield(line.event, err) {
				return
			}
		}
	}
}

// CountEvents counts the events in a folder of segments, and the damaged lines. An
// unfinished last line of a segment is not damage: it was never acknowledged.
func CountEvents(dir string) (events, damaged int, err error) {
	for line, err := range folderLines(dir) {
		switch {
		case err != nil:
			return events, damaged, err
		case line.ok:
			events++
		default:
			damaged++
		}
	}
	return events, damaged, nil
}

// journalLine is a whole line of a segment. It is valid until the next one.
type journalLine struct {
	text  []byte
	event stream.Event
	ok    bool // false: damaged
}

func folderLines(dir string) iter.Seq2[journalLine, error] {
	return func(yield func(journalLine, error) bool) {
		names, err := listSegments(dir)
		if err != nil {
			yield(journalLine{}, err)
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

// segmentLines yields the whole lines of a segment. What follows a line that is longer
// than any of ours is one damaged line.
func segmentLines(path string) iter.Seq2[journalLine, error] {
	return func(yield func(journalLine, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(journalLine{}, err)
			return
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(make([]byte, 0, 64<<10), maxLine)
		lines.Split(wholeLines)
		for lines.Scan() {
			event, ok := parseLine(lines.Bytes())
			if !yield(journalLine{lines.Bytes(), event, ok}, nil) {
				return
			}
		}
		if err = lines.Err(); errors.Is(err, bufio.ErrTooLong) {
			yield(journalLine{}, nil)
		} else if err != nil {
			yield(journalLine{}, err)
		}
	}
}

// listSegments lists the segments of a folder in the order of their names, which is
// that of their age.
func listSegments(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the inbox: %w", err)
	}
	var names []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); !strings.HasPrefix(e.Name(), ".") && (ext == openSuffix || ext == sealedSuffix) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// wholeLines is a bufio.SplitFunc: lines with their newlines, without an unfinished
// last line.
func wholeLines(data []byte, atEOF bool) (int, []byte, error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i+1], nil
	}
	if atEOF {
		return len(data), nil, nil
	}
	return 0, nil, nil
}

// segment is a segment that is written to.
type segment struct {
	disk durable.Disk
	file *os.File
	size int64
}

// newSegment creates a segment whose name is durable before anything in it is
// acknowledged.
func newSegment(disk durable.Disk, dir string, now time.Time) (*segment, error) {
	for at := now.UTC(); ; at = at.Add(1) {
		path := filepath.Join(dir, at.Format(segmentName)+openSuffix)
		if _, err := os.Lstat(sealedPath(path)); err == nil {
			continue
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, privateFile)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("begin a segment of the inbox: %w", err)
		}
		if err := disk.Sync(dir); err != nil {
			return nil, errors.Join(fmt.Errorf("begin a segment of the inbox: %w", err), f.Close(), os.Remove(path))
		}
		return &segment{disk: disk, file: f}, nil
	}
}

// seal closes a segment and gives it the name that says so.
func (s *segment) seal() error {
	if err := s.file.Close(); err != nil {
		return err
	}
	return s.disk.Rename(s.file.Name(), sealedPath(s.file.Name()))
}

// discard removes a segment in which nothing was acknowledged.
func (s *segment) discard() error {
	if err := s.disk.Remove(s.file.Name()); err != nil {
		return err
	}
	_ = s.file.Close() // what it says is of no file any more
	return nil
}

func sealedPath(path string) string {
	return strings.TrimSuffix(path, filepath.Ext(path)) + sealedSuffix
}

// sealAll seals the segments that a killed process left open. It needs the inbox's lock.
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
