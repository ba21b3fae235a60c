package main

import (
	"context"
	"errors"
	"fmt"

	"placementsync/internal/config"
	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/warehouse"
)

// meaning says what an outcome means for a command.
type meaning struct {
	outcome ledger.Outcome
	text    string
}

// exitCodes is the table of exit codes of most commands, for help texts.
func exitCodes() string {
	return exitTable(meaning{ledger.Complete, "complete"}, meaning{ledger.Failed, "failed, nothing published"},
		meaning{ledger.Misused, "usage or configuration"}, meaning{ledger.Partial, "published but partial"},
		meaning{ledger.Held, "another run holds the lock"}, meaning{ledger.Interrupted, "interrupted"})
}

func exitTable(rows ...meaning) string {
	text := "Exit codes:"
	for _, row := range rows {
		text += fmt.Sprintf("\n  %-4d %s", row.outcome.ExitCode(), row.text)
	}
	return text
}

// workError is an error of a command's work, not of its command line.
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
	outcome ledger.Outcome
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
func outcomeOf(ctx context.Context, err error) ledger.Outcome {
	var known *outcomeError
	switch {
	case err == nil:
		return ledger.Complete
	case errors.As(err, &known):
		return known.outcome
	case errors.As(err, new(*usageError)), errors.As(err, new(*config.Error)), errors.As(err, new(*query.UsageError)),
		!errors.As(err, new(*workError)):
		return ledger.Misused
	case errors.As(err, new(*warehouse.HeldError)):
		return ledger.Held
	case ctx.Err() != nil:
		return ledger.Interrupted
	}
	return ledger.Failed
}

// errorText is what stderr shows of an error.
func errorText(err error) string {
	if !errors.As(err, new(*workError)) {
		return err.Error() + "\nsee placementsync --help"
	}
	return err.Error()
}
