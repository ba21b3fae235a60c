package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

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
