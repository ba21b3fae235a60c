package transform

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonWriter rewrites JSON: without white space and with sorted names, or in a canonical form that
// is equal exactly for equal values. A scanner has already checked the JSON for syntax errors.
// Invalid Unicode becomes U+FFFD, since DuckDB rejects it in JSON.
type jsonWriter struct {
	scan    scanner
	out     []byte
	hashBuf []byte // of hashLast
	textBuf []byte // of writeScalar
	clean   bool   // all texts so far were valid UTF-8
	style   style
}

type style uint8

const (
	sorted        style = iota // keeps numbers and strings as they came
	canonicalForm              // normalizes numbers and strings
)

type member struct {
	name   []byte // without quotes and escapes
	quoted []byte
	form   form
	pos    int // of the value
}

// appendJSON reports whether raw was valid UTF-8.
func (w *jsonWriter) appendJSON(dst, raw []byte, s style) ([]byte, bool) {
	w.scan = scanner{buf: raw}
	w.out, w.style, w.clean = dst, s, true
	w.writeValue()
	return w.out, w.clean
}

func (w *jsonWriter) writeValue() {
	switch w.scan.peek() {
	case '{':
		w.writeObject()
	case '[':
		w.out = append(w.out, '[')
		_ = w.scan.each(']', func(number int) error {
			if number > 1 {
				w.out = append(w.out, ',')
			}
			w.writeValue()
			return nil
		})
		w.out = append(w.out, ']')
	default:
		raw, f, _ := w.scan.scalar()
		w.writeScalar(raw, f)
	}
}

func (w *jsonWriter) writeObject() {
	var members []member
	_ = w.scan.each('}', func(int) error {
		m := member{}
		m.quoted, m.form, _ = w.scan.name()
		m.pos = w.scan.pos
		var clean bool
		m.name, clean = appendUnquoted(nil, m.quoted, m.form)
		w.clean = w.clean && clean
		members = append(members, m)
		_, _ = w.scan.skip()
		return nil
	})
	end := w.scan.pos
	// Stored fingerprints depend on the order of bytes.
	slices.SortStableFunc(members, func(a, b member) int { return bytes.Compare(a.name, b.name) })
	w.out = append(w.out, '{')
	for i, m := range members {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		if w.style == sorted {
			w.out, _ = jsontext.AppendQuote(w.out, m.name)
		} else {
			w.writeScalar(m.quoted, m.form)
		}
		w.out = append(w.out, ':')
		w.scan.pos = m.pos
		w.writeValue()
	}
	w.out = append(w.out, '}')
	w.scan.pos = end
}

func (w *jsonWriter) writeScalar(raw []byte, f form) {
	switch {
	case isNotFinite(raw):
		w.out = append(w.out, "null"...) // JSON has no form for it
	case raw[0] != '"' && (w.style != canonicalForm || raw[0] > '9'):
		w.out = append(w.out, raw...)
	case raw[0] != '"':
		w.out = appendNumber(w.out, raw)
	case f == plain && w.style != canonicalForm:
		w.out = append(w.out, raw...)
	default:
		var clean bool
		w.textBuf, clean = appendUnquoted(w.textBuf[:0], raw, f)
		w.clean = w.clean && clean
		switch {
		case w.style == canonicalForm:
			// The length makes the output unambiguous.
			w.out = binary.AppendUvarint(append(w.out, '"'), uint64(len(w.textBuf)))
			w.out = append(w.out, w.textBuf...)
		case clean:
			w.out = append(w.out, raw...)
		default:
			w.out, _ = jsontext.AppendQuote(w.out, w.textBuf)
		}
	}
}

// appendNumber writes a number in a form that is equal for 1, 1.0 and 10e-1.
func appendNumber(dst, raw []byte) []byte {
	d, _ := splitDecimal(raw)
	if d.exp <= -maxExponent || d.exp >= maxExponent {
		return append(append(dst, '~'), raw...)
	}
	digits := len(d.whole) + len(d.fraction)
	lo, hi := 0, digits
	for lo < hi && d.digitAt(lo) == 0 {
		lo++
	}
	for hi > lo && d.digitAt(hi-1) == 0 {
		hi--
	}
	dst = append(dst, '#')
	if lo == hi {
		return append(dst, '0')
	}
	if d.negative {
		dst = append(dst, '-')
	}
	for i := lo; i < hi; i++ {
		dst = append(dst, '0'+d.digitAt(i))
	}
	exp := d.exp - int64(len(d.fraction)) + int64(digits-hi)
	return strconv.AppendInt(append(dst, 'e'), exp, 10)
}
