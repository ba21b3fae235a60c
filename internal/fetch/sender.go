package fetch

import (
	"cmp"
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

// call is a request with its attempts so far.
type call struct {
	Response // of the latest attempt
	url      string
	read     Reader
	meter    *meter
	slot     *slot

	receivedBytes  int64
	sent           time.Time
	took           time.Duration
	failedAttempts int
	emptyAttempts  int // attempts whose response was a 200 without content
	facts          stream.PageFacts
}

type sender struct {
	cfg          Config
	base         *url.URL
	log          *slog.Logger
	store        *ResponseStore // the stored responses of the run, or nil
	http         *http.Client
	tokens       *tokens
	decompressor *decompressor
	patience     *patience
	meters       meters
	slots        chan *slot // the free slots, of Concurrency slots in total
	process      layer      // the outermost layer
	doubted      sync.Map   // the streams whose stored responses are ignored
}

func newSender(cfg Config, base *url.URL, store *ResponseStore, log *slog.Logger) *sender {
	s := &sender{
		cfg: cfg, base: base, log: log, store: store, http: newHTTPClient(cfg), tokens: &tokens{read: cfg.Token},
		patience:     newPatience(cfg.Patience, log),
		meters:       meters{byStream: map[string]*meter{}},
		slots:        make(chan *slot, cfg.Concurrency),
		decompressor: newDecompressor(cfg.MaxBody),
	}
	for range cfg.Concurrency {
		s.slots <- new(slot)
	}
	// The layers, outermost first: stored responses are not requested again; failures are
	// retried or waited for; a rotated token is read; no more than Concurrency responses are in memory, and
	// each is stored before it is decoded; the rate limit applies directly before sending.
	s.process = s.preferStored(s.retryFailures(s.retryWithNewToken(s.storeAndRead(s.limitRate(s.sendOnce)))))
	return s
}

func (s *sender) newCall(r Request, pathAndQuery string) *call {
	return &call{Response: Response{Request: r}, url: s.base.String() + pathAndQuery, meter: s.meters.of(r.Stream)}
}

// layer processes a call, mostly by calling the next layer.
type layer func(ctx context.Context, q *call) error

func (s *sender) preferStored(next layer) layer {
	return func(ctx context.Context, q *call) error {
		if !s.usesStored(q.Stream) || q.Fresh && !s.cfg.Offline {
			return next(ctx, q)
		}
		isDone, err := s.readStored(ctx, q)
		if isDone {
			return err
		}
		if s.cfg.Offline {
			return &StatusError{Stream: q.Stream, URL: s.tokens.redactURL(q.url), Err: ErrNotStored}
		}
		return next(ctx, q)
	}
}

// usesStored reports whether the stored responses of a stream are used.
func (s *sender) usesStored(stream string) bool {
	_, isDoubted := s.doubted.Load(stream)
	return s.store != nil && (s.cfg.Offline || !isDoubted)
}

// readStored reads the stored response to q. It returns false if the request must be sent: the response is missing
// or damaged, or the reader rejects it as malformed.
func (s *sender) readStored(ctx context.Context, q *call) (isDone bool, err error) {
	if err := s.acquireSlot(ctx, q); err != nil {
		return true, err
	}
	defer s.releaseSlot(q)
	r, found := s.store.Lookup(q.Request)
	if !found {
		return false, nil
	}
	q.Response = r
	err = s.passToReader(ctx, q)
	if errors.Is(err, ErrMalformed) {
		return false, nil
	}
	q.meter.increase(&q.meter.counts.Hits)
	return true, err
}

func (s *sender) storeAndRead(next layer) layer {
	return func(ctx context.Context, q *call) error {
		if err := s.acquireSlot(ctx, q); err != nil {
			return err
		}
		defer s.releaseSlot(q)
		err := next(ctx, q)
		if err == nil && isEmptyOK(q.Response) {
			err = s.checkEmptyBody(q)
		}
		if err == nil && s.store != nil {
			q.Response, err = s.store.Append(q.Response, q.sent, q.took)
		}
		if err != nil {
			return err
		}
		return s.passToReader(ctx, q)
	}
}

var errEmptyBody = fmt.Errorf("%w: the body is empty", ErrMalformed)

// checkEmptyBody returns an error for a 200 without content, because a proxy may have failed. If all attempts of a
// request with a path parameter have no content, its list is accepted as empty and doubtful. For any other list the
// error remains, because all its rows would be deleted. A 204 needs no repetition.
func (s *sender) checkEmptyBody(q *call) error {
	q.emptyAttempts++
	if q.Param != "" && q.emptyAttempts > s.cfg.Retry.MaxRetries {
		return nil
	}
	return s.requestErr(q, q.Status, q.Body, errEmptyBody)
}

func isEmptyOK(r Response) bool {
	return r.Status == http.StatusOK && len(r.Body) == 0
}

// slot contains the buffers of one response in memory. New buffers for each response, also those of the
// store, would cost 4 percent of the CPU time of a first night.
type slot struct{ received, decompressed []byte }

func (s *sender) acquireSlot(ctx context.Context, q *call) error {
	// If both cases are ready, select chooses at random. So the context is checked first.
	if ctx.Err() != nil {
		return stoppedErr(ctx, q.Stream)
	}
	select {
	case q.slot = <-s.slots:
		return nil
	case <-ctx.Done():
		return stoppedErr(ctx, q.Stream)
	}
}

// keptBuffer is the largest capacity in bytes of a buffer that is used again.
const keptBuffer = 8 << 20

func (s *sender) releaseSlot(q *call) {
	if cap(q.slot.received) > keptBuffer || cap(q.slot.decompressed) > keptBuffer {
		*q.slot = slot{}
	}
	s.slots <- q.slot
	q.slot = nil
}

func (s *sender) passToReader(ctx context.Context, q *call) error {
	if isEvidence(q.Request, q.Status) {
		return s.requestErr(q, q.Status, nil, nil)
	}
	var facts stream.PageFacts
	var err error
	switch {
	case isEmptyOK(q.Response) && q.Param == "":
		err = errEmptyBody
	case isEmptyOK(q.Response):
		facts, err = q.read(ctx, q.Response)
		facts.IsDoubtful = true
	case isCompleteStatus(q.Status):
		response := q.Response
		response.Body = skipMark(response.Body)
		facts, err = q.read(ctx, response)
	default: // an earlier release stored an incomplete response, such as a 206
		err = ErrMalformed
	}
	if errors.Is(err, ErrMalformed) {
		return s.requestErr(q, q.Status, q.Body, err)
	}
	q.facts = facts
	return err
}

// newHTTPClient returns an HTTP client that keeps an idle connection for each concurrent request. It does not
// decompress bodies, because sendOnce sets Accept-Encoding.
func newHTTPClient(cfg Config) *http.Client {
	transport := cfg.Transport
	if transport == nil {
		dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
		transport = &http.Transport{
			Proxy:               cfg.Proxy,
			DialContext:         dialer.DialContext,
			ForceAttemptHTTP2:   true,
			MaxIdleConns:        cfg.Concurrency,
			MaxIdleConnsPerHost: cfg.Concurrency,
			IdleConnTimeout:     90 * time.Second,
			TLSHandshakeTimeout: 10 * time.Second,
			ReadBufferSize:      64 << 10,
			// The default of 10 MiB would be received for each concurrent request of a broken service.
			MaxResponseHeaderBytes: 1 << 20,
		}
	}
	return &http.Client{Transport: transport, CheckRedirect: checkRedirect}
}

const maxRedirects = 5

// checkRedirect allows at most maxRedirects redirects, and only within the origin, because another
// host would receive the token. If a redirect is not followed, the 3xx is the response.
func checkRedirect(r *http.Request, via []*http.Request) error {
	isSameOrigin := r.URL.Scheme == via[0].URL.Scheme && r.URL.Host == via[0].URL.Host
	if !isSameOrigin || len(via) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// sendOnce sends a request and stores status and body in q. It succeeds if the response can
// be stored: a 200 or 203 with its complete body, a 204, or evidence without its body.
func (s *sender) sendOnce(ctx context.Context, q *call) error {
	token, err := s.tokens.currentToken(ctx)
	if err != nil {
		return s.unsentErr(q, err)
	}
	attemptCtx, cancel := context.WithTimeoutCause(ctx, s.cfg.Timeout, errTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(attemptCtx, http.MethodGet, q.url, nil)
	if err != nil {
		return s.requestErr(q, 0, q.Body, err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Accept-Encoding", acceptedEncodings)
	// The compression may have caused the failure, so a retry accepts only a plain body.
	if q.failedAttempts > 0 {
		request.Header.Set("Accept-Encoding", "identity")
	}
	request.Header.Set("User-Agent", s.cfg.UserAgent)

	q.sent = time.Now()
	err = s.sendAndReceive(request, q)
	q.took = time.Since(q.sent)
	q.meter.addAttempt(q)
	if err != nil && ctx.Err() != nil {
		return stoppedErr(ctx, q.Stream)
	}
	if err != nil && errors.Is(context.Cause(attemptCtx), errTimeout) {
		return s.requestErr(q, 0, q.Body, fmt.Errorf("%w (%v)", errTimeout, s.cfg.Timeout))
	}
	return err
}

func (s *sender) sendAndReceive(request *http.Request, q *call) error {
	q.Response, q.receivedBytes = Response{Request: q.Request}, 0
	response, err := s.http.Do(request)
	if err != nil {
		// The outer error repeats the URL.
		if outer, ok := errors.AsType[*url.Error](err); ok {
			err = outer.Err
		}
		return s.requestErr(q, 0, nil, s.withoutReceivedBytes(err))
	}
	defer response.Body.Close()
	q.Status = response.StatusCode
	if !isCompleteStatus(q.Status) {
		return s.statusErr(q, response)
	}
	if err := s.receiveBody(q, response); err != nil {
		return s.requestErr(q, 0, q.Body, fmt.Errorf("read the body: %w", s.withoutReceivedBytes(err)))
	}
	if err := s.convertCharset(q, response.Header); err != nil {
		return s.requestErr(q, 0, q.Body, fmt.Errorf("read the body: %w", err))
	}
	s.scrubResponse(q)
	return nil
}

// isCompleteStatus reports whether the body of a response with the status is complete. 203 is a 200
// that a proxy changed. 204 has no body: it is a list without records. 202 announces a later response, 206 means
// that the body is a part, and other 2xx statuses are not meant for a GET.
func isCompleteStatus(status int) bool {
	return status == http.StatusOK || status == http.StatusNonAuthoritativeInfo || status == http.StatusNoContent
}

// isEvidence reports whether an error status is a fact about the requested resource: it does not exist or, if it is a
// later page of a list, the list ends before it. Such a response is stored without its body.
func isEvidence(r Request, status int) bool {
	return isGone(status) || r.Page > 1 && isBeyondEndStatus(status)
}

// statusErr returns nil for evidence.
func (s *sender) statusErr(q *call, response *http.Response) error {
	q.Body = s.readErrorBody(q, response)
	failed := s.requestErr(q, q.Status, q.Body, nil)
	failed.retryAfter = response.Header.Get("Retry-After")
	switch {
	case isEvidence(q.Request, q.Status):
		q.Body = nil
		return nil
	case q.Status == http.StatusTooManyRequests:
		failed.rateReset = cmp.Or(response.Header.Get("X-RateLimit-Reset"), response.Header.Get("RateLimit-Reset"))
	case q.Status == http.StatusForbidden:
		// The service responds to a missing scope with JSON, and names no time for another attempt.
		failed.fromProxy = failed.retryAfter != "" || failed.IsHTML
	case q.Status <= 299:
		failed.Err = fmt.Errorf("%w: only 200, 203 and 204 are complete responses", ErrMalformed)
	case q.Status <= 399:
		to, err := response.Location()
		switch {
		case err != nil:
			failed.Err = errors.New("the redirect was not followed, because it has no target: correct api.base_url")
		case to.Host == s.base.Host && to.Scheme == s.base.Scheme:
			failed.Err = fmt.Errorf("the redirect was not followed, because there were more than %d redirects", maxRedirects)
		default:
			failed.Err = fmt.Errorf("the redirect to %q was not followed, because that host would receive the token: correct api.base_url",
				s.tokens.scrubText(to.Scheme+"://"+to.Host))
		}
	}
	return failed
}

// requestErr returns the error of a request, without secrets.
func (s *sender) requestErr(q *call, code int, body []byte, err error) *StatusError {
	if err != nil {
		err = s.tokens.scrubErr(err)
	}
	text, message, kind := s.describeBody(code, body)
	return &StatusError{
		Code: code, Stream: q.Stream, URL: s.tokens.redactURL(q.url), Attempts: 1,
		Body: text, IsHTML: isHTML(body), bodyMessage: message, bodyKind: kind, Err: err, isPart: q.Param != "" || q.Page > 1,
	}
}

// withoutReceivedBytes removes received bytes from an error of net/http, if they may contain private values.
func (s *sender) withoutReceivedBytes(err error) error {
	if !s.cfg.HasPrivateValues {
		return err
	}
	return unquotedError{err}
}

// describeBody returns what tokens.describeBody returns, unless the body may contain private values.
func (s *sender) describeBody(code int, body []byte) (text, message, kind string) {
	if !s.cfg.HasPrivateValues {
		return s.tokens.describeBody(code, body)
	}
	if len(body) == 0 {
		return "", "", ""
	}
	text = fmt.Sprintf("its body (%d bytes, %s) may contain private values and is not shown", len(body), bodyType(body))
	if code == http.StatusForbidden {
		// The message explains the refusal, so it contains no part of a record.
		if refusal := s.tokens.excerpt([]byte(bodyMessage(body))); refusal != "" {
			text = fmt.Sprintf("the service says %q", refusal)
		}
	}
	return text, text, ""
}

func (s *sender) unsentErr(q *call, err error) *StatusError {
	unsent := s.requestErr(q, 0, nil, err)
	unsent.Attempts = 0
	return unsent
}

// retryWithNewToken repeats a call after a 401 if the token has changed at its source. While patience is left, it
// waits for a changed token.
func (s *sender) retryWithNewToken(next layer) layer {
	return func(ctx context.Context, q *call) error {
		for isRepeated := false; ; isRepeated = true {
			token, err := s.tokens.currentToken(ctx)
			if err != nil {
				return s.unsentErr(q, err)
			}
			err = next(ctx, q)
			failed, ok := ownErr(err)
			if !ok || !failed.Is(ErrAuth) {
				return err
			}
			if isRepeated && s.patience.isExhausted() {
				return err
			}
			renewed, readErr := s.tokens.renewToken(ctx, token)
			for !renewed && s.waitForToken(ctx, q) {
				renewed, readErr = s.tokens.renewToken(ctx, token)
			}
			if ctx.Err() != nil {
				return stoppedErr(ctx, q.Stream)
			}
			if readErr != nil {
				failed.Err = s.tokens.scrubErr(readErr)
			}
			if !renewed {
				return failed
			}
			s.log.InfoContext(ctx, "token changed at its source", "stream", q.Stream)
		}
	}
}

func (s *sender) limitRate(next layer) layer {
	return func(ctx context.Context, q *call) error {
		if err := s.cfg.Allowance.wait(ctx, q.meter); err != nil {
			return stoppedErr(ctx, q.Stream)
		}
		return next(ctx, q)
	}
}
