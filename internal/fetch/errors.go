package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Sentinels that a decision hangs on, matched with errors.Is.
var (
	// ErrMalformed is wrapped by a Reader's error when a body is not what the
	// endpoint answers: HTML, truncated JSON, nothing. The client asks again.
	ErrMalformed = errors.New("malformed body")
	// ErrTooLarge says that a body exceeds Config.MaxBody.
	ErrTooLarge = errors.New("body exceeds the limit of api.max_body")
	// ErrNotLanded says that an offline client was asked for what has not
	// landed.
	ErrNotLanded = errors.New("not landed")
	// ErrUnreachable says that no host has the name of the base URL, or that nothing
	// listens there.
	ErrUnreachable = errors.New("nothing answers there")
	// errTokenUnread says that the source of the token could not be read.
	errTokenUnread = errors.New("read the token")
	// errTimeout is the cause of an attempt that exceeds Config.Timeout.
	errTimeout = errors.New("the attempt ran out of time")
)

// StatusError is a request that did not end in a readable answer (spec 7).
// It is final: the client has made all retries.
type StatusError struct {
	// Code is the HTTP status. 0: no whole answer was received, see Err. 2xx: one was
	// received but could not be read, see Err.
	Code int
	// Stream asked.
	Stream string
	// URL was asked, with secrets removed.
	URL string
	// Attempts counts the requests made. 0: none, see Err.
	Attempts int
	// Excerpt is the beginning of the last body, printable characters only.
	Excerpt string
	// Err is the cause when it is not the status itself; may be nil.
	Err error

	// retryAfter is the Retry-After header (spec 8).
	retryAfter string
}

// Error states the request, the attempts and the answer. Whether the next run resumes
// this one is not known here.
func (e *StatusError) Error() string {
	const kept = "what has landed is kept, the next run asks again"
	if errors.Is(e.Err, ErrUnreachable) {
		return e.describe("nothing answers there: correct api.base_url if it is wrong; " + kept)
	}
	return e.describe(kept)
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
	fmt.Fprintf(&b, "; %s", advice)
	return b.String()
}

// Unwrap returns the cause, if any.
func (e *StatusError) Unwrap() error { return e.Err }

// isTransient reports whether a retry can help (spec 8).
func (e *StatusError) isTransient() bool {
	switch e.Code {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	case 0:
		return !errors.Is(e.Err, ErrTooLarge) && !errors.Is(e.Err, ErrNotLanded) && !errors.Is(e.Err, errTokenUnread)
	}
	return errors.Is(e.Err, ErrMalformed)
}

// AuthError is a 401 although the token was read again, or a token that cannot be read: its
// Code is 0 where no request was sent. No stream can go on.
type AuthError struct{ StatusError }

// Error says what to do about the token.
func (e *AuthError) Error() string {
	if errors.Is(e.Err, errTokenUnread) {
		return e.describe("without a token nothing can be asked: let the user of this process read a valid one")
	}
	return e.describe("the token was read again and is not accepted: issue or configure a valid one")
}

// Unwrap returns the StatusError, so that its fields can be had by errors.As.
func (e *AuthError) Unwrap() error { return &e.StatusError }

// ScopeError is a 403: the token lacks the scope of the route (spec 5).
// The stream is skipped, others go on.
type ScopeError struct{ StatusError }

// Error says what to do about the scope.
func (e *ScopeError) Error() string {
	return e.describe("the token lacks the scope of this route: skip the stream or have the scope added")
}

// Unwrap returns the StatusError, so that its fields can be had by errors.As.
func (e *ScopeError) Unwrap() error { return &e.StatusError }

// GoneError is a 404. For a detail it is evidence that the record was deleted.
type GoneError struct{ StatusError }

// Error says that the record or the route does not exist.
func (e *GoneError) Error() string { return e.describe("there is no such record or route") }

// Unwrap returns the StatusError, so that its fields can be had by errors.As.
func (e *GoneError) Unwrap() error { return &e.StatusError }

// LandingError says that the landing cannot be written or read. The run cannot
// go on, since nothing may be interpreted that has not landed.
type LandingError struct {
	// Dir is the landing's folder.
	Dir string
	// Err is what the file system said.
	Err error
}

// Error says what is kept and what to do.
func (e *LandingError) Error() string {
	return fmt.Sprintf("land into %q: %v; answers stored before are kept; free disk space or repair the disk, then run again to resume", e.Dir, e.Err)
}

// Unwrap returns what the file system said.
func (e *LandingError) Unwrap() error { return e.Err }

// stopError is the end of a call whose context ended. Its cause may be the
// failure of another call, which decides nothing about this one.
type stopError struct {
	stream string
	cause  error
}

func (e *stopError) Error() string {
	return fmt.Sprintf("stop fetching stream %q: %v", e.stream, e.cause)
}

func (e *stopError) Unwrap() error { return e.cause }

func stoppedErr(ctx context.Context, stream string) error {
	return &stopError{stream, context.Cause(ctx)}
}

// ownErr finds an error of a type that the call itself met, not one of another call that
// stopped it.
func ownErr[E error](err error) (E, bool) {
	if _, aside := errors.AsType[*stopError](err); aside {
		var none E
		return none, false
	}
	return errors.AsType[E](err)
}

// endsStream reports whether an error over one id ends its whole stream: nothing
// more can be fetched, or it was not the service that failed.
func endsStream(err error) bool {
	_, auth := ownErr[*AuthError](err)
	_, scope := ownErr[*ScopeError](err)
	_, service := ownErr[*StatusError](err)
	return auth || scope || !service
}
