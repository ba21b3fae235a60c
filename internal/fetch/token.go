package fetch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// tokens contains the bearer tokens of the run, so that they can be removed from texts.
type tokens struct {
	read func(ctx context.Context) (string, error)

	mu      sync.Mutex
	current string   // "" before the first request
	all     []string // all tokens of the run
}

func (t *tokens) currentToken(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current == "" {
		if _, err := t.readToken(ctx); err != nil {
			return "", err
		}
	}
	return t.current, nil
}

// renewToken reports whether the token now differs from the rejected one. It reads the token again
// only if the current token is the rejected one. So if several workers get a 401 at the same time,
// the source is read once.
func (t *tokens) renewToken(ctx context.Context, rejected string) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current != rejected {
		return true, nil
	}
	return t.readToken(ctx)
}

// The result is whether the token has changed.
func (t *tokens) readToken(ctx context.Context) (bool, error) {
	token, err := t.read(ctx)
	if err != nil {
		return false, fmt.Errorf("%w: %w", errTokenUnreadable, err)
	}
	token = strings.TrimSpace(token)
	if token == "" {
		return false, fmt.Errorf("%w: the file or variable is empty", errTokenUnreadable)
	}
	if token == t.current {
		return false, nil
	}
	t.current = token
	t.all = append(t.all, token)
	return true, nil
}

// tokenForms returns the token unchanged and in the usual escaped forms. Some JSON encoders escape slashes;
// encoding/json does not.
func tokenForms(token string) []string {
	quoted, _ := json.Marshal(token) // a string can always be encoded
	inJSON := strings.ReplaceAll(string(quoted[1:len(quoted)-1]), "/", `\/`)
	forms := []string{token, inJSON, url.QueryEscape(token)}
	slices.Sort(forms)
	return slices.Compact(forms)
}

func (t *tokens) scrubText(text string) string {
	scrubbed, _ := t.scrub([]byte(text), 1)
	return string(scrubbed)
}

// minScrubbed is the minimal length, in bytes, of tokens that are removed from responses. A
// shorter token could be part of any word. No service issues such short tokens.
const minScrubbed = 8

// scrubBody removes tokens from a response: an echoed token would be stored and published.
// found reports whether the response contained a token.
func (t *tokens) scrubBody(body []byte) (scrubbed []byte, found bool) {
	return t.scrub(body, minScrubbed)
}

// scrub removes the tokens that have at least minLength bytes.
func (t *tokens) scrub(text []byte, minLength int) (scrubbed []byte, found bool) {
	t.mu.Lock()
	all := t.all
	t.mu.Unlock()
	for _, token := range all {
		if len(token) < minLength {
			continue
		}
		for _, form := range tokenForms(token) {
			if bytes.Contains(text, []byte(form)) {
				text, found = bytes.ReplaceAll(text, []byte(form), []byte(secretMark)), true
			}
		}
		if replaced, ok := replaceEscaped(text, token); ok {
			text, found = replaced, true
		}
	}
	return text, found
}

// RemoveTokens removes the token of the service from a body that another program received.
func (c *Client) RemoveTokens(ctx context.Context, body []byte) []byte {
	// A replay may have no token. The body then stays as it is.
	_, _ = c.sender.tokens.currentToken(ctx)
	scrubbed, _ := c.sender.tokens.scrubBody(body)
	return scrubbed
}

const secretMark = "<secret>"

var secretNamePattern = regexp.MustCompile(`(?i)token|secret|key|passw|signature|auth|credential`)

// redactURL removes credentials, tokens and the values of secret parameters from a URL.
func (t *tokens) redactURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return secretMark
	}
	u.User = nil
	query := u.RawQuery
	u.RawQuery = ""
	text := u.String()
	if query == "" {
		return t.scrubText(text)
	}
	parameters := strings.Split(query, "&")
	for i, p := range parameters {
		if name, _, found := strings.Cut(p, "="); found && secretNamePattern.MatchString(name) {
			parameters[i] = name + "=" + secretMark
		}
	}
	return t.scrubText(text + "?" + strings.Join(parameters, "&"))
}

const maxExcerpt = 120 // bytes of a body in an error

// describeBody returns Body, bodyMessage and bodyKind of a StatusError. code is the HTTP status, or 0 if it is
// unknown.
func (t *tokens) describeBody(code int, body []byte) (text, message, kind string) {
	first := bytes.TrimLeft(body, " \t\r\n")
	isJSON := len(first) > 0 && strings.IndexByte(`{["`, first[0]) >= 0
	if isJSON && (code == 0 || isCompleteStatus(code)) {
		return "", "", "" // it may contain records, which errors should not repeat
	}
	beginning := t.excerpt(body)
	if beginning == "" {
		return "", "", ""
	}
	text = fmt.Sprintf("body begins %q", beginning)
	message = t.excerpt([]byte(bodyMessage(body)))
	switch {
	case message != "":
		return text, message, ""
	case isHTML(body):
		return text, "", "a page of HTML"
	case isJSON:
		return text, "", "JSON that has no message"
	}
	return text, beginning, ""
}

// bodyMessage returns the message in a JSON error body, under the usual member names, or "".
func bodyMessage(body []byte) string {
	var problem struct {
		Error       json.RawMessage `json:"error"`
		Message     json.RawMessage `json:"message"`
		Detail      json.RawMessage `json:"detail"`
		Description json.RawMessage `json:"error_description"`
		Title       json.RawMessage `json:"title"`
	}
	if json.Unmarshal(body, &problem) != nil {
		return ""
	}
	for _, value := range []json.RawMessage{problem.Message, problem.Detail, problem.Description, problem.Error, problem.Title} {
		var text string
		if json.Unmarshal(value, &text) == nil && text != "" {
			return text
		}
	}
	return bodyMessage(problem.Error) // may be an object with the message
}

// excerpt returns the beginning of a text without secrets, and without control and formatting characters, because
// errors are printed on terminals.
func (t *tokens) excerpt(body []byte) string {
	var b strings.Builder
	// Four times the length is scrubbed first, so that a token across the end of the
	// excerpt is found.
	for _, r := range string(body[:min(len(body), 4*maxExcerpt)]) {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			b.WriteByte(' ')
		case r != utf8.RuneError && unicode.IsPrint(r):
			b.WriteRune(r)
		}
	}
	text := t.scrubText(b.String())
	if len(text) > maxExcerpt {
		text = strings.ToValidUTF8(text[:maxExcerpt], "") + "..."
	}
	return text
}

// isHTML reports whether a body begins like HTML or XML.
func isHTML(body []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n\ufeff"), []byte("<"))
}

// bodyType describes the content of a body without quoting it.
func bodyType(body []byte) string {
	switch {
	case json.Valid(body):
		return "JSON"
	case isHTML(body):
		return "HTML or XML"
	case !utf8.Valid(body) || bytes.ContainsRune(body, 0):
		return "binary data"
	}
	return "text"
}

// unquotedError is an error whose text ends before the first quote. The errors of net/http quote all
// received bytes.
type unquotedError struct{ error }

func (e unquotedError) Error() string {
	text, _, isCut := strings.Cut(e.error.Error(), `"`)
	if !isCut {
		return text
	}
	return strings.TrimRight(text, " :") + " (not shown)"
}

func (e unquotedError) Unwrap() error { return e.error }

// scrubbedError has a text without secrets and still matches its cause.
type scrubbedError struct {
	text  string
	cause error
}

func (e *scrubbedError) Error() string { return e.text }

func (e *scrubbedError) Is(target error) bool { return e.cause == target }

// scrubErr removes tokens from an error. The result does not wrap the error, because a wrapped
// error could print the token. errors.Is still finds the error of this package that fits the
// cause, such as ErrUnreachable for a failed DNS lookup.
func (t *tokens) scrubErr(err error) error {
	for _, sentinel := range []error{ErrMalformed, ErrTooLarge, errTokenUnreadable, errTimeout} {
		if errors.Is(err, sentinel) {
			return &scrubbedError{t.scrubText(err.Error()), sentinel}
		}
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound || errors.Is(err, syscall.ECONNREFUSED) {
		return &scrubbedError{t.scrubText(err.Error()), ErrUnreachable}
	}
	return &scrubbedError{t.scrubText(err.Error()), nil}
}

// replaceEscaped replaces a token with escaped characters, as in JSON (\u002B), in a URL (%2b), or
// as in a URL within JSON (\u00252b). ok is false if there is no such token.
func replaceEscaped(text []byte, token string) (replaced []byte, ok bool) {
	copied := 0
	slash, percent := -1, -1 // the next ones at or after i
	for i := 0; ; {
		slash, percent = nextIndex(text, '\\', slash, i), nextIndex(text, '%', percent, i)
		i = min(slash, percent)
		if i == len(text) {
			break
		}
		if start, end := findEscaped(text[copied:], i-copied, token); end > 0 {
			replaced = append(append(replaced, text[copied:copied+start]...), secretMark...)
			copied += end
			i = copied
			continue
		}
		_, length := unescapeJSON(text[i:])
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
	for before := range len(token) {
		if token[before] != first || !bytes.HasSuffix(text[:at], []byte(token[:before])) {
			continue
		}
		if length, ok := matchEscaped(text[at:], token[before:]); ok {
			return at - before, at + length
		}
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
			// A percent sign can be a character of the token.
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
