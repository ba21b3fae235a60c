package fetch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/zeebo/xxh3"

	"placementsync/internal/checksum"
)

// restore reads the journal of an interrupted run into the index. Bodies that may have been written after the
// last sync are decompressed to verify them.
func (rs *ResponseStore) restore() error {
	journalSize, err := size(rs.journal)
	if err != nil {
		return err
	}
	r := restoreState{store: rs, ends: make([]int64, len(rs.segments))}
	for _, f := range rs.segments {
		n, err := size(f)
		if err != nil {
			return err
		}
		r.sizes = append(r.sizes, n)
		r.verifyFrom += n
	}
	// All but the last 2*SyncBytes were synced: a sync may have been running while the next
	// SyncBytes were written. With syncing disabled, all bodies are verified.
	r.verifyFrom -= 2 * rs.options.SyncBytes
	if rs.options.SyncBytes < 0 {
		r.verifyFrom = 0
	}
	for s, err := range rs.readLines(journalSize) {
		if err != nil {
			return err
		}
		r.addLine(s)
		if !s.ok && !s.isTorn(journalSize) {
			rs.damagedLines++
		}
	}
	rs.segmentEnd = r.ends[len(r.ends)-1]
	// Later frames would overwrite the bytes after the last valid frame. These bytes are
	// removed anyway, because they could confuse other readers of the folder.
	if err := rs.segments[len(rs.segments)-1].Truncate(rs.segmentEnd); err != nil {
		return err
	}
	if r.hasGap {
		return rs.rewrite(journalSize)
	}
	rs.journalEnd = r.end
	return rs.journal.Truncate(rs.journalEnd)
}

type restoreState struct {
	store      *ResponseStore
	sizes      []int64 // of the segments
	verifyFrom int64   // offset from which bodies are verified, counted over all segments
	ends       []int64 // end of the last valid frame of each segment
	end        int64   // end of the last valid line of the journal
	skipped    bool    // a line was skipped
	hasGap     bool    // a valid line follows a skipped line
}

func (r *restoreState) addLine(s scannedLine) {
	if !s.ok || !r.hasBody(s.location) {
		r.skipped = true
		return
	}
	r.hasGap = r.hasGap || r.skipped
	r.store.lines++
	r.end = s.end
	r.ends[s.Segment] = max(r.ends[s.Segment], s.Offset+int64(s.Stored))
	r.store.seq = max(r.store.seq, s.Seq)
	r.store.index[s.indexKey()] = s.location
}

// A body that was possibly not synced must also be intact.
func (r *restoreState) hasBody(loc location) bool {
	if int(loc.Segment) >= len(r.sizes) || loc.Offset+int64(loc.Stored) > r.sizes[loc.Segment] {
		return false
	}
	at := loc.Offset
	for _, n := range r.sizes[:loc.Segment] {
		at += n
	}
	if at < r.verifyFrom {
		return true
	}
	_, err := r.store.loadBody(loc)
	return err == nil
}

func size(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// rewrite atomically removes all lines from the journal that are not in the index.
func (rs *ResponseStore) rewrite(end int64) error {
	path := filepath.Join(rs.dir, journalName)
	rs.lines = 0
	err := rs.disk().WriteAtomically(path, 0o600, func(next *os.File) error {
		out := bufio.NewWriter(next)
		for s, err := range rs.readLines(end) {
			if err != nil {
				return err
			}
			if s.ok && rs.isLatest(&s.StoredResponse) {
				rs.lines++
				if _, err := out.Write(s.text); err != nil {
					return err
				}
			}
		}
		return out.Flush()
	})
	if err != nil {
		return err
	}
	if err := rs.journal.Close(); err != nil {
		return err
	}
	if rs.journal, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
		return err
	}
	rs.journalEnd, err = size(rs.journal)
	return err
}

// parseLine parses a sealed line with its newline.
func parseLine(text []byte) (line StoredResponse, ok bool) {
	sealed, hasNewline := bytes.CutSuffix(text, []byte("\n"))
	ok = hasNewline && checksum.UnsealLine(sealed, &line) == nil
	return line, ok
}

// readLines yields the lines of the journal up to end. Incomplete and damaged lines are not ok.
func (rs *ResponseStore) readLines(end int64) iter.Seq2[scannedLine, error] {
	return func(yield func(scannedLine, error) bool) {
		in := bufio.NewReaderSize(io.NewSectionReader(rs.journal, 0, end), 64<<10)
		var at int64
		for {
			text, err := in.ReadBytes('\n')
			if err != nil && !errors.Is(err, io.EOF) {
				yield(scannedLine{}, err)
				return
			}
			if len(text) == 0 {
				return
			}
			at += int64(len(text))
			s := scannedLine{text: text, end: at}
			s.StoredResponse, s.ok = parseLine(text)
			if !yield(s, nil) {
				return
			}
		}
	}
}

type scannedLine struct {
	StoredResponse
	text []byte
	end  int64 // offset of the next line
	ok   bool
}

// isTorn reports whether the line is the incomplete last line of a journal of this size.
func (s scannedLine) isTorn(journalSize int64) bool {
	return s.end == journalSize && len(s.text) > 0 && s.text[len(s.text)-1] != '\n'
}

// isLatest reports whether Lookup finds the response of this line.
func (rs *ResponseStore) isLatest(line *StoredResponse) bool {
	loc, _ := rs.find(line.Request)
	return loc.Seq == line.Seq
}

// StoredResponses reads the stored responses of a run without changing them. The run may be storing
// further responses at the same time.
type StoredResponses struct {
	store *ResponseStore
	end   int64 // size of the journal when it was opened
}

// OpenStoredResponses opens the responses in a folder.
func OpenStoredResponses(dir string) (_ *StoredResponses, err error) {
	r := &StoredResponses{store: &ResponseStore{dir: dir, decompressor: newDecompressor(maxStoredBody), index: map[xxh3.Uint128]location{}}}
	rs := r.store
	defer func() {
		if err != nil {
			err = fmt.Errorf("read the stored responses in %q: %w", dir, errors.Join(err, rs.closeFiles()))
		}
	}()
	if err = rs.openFiles(os.O_RDONLY); err != nil {
		return nil, err
	}
	if r.end, err = size(rs.journal); err != nil {
		return nil, err
	}
	for s, err := range rs.readLines(r.end) {
		if err != nil {
			return nil, err
		}
		if s.ok {
			rs.index[s.indexKey()] = s.location
		}
	}
	return r, nil
}

// ErrDamagedLine is yielded for a response whose line in the journal is damaged.
var ErrDamagedLine = errors.New("a line of the journal is damaged")

// All yields the responses in the order of storing, and ErrDamagedLine for each damaged line. It
// ignores an incomplete last line, which a killed run can leave.
func (r *StoredResponses) All() iter.Seq2[StoredResponse, error] {
	return func(yield func(StoredResponse, error) bool) {
		for s, err := range r.store.readLines(r.end) {
			switch {
			case err != nil:
				err = fmt.Errorf("read the stored responses in %q: %w", r.store.dir, err)
			case !s.ok && s.isTorn(r.end):
				continue
			case !s.ok:
				err = ErrDamagedLine
			}
			s.Replaced = !r.store.isLatest(&s.StoredResponse)
			if !yield(s.StoredResponse, err) {
				return
			}
		}
	}
}

// Body returns the decompressed body of a response, or an error if the stored bytes do not match their
// checksums.
func (r *StoredResponses) Body(response StoredResponse) ([]byte, error) {
	body, err := r.store.loadBody(response.location)
	if err != nil {
		return nil, fmt.Errorf("read response %d of stream %q in %q: %w", response.Seq, response.Stream, r.store.dir, err)
	}
	return body, nil
}

// Close closes the files of the responses.
func (r *StoredResponses) Close() error { return r.store.closeFiles() }

// ResponseCounts is the result of VerifyResponses.
type ResponseCounts struct {
	Responses int   // in the journal, including responses with a damaged body
	Bytes     int64 // of the stored bodies
	Lost      int   // damaged lines of the journal, damaged bodies and missing lines
}

// VerifyResponses compares all responses in a folder with their checksums, and changes nothing. stored is the
// number of responses that the run stored, or 0 if it is unknown.
func VerifyResponses(dir string, stored int) (c ResponseCounts, err error) {
	responses, err := OpenStoredResponses(dir)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, responses.Close()) }()
	damagedLines, damagedBodies := 0, 0
	for response, err := range responses.All() {
		switch {
		case errors.Is(err, ErrDamagedLine):
			damagedLines++
			continue
		case err != nil:
			return c, err
		}
		c.Responses++
		c.Bytes += int64(response.Stored)
		if _, err := responses.Body(response); err != nil {
			damagedBodies++
		}
	}
	c.Lost = damagedBodies + max(damagedLines, stored-c.Responses)
	return c, nil
}
