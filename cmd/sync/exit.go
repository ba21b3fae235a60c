package main

import (
	"context"
	"errors"
	"fmt"

	"placementsync/internal/config"
	"placementsync/internal/query"
	"placementsync/internal/warehouse"
)

// exitCodes is the table of exit codes as help texts show it. The numbers are those
// of warehouse.Outcome.
func exitCodes() string {
	text := "Exit codes:"
	for _, row := range []struct {
		outcome warehouse.Outcome
		meaning string
	}{
		{warehouse.Complete, "complete"},
		{warehouse.Failed, "failed, nothing published"},
		{warehouse.Misused, "usage or configuration"},
		{warehouse.Partial, "published but partial"},
		{warehouse.Held, "another run holds the lock"},
		{warehouse.Interrupted, "interrupted"},
	} {
		text += fmt.Sprintf("\n  %-4d %s", row.outcome.ExitCode(), row.meaning)
	}
	return text
}

// workError is an error of a command's work, as opposed to its command line.
type workError struct{ err error }

func (e *workError) Error() string { return e.err.Error() }
func (e *workError) Unwrap() error { return e.err }

// usageError is a wrong use that cobra does not see.
type usageError struct{ problem string }

func (e *usageError) Error() string { return e.problem }

func usageErr(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// outcomeError ends the program with an outcome other than its error says. Without
// an error it ends silently: the command has said everything.
type outcomeError struct {
	outcome warehouse.Outcome
	err     error
}

func (e *outcomeError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *outcomeError) Unwrap() error { return e.err }

// outcomeOf is the one place where an error becomes an outcome of the program, and
// with it an exit code.
func outcomeOf(ctx context.Context, err error) warehouse.Outcome {
	var (
		known   *outcomeError
		work    *workError
		misuse  *usageError
		bad     *config.Error
		badQ    *query.UsageError
		another *warehouse.HeldError
	)
	switch {
	case err == nil:
		return warehouse.Complete
	case errors.As(err, &known):
		return known.outcome
	case errors.As(err, &misuse), errors.As(err, &bad), errors.As(err, &badQ), !errors.As(err, &work):
		return warehouse.Misused
	case errors.As(err, &another):
		return warehouse.Held
	case ctx.Err() != nil:
		return warehouse.Interrupted
	}
	return warehouse.Failed
}

// errorText is what stderr shows of an error.
func errorText(err error) string {
	var work *workError
	if !errors.As(err, &work) {
		return err.Error() + "\nsee placementsync --help"
	}
	return err.Error()
}
