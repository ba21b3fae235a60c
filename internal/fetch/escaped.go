package fetch

import (
	"bytes"
	"strings"
)

// replaceEscaped replaces a token of which some characters are escaped, as in JSON (\u002B), in a URL (%2b), or
// as in a URL within JSON (\u00252b). ok is false if there is no such token.
func replaceEscaped(text []byte, token string) (replaced []byte, ok bool) {
	copied := 0
	slash, percent := -1, -1 // the next ones at or after i
	for i := 0; i < len(text); {
		slash, percent = nextIndex(text, '\\', slash, i), nextIndex(text, '%', percent, i)
		i = min(slash, percent)
		if i == len(text) {
			break
		}
		c, length := unescapeJSON(text[i:])
		if c == '%' {
			c, _ = unescape(text[i:])
		}
		if strings.IndexByte(token, c) >= 0 {
			if start, end := findEscaped(text[copied:], i-copied, token); end > 0 {
				replaced = append(append(replaced, text[copied:copied+start]...), secretMark...)
				copied += end
				i = copied
				continue
			}
		}
		i += length
	}
	if copied == 0 {
		return text, false
	}
	return append(replaced, text[copied:]...), true
}

// nextIndex returns the index of the first c in text from i on, or len(text). known is the result of an earlier call.
func nextIndex(text []byte, c byte, known, i int) int {
	if known >= i {
		return known
	}
	if n := bytes.IndexByte(text[i:], c); n >= 0 {
		return i + n
	}
	return len(text)
}

// findEscaped returns the place of a token whose first escaped character is at text[at]. end is 0 if there is no
// such token.
func findEscaped(text []byte, at int, token string) (start, end int) {
	first, _ := unescape(text[at:])
	for before := strings.IndexByte(token, first); before >= 0; {
		if bytes.HasSuffix(text[:at], []byte(token[:before])) {
			if length, ok := matchEscaped(text[at:], token[before:]); ok {
				return at - before, at + length
			}
		}
		next := strings.IndexByte(token[before+1:], first)
		if next < 0 {
			break
		}
		before += 1 + next
	}
	return 0, 0
}

// matchEscaped returns the length of the beginning of text whose unescaped characters are the wanted ones.
func matchEscaped(text []byte, wanted string) (length int, ok bool) {
	for i := range len(wanted) {
		if length >= len(text) {
			return 0, false
		}
		c, n := unescape(text[length:])
		if c != wanted[i] {
			// A percent sign of the token itself escapes nothing.
			c, n = unescapeJSON(text[length:])
		}
		if c != wanted[i] {
			return 0, false
		}
		length += n
	}
	return length, true
}

// unescape returns the first character of a text without the escapes of JSON and URLs, and its length in the
// text.
func unescape(text []byte) (c byte, length int) {
	c, length = unescapeJSON(text)
	if c != '%' {
		return c, length
	}
	var hex [2]byte
	after := length
	for i := range hex {
		if after >= len(text) {
			return c, length
		}
		digit, n := unescapeJSON(text[after:])
		hex[i] = digit
		after += n
	}
	if code, ok := parseHex(hex[0], hex[1]); ok {
		return code, after
	}
	return c, length
}

func parseHex(high, low byte) (code byte, ok bool) {
	const digits = "0123456789abcdef0123456789ABCDEF"
	h, l := strings.IndexByte(digits, high), strings.IndexByte(digits, low)
	return byte(h&15<<4 | l&15), h >= 0 && l >= 0
}

// unescapeJSON returns the first character of a text without the escapes of JSON, and its length in the text.
// The character of an escape that no token contains is 0. A series of backslashes before the letter u is one
// escape, because JSON can be a text within JSON.
func unescapeJSON(text []byte) (c byte, length int) {
	if text[0] != '\\' {
		return text[0], 1
	}
	slashes := 1
	for slashes < len(text) && text[slashes] == '\\' {
		slashes++
	}
	rest := text[slashes:]
	switch {
	case len(rest) == 0:
		return 0, slashes
	case rest[0] == '"' || rest[0] == '/':
		return rest[0], slashes + 1
	case len(rest) >= 5 && string(rest[:3]) == "u00":
		if code, ok := parseHex(rest[3], rest[4]); ok {
			return code, slashes + 5
		}
	}
	return 0, slashes + 1
}
