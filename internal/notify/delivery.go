package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// attempts is how often something is sent until it arrives.
const attempts = 3

// request is what one HTTP request sends.
type request struct {
	method, address string
	body            []byte
	// id lets the receiver know a request again that is sent twice; empty: none.
	id string
}

// newClient makes the client of all deliveries by HTTP.
func newClient(cfg Config) *http.Client {
	return &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true, TLSHandshakeTimeout: cfg.Timeout, Proxy: cfg.Proxy},
		Timeout:   cfg.Timeout,
		// A redirect is a mistake in the configuration: following it would turn a
		// POST into a GET and show the secret to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// tryAgain calls send up to three times, until it succeeds or says that another attempt
// cannot help.
func (n *Notifier) tryAgain(ctx context.Context, send func(ctx context.Context) (again bool, err error)) error {
	wait := n.cfg.Backoff
	for attempt := 1; ; attempt++ {
		again, err := send(ctx)
		if err == nil || !again || attempt == attempts {
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

// request sends by HTTP, with retries. The error never contains the address.
func (n *Notifier) request(ctx context.Context, q request) error {
	return n.tryAgain(ctx, func(ctx context.Context) (bool, error) { return n.requestOnce(ctx, q) })
}

// requestOnce makes one attempt; again reports whether another one could help.
func (n *Notifier) requestOnce(ctx context.Context, q request) (again bool, err error) {
	r, err := http.NewRequestWithContext(ctx, q.method, q.address, bytes.NewReader(q.body))
	if err != nil {
		return false, errors.New("the address is not valid")
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
			err = inner.Err // without the address
		}
		return true, fmt.Errorf("reach the receiver: %w", err)
	}
	defer res.Body.Close()
	// Read a little, so that the receiver does not get a reset.
	_, _ = io.CopyN(io.Discard, res.Body, 4<<10)
	if res.StatusCode/100 == 2 {
		return false, nil
	}
	// In our words: theirs may repeat the address.
	reason := strings.TrimSpace(fmt.Sprintf("the receiver answered %d %s", res.StatusCode, http.StatusText(res.StatusCode)))
	if res.StatusCode >= 500 || res.StatusCode == http.StatusTooManyRequests {
		return true, errors.New(reason)
	}
	return false, &RefusedError{reason}
}

// RefusedError says that a receiver answered and does not take the message as it is. It
// may take another one.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }
