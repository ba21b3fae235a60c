package fetch

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// spellToken lists the ways in which a text may hold a token: as it is, in a URL, in JSON
// with escaped slashes and, if it is long enough not to be a part of any word, in another
// case, with percent signs, and in base64 at whatever place.
func spellToken(token string) []string {
	spellings := []string{token, url.QueryEscape(token), url.PathEscape(token), strings.ReplaceAll(token, "/", `\/`)}
	if len(token) >= minScrubbed {
		spellings = append(spellings, strings.ToUpper(token), strings.ToLower(token))
		for _, format := range []string{"%%%02X", "%%%02x"} {
			spellings = append(spellings, escapeBytes(token, format, func(byte) bool { return true }), escapeBytes(token, format, isSign))
		}
		for offset := range 3 {
			spellings = append(spellings, base64Core(base64.RawStdEncoding, token, offset), base64Core(base64.RawURLEncoding, token, offset))
		}
	}
	slices.Sort(spellings)
	return slices.Compact(spellings)
}

func isSign(c byte) bool {
	return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
}

func escapeBytes(text, format string, escaped func(byte) bool) string {
	var b strings.Builder
	for i := range len(text) {
		if escaped(text[i]) {
			fmt.Fprintf(&b, format, text[i])
		} else {
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// base64Core is what the base64 of a longer text has of the token in it, which begins at
// a byte whose number has this remainder by three: the characters that no neighbor shares.
func base64Core(encoding *base64.Encoding, token string, offset int) string {
	whole := encoding.EncodeToString(append(make([]byte, offset), token...))
	first := (offset*8 + 5) / 6
	return whole[first : (offset+len(token))*8/6]
}

// finder finds out whether a body holds one of several texts, reading a fraction of its
// bytes (Wu and Manber's algorithm): a body is searched for a dozen spellings, and all
// bodies of a night are.
type finder struct {
	texts [][]byte
	// least is the length of the shortest text; nothing behind it is looked at first.
	least int
	// shift is how far a block of bytes may be moved on, by its hash, until it could be
	// the last one of some text.
	shift []uint8
}

// blockBytes are looked at together.
const blockBytes = 3

func hashBlock(b []byte) uint16 { return uint16(b[0])<<11 ^ uint16(b[1])<<5 ^ uint16(b[2]) }

// newFinder finds texts of at least minScrubbed bytes, and ignores shorter ones.
func newFinder(texts []string) *finder {
	f := &finder{least: 255}
	for _, text := range texts {
		if len(text) >= minScrubbed {
			f.texts, f.least = append(f.texts, []byte(text)), min(f.least, len(text))
		}
	}
	f.shift = bytes.Repeat([]byte{uint8(f.least - blockBytes + 1)}, 1<<16)
	for _, text := range f.texts {
		for i := range f.least - blockBytes + 1 {
			at := hashBlock(text[i:])
			f.shift[at] = min(f.shift[at], uint8(f.least-blockBytes-i))
		}
	}
	return f
}

// isIn reports whether a body holds one of the texts.
func (f *finder) isIn(body []byte) bool {
	if len(f.texts) == 0 {
		return false
	}
	for at := f.least - blockBytes; at+blockBytes <= len(body); {
		shift := f.shift[hashBlock(body[at:])]
		if shift > 0 {
			at += int(shift)
			continue
		}
		begin := body[at-(f.least-blockBytes):]
		if slices.ContainsFunc(f.texts, func(text []byte) bool { return bytes.HasPrefix(begin, text) }) {
			return true
		}
		at++
	}
	return false
}
