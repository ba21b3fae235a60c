package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
)

// Kinds of channels.
const (
	Webhook = "webhook" // receives Message.Body
	Slack   = "slack"   // receives Message.Text as Slack JSON
	Email   = "email"   // receives Message.Subject and Message.Text
)

// Channel is a receiver of messages.
type Channel struct {
	Kind string
	URL  string // of Webhook and Slack; a secret that errors never contain
	Mail Mail   // of Email
}

// Message contains the forms of one message for all kinds of channels.
type Message struct {
	ID      string // idempotency key, by which a receiver can drop a repeated delivery
	Subject string // one line
	Text    string // can contain untrusted text of the service
	Body    []byte // JSON object for programs
}

// Deliver sends a message, with retries. After an error the message may have arrived. The
// error is a *RefusedError if the receiver responded and rejected this message.
func (n *Notifier) Deliver(ctx context.Context, c Channel, m Message) error {
	switch c.Kind {
	case Webhook:
		return n.sendRequest(ctx, request{method: http.MethodPost, address: c.URL, body: m.Body, id: m.ID})
	case Slack:
		// Slack interprets links and mentions even with markup disabled. Escaping their characters
		// prevents that.
		escaped := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(breakMentionsAndLinks(m.Text))
		// Markup and the previews of links are disabled. Encoding texts and booleans cannot fail.
		body, _ := json.Marshal(map[string]any{"text": escaped, "mrkdwn": false, "unfurl_links": false, "unfurl_media": false})
		return n.sendRequest(ctx, request{method: http.MethodPost, address: c.URL, body: body, id: m.ID})
	case Email:
		return n.retry(ctx, func(ctx context.Context) (bool, error) { return n.mailOnce(ctx, c.Mail, m) })
	}
	return fmt.Errorf("send a message: unknown kind of channel %q", c.Kind)
}

// breakMentionsAndLinks inserts zero-width spaces after the @ of a mention and between the two
// pairs of brackets of a link or an image. Mattermost interprets mentions and links even with markup disabled.
func breakMentionsAndLinks(text string) string {
	const zeroWidthSpace = '\u200b'
	var b strings.Builder
	previous := ' '
	for _, r := range text {
		if previous == ']' && (r == '(' || r == '[') {
			b.WriteRune(zeroWidthSpace)
		}
		b.WriteRune(r)
		if r == '@' && !unicode.IsLetter(previous) && !unicode.IsDigit(previous) {
			b.WriteRune(zeroWidthSpace)
		}
		previous = r
	}
	return b.String()
}

const maxAttempts = 3

type request struct {
	method, address string
	body            []byte
	id              string // idempotency key, may be empty
}

func newClient(cfg Config) *http.Client {
	return &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true, Proxy: cfg.Proxy},
		Timeout:   cfg.Timeout,
		// A redirect means a wrong address in the configuration. Following the redirect could turn a
		// POST into a GET and send the secret to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// retry calls send up to maxAttempts times. It ends earlier if send succeeds or returns a permanent
// error, or if ctx ends.
func (n *Notifier) retry(ctx context.Context, send func(ctx context.Context) (isTransient bool, err error)) error {
	wait := n.cfg.Backoff
	for attempt := 1; ; attempt++ {
		isTransient, err := send(ctx)
		if err == nil || !isTransient || attempt == maxAttempts {
			return err
		}
		select {
		case <-time.After(wait):
			wait *= 4
		case <-ctx.Done():
			return err
		}
	}
}

// sendRequest retries. The error never contains the address.
func (n *Notifier) sendRequest(ctx context.Context, q request) error {
	return n.retry(ctx, func(ctx context.Context) (bool, error) { return n.requestOnce(ctx, q) })
}

func (n *Notifier) requestOnce(ctx context.Context, q request) (isTransient bool, err error) {
	r, err := http.NewRequestWithContext(ctx, q.method, q.address, bytes.NewReader(q.body))
	if err != nil {
		return false, errors.New("send to the receiver: the address is not valid: correct it in the configuration")
	}
	if q.body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if q.id != "" {
		r.Header.Set("Idempotency-Key", q.id)
	}
	r.Header.Set("User-Agent", n.cfg.UserAgent)
	res, err := n.http.Do(r)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err // the outer error contains the address
		}
		return true, fmt.Errorf("reach the receiver: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode/100 == 2 {
		return false, nil
	}
	// The body of the response may repeat the address, so the error does not contain the body.
	reason := strings.TrimSpace(fmt.Sprintf("the receiver returned %d %s", res.StatusCode, http.StatusText(res.StatusCode)))
	if res.StatusCode >= 500 || res.StatusCode == http.StatusTooManyRequests {
		return true, errors.New(reason)
	}
	return false, &RefusedError{reason}
}

// RefusedError means that a receiver rejected the message. It may accept other messages.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }
