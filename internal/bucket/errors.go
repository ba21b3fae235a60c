package bucket

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
)

// Reasons of an *Error, for errors.Is.
var (
	ErrMissing  = errors.New("the object is missing")
	ErrNoBucket = errors.New("the bucket does not exist: create it, or correct its name")
	ErrKey      = errors.New("the server does not know the access key: check s3.access_key_file, or AWS_ACCESS_KEY_ID and AWS_SESSION_TOKEN")
	ErrSecret   = errors.New("the server computes another signature: check s3.secret_key_file, or AWS_SECRET_ACCESS_KEY; if the secret key is right, a proxy changes the requests")
	ErrClock    = errors.New("the clock of this machine differs from the clock of the server: set it, for example with timedatectl set-ntp true")
	ErrDenied   = errors.New("the keys are not allowed to do this: allow them to list, get, put and delete objects there")
	ErrRegion   = errors.New("the bucket is in another region: set s3.region")
	ErrDiffers  = errors.New("its bytes do not match its checksum")
)

// Error is a failed request. It contains no access keys and no data.
type Error struct {
	// Verb is the operation, such as "put". Address is the address of the object.
	Verb, Address string
	// Attempts is the number of times that the request was sent.
	Attempts int
	reason   error
	text     string
}

func (e *Error) Error() string {
	text := e.Verb + " " + e.Address + ": " + e.text
	if e.Attempts > 1 {
		text += fmt.Sprintf(" (%d attempts)", e.Attempts)
	}
	return text
}

// Unwrap returns one of the reasons above, a local error or the error of the context. It may
// be nil.
func (e *Error) Unwrap() error { return e.reason }

// localError is a failure of this machine, such as a full disk.
type localError struct{ err error }

func (e *localError) Error() string { return e.err.Error() }
func (e *localError) Unwrap() error { return e.err }

// sizeError means that an object is too large to have been written by this program.
type sizeError struct{ size, limit int64 }

func (e *sizeError) Error() string {
	return fmt.Sprintf("the object has %d bytes, more than the %d that placementsync ever writes, so another program wrote it: remove it, or use another prefix", e.size, e.limit)
}

// newError returns an *Error, or nil if err is nil. It keeps only the code and the status of a
// library error, because the text of the server may contain secrets.
func (b *Bucket) newError(verb, name string, err error) error {
	if err == nil {
		return nil
	}
	e := &Error{Verb: verb, Address: b.Address(name), Attempts: 1}
	if maxAttemptsErr, ok := errors.AsType[*retry.MaxAttemptsError](err); ok {
		e.Attempts = maxAttemptsErr.Attempt
	}
	e.reason = reasonOf(err)
	if e.reason == nil {
		e.text = describeError(err)
		return e
	}
	e.text = e.reason.Error()
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		e.text += " (" + cleanCode(api.ErrorCode()) + ")"
	}
	return e
}

func reasonOf(err error) error {
	if local, ok := errors.AsType[*localError](err); ok {
		return local.err
	}
	for _, reason := range []error{context.Canceled, context.DeadlineExceeded, ErrDiffers} {
		if errors.Is(err, reason) {
			return reason
		}
	}
	code := ""
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		code = api.ErrorCode()
	}
	switch code {
	case "NoSuchKey", "NotFound":
		return ErrMissing
	case "NoSuchBucket":
		return ErrNoBucket
	case "InvalidAccessKeyId", "InvalidSecurity", "InvalidToken", "ExpiredToken":
		return ErrKey
	case "SignatureDoesNotMatch":
		return ErrSecret
	case "RequestTimeTooSkewed", "RequestExpired":
		return ErrClock
	case "AccessDenied", "Forbidden", "AllAccessDisabled":
		return ErrDenied
	case "PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
		return ErrRegion
	}
	return nil
}

// describeError describes an error without signed addresses, which are secrets.
func describeError(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		text := "the server returned " + cleanCode(api.ErrorCode())
		if res, ok := errors.AsType[*awshttp.ResponseError](err); ok {
			text += fmt.Sprintf(" (status %d)", res.HTTPStatusCode())
		}
		return text
	}
	// The status is 0 if there was no response.
	if res, ok := errors.AsType[*awshttp.ResponseError](err); ok && res.HTTPStatusCode() > 0 {
		return fmt.Sprintf("the server returned status %d", res.HTTPStatusCode())
	}
	if urlErr, ok := errors.AsType[*url.Error](err); ok {
		return urlErr.Err.Error() // the text of urlErr contains the signed address
	}
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err.Error()
}

// Error codes of a server are shown on terminals and in alerts.
func cleanCode(code string) string {
	const maxLength = 60
	code = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, code)
	if code == "" {
		return "an error without a code"
	}
	return code[:min(maxLength, len(code))]
}
