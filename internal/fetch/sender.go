package fetch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"placementsync/internal/stream"
)

// call is one request on its way through the steps.
type call struct {
	Request
	url   string
	read  Reader
	meter *meter

	// The attempt sets these.
	status int
	body   []byte
	// packed is the body as it came in a coding, and received its length, or that of the
	// body.
	packed   []byte
	coding   coding
	received int64
	sent     time.Time
	took     time.Duration
	// attempt counts the requests that failed before.
	attempt int
	// page is set by the reader.
	page stream.PageFacts
}

// sender asks the service, or the landing, one question after the other.
type sender struct {
	cfg      Config
	base     *url.URL
	log      *slog.Logger
	landing  *Landing // nil: none
	http     *http.Client
	tokens   *tokens
	governor *governor
	// unpacker decodes bodies up to largeBody, largeUnpacker those that are larger.
	unpacker, largeUnpacker *unpacker
	large                   sync.Mutex
	// slots has room for each answer in flight.
	slots   chan struct{}
	buffers bufferPool
	ask     step
	// doubted are the streams whose landed answers are not used.
	doubted sync.Map
}

func newSender(cfg Config, base *url.URL, landing *Landing, log *slog.Logger) *sender {
	s := &sender{
		cfg: cfg, base: base, log: log, landing: landing, http: newHTTPClient(cfg), tokens: &tokens{read: cfg.Token},
		governor: cfg.Allowance.governor, slots: make(chan struct{}, cfg.Concurrency),
		unpacker: newUnpacker(min(largeBody, cfg.MaxBody)), largeUnpacker: newUnpacker(cfg.MaxBody),
	}
	// The order of the concerns, outermost first: nothing that landed is asked again; a
	// failure is repeated; a rotated token is picked up; no more than Concurrency answers
	// are held at once, and an answer lands before it is read; the rate is spent right
	// before sending.
	s.ask = s.answerFromLanding(s.retryFailures(s.retryWithNewToken(s.landAndRead(s.spendRate(s.sendOnce)))))
	return s
}

// step does its part for a call, usually around another step.
type step func(ctx context.Context, q *call) error

// answerFromLanding answers from the landing.
func (s *sender) answerFromLanding(next step) step {
	if s.landing == nil {
		return next
	}
	return func(ctx context.Context, q *call) error {
		if _, doubted := s.doubted.Load(q.Stream); (q.Fresh || doubted) && !s.cfg.Offline {
			return next(ctx, q)
		}
		hit, err := s.readLanded(ctx, q)
		if hit {
			return err
		}
		if s.cfg.Offline {
			return &StatusError{Stream: q.Stream, URL: s.tokens.redactURL(q.url), Err: ErrNotLanded}
		}
		return next(ctx, q)
	}
}

// readLanded reads the landed answer to q. An answer that landed but cannot be
// read, because the reader refuses it or the disk lost it, is no hit: it is
// asked for again.
func (s *sender) readLanded(ctx context.Context, q *call) (hit bool, err error) {
	if err := s.acquireSlot(ctx, q); err != nil {
		return true, err
	}
	defer s.releaseSlot()
	buffer := s.buffers.get()
	defer s.buffers.put(buffer)
	r, found := s.landing.Lookup(q.Request, *buffer)
	if !found {
		return false, nil
	}
	*buffer = r.Body
	err = s.readAnswer(ctx, q, r)
	if errors.Is(err, ErrMalformed) {
		return false, nil
	}
	q.meter.hits.Add(1)
	return true, err
}

// landAndRead lands what the attempt brought and hands it to the reader.
func (s *sender) landAndRead(next step) step {
	return func(ctx context.Context, q *call) error {
		if err := s.acquireSlot(ctx, q); err != nil {
			return err
		}
		defer s.releaseSlot()
		buffer, packed := s.buffers.get(), s.buffers.get()
		defer s.buffers.put(buffer)
		defer s.buffers.put(packed)
		q.body, q.packed = *buffer, *packed
		err := next(ctx, q)
		*buffer, *packed = q.body, q.packed
		if err != nil {
			return err
		}
		r := Response{Request: q.Request, Status: q.status, Body: q.body}
		if q.coding != plain {
			r.Packed, r.Encoding = q.packed, q.coding.String()
		}
		if s.landing != nil {
			if r, err = s.landing.Append(r, q.sent, q.took); err != nil {
				return err
			}
		}
		return s.readAnswer(ctx, q, r)
	}
}

// acquireSlot waits until fewer than Concurrency answers are held.
func (s *sender) acquireSlot(ctx context.Context, q *call) error {
	// The context is asked first, since select chooses at random when both are ready.
	if ctx.Err() != nil {
		return stoppedErr(ctx, q.Stream)
	}
	select {
	case s.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return stoppedErr(ctx, q.Stream)
	}
}

func (s *sender) releaseSlot() { <-s.slots }

// readAnswer hands a landed response to the reader, or turns it into an error that
// decides what follows.
func (s *sender) readAnswer(ctx context.Context, q *call, r Response) error {
	if r.Status == http.StatusNotFound {
		return &GoneError{*s.requestErr(q, r.Status, nil, nil)}
	}
	// A landing of an older program may hold what is no answer.
	page, err := stream.PageFacts{}, error(ErrMalformed)
	if isAnswer(r.Status) {
		page, err = q.read(ctx, r)
	}
	if errors.Is(err, ErrMalformed) {
		return s.requestErr(q, r.Status, r.Body, err)
	}
	q.page = page
	return err
}

// newHTTPClient returns the HTTP client: one that leaves packed bodies as they came,
// since so they land, and as many idle connections as there are requests in flight.
func newHTTPClient(cfg Config) *http.Client {
	transport := cfg.Transport
	if transport == nil {
		dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
		transport = &http.Transport{
			Proxy:                  cfg.Proxy,
			DialContext:            dialer.DialContext,
			DisableCompression:     true,
			ForceAttemptHTTP2:      true,
			MaxIdleConns:           cfg.Concurrency,
			MaxIdleConnsPerHost:    cfg.Concurrency,
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

// sendOnce sends a call once and stores status and body in it. It succeeds with an
// answer that can be landed: 200 with its whole body, or 404.
func (s *sender) sendOnce(ctx context.Context, q *call) error {
	token, _, err := s.tokens.currentToken(ctx)
	if err != nil {
		return &AuthError{*s.unsentErr(q, err)}
	}
	limited, cancel := context.WithTimeoutCause(ctx, s.cfg.Timeout, errTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(limited, http.MethodGet, q.url, nil)
	if err != nil {
		return s.requestErr(q, 0, q.body, err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Accept-Encoding", acceptedCodings)
	// The packing may be what failed before.
	if q.attempt > 0 {
		request.Header.Set("Accept-Encoding", "identity")
	}
	request.Header.Set("User-Agent", s.cfg.UserAgent)

	q.sent = time.Now()
	err = s.exchangeOnce(request, q)
	q.took = time.Since(q.sent)
	q.meter.addAttempt(q)
	if err != nil && ctx.Err() != nil {
		return stoppedErr(ctx, q.Stream)
	}
	if err != nil && errors.Is(context.Cause(limited), errTimeout) {
		return s.requestErr(q, 0, q.body, fmt.Errorf("%w (%v)", errTimeout, s.cfg.Timeout))
	}
	return err
}

func (s *sender) exchangeOnce(request *http.Request, q *call) error {
	q.status, q.body, q.packed, q.coding, q.received = 0, q.body[:0], q.packed[:0], plain, 0
	response, err := s.http.Do(request)
	if err != nil && wasAborted(request) {
		return stoppedErr(request.Context(), q.Stream)
	}
	if err != nil {
		// The outer error already states the URL.
		if outer, ok := errors.AsType[*url.Error](err); ok {
			err = outer.Err
		}
		return s.requestErr(q, 0, q.body, err)
	}
	defer response.Body.Close()
	q.status = response.StatusCode
	if !isAnswer(q.status) {
		return s.refusalErr(q, response)
	}
	err = s.readBody(q, response)
	if err != nil && wasAborted(request) {
		return stoppedErr(request.Context(), q.Stream)
	}
	if err != nil {
		return s.requestErr(q, 0, q.body, fmt.Errorf("read the body: %w", err))
	}
	s.scrubAnswer(q)
	return nil
}

// wasAborted reports whether a request ended with its context and not by its timeout. The
// cause is then the failure of another call, which may still be writing its text.
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
func (s *sender) refusalErr(q *call, response *http.Response) error {
	q.body = append(q.body[:0], s.readRefusal(q, response)...)
	failed := s.requestErr(q, q.status, q.body, nil)
	failed.retryAfter = response.Header.Get("Retry-After")
	switch {
	case q.status == http.StatusUnauthorized:
		return &AuthError{*failed}
	case q.status == http.StatusForbidden:
		return &ScopeError{*failed}
	case q.status == http.StatusNotFound:
		// A 404 is landed as evidence, without its body.
		q.body = q.body[:0]
		return nil
	case q.status <= 299:
		failed.Err = fmt.Errorf("%w: a success other than 200 is no whole answer", ErrMalformed)
	case q.status <= 399:
		to, err := response.Location()
		switch {
		case err != nil:
			failed.Err = errors.New("refuse the redirect: it names no target")
		case to.Host == s.base.Host && to.Scheme == s.base.Scheme:
			failed.Err = fmt.Errorf("refuse the redirect: more than %d in a row", maxRedirects)
		default:
			failed.Err = fmt.Errorf("refuse the redirect to %q: the token would go with it", s.tokens.scrubText(to.Scheme+"://"+to.Host))
		}
	}
	return failed
}

// requestErr is the error of one request, without secrets. The body may be nil.
func (s *sender) requestErr(q *call, code int, body []byte, err error) *StatusError {
	if err != nil {
		err = s.tokens.scrubErr(err)
	}
	return &StatusError{
		Code: code, Stream: q.Stream, URL: s.tokens.redactURL(q.url), Attempts: 1,
		Excerpt: s.tokens.bodyExcerpt(code, body), Err: err,
	}
}

// unsentErr is the error of a request that was not sent.
func (s *sender) unsentErr(q *call, err error) *StatusError {
	unsent := s.requestErr(q, 0, nil, err)
	unsent.Attempts = 0
	return unsent
}

// retryWithNewToken repeats a call that was answered 401 once, with the token that
// its source holds by now. The same token is not tried twice.
func (s *sender) retryWithNewToken(next step) step {
	return func(ctx context.Context, q *call) error {
		_, generation, err := s.tokens.currentToken(ctx)
		if err != nil {
			return &AuthError{*s.unsentErr(q, err)}
		}
		err = next(ctx, q)
		refused, ok := ownErr[*AuthError](err)
		if !ok {
			return err
		}
		renewed, readErr := s.tokens.renewToken(ctx, generation)
		if readErr != nil {
			refused.Err = s.tokens.scrubErr(readErr)
		}
		if !renewed {
			return refused
		}
		s.log.InfoContext(ctx, "token changed at its source", "stream", q.Stream)
		return next(ctx, q)
	}
}

// spendRate waits until the rate allows one more request.
func (s *sender) spendRate(next step) step {
	return func(ctx context.Context, q *call) error {
		if err := s.governor.wait(ctx, q.meter); err != nil {
			return stoppedErr(ctx, q.Stream)
		}
		return next(ctx, q)
	}
}
