package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"placementsync/internal/durable"
)

// Errors that callers match with errors.Is.
var (
	// ErrMalformed is wrapped by the error of a Reader if a body has the wrong format:
	// HTML, truncated JSON or no content. The client repeats the request.
	ErrMalformed = errors.New("malformed body")
	// ErrTooLarge means that a body exceeds Config.MaxBody.
	ErrTooLarge = errors.New("body exceeds the limit of api.max_body")
	// ErrNotLanded means that an offline client needs a response that has not landed.
	ErrNotLanded = errors.New("not landed")
	// ErrUnreachable means that the host of the base URL does not exist or refuses
	// connections.
	ErrUnreachable = errors.New("the service cannot be reached")
	// errTokenUnreadable means that the source of the token cannot be read or is empty.
	errTokenUnreadable = errors.New("read the token")
	// errTimeout is the cancellation cause of an attempt that took longer than Config.Timeout.
	errTimeout = errors.New("the attempt timed out")
)

// StatusError means that a request got no readable response (spec 7). The client has already made
// the retries that could help.
type StatusError struct {
	// Code is the HTTP status. 0 means that no complete response was received. 2xx means
	// that the response could not be read. Err is the cause in both cases.
	Code int
	// Stream is the name of the stream.
	Stream string
	// URL is the requested URL without secrets.
	URL string
	// Attempts counts the sent requests.
	Attempts int
	// Excerpt is the beginning of the last body without control characters.
	Excerpt string
	// Err is the cause. It is nil if the status is the only cause.
	Err error

	// retryAfter is the Retry-After header (spec 8).
	retryAfter string
}

// Error describes the request, the attempts and the response. It does not say that stored responses are
// kept or that the next night repeats the request, because neither is true for a check of the token.
func (e *StatusError) Error() string {
	switch {
	case errors.Is(e.Err, ErrUnreachable):
		return e.describe("the service cannot be reached: check the network, and api.base_url in the configuration")
	case errors.Is(e.Err, ErrTooLarge):
		return e.describe("raise api.max_body to receive larger bodies")
	}
	return e.describe("")
}

func (e *StatusError) describe(advice string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "fetch stream %q: GET %s", e.Stream, e.URL)
	if e.Code != 0 {
		fmt.Fprintf(&b, " answered %d", e.Code)
		if name := http.StatusText(e.Code); name != "" {
			fmt.Fprintf(&b, " %s", name)
		}
	}
	if e.Attempts > 1 {
		fmt.Fprintf(&b, " after %d attempts", e.Attempts)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if e.Excerpt != "" {
		fmt.Fprintf(&b, ": body begins %q", e.Excerpt)
	}
	if advice != "" {
		fmt.Fprintf(&b, "; %s", advice)
	}
	return b.String()
}

// Unwrap returns the cause, or nil.
func (e *StatusError) Unwrap() error { return e.Err }

// isTransient reports whether a retry can help (spec 8).
func (e *StatusError) isTransient() bool {
	switch e.Code {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	case 0:
		return !errors.Is(e.Err, ErrTooLarge) && !errors.Is(e.Err, ErrNotLanded) && !errors.Is(e.Err, errTokenUnreadable)
	}
	return errors.Is(e.Err, ErrMalformed)
}

// AuthError means that the service rejected the token with 401 and reading the token again did not
// help, or that the token cannot be read. Code is 0 if no request was sent. An AuthError ends the run.
type AuthError struct{ StatusError }

// Error describes the request and how to fix the token.
func (e *AuthError) Error() string {
	if errors.Is(e.Err, errTokenUnreadable) {
		return e.describe("the token cannot be read: correct api.token_file or api.token, and allow this user to read the file")
	}
	return e.describe("the service rejected the token, which was read a second time: put a valid token into api.token or its file")
}

// Unwrap returns the StatusError, so that errors.As finds it.
func (e *AuthError) Unwrap() error { return &e.StatusError }

// ScopeError is a 403: the token lacks the scope of the endpoint (spec 5). The stream is
// skipped, and the other streams are read.
type ScopeError struct{ StatusError }

// Error describes the request and how to fix the scope.
func (e *ScopeError) Error() string {
	return e.describe("the token has no scope for this endpoint: ask the operator of the service for the scope, or add the stream to streams.exclude")
}

// Unwrap returns the StatusError, so that errors.As finds it.
func (e *ScopeError) Unwrap() error { return &e.StatusError }

// GoneError is a 404. For a detail it is evidence that the record was deleted.
type GoneError struct{ StatusError }

// Error describes the request.
func (e *GoneError) Error() string { return e.describe("the service has no such record or endpoint") }

// Unwrap returns the StatusError, so that errors.As finds it.
func (e *GoneError) Unwrap() error { return &e.StatusError }

// LandingError means that the landing cannot be written or read. It ends the run, because
// responses must be stored before they are decoded.
type LandingError struct {
	// Dir is the landing's folder.
	Dir string
	// Err is the error of the file system.
	Err error
}

// Error describes the cause, the state of the stored responses and how to continue.
func (e *LandingError) Error() string {
	text := fmt.Sprintf("store responses in %q: %v; the responses stored before are kept", e.Dir, e.Err)
	if durable.IsFull(e.Err) {
		return text // the caller adds the remedy for a full disk
	}
	return text + ": check the disk, then run again to resume"
}

// Unwrap returns the error of the file system.
func (e *LandingError) Unwrap() error { return e.Err }

// stopError is returned by a call whose context was cancelled. The cause may be the failure
// of another call, which does not count as a failure of this call.
type stopError struct {
	stream string
	cause  error
}

func (e *stopError) Error() string {
	return fmt.Sprintf("fetch stream %q: stopped: %v", e.stream, e.cause)
}

func (e *stopError) Unwrap() error { return e.cause }

func stoppedErr(ctx context.Context, stream string) error {
	return &stopError{stream, context.Cause(ctx)}
}

// ownErr is like errors.AsType, but finds nothing in a stopError, whose cause may be the error of
// another call.
func ownErr[E error](err error) (E, bool) {
	if _, stopped := errors.AsType[*stopError](err); stopped {
		var zero E
		return zero, false
	}
	return errors.AsType[E](err)
}

// endsStream reports whether the error of one id ends the reading of the stream: all further
// requests would fail too, or it is not the error of a request.
func endsStream(err error) bool {
	_, isAuthErr := ownErr[*AuthError](err)
	_, isScopeErr := ownErr[*ScopeError](err)
	_, isRequestErr := ownErr[*StatusError](err)
	return isAuthErr || isScopeErr || !isRequestErr
}
