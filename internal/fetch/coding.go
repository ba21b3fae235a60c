package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// coding is how a body is packed, on the wire or in a landing.
type coding uint8

const (
	plain coding = iota
	codedZstd
	codedGzip
	codedS2    // a block; the journal has its length and checksum
	codedOlder // a zstd frame with its own checksum, in a landing of an older version
	codedUnknown
)

// String is the name of a coding, in HTTP and in the journal.
func (c coding) String() string {
	return [...]string{"identity", "zstd", "gzip", "s2", "", "unknown"}[c]
}

// parseCoding is the coding of a name in the journal.
func parseCoding(name string) coding {
	for c := codedZstd; c < codedUnknown; c++ {
		if c.String() == name {
			return c
		}
	}
	return codedUnknown
}

// acceptedCodings is what the client asks for: zstd first, since it takes a quarter of the
// time of gzip to undo. A plain answer may always come.
const acceptedCodings = "zstd, gzip"

// errPacked is the error of a body that is not what its coding says.
var errPacked = errors.New("the packed body cannot be read")

// codingOf is the coding of a response. Several, one around the other, were not asked for.
// The error does not repeat what the service wrote, which may be a part of the token.
func codingOf(h http.Header) (coding, error) {
	switch strings.ToLower(strings.TrimSpace(strings.Join(h.Values("Content-Encoding"), ", "))) {
	case "", "identity":
		return plain, nil
	case "zstd":
		return codedZstd, nil
	case "gzip", "x-gzip":
		return codedGzip, nil
	default:
		return codedUnknown, fmt.Errorf("%w: it has a content encoding that was not asked for", errPacked)
	}
}

// unpacker undoes codings, up to a limit. It is safe for concurrent use.
type unpacker struct {
	limit int64
	zstd  *zstd.Decoder
	gzips sync.Pool // of *gzip.Reader
}

// maxWindow is the window that an encoder of zstd may use in HTTP (RFC 9659).
const maxWindow = 8 << 20

func newUnpacker(limit int64) *unpacker {
	// Only an option out of range fails. The decoder allows no window above its limit.
	d, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(uint64(max(limit, maxWindow))))
	return &unpacker{limit: limit, zstd: d, gzips: sync.Pool{New: func() any { return new(gzip.Reader) }}}
}

// errFull is the error of a packed body that decodes to more than the limit.
var errFull = errors.New("the body is larger than the limit")

// unpack decodes a packed body to its end into the buffer b, which grows if need be. With an
// error it returns what could be decoded.
func (u *unpacker) unpack(c coding, packed, b []byte) (_ []byte, err error) {
	switch c {
	case codedZstd, codedOlder:
		b, err = u.zstd.DecodeAll(packed, b[:0])
		if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
			err = errFull
		}
	case codedGzip:
		b, err = u.gunzip(packed, b[:0])
	case codedS2:
		b, err = s2.Decode(b[:cap(b)], packed)
	default:
		return b[:0], errors.New("its coding is not known")
	}
	if err == nil && int64(len(b)) > u.limit {
		err = errFull
	}
	return b, err
}

func (u *unpacker) gunzip(packed, b []byte) ([]byte, error) {
	z := u.gzips.Get().(*gzip.Reader)
	defer u.gzips.Put(z)
	if err := z.Reset(bytes.NewReader(packed)); err != nil {
		return b, err
	}
	return readUpTo(z, b, u.limit)
}
