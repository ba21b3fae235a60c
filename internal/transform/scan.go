package transform

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth limits the nesting of a body: the service needs six levels.
const maxDepth = 64

// form describes the content of a string token.
type form uint8

const (
	plain    form = 0 // neither of the following
	nonASCII form = 1 // bytes of 0x80 and above
	escaped  form = 2 // a backslash
)

// scanner reads JSON tokens strictly (RFC 8259) from a body in memory. It accepts invalid
// UTF-8 in strings, duplicate names, and the words NaN, Infinity and -Infinity, which the service might
// send and the callers handle.
//
// Unlike the decoder of jsontext, it can read a value again and skip an unchanged record by its length,
// because positions are plain offsets. Escapes and quoting, which are rare, are left to jsontext.
type scanner struct {
	buf   []byte
	pos   int
	depth int
}

func (s *scanner) syntaxErr(detail string) error {
	if s.pos >= len(s.buf) {
		return fmt.Errorf("%w: it ends at byte %d, %s", ErrMalformed, s.pos, detail)
	}
	return fmt.Errorf("%w: byte %d is %q, %s", ErrMalformed, s.pos, s.buf[s.pos], detail)
}

// peek skips white space and returns the next byte, or 0 at the end.
func (s *scanner) peek() byte {
	for s.pos < len(s.buf) {
		c := s.buf[s.pos]
		if c > ' ' || c != ' ' && c != '\n' && c != '\t' && c != '\r' { // the first comparison decides most cases
			return c
		}
		s.pos++
	}
	return 0
}

func (s *scanner) open() error {
	s.depth++
	if s.depth > maxDepth {
		return s.syntaxErr(fmt.Sprintf("nested deeper than %d", maxDepth))
	}
	s.pos++
	return nil
}

// next moves to the next member or item of an object or list and returns true. At the end it leaves the
// object or list and returns false.
func (s *scanner) next(end byte, first bool) (bool, error) {
	c := s.peek()
	if c == end {
		s.pos++
		s.depth--
		return false, nil
	}
	if first {
		return true, nil
	}
	if c != ',' {
		return false, s.syntaxErr("expected a comma or the end of the list or object")
	}
	s.pos++
	if s.peek() == end {
		return false, s.syntaxErr("expected a value after the comma")
	}
	return true, nil
}

// each calls read at each item or member of the list or object at the position. number counts from 1.
func (s *scanner) each(end byte, read func(number int) error) error {
	if err := s.open(); err != nil {
		return err
	}
	for number := 1; ; number++ {
		more, err := s.next(end, number == 1)
		if !more || err != nil {
			return err
		}
		if err := read(number); err != nil {
			return err
		}
	}
}

// name skips a member name and the colon after it, and returns the name with its quotes.
func (s *scanner) name() ([]byte, form, error) {
	if s.peek() != '"' {
		return nil, plain, s.syntaxErr("expected a member name")
	}
	start := s.pos
	f, err := s.text()
	if err != nil {
		return nil, f, err
	}
	quoted := s.buf[start:s.pos]
	if s.peek() != ':' {
		return quoted, f, s.syntaxErr("expected a colon after the name")
	}
	s.pos++
	return quoted, f, nil
}

// skipPrefix skips prefix if it is at the position, and reports whether it was.
func (s *scanner) skipPrefix(prefix string) bool {
	if rest := s.buf[s.pos:]; len(rest) < len(prefix) || string(rest[:len(prefix)]) != prefix {
		return false
	}
	s.pos += len(prefix)
	return true
}

// In ones the lowest bit of each byte is set, and in tops the highest.
const (
	ones = 0x0101010101010101
	tops = 0x8080808080808080
)

// text skips the string at the position and returns its form. Plain bytes are checked eight at a time.
func (s *scanner) text() (form, error) {
	f := plain
	b, i := s.buf, s.pos+1
	for {
		i = skipPlain(b, i)
		if i >= len(b) {
			s.pos = i
			return f, s.syntaxErr("in a string")
		}
		switch c := b[i]; {
		case c == '"':
			s.pos = i + 1
			return f, nil
		case c >= 0x80:
			f |= nonASCII
			for i < len(b) && b[i] >= 0x80 {
				i++
			}
		case c == '\\':
			f |= escaped
			n := escapeLen(b[i:])
			if n == 0 {
				s.pos = i
				return f, s.syntaxErr("expected a JSON escape")
			}
			i += n
		default:
			s.pos = i
			return f, s.syntaxErr("control characters must be escaped")
		}
	}
}

// skipPlain returns the index of the first byte from i on that is not plain.
func skipPlain(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		if marks := specialMarks(binary.LittleEndian.Uint64(b[i:])); marks != 0 {
			return i + bits.TrailingZeros64(marks)>>3
		}
	}
	for i < len(b) && isPlain(b[i]) {
		i++
	}
	return i
}

func isPlain(c byte) bool { return c >= ' ' && c < 0x80 && c != '"' && c != '\\' }

// specialMarks sets the top bit of each byte that is a quote, a backslash, a control character
// or at least 0x80. Subtracting 1 from a zero byte sets its top bit, so the subtraction finds the bytes that
// are equal to a character. A borrow can also mark bytes above the first match. Therefore skipPlain uses
// only the lowest mark.
func specialMarks(w uint64) uint64 {
	quote, slash := w^(ones*'"'), w^(ones*'\\')
	return (w | (w - ones*' ') | (quote - ones) | (slash - ones)) & tops
}

// escapeLen returns the length of the escape at the start of b, or 0 if the escape is invalid.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		var unit [2]byte
		if _, err := hex.Decode(unit[:], b[2:6]); err != nil {
			return 0
		}
		return 6
	}
	return 0
}

func (s *scanner) number() error {
	d, n, ok := scanDecimal(s.buf[s.pos:])
	s.pos += n
	if !ok || d.hasLeadingZero() {
		return s.syntaxErr("after an invalid number")
	}
	return nil
}

// isNotFinite reports whether a value is NaN, Infinity or -Infinity.
func isNotFinite(raw []byte) bool {
	return raw[0] == 'N' || raw[0] == 'I' || raw[0] == '-' && raw[1] == 'I'
}

func skipDigits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

func (s *scanner) literal(word string) error {
	if !s.skipPrefix(word) {
		return s.syntaxErr("expected " + word)
	}
	return nil
}

func (s *scanner) scalar() ([]byte, form, error) {
	var err error
	var f form
	c := s.peek()
	start := s.pos
	switch c {
	case '"':
		f, err = s.text()
	case 't':
		err = s.literal("true")
	case 'f':
		err = s.literal("false")
	case 'n':
		err = s.literal("null")
	case 'N':
		err = s.literal("NaN")
	case 'I':
		err = s.literal("Infinity")
	case '-':
		if s.pos+1 < len(s.buf) && s.buf[s.pos+1] == 'I' {
			err = s.literal("-Infinity")
		} else {
			err = s.number()
		}
	case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		err = s.number()
	default:
		err = s.syntaxErr("expected a value")
	}
	return s.buf[start:s.pos], f, err
}

// skip moves past the value at the position, and returns its JSON text.
func (s *scanner) skip() ([]byte, error) {
	c := s.peek()
	start := s.pos
	if c != '{' && c != '[' {
		raw, _, err := s.scalar()
		return raw, err
	}
	end := c + 2 // the closing byte follows the opening one by two in ASCII
	err := s.each(end, func(int) error {
		if c == '{' {
			if _, _, err := s.name(); err != nil {
				return err
			}
		}
		_, err := s.skip()
		return err
	})
	return s.buf[start:s.pos], err
}

// appendUnquoted appends the content of a string. Invalid bytes and escapes become U+FFFD. It reports
// whether the content was valid.
func appendUnquoted(dst, quoted []byte, f form) ([]byte, bool) {
	inner := quoted[1 : len(quoted)-1]
	if f&nonASCII != 0 && !utf8.Valid(inner) {
		dst, err := jsontext.AppendUnquote(dst, quoted)
		return dst, err == nil
	}
	if f&escaped == 0 {
		return append(dst, inner...), true
	}
	// Most texts with escapes have few of them, so only the escapes are given to jsontext.
	isValid := true
	var buffer [64]byte
	for {
		n := bytes.IndexByte(inner, '\\')
		if n < 0 {
			return append(dst, inner...), isValid
		}
		end := n // of a series of escapes, which may contain surrogate pairs
		for end < len(inner) && inner[end] == '\\' {
			end += escapeLen(inner[end:])
		}
		quotedEscapes := append(append(append(buffer[:0], '"'), inner[n:end]...), '"')
		var err error
		dst, err = jsontext.AppendUnquote(append(dst, inner[:n]...), quotedEscapes)
		isValid = isValid && err == nil
		inner = inner[end:]
	}
}
