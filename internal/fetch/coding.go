package fetch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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
	codedS2    // a block without a frame: the journal has its length and its sum
	codedOlder // a zstd frame, with a sum of its own, in a landing of an older version
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

// errPacked says that a body is not what its coding says; asked plain it may be read.
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

// unpacker undoes codings. It is safe for concurrent use.
type unpacker struct {
	zstd  *zstd.Decoder
	gzips sync.Pool // of *gzip.Reader
}

func newUnpacker() *unpacker {
	// Whole bodies are decoded into the buffer of the caller: no frame makes the decoder
	// allocate what it claims, be it a size or a window. Only an option can fail.
	d, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true))
	return &unpacker{zstd: d, gzips: sync.Pool{New: func() any { return new(gzip.Reader) }}}
}

// errFull says that a body needs a larger buffer.
var errFull = errors.New("the body is larger than its buffer")

// unpack decodes a packed body, all of it, into the buffer of a body and no further. With
// an error comes what could be decoded. aside reports that the packing has bytes of the
// service outside of the body, such as a comment.
func (u *unpacker) unpack(c coding, packed, body []byte) (_ []byte, aside bool, err error) {
	switch c {
	case codedZstd:
		var frames int
		if body, err = u.unzstd(packed, body[:0]); err == nil {
			if frames, aside = countFrames(packed); frames == 0 {
				err = io.ErrUnexpectedEOF
			}
		}
	case codedOlder: // of an answer without a body it has no frame
		body, err = u.unzstd(packed, body[:0])
	case codedGzip:
		body, aside, err = u.gunzip(packed, body[:0])
	case codedS2:
		var n int
		if n, err = s2.DecodedLen(packed); err == nil && n > cap(body) {
			return body[:0], false, errFull
		}
		if err == nil {
			body, err = s2.Decode(body[:n], packed)
		}
	default:
		err = errors.New("its coding is not known")
	}
	return body, aside, err
}

// zstdBlock is the most that a block of zstd decodes to.
const zstdBlock = 128 << 10

// unzstd decodes zstd; several frames one after the other are one body.
func (u *unpacker) unzstd(packed, body []byte) ([]byte, error) {
	out, err := u.zstd.DecodeAll(packed, body)
	// A block that does not fit fails like a damaged one. That one fails again in a buffer
	// with room for any block.
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) || err != nil && cap(body)-len(out) < zstdBlock {
		return out, errFull
	}
	return out, err
}

// countFrames counts the frames of zstd that hold data, and reports whether there is
// anything else, which a decoder skips.
func countFrames(packed []byte) (data int, skippable bool) {
	var header zstd.Header
	for ; header.Decode(packed) == nil; packed = packed[min(frameSize(header, packed), len(packed)):] {
		if header.Skippable {
			skippable = true
		} else {
			data++
		}
	}
	return data, skippable || len(packed) > 0
}

// frameSize is the size of the first frame. Each of its blocks begins with three bytes: a
// bit that says whether it is the last, two of its type, of which 1 is a byte that is
// repeated, and its size.
func frameSize(header zstd.Header, packed []byte) int {
	size := header.HeaderSize + int(header.SkippableSize)
	for last := header.Skippable; !last && size+3 <= len(packed); {
		block := int(packed[size]) | int(packed[size+1])<<8 | int(packed[size+2])<<16
		size += 3
		if last = block&1 == 1; block>>1&3 == 1 {
			size++
		} else {
			size += block >> 3
		}
	}
	if header.HasCheckSum {
		size += 4
	}
	return size
}

// gunzip decodes gzip; several members one after the other are one body. They are counted
// here, since the library takes one whose header is cut off for the end.
func (u *unpacker) gunzip(packed, body []byte) (_ []byte, aside bool, err error) {
	z := u.gzips.Get().(*gzip.Reader)
	defer u.gzips.Put(z)
	in := bytes.NewReader(packed)
	for begun := false; !begun || in.Len() > 0; begun = true {
		err := z.Reset(in)
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return body, aside, err
		}
		aside = aside || len(z.Extra)+len(z.Name)+len(z.Comment) > 0
		z.Multistream(false)
		if body, err = readInto(z, body); err != nil {
			return body, aside, err
		}
	}
	return body, aside, nil
}

// readInto appends all of r to a body, within its buffer.
func readInto(r io.Reader, body []byte) ([]byte, error) {
	for {
		rest := body[len(body):cap(body)]
		if len(rest) == 0 {
			rest = make([]byte, 1) // the end shows in reading on
		}
		n, err := r.Read(rest)
		if n > 0 && len(body) == cap(body) {
			return body, errFull
		}
		if body = body[:len(body)+n]; err == io.EOF {
			return body, nil
		}
		if err != nil {
			return body, err
		}
	}
}

// guessSize is the number of bytes that a packed body probably decodes to: what it says
// itself, which may be a lie, or else what JSON usually does.
func guessSize(c coding, packed []byte) int64 {
	guess := 8*int64(len(packed)) + 512
	var header zstd.Header
	switch {
	case c == codedGzip && len(packed) >= 4:
		// The length of the last member, modulo 4 GiB.
		guess = max(guess/8, int64(binary.LittleEndian.Uint32(packed[len(packed)-4:])))
	case c == codedZstd && header.Decode(packed) == nil && header.HasFCS:
		guess = int64(min(header.FrameContentSize, 1<<40))
	}
	return guess
}
