package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// tokens holds the current bearer token and every earlier one of the run, so
// that none of them reaches a text.
type tokens struct {
	read func(ctx context.Context) (string, error)

	mu    sync.Mutex
	known []string
	// spelt are the known tokens as a text may hold them.
	spelt []string
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
		return false, fmt.Errorf("read the token: %w", err)
	}
	token = strings.TrimSpace(token)
	if token == "" {
		return false, errors.New("read the token: its source is empty; configure a token")
	}
	if len(t.known) > 0 && t.known[len(t.known)-1] == token {
		return false, nil
	}
	t.known = append(slices.DeleteFunc(t.known, func(k string) bool { return k == token }), token)
	t.spelt = append(t.spelt, spellingsOf(token)...)
	t.generation++
	return true, nil
}

// scrubText replaces every token known so far.
func (t *tokens) scrubText(text string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, token := range t.spelt {
		text = strings.ReplaceAll(text, token, secretMark)
	}
	return text
}

// minTelling is the length from which a token is found in an answer by its text
// alone: a shorter one, which no service issues, could be a part of any word.
const minTelling = 8

// scrubBody takes tokens out of an answer: a service that echoes what it is sent
// would have them landed and published.
func (t *tokens) scrubBody(body []byte) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, token := range t.spelt {
		if len(token) >= minTelling && bytes.Contains(body, []byte(token)) {
			body = bytes.ReplaceAll(body, []byte(token), []byte(secretMark))
		}
	}
	return body
}

// spellingsOf are the ways in which an echo writes a token: as it is, in a URL, and
// in JSON by those who escape slashes.
func spellingsOf(token string) []string {
	all := []string{token, url.QueryEscape(token), url.PathEscape(token), strings.ReplaceAll(token, "/", `\/`)}
	slices.Sort(all)
	return slices.Compact(all)
}

// retryWithNewToken repeats a call that was answered 401 once, with the token that
// its source holds by now. The same token is not tried twice.
func (c *Client) retryWithNewToken(next step) step {
	return func(ctx context.Context, q *call) error {
		_, generation, err := c.tokens.currentToken(ctx)
		if err != nil {
			return c.tokenErr(q, err)
		}
		err = next(ctx, q)
		refused, ok := ownErr[*AuthError](err)
		if !ok {
			return err
		}
		renewed, readErr := c.tokens.renewToken(ctx, generation)
		if readErr != nil {
			refused.Err = c.scrubErr(readErr)
		}
		if !renewed {
			return refused
		}
		c.log.InfoContext(ctx, "token changed at its source", "stream", q.Stream)
		return next(ctx, q)
	}
}

// tokenErr is the refusal of a call that has no token to send.
func (c *Client) tokenErr(q *call, err error) error {
	return &AuthError{StatusError{
		Code: http.StatusUnauthorized, Stream: q.Stream, URL: c.redactURL(q.url), Attempts: 1, Err: c.scrubErr(err),
	}}
}
