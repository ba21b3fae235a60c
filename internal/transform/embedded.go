package transform

import (
	"bytes"
	"strings"
)

// The service may send a list or an object as a text (spec 2): as JSON, or a list also as an array literal of
// PostgreSQL such as {A,"B, C"}.

// jsonInText returns the JSON of the list or object in a text. ok is false if the text contains neither.
func jsonInText(raw []byte, f form) (content []byte, ok bool) {
	content = bytes.Trim(unquote(raw, f), " \t\r\n")
	if len(content) == 0 || content[0] != '{' && content[0] != '[' {
		return nil, false
	}
	s := scanner{buf: content}
	if _, err := s.skip(); err != nil || s.pos < len(content) {
		return nil, false
	}
	return content, true
}

// listInText is like jsonInText and also reads an array literal.
func listInText(raw []byte, f form) (content []byte, ok bool) {
	if content, ok = jsonInText(raw, f); ok {
		return content, true
	}
	a := arrayLiteral{text: bytes.Trim(unquote(raw, f), " \t\r\n")}
	a.skipBounds()
	if !a.readArray(1) || a.pos < len(a.text) {
		return nil, false
	}
	return a.json, true
}

// ListInText returns the JSON of a list in a JSON text. ok is false for any other value.
func ListInText(raw []byte) (list []byte, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return nil, false
	}
	list, ok = listInText(raw, nonASCII|escaped) // the text may have both
	return list, ok && list[0] == '['
}

func objectInText(raw []byte, f form) (content []byte, ok bool) {
	content, ok = jsonInText(raw, f)
	return content, ok && content[0] == '{'
}

// insideText reads the JSON in a text. It scans content instead of the body, calls read with the position of its
// value in in.values, and restores the scanner. f, node and itemNode are passed to (*input).index.
func (in *input) insideText(content []byte, f *field, node, itemNode *node, read func(i int)) {
	outer := in.scanner
	in.scanner = scanner{buf: content}
	name := ""
	if f != nil {
		name = f.name
	}
	i, _ := in.index(f, name, node, itemNode) // the scanner has accepted the text before
	read(i)
	in.scanner = outer
}

// arrayLiteral converts an array literal of PostgreSQL to JSON:
// https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO
type arrayLiteral struct {
	text []byte
	pos  int
	json []byte
}

// skipBounds skips the bounds before an array that does not count from 1, as in [0:1]={a,b}.
func (a *arrayLiteral) skipBounds() {
	bounds, rest, ok := bytes.Cut(a.text, []byte("="))
	if ok && len(bounds) > 2 && bounds[0] == '[' && len(bytes.Trim(bounds, "[]:+-0123456789")) == 0 {
		a.text = rest
	}
}

func (a *arrayLiteral) skipSpace() {
	for a.pos < len(a.text) && isArraySpace(a.text[a.pos]) {
		a.pos++
	}
}

func isArraySpace(c byte) bool { return bytes.IndexByte([]byte(" \t\r\n\v\f"), c) >= 0 }

// peek returns the byte at the position, or 0 at the end.
func (a *arrayLiteral) peek() byte {
	if a.pos == len(a.text) {
		return 0
	}
	return a.text[a.pos]
}

// readArray reads the array at the position and reports whether it is valid.
func (a *arrayLiteral) readArray(depth int) bool {
	a.skipSpace()
	if a.peek() != '{' || depth > maxDepth {
		return false
	}
	a.pos++
	a.json = append(a.json, '[')
	for {
		if !a.readElement(depth) {
			return false
		}
		a.skipSpace()
		separator := a.peek()
		a.pos++
		switch separator {
		case ',':
			a.json = append(a.json, ',')
		case '}':
			a.json = append(a.json, ']')
			return true
		default:
			return false
		}
	}
}

func (a *arrayLiteral) readElement(depth int) bool {
	a.skipSpace()
	switch a.peek() {
	case '{':
		return a.readArray(depth + 1)
	case '"':
		return a.readQuoted()
	}
	return a.readUnquoted()
}

func (a *arrayLiteral) readQuoted() bool {
	var element []byte
	for a.pos++; a.pos < len(a.text); a.pos++ {
		switch a.text[a.pos] {
		case '"':
			a.pos++
			a.json = appendQuoted(a.json, string(element))
			return true
		case '\\':
			a.pos++
			if a.pos == len(a.text) {
				return false
			}
		}
		element = append(element, a.text[a.pos])
	}
	return false
}

// readUnquoted reads an element without quotes. White space around it is ignored, and NULL is null.
func (a *arrayLiteral) readUnquoted() bool {
	var element []byte
	length := 0 // without white space at the end
	isEscaped := false
	for ; a.pos < len(a.text); a.pos++ {
		c := a.text[a.pos]
		if c == ',' || c == '}' {
			break
		}
		if c == '{' || c == '"' {
			return false
		}
		if c == '\\' {
			isEscaped = true
			a.pos++
			if a.pos == len(a.text) {
				return false
			}
			c = a.text[a.pos]
		} else if isArraySpace(c) {
			element = append(element, c)
			continue
		}
		element = append(element, c)
		length = len(element)
	}
	if length == 0 {
		return false
	}
	if !isEscaped && strings.EqualFold(string(element[:length]), "NULL") {
		a.json = append(a.json, "null"...)
		return true
	}
	a.json = appendQuoted(a.json, string(element[:length]))
	return true
}
