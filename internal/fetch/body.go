package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
)

// readBody reads the whole body into q, up to the limit, and unpacks it. A body shorter
// than its Content-Length is an error of the transport.
func (s *sender) readBody(ctx context.Context, q *call, response *http.Response) (err error) {
	if response.ContentLength > s.cfg.MaxBody {
		return fmt.Errorf("%w: %d bytes are announced, %d allowed", ErrTooLarge, response.ContentLength, s.cfg.MaxBody)
	}
	if q.coding, err = codingOf(response.Header); err != nil {
		return err
	}
	if q.coding == plain {
		q.body, err = s.receiveBody(ctx, q, response, q.body)
		return err
	}
	if q.packed, err = s.receiveBody(ctx, q, response, q.packed); err != nil {
		return err
	}
	return s.unpackBody(ctx, q)
}

// receiveBody reads what comes into a buffer. Whether it is packed or not, the limit is
// the same.
func (s *sender) receiveBody(ctx context.Context, q *call, response *http.Response, b []byte) ([]byte, error) {
	announced := response.ContentLength
	b = slices.Grow(b, int(min(max(announced, 0), wideBody))+512)
	for {
		if len(b) == cap(b) {
			size := 2 * int64(len(b))
			if size > wideBody {
				size = max(size, announced+512)
			}
			// One byte more than is allowed shows that the body is too long.
			size = min(size, s.cfg.MaxBody+1)
			var err error
			if b, err = s.memory.growBuffer(ctx, q, b, size); err != nil {
				return b, err
			}
		}
		n, err := response.Body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		q.received = int64(len(b))
		switch {
		case int64(len(b)) > s.cfg.MaxBody:
			return b, fmt.Errorf("%w: more than %d bytes came", ErrTooLarge, s.cfg.MaxBody)
		case err == io.EOF:
			return b, nil
		case err != nil:
			return b, err
		}
	}
}

// unpackBody decodes the packed body of q, up to the limit. What it says of its own size
// is no more than a guess, which costs a second try when it is too low.
func (s *sender) unpackBody(ctx context.Context, q *call) error {
	limit := s.cfg.MaxBody
	largest := limit + zstdBlock // a smaller buffer does not tell damage from length
	for size := guessSize(q.coding, q.packed); ; size = 2 * max(int64(cap(q.body)), 512) {
		if size = min(size, largest); int64(cap(q.body)) < size {
			var err error
			if q.body, err = s.memory.growBuffer(ctx, q, q.body[:0], size); err != nil {
				return err
			}
		}
		body, aside, err := s.unpacker.unpack(q.coding, q.packed, q.body)
		switch full := errors.Is(err, errFull); {
		case full && size == largest, err == nil && int64(len(body)) > limit:
			return fmt.Errorf("%w: %d bytes of %s hold more than %d", ErrTooLarge, len(q.packed), q.coding, limit)
		case err == nil:
			q.body, q.aside = body, aside
			return nil
		case !full:
			return fmt.Errorf("%w as %s: %w", errPacked, q.coding, err)
		}
	}
}

// scrubAnswer takes tokens out of an answer. The bytes that came then cannot land, nor
// where they hold what the body does not: nobody looks for a token or for private values
// in a comment of gzip or in a frame that is skipped.
func (s *sender) scrubAnswer(q *call) {
	body, found := s.tokens.scrubBody(q.body)
	if q.body = body; q.coding == plain {
		return
	}
	if _, hidden := s.tokens.scrubBody(q.packed); found || hidden || q.aside {
		q.coding = plain
	}
}

// readRefusal returns the beginning of the body of an answer that is a refusal, unpacked,
// or nothing. A body that is read whole lets the connection be used again; a longer one is
// not worth it.
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
	text, _, _ := s.unpacker.unpack(c, head, make([]byte, 0, 64<<10))
	return text
}
