package fetch

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// newHTTP returns the HTTP client: no compression, since decoding gzip costs
// more than everything else at catalogue sizes, and as many idle connections
// as there are requests in flight.
func (c *Client) newHTTP() *http.Client {
	transport := c.cfg.Transport
	if transport == nil {
		dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
		transport = &http.Transport{
			Proxy:                  c.cfg.Proxy,
			DialContext:            dialer.DialContext,
			DisableCompression:     true,
			ForceAttemptHTTP2:      true,
			MaxIdleConns:           c.cfg.Concurrency,
			MaxIdleConnsPerHost:    c.cfg.Concurrency,
			IdleConnTimeout:        90 * time.Second,
			TLSHandshakeTimeout:    10 * time.Second,
			MaxResponseHeaderBytes: 1 << 20,
			ReadBufferSize:         64 << 10,
		}
	}
	return &http.Client{Transport: transport, CheckRedirect: sameOrigin}
}

// maxRedirects ends a loop of redirects.
const maxRedirects = 5

// sameOrigin follows a redirect within the origin. Elsewhere the token would
// go with it, so the 3xx itself becomes the answer.
func sameOrigin(r *http.Request, via []*http.Request) error {
	if r.URL.Scheme != via[0].URL.Scheme || r.URL.Host != via[0].URL.Host || len(via) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// sendOnce sends a call once and leaves status and body in it. Success is an
// answer that can be landed: 200 with its whole body, or 404.
func (c *Client) sendOnce(ctx context.Context, q *call) error {
	token, _, err := c.tokens.currentToken(ctx)
	if err != nil {
		return c.tokenErr(q, err)
	}
	limited, cancel := context.WithTimeoutCause(ctx, c.cfg.Timeout, errTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(limited, http.MethodGet, q.url, nil)
	if err != nil {
		return c.attemptErr(q, 0, err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Accept-Encoding", "identity")
	request.Header.Set("User-Agent", c.cfg.UserAgent)

	q.sent = time.Now()
	err = c.exchangeOnce(request, q)
	q.took = time.Since(q.sent)
	q.meter.addAttempt(q)
	if err != nil && ctx.Err() != nil {
		return stoppedErr(ctx, q.Stream)
	}
	if err != nil && errors.Is(context.Cause(limited), errTimeout) {
		return c.attemptErr(q, 0, fmt.Errorf("%w (%v)", errTimeout, c.cfg.Timeout))
	}
	return err
}

func (c *Client) exchangeOnce(request *http.Request, q *call) error {
	q.status, q.body = 0, q.body[:0]
	response, err := c.http.Do(request)
	if err != nil && wasAborted(request) {
		return stoppedErr(request.Context(), q.Stream)
	}
	if err != nil {
		// Its URL, query included, is in the outer error already.
		if outer, ok := errors.AsType[*url.Error](err); ok {
			err = outer.Err
		}
		return c.attemptErr(q, 0, err)
	}
	defer response.Body.Close()
	q.status = response.StatusCode
	if !isAnswer(q.status) {
		return c.refusalErr(q, response)
	}
	err = c.readBody(request.Context(), q, response)
	if err != nil && wasAborted(request) {
		return stoppedErr(request.Context(), q.Stream)
	}
	if err != nil {
		return c.attemptErr(q, 0, fmt.Errorf("read the body: %w", err))
	}
	q.body = c.tokens.scrubBody(q.body)
	return nil
}

// wasAborted reports whether a request ended with its context, and not by its timeout.
// What it then says is the failure of another call, whose text is that call's
// to write until all have ended.
func wasAborted(request *http.Request) bool {
	cause := context.Cause(request.Context())
	return cause != nil && !errors.Is(cause, errTimeout)
}

// isAnswer reports whether a status comes with the whole answer to a GET. 203 is
// a 200 that passed a proxy; 202 promises an answer for later, 206 holds a part
// of one, and no other 2xx answers a GET.
func isAnswer(status int) bool {
	return status == http.StatusOK || status == http.StatusNonAuthoritativeInfo
}

// refusalErr turns an answer that is not 2xx into a decision.
func (c *Client) refusalErr(q *call, response *http.Response) error {
	// Reading it whole lets the connection be used again; what is longer than
	// this is not worth it.
	head, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	q.body = append(q.body[:0], head...)
	failed := c.attemptErr(q, q.status, nil)
	failed.retryAfter = response.Header.Get("Retry-After")
	switch {
	case q.status == http.StatusUnauthorized:
		return &AuthError{*failed}
	case q.status == http.StatusForbidden:
		return &ScopeError{*failed}
	case q.status == http.StatusNotFound:
		// Landed as evidence, without its body.
		q.body = q.body[:0]
		return nil
	case q.status <= 299:
		failed.Err = fmt.Errorf("%w: a success other than 200 is no whole answer", ErrMalformed)
	case q.status <= 399:
		failed.Err = c.redirectErr(response)
	}
	return failed
}

func (c *Client) redirectErr(response *http.Response) error {
	to, err := response.Location()
	if err != nil {
		return errors.New("refuse the redirect: it names no target")
	}
	if to.Host == c.base.Host && to.Scheme == c.base.Scheme {
		return fmt.Errorf("refuse the redirect: more than %d in a row", maxRedirects)
	}
	return fmt.Errorf("refuse the redirect to %q: the token would go with it", c.tokens.scrubText(to.Scheme+"://"+to.Host))
}

// attemptErr is the error of one attempt.
func (c *Client) attemptErr(q *call, code int, err error) *StatusError {
	if err != nil {
		err = c.scrubErr(err)
	}
	return &StatusError{
		Code: code, Stream: q.Stream, URL: c.redactURL(q.url), Attempts: 1,
		Excerpt: c.bodyExcerpt(code, q.body), Err: err,
	}
}

// wideBody is the size beyond which a body is held alone: what all the calls in
// flight hold together is bounded by it and by one body of Config.MaxBody. A
// Content-Length alone does not make us allocate more either.
const wideBody = 8 << 20

// readBody reads the whole body into q, up to the limit. A body shorter than
// its Content-Length is an error of the transport.
func (c *Client) readBody(ctx context.Context, q *call, response *http.Response) error {
	limit := c.cfg.MaxBody
	if response.ContentLength > limit {
		return fmt.Errorf("%w: %d bytes are announced, %d allowed", ErrTooLarge, response.ContentLength, limit)
	}
	body, err := decodedBody(response)
	if err != nil {
		return err
	}
	q.body = slices.Grow(q.body, int(min(max(response.ContentLength, 0), wideBody))+512)
	for {
		if len(q.body) == cap(q.body) {
			if err := c.growBody(ctx, q, response.ContentLength); err != nil {
				return err
			}
		}
		n, err := body.Read(q.body[len(q.body):cap(q.body)])
		q.body = q.body[:len(q.body)+n]
		switch {
		case int64(len(q.body)) > limit:
			return fmt.Errorf("%w: more than %d bytes came", ErrTooLarge, limit)
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// growBody makes room for more of a body, and waits where another wide one is held.
// The wait is part of the attempt and of its timeout.
func (c *Client) growBody(ctx context.Context, q *call, announced int64) error {
	room := 2 * int64(len(q.body))
	if err := c.holdWide(ctx, q, room); err != nil {
		return err
	}
	if q.wide {
		room = max(room, announced+512)
	}
	// One byte more than is allowed shows that more came.
	grown := make([]byte, len(q.body), min(room, c.cfg.MaxBody+1))
	copy(grown, q.body)
	q.body = grown
	return nil
}

// holdWide waits, for a body that is wide at that size, until no other is held.
func (c *Client) holdWide(ctx context.Context, q *call, size int64) error {
	if size <= wideBody || q.wide {
		return nil
	}
	select {
	case c.wide <- struct{}{}:
		q.wide = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// releaseWide lets the next wide body in.
func (c *Client) releaseWide(q *call) {
	if q.wide {
		q.wide = false
		<-c.wide
	}
}

// decodedBody undoes gzip where something on the way compressed the body although
// it was asked not to; the limit applies to what comes out.
func decodedBody(response *http.Response) (io.Reader, error) {
	switch coding := strings.ToLower(response.Header.Get("Content-Encoding")); coding {
	case "", "identity":
		return response.Body, nil
	case "gzip", "x-gzip":
		return gzip.NewReader(response.Body)
	default:
		return nil, fmt.Errorf("content encoding %.20q was not asked for", coding)
	}
}
