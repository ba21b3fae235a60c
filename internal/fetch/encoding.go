package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

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
