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

// tokens holds the current bearer token and every earlier one of the run, so
// that none of them reaches a text.
type tokens struct {
	read func(ctx context.Context) (string, error)

	mu    sync.Mutex
	known []string
	// forms are the known tokens as a text may contain them.
	forms []string
	// generation counts the reads that brought another token.
	generation int
}

// currentToken returns the token and its generation, reading it if need be.
func (t *tokens) currentToken(ctx context.Context) (string, int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.generation == 0 {
		if _, err := t.readToken(ctx); err != nil {
			return "", 0, err
		}
	}
	return t.known[len(t.known)-1], t.generation, nil
}

// renewToken reads the token again unless another call did since generation, and
// reports whether there is another token now. Workers that were refused
// together thus read the source once.
func (t *tokens) renewToken(ctx context.Context, generation int) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.generation != generation {
		return true, nil
	}
	return t.readToken(ctx)
}

func (t *tokens) readToken(ctx context.Context) (bool, error) {
	token, err := t.read(ctx)
	if err != nil {
		return false, fmt.Errorf("%w: %w", errTokenUnread, err)
	}
	token = strings.TrimSpace(token)
	if token == "" {
		return false, fmt.Errorf("%w: its source is empty; configure a token", errTokenUnread)
	}
	if len(t.known) > 0 && t.known[len(t.known)-1] == token {
		return false, nil
	}
	t.known = append(slices.DeleteFunc(t.known, func(k string) bool { return k == token }), token)
	t.forms = append(t.forms, tokenForms(token)...)
	t.generation++
	return true, nil
}

// tokenForms lists a token as it is, escaped in JSON and escaped in a URL. Some encoders
// escape slashes in JSON, and encoding/json does not.
func tokenForms(token string) []string {
	quoted, _ := json.Marshal(token) // a string can always be encoded
	inJSON := strings.ReplaceAll(string(quoted[1:len(quoted)-1]), "/", `\/`)
	forms := []string{token, inJSON, url.QueryEscape(token)}
	slices.Sort(forms)
	return slices.Compact(forms)
}

// scrubText replaces every token known so far.
func (t *tokens) scrubText(text string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, form := range t.forms {
		text = strings.ReplaceAll(text, form, secretMark)
	}
	return text
}

// minScrubbed is the length, in bytes, from which a token is removed from answers: a
// shorter one, which no service issues, could be a part of any word.
const minScrubbed = 8

// scrubBody removes tokens from an answer: those that a service echoes would be landed and
// published. It reports whether there were any.
func (t *tokens) scrubBody(body []byte) (scrubbed []byte, found bool) {
	t.mu.Lock()
	forms := t.forms
	t.mu.Unlock()
	for _, form := range forms {
		if len(form) >= minScrubbed && bytes.Contains(body, []byte(form)) {
			body, found = bytes.ReplaceAll(body, []byte(form), []byte(secretMark)), true
		}
	}
	return body, found
}

// secretMark stands where a secret was.
const secretMark = "<secret>"

// secretName matches query parameters whose values are not shown.
var secretName = regexp.MustCompile(`(?i)token|secret|key|passw|signature|auth|credential`)

// redactURL makes a URL fit for an error text: no credentials, no values of
// parameters that look secret, no token.
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
		if name, _, found := strings.Cut(p, "="); found && secretName.MatchString(name) {
			parameters[i] = name + "=" + secretMark
		}
	}
	return t.scrubText(text + "?" + strings.Join(parameters, "&"))
}

// excerptBytes is how much of a body an error shows.
const excerptBytes = 120

// bodyExcerpt is the beginning of a body that may be shown, on one line. JSON that came
// with a success, whole or cut off, can hold records, and the text of an error is
// published where their values must not be. Control and formatting characters go, since
// an error ends up on a terminal.
func (t *tokens) bodyExcerpt(code int, body []byte) string {
	if first := bytes.TrimLeft(body, " \t\r\n"); (code == 0 || isAnswer(code)) && len(first) > 0 && strings.IndexByte(`{["`, first[0]) >= 0 {
		return ""
	}
	var b strings.Builder
	// Read on beyond the excerpt so that a token across its end is still seen
	// whole and scrubbed.
	for _, r := range string(body[:min(len(body), 4*excerptBytes)]) {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			b.WriteByte(' ')
		case r != utf8.RuneError && unicode.IsPrint(r):
			b.WriteRune(r)
		}
	}
	text := t.scrubText(b.String())
	if len(text) <= excerptBytes {
		return text
	}
	return strings.ToValidUTF8(text[:excerptBytes], "") + "..."
}

// scrubbedError shows its cause without secrets and still matches it.
type scrubbedError struct {
	text  string
	cause error
}

func (e *scrubbedError) Error() string { return e.text }

func (e *scrubbedError) Is(target error) bool { return e.cause == target }

// scrubErr takes the token out of an error's text. The result has the text and, so that
// decisions can be made, the sentinel that the error wraps or stands for: a wrapped cause
// could print the token.
func (t *tokens) scrubErr(err error) error {
	for _, sentinel := range []error{ErrMalformed, ErrTooLarge, errTokenUnread, errTimeout} {
		if errors.Is(err, sentinel) {
			return &scrubbedError{t.scrubText(err.Error()), sentinel}
		}
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound || errors.Is(err, syscall.ECONNREFUSED) {
		return &scrubbedError{t.scrubText(err.Error()), ErrUnreachable}
	}
	return &scrubbedError{t.scrubText(err.Error()), nil}
}
