package fetch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/zeebo/xxh3"

	"placementsync/internal/checksum"
)

// StoredResponse is a line of the journal, a JSON object about one response. The line is sealed, because
// after a power cut a complete line can have wrong bytes.
type StoredResponse struct {
	location
	Request
	At     time.Time `json:"at"`
	Millis float64   `json:"ms"` // time until the response was received
	// Replaced means that a later response to the same request was stored and is used instead.
	Replaced bool `json:"-"`
}

// location contains the position and the checksums of a stored response. The index keeps the
// location of the latest response to each request in memory.
type location struct {
	Seq     uint64 `json:"seq"`
	Status  int    `json:"status"`
	Segment uint32 `json:"segment"`
	Offset  int64  `json:"offset"`
	// Stored and Size are the lengths of the stored bytes and of the body. Sum is the CRC-32C of the stored
	// bytes.
	Stored uint32 `json:"stored"`
	Size   uint32 `json:"size"`
	Sum    uint32 `json:"stored_crc32c"`
	// Encoding is the compression of the stored bytes: zstd or gzip as received, or s2.
	Encoding string `json:"encoding,omitempty"`
}

func (n *StoredResponse) marshal() ([]byte, error) {
	line, err := checksum.SealLine(n)
	return append(line, '\n'), err
}

// parseLine parses a line with its newline. It accepts only the output of marshal.
func parseLine(text []byte) (n StoredResponse, ok bool) {
	line, hasNewline := bytes.CutSuffix(text, []byte("\n"))
	ok = hasNewline && checksum.UnsealLine(line, &n) == nil
	return n, ok
}

// With 128 bits a collision within a run is less likely than a hardware fault.
func (r Request) indexKey() xxh3.Uint128 {
	return xxh3.HashString128(fmt.Sprintf("%q %q %q %q %d %d", r.Stream, r.Path, r.Query, r.Param, r.Pass, r.Page))
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
			if !yield(s, nil) || err != nil {
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
func (rs *ResponseStore) isLatest(n *StoredResponse) bool {
	loc, _ := rs.find(n.Request)
	return loc.Seq == n.Seq
}
