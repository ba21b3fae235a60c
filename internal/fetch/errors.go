package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Errors that callers match with errors.Is.
var (
	// ErrMalformed means that a body has the wrong format, such as HTML, truncated JSON or, for a record, no
	// content. A Reader wraps it in its error. The client repeats the request.
	ErrMalformed = errors.New("malformed body")
	// ErrTooLarge means that a body exceeds Config.MaxBody.
	ErrTooLarge = errors.New("body exceeds the limit of api.max_body")
	// ErrNotStored means that an offline client needs a response that is not stored.
	ErrNotStored = errors.New("the response is not stored")
	// ErrUnreachable means that the host of the base URL does not exist or refuses
	// connections.
	ErrUnreachable = errors.New("the service cannot be reached")
	// ErrAuth matches a StatusError if the service rejected the token with 401 and reading the token
	// again did not help, or if the token cannot be read. It ends the run.
	ErrAuth = errors.New("authentication failed")
	// ErrScope matches a StatusError with a 403 of the service: the token lacks the scope of the endpoint
	// (spec 5), or the service refuses the endpoint to tokens of its type. A list is then skipped. A detail stream
	// is skipped if its first ids get a 403; see [Client.Details].
	ErrScope = errors.New("missing scope")
	// ErrStore means that a ResponseStore cannot be written or read. It ends the run, because
	// responses must be stored before they are decoded.
	ErrStore = errors.New("store responses")

	errTokenUnreadable = errors.New("read the token")
	errTimeout         = errors.New("the attempt timed out") // see Config.Timeout
	errStopped         = errors.New("stopped")
)

// StatusError means that a request got no readable response (spec 7). The client has already made
// the retries that could help.
type StatusError struct {
	// Code is the HTTP status. 0 means that no complete response was received. 2xx means
	// that the response could not be read. Err is the cause in both cases. 404 and 410 are evidence that
	// a detail was deleted.
	Code   int
	Stream string
	// URL is the requested URL without secrets.
	URL      string
	Attempts int // sent requests
	// Body describes the last body: its beginning without control characters, or its type and length if
	// it may contain private values. Empty means that there is no body, or that it contains records.
	Body string
	// IsHTML means that the last body is a page of HTML, or XML, which the service never sends.
	IsHTML bool
	// bodyMessage is the message in the last body, for the summary: a member of JSON, or the beginning of other text.
	// Without a message, bodyKind can be the kind of the body, such as "a page of HTML".
	bodyMessage, bodyKind string
	// Err is the cause. It is nil if the status is the only cause.
	Err error

	retryAfter string // the header (spec 8)
	rateReset  string // the header X-RateLimit-Reset or RateLimit-Reset of a 429
	isPart     bool   // the request was for a record by its id, or for a later page of a list
	// fromProxy means that a 403 does not come from the service, but from a proxy or firewall before it.
	fromProxy bool
	// patienceUsedUp means that the night has waited for the service as long as run.patience allows.
	patienceUsedUp bool
}

// Error describes the request, the attempts and the response, and gives advice. It does not say that stored
// responses are kept or that the next night repeats the request, because neither is true for a check of
// the token.
func (e *StatusError) Error() string {
	body := e.Body
	if body != "" {
		body = ": " + body
	}
	return e.describe(fmt.Sprintf("fetch stream %q: GET %s", e.Stream, e.URL), "", body)
}

// Summary returns the error with the path of the request instead of its URL, and the message in the body
// instead of the beginning of the body.
func (e *StatusError) Summary() string {
	path, _, _ := strings.Cut(e.URL, "?")
	if _, rest, isURL := strings.Cut(path, "://"); isURL {
		_, path, _ = strings.Cut(rest, "/")
		path = "/" + path
	}
	kind, message := "", ""
	if e.bodyKind != "" {
		kind = " with " + e.bodyKind
	}
	if e.bodyMessage != "" {
		message = ": " + e.bodyMessage
	}
	return e.describe("GET "+path, kind, message)
}

// describe writes kind after the status, and body after the cause.
func (e *StatusError) describe(request, kind, body string) string {
	var b strings.Builder
	b.WriteString(request)
	if e.Code != 0 {
		fmt.Fprintf(&b, " answered %d", e.Code)
		if name := http.StatusText(e.Code); name != "" {
			fmt.Fprintf(&b, " %s", name)
		}
	}
	if e.Attempts > 1 {
		fmt.Fprintf(&b, " after %d attempts", e.Attempts)
	}
	b.WriteString(kind)
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	b.WriteString(body)
	if e.patienceUsedUp {
		b.WriteString("; run.patience is used up")
	}
	if advice := e.advice(); advice != "" {
		fmt.Fprintf(&b, "; %s", advice)
	}
	return b.String()
}

func (e *StatusError) advice() string {
	switch {
	case errors.Is(e.Err, errTokenUnreadable):
		return "the token cannot be read: correct api.token_file or api.token, and allow this user to read the file"
	case e.Code == http.StatusUnauthorized:
		return "the service rejected the token, which was read a second time: put a valid token into api.token or its file"
	case e.fromProxy:
		return "the response does not come from the service, but from a proxy or firewall before it: ask its operator to admit this client"
	case e.Code == http.StatusForbidden && e.isPart:
		return "the service refuses this part of the stream to the token: ask the operator of the service"
	case e.Code == http.StatusForbidden:
		return "the service refuses this endpoint to the token: ask the operator of the service for access, or add the stream to streams.exclude"
	case isGone(e.Code) && !e.isPart:
		return "the service has no such endpoint: check api.base_url in the configuration"
	case isGone(e.Code):
		return "the service has no such record or endpoint"
	case errors.Is(e.Err, ErrUnreachable):
		return "the service cannot be reached: check the network, and api.base_url in the configuration"
	case errors.Is(e.Err, ErrTooLarge):
		return "raise api.max_body to receive larger bodies"
	}
	return ""
}

// Is reports whether the error matches ErrAuth or ErrScope.
func (e *StatusError) Is(target error) bool {
	switch target {
	case ErrAuth:
		return e.Code == http.StatusUnauthorized || errors.Is(e.Err, errTokenUnreadable)
	case ErrScope:
		return e.Code == http.StatusForbidden && !e.fromProxy
	}
	return false
}

// Unwrap returns Err.
func (e *StatusError) Unwrap() error { return e.Err }

// isTransient reports whether a retry can help (spec 8). The statuses that the spec does not name are not answers of
// the service: proxies and content networks send them in its place.
func (e *StatusError) isTransient() bool {
	switch e.Code {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	case http.StatusRequestTimeout, http.StatusTooEarly, 520, 521, 522, 523, 524, 525, 526, 527, 529, 530:
		return true
	case http.StatusForbidden:
		return e.fromProxy
	case 0:
		return !errors.Is(e.Err, ErrTooLarge) && !errors.Is(e.Err, ErrNotStored) && !errors.Is(e.Err, errTokenUnreadable)
	}
	return errors.Is(e.Err, ErrMalformed)
}

// isAnswer reports whether the service processed the request, although the response is an error.
func (e *StatusError) isAnswer() bool { return e.Code != 0 && !e.isTransient() }

// isGone reports whether the status is evidence that the record does not exist.
func isGone(status int) bool { return status == http.StatusNotFound || status == http.StatusGone }

// isBeyondEndStatus reports whether services answer a page after the end of a list with the status.
func isBeyondEndStatus(status int) bool {
	return isGone(status) || status == http.StatusBadRequest || status == http.StatusRequestedRangeNotSatisfiable
}

// stoppedErr returns the error of a call whose context was cancelled. The cause may be the failure
// of another call, which does not count as a failure of this call.
func stoppedErr(ctx context.Context, stream string) error {
	return fmt.Errorf("fetch stream %q: %w: %w", stream, errStopped, context.Cause(ctx))
}

// ownErr returns the StatusError in err, unless it is the error of another call that stopped this call.
func ownErr(err error) (*StatusError, bool) {
	if errors.Is(err, errStopped) {
		return nil, false
	}
	return errors.AsType[*StatusError](err)
}

// endsStream reports whether the error of one id ends the reading of the stream: all further
// requests would fail too, or it is not the error of a request.
func endsStream(err error) bool {
	failed, ok := ownErr(err)
	return !ok || failed.Is(ErrAuth)
}
