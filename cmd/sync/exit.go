package main

import (
	"context"
	"errors"
	"fmt"

	"placementsync/internal/config"
	"placementsync/internal/query"
	"placementsync/internal/warehouse"
)

// The exit codes are a promise to scripts; a test holds
// each row.
const (
	exitComplete    = 0
	exitFailed      = 1
	exitUsage       = 2
	exitPartial     = 3
	exitHeld        = 4
	exitInterrupted = 130
)

func exitCodes() string {
	return `Exit codes:
  0    complete
  1    failed, nothing published
  2    usage or configuration
  3    published but partial
  4    another run holds the lock
  130  interrupted`
}

// workError is an error of a command's work, as opposed to its command line.
type workError struct{ err error }

func (e *workError) Error() string { return e.err.Error() }
func (e *workError) Unwrap() error { return e.err }

// usageError is a wrong use that cobra does not see.
type usageError struct{ problem string }

func (e *usageError) Error() string { return e.problem }

func usage(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// codeError ends the program with a code and, when it has no error, silently:
// the command has said everything.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *codeError) Unwrap() error { return e.err }

// exitCode is the one place where an error becomes a number.
func exitCode(ctx context.Context, err error) int {
	var (
		code    *codeError
		work    *workError
		misuse  *usageError
		bad     *config.Error
		badQ    *query.UsageError
		another *warehouse.HeldError
	)
	switch {
	case err == nil:
		return exitComplete
	case errors.As(err, &code):
		return code.code
	case errors.As(err, &misuse), errors.As(err, &bad), errors.As(err, &badQ), !errors.As(err, &work):
		return exitUsage
	case errors.As(err, &another):
		return exitHeld
	case ctx.Err() != nil:
		return exitInterrupted
	}
	return exitFailed
}

// message is what stderr shows of an error.
func message(err error) string {
	var work *workError
	if !errors.As(err, &work) {
		return err.Error() + "\nsee placementsync --help"
	}
	return err.Error()
}
