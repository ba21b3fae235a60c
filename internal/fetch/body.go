package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"placementsync/internal/charset"
)

// receiveBody receives and decompresses the whole body into q. MaxBody limits the received and
// the decompressed bytes. A body that is shorter than its Content-Length is an error.
func (s *sender) receiveBody(q *call, response *http.Response) (err error) {
	if response.ContentLength > s.cfg.MaxBody {
		return fmt.Errorf("%w: %d bytes are declared, %d allowed", ErrTooLarge, response.ContentLength, s.cfg.MaxBody)
	}
	if q.Encoding, err = encodingOf(response.Header); err != nil {
		return err
	}
	if q.Encoding == plain {
		q.Body, err = s.receiveBytes(q, response)
		return err
	}
	if q.Compressed, err = s.receiveBytes(q, response); err != nil {
		return err
	}
	if len(q.Compressed) == 0 {
		return fmt.Errorf("%w as %s: %w", errDecompress, q.Encoding, io.ErrUnexpectedEOF)
	}
	q.Body, err = s.decompressor.decompress(q.Encoding, q.Compressed, q.slot.decompressed)
	q.slot.decompressed = q.Body
	switch {
	case errors.Is(err, errBeyondLimit):
		q.Body = nil
		return fmt.Errorf("%w: %d bytes (%s) decompress to more than %d bytes", ErrTooLarge, len(q.Compressed), q.Encoding, s.cfg.MaxBody)
	case err != nil:
		return fmt.Errorf("%w as %s: %w", errDecompress, q.Encoding, err)
	}
	return nil
}

func (s *sender) receiveBytes(q *call, response *http.Response) ([]byte, error) {
	// Content-Length is not trusted: at most a mebibyte is allocated in advance.
	b := slices.Grow(q.slot.received[:0], int(min(max(response.ContentLength, 0), 1<<20))+bytes.MinRead)
	b, err := readUpTo(response.Body, b, s.cfg.MaxBody)
	q.slot.received, q.receivedBytes = b, int64(len(b))
	if err == nil && q.receivedBytes > s.cfg.MaxBody {
		err = fmt.Errorf("%w: more than %d bytes were received", ErrTooLarge, s.cfg.MaxBody)
	}
	return b, err
}

// readUpTo appends r to b until r ends or b is one byte longer than the limit.
func readUpTo(r io.Reader, b []byte, limit int64) ([]byte, error) {
	buffer := bytes.NewBuffer(b)
	_, err := buffer.ReadFrom(io.LimitReader(r, limit+1-int64(len(b))))
	return buffer.Bytes(), err
}

// convertCharset converts the body to UTF-8, if the response declares another charset. The body is then stored
// in UTF-8, because a stored response has no place for the charset.
func (s *sender) convertCharset(q *call, h http.Header) error {
	declared := charset.Declared(h.Get("Content-Type"))
	if declared == nil {
		return nil
	}
	body, err := declared.NewDecoder().Bytes(q.Body)
	if err != nil {
		return fmt.Errorf("%w: it is not in the charset that it declares: %w", ErrMalformed, err)
	}
	if int64(len(body)) > s.cfg.MaxBody {
		return fmt.Errorf("%w: in UTF-8 it has more than %d bytes", ErrTooLarge, s.cfg.MaxBody)
	}
	q.Body, q.Compressed, q.Encoding = body, nil, plain
	return nil
}

// skipMark returns a body without the byte order mark at its beginning, which RFC 8259, section 8.1, lets a
// reader ignore.
func skipMark(body []byte) []byte { return bytes.TrimPrefix(body, []byte("\ufeff")) }

// If a response contains a token, only its decompressed body is kept, with the token removed. The token may be
// only in the compressed bytes, for example in a gzip comment.
func (s *sender) scrubResponse(q *call) {
	var inBody, inCompressed bool
	q.Body, inBody = s.tokens.scrubBody(q.Body)
	if q.Encoding != plain {
		_, inCompressed = s.tokens.scrubBody(q.Compressed)
	}
	if inBody || inCompressed {
		q.Compressed, q.Encoding = nil, plain
	}
}

// readErrorBody returns the beginning of the body of an error response, decompressed as far
// as possible. A short body is read completely, so that the connection can be reused.
func (s *sender) readErrorBody(q *call, response *http.Response) []byte {
	head, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	q.receivedBytes = int64(len(head))
	encoding, err := encodingOf(response.Header)
	switch {
	case err != nil:
		return nil
	case encoding == plain:
		return head
	}
	text, _ := s.decompressor.decompress(encoding, head, nil)
	return text
}

// Names of content encodings, in HTTP and in the journal.
const (
	plain        = ""
	zstdEncoding = "zstd"
	gzipEncoding = "gzip"
	s2Encoding   = "s2" // only in the journal: an S2 block without a checksum of its own
)

// acceptedEncodings is the Accept-Encoding of the first attempt of a request. zstd is first because
// it decompresses four times as fast as gzip.
const acceptedEncodings = "zstd, gzip"

var errDecompress = errors.New("the compressed body cannot be read")

// Nested encodings are not supported, because the client does not accept them. The error does not quote
// the header, which may contain a part of the token.
func encodingOf(h http.Header) (string, error) {
	switch strings.ToLower(strings.TrimSpace(strings.Join(h.Values("Content-Encoding"), ", "))) {
	case "", "identity":
		return plain, nil
	case "zstd":
		return zstdEncoding, nil
	case "gzip", "x-gzip":
		return gzipEncoding, nil
	default:
		return plain, fmt.Errorf("%w: it has a content encoding that was not requested", errDecompress)
	}
}

// decompressor is safe for concurrent use.
type decompressor struct {
	maxBody int64
	zstd    *zstd.Decoder
}

const maxWindow = 8 << 20 // largest window of zstd in HTTP (RFC 9659)

func newDecompressor(maxBody int64) *decompressor {
	// NewReader fails only for invalid options. The decoder rejects windows above its memory limit.
	d, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(uint64(max(maxBody, maxWindow))))
	return &decompressor{maxBody, d}
}

var errBeyondLimit = errors.New("the body is larger than the limit")

// decompress writes the decompressed body into the buffer b, which grows if needed. If decompression
// fails, it returns the decompressed part of the body with the error.
func (d *decompressor) decompress(encoding string, compressed, b []byte) (_ []byte, err error) {
	switch encoding {
	case zstdEncoding:
		b, err = d.zstd.DecodeAll(compressed, b[:0])
		if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
			err = errBeyondLimit
		}
	case gzipEncoding:
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(compressed)); err == nil {
			b, err = readUpTo(z, b[:0], d.maxBody)
		}
	case s2Encoding:
		b, err = s2.Decode(b[:cap(b)], compressed)
	default:
		return b[:0], fmt.Errorf("the encoding %q is unknown", encoding)
	}
	if err == nil && int64(len(b)) > d.maxBody {
		err = errBeyondLimit
	}
	return b, err
}
