package fetch

import (
	"bytes"
	"errors"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// secretMark stands where a secret was.
const secretMark = "<secret>"

// secretName matches query parameters whose values are not shown.
var secretName = regexp.MustCompile(`(?i)token|secret|key|passw|signature|auth|credential`)

// redactURL makes a URL fit for an error text: no credentials, no values of
// parameters that look secret, no token.
func (c *Client) redactURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return secretMark
	}
	u.User = nil
	query := u.RawQuery
	u.RawQuery = ""
	text := u.String()
	if query != "" {
		text += "?" + redactQuery(query)
	}
	return c.tokens.scrubText(text)
}

func redactQuery(query string) string {
	parameters := strings.Split(query, "&")
	for i, p := range parameters {
		if name, _, found := strings.Cut(p, "="); found && secretName.MatchString(name) {
			parameters[i] = name + "=" + secretMark
		}
	}
	return strings.Join(parameters, "&")
}

// excerptBytes is how much of a body an error shows.
const excerptBytes = 120

// bodyExcerpt is the beginning of a body that may be shown. JSON that came with a
// success, whole or cut off, can hold records, and the text of an error is published
// where their values must not be.
func (c *Client) bodyExcerpt(code int, body []byte) string {
	if first := bytes.TrimLeft(body, " \t\r\n"); (code == 0 || isAnswer(code)) && len(first) > 0 && strings.IndexByte(`{["`, first[0]) >= 0 {
		return ""
	}
	return c.excerpt(body)
}

// excerpt is the beginning of a body on one line. Control and formatting
// characters go, since an error ends up on a terminal.
func (c *Client) excerpt(body []byte) string {
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
	text := c.tokens.scrubText(b.String())
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

func (e *scrubbedError) Error() string        { return e.text }
func (e *scrubbedError) Is(target error) bool { return e.cause == target }

// scrubErr takes the token out of an error's text. What is left of the error
// is its text and, so that decisions can be made, the sentinel it wraps: an
// unwrapped cause could print the token after all.
func (c *Client) scrubErr(err error) error {
	for _, sentinel := range []error{ErrMalformed, ErrTooLarge, errTimeout} {
		if errors.Is(err, sentinel) {
			return &scrubbedError{c.tokens.scrubText(err.Error()), sentinel}
		}
	}
	return &scrubbedError{c.tokens.scrubText(err.Error()), nil}
}
