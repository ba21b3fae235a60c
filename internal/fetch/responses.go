package fetch

import (
	"errors"
	"fmt"
	"iter"
	"os"

	"github.com/zeebo/xxh3"
)

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
