package transform

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// appendText appends the text of a quoted string that a scanner has read. Bytes
// and escapes that are no characters become U+FFFD, and it reports false.
func appendText(dst, quoted []byte, f form) ([]byte, bool) {
	inner := quoted[1 : len(quoted)-1]
	if f == plain || f == nonASCII && utf8.Valid(inner) {
		return append(dst, inner...), true
	}
	start := len(dst)
	if f == escaped || utf8.Valid(inner) {
		var ok bool
		if dst, ok = unescape(dst, inner); ok {
			return dst, true
		}
	}
	dst, err := jsontext.AppendUnquote(dst[:start], quoted)
	return dst, err == nil
}

// unescape resolves the escapes of valid text, copying what lies between them
// in one go. It stops at a surrogate: those are rare, and jsontext pairs them.
func unescape(dst, inner []byte) ([]byte, bool) {
	for {
		n := bytes.IndexByte(inner, '\\')
		if n < 0 {
			return append(dst, inner...), true
		}
		dst = append(dst, inner[:n]...)
		c := inner[n+1]
		inner = inner[n+2:]
		switch c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			v, _ := strconv.ParseUint(string(inner[:4]), 16, 16)
			if utf16.IsSurrogate(rune(v)) {
				return dst, false
			}
			dst, inner = utf8.AppendRune(dst, rune(v)), inner[4:]
		default:
			dst = append(dst, c)
		}
	}
}
