package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
)

// largeBody is the size in bytes beyond which one body is received or decoded at a time, so
// that several huge ones do not fill the memory before they are refused.
const largeBody = 8 << 20

// readBody reads the whole body into q and decodes it, both up to the limit. A body shorter
// than its Content-Length is an error of the transport.
func (s *sender) readBody(q *call, response *http.Response) (err error) {
	if response.ContentLength > s.cfg.MaxBody {
		return fmt.Errorf("%w: %d bytes are announced, %d allowed", ErrTooLarge, response.ContentLength, s.cfg.MaxBody)
	}
	if q.coding, err = codingOf(response.Header); err != nil {
		return err
	}
	if q.coding == plain {
		q.body, err = s.receiveBody(q, response, q.body)
		return err
	}
	if q.packed, err = s.receiveBody(q, response, q.packed); err != nil {
		return err
	}
	if len(q.packed) == 0 {
		return fmt.Errorf("%w as %s: %w", errPacked, q.coding, io.ErrUnexpectedEOF)
	}
	q.body, err = s.unpacker.unpack(q.coding, q.packed, q.body)
	if errors.Is(err, errFull) && s.cfg.MaxBody > largeBody {
		s.large.Lock()
		defer s.large.Unlock()
		// Growing step by step would leave more garbage than the body has bytes.
		q.body = slices.Grow(q.body[:0], int(min(s.cfg.MaxBody, 8*largeBody))+bytes.MinRead)
		q.body, err = s.largeUnpacker.unpack(q.coding, q.packed, q.body)
	}
	switch {
	case errors.Is(err, errFull):
		q.body = nil
		return fmt.Errorf("%w: %d bytes of %s hold more than %d", ErrTooLarge, len(q.packed), q.coding, s.cfg.MaxBody)
	case err != nil:
		return fmt.Errorf("%w as %s: %w", errPacked, q.coding, err)
	}
	return nil
}

// receiveBody reads the bytes of the wire into a buffer. The limit is the same for packed
// and plain ones.
func (s *sender) receiveBody(q *call, response *http.Response, b []byte) ([]byte, error) {
	// A Content-Length alone does not make the client allocate more than a mebibyte.
	b = slices.Grow(b[:0], int(min(max(response.ContentLength, 0), 1<<20))+bytes.MinRead)
	b, err := readUpTo(response.Body, b, min(largeBody, s.cfg.MaxBody))
	if err == nil && len(b) > largeBody {
		s.large.Lock()
		defer s.large.Unlock()
		b, err = readUpTo(response.Body, b, s.cfg.MaxBody)
	}
	q.received = int64(len(b))
	if err == nil && q.received > s.cfg.MaxBody {
		err = fmt.Errorf("%w: more than %d bytes came", ErrTooLarge, s.cfg.MaxBody)
	}
	return b, err
}

// readUpTo appends r to b, to its end or until b has one byte more than the limit.
func readUpTo(r io.Reader, b []byte, limit int64) ([]byte, error) {
	buffer := bytes.NewBuffer(b)
	_, err := buffer.ReadFrom(io.LimitReader(r, limit+1-int64(len(b))))
	return buffer.Bytes(), err
}

// scrubAnswer removes tokens from an answer, which is then stored decoded. So is one whose
// packed bytes show a token, as a comment of gzip could.
func (s *sender) scrubAnswer(q *call) {
	var inBody, inPacked bool
	q.body, inBody = s.tokens.scrubBody(q.body)
	if q.coding != plain {
		_, inPacked = s.tokens.scrubBody(q.packed)
	}
	if inBody || inPacked {
		q.coding = plain
	}
}

// readRefusal returns the beginning of the body of an answer that is a refusal, decoded as
// far as possible. A body that is read whole lets the connection be used again; a longer one
// is not worth it.
func (s *sender) readRefusal(q *call, response *http.Response) []byte {
	head, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	q.received = int64(len(head))
	c, err := codingOf(response.Header)
	switch {
	case err != nil:
		return nil
	case c == plain:
		return head
	}
	text, _ := s.unpacker.unpack(c, head, nil)
	return text
}
