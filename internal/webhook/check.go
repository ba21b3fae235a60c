package webhook

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// CountEvents counts the events in a folder of segments, and the damaged lines. An
// unfinished last line of a segment is not damage: it was never acknowledged.
func CountEvents(dir string) (events, damaged int, err error) {
	names, err := listSegments(dir)
	if err != nil {
		return 0, 0, err
	}
	for _, name := range names {
		e, d, err := countSegment(filepath.Join(dir, name))
		if err != nil {
			return events, damaged, fmt.Errorf("read the inbox: %w", err)
		}
		events, damaged = events+e, damaged+d
	}
	return events, damaged, nil
}

func countSegment(path string) (events, damaged int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	lines.Split(wholeLines)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 || lines.Bytes()[len(lines.Bytes())-1] != '\n' {
			continue
		}
		if _, ok := parseLine(lines.Bytes()); ok {
			events++
		} else {
			damaged++
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return events, damaged + 1, nil
	}
	return events, damaged, lines.Err()
}
