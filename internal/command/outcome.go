package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/spf13/cobra"

	"placementsync/internal/config"
	"placementsync/internal/dictionary"
	"placementsync/internal/durable"
	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/warehouse"
)

// Meanings say what the outcomes mean for a command. Wrong use and an interruption mean
// the same everywhere; an empty one does not occur.
type Meanings struct {
	Complete, Failed, Partial, Held string
}

// Table is the table of exit codes for a help text.
func (m Meanings) Table() string {
	text := "Exit codes:"
	for _, row := range []struct {
		outcome ledger.Outcome
		meaning string
	}{
		{ledger.Complete, m.Complete},
		{ledger.Failed, m.Failed},
		{ledger.Misused, "usage or configuration, or a name that does not exist"},
		{ledger.Partial, m.Partial},
		{ledger.Held, m.Held},
		{ledger.Interrupted, "interrupted"},
	} {
		if row.meaning != "" {
			text += fmt.Sprintf("\n  %-4d %s", row.outcome.ExitCode(), row.meaning)
		}
	}
	return text
}

// workError is an error of a command's work, not of its command line.
type workError struct{ error }

func (e *workError) Unwrap() error { return e.error }

// MarkWork marks the errors of a command that began its work. All others come from
// cobra reading the command line.
func MarkWork(run func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := run(cmd, args); err != nil {
			return &workError{err}
		}
		return nil
	}
}

// usageError is a wrong use that cobra does not see.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// UsageErr is the error of a wrong use that cobra does not see.
func UsageErr(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// outcomeError ends the program with an outcome other than its error says.
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

// EndWith returns an error that ends the program with an outcome, whatever err says. Without
// err it ends silently: the command has said everything.
func EndWith(outcome ledger.Outcome, err error) error { return &outcomeError{outcome, err} }

// namesWrongTemp reports whether TMPDIR names what is no folder, or is closed to the
// user; a full disk is no wrong use.
func namesWrongTemp(err error) bool {
	var temp *durable.TempError
	if !errors.As(err, &temp) {
		return false
	}
	for _, cause := range []error{fs.ErrNotExist, fs.ErrPermission, syscall.ENOTDIR, syscall.EROFS} {
		if errors.Is(temp, cause) {
			return true
		}
	}
	return false
}

// OutcomeOf is the one place where an error becomes an outcome of a program, and with it
// an exit code.
func OutcomeOf(ctx context.Context, err error) ledger.Outcome {
	var known *outcomeError
	switch {
	case err == nil:
		return ledger.Complete
	case errors.As(err, &known):
		return known.outcome
	case errors.As(err, new(*usageError)), errors.As(err, new(*config.Error)), errors.As(err, new(*query.UsageError)), errors.As(err, new(*dictionary.UnknownError)),
		errors.As(err, new(*ledger.UnknownRunError)), namesWrongTemp(err),
		!errors.As(err, new(*workError)):
		return ledger.Misused
	case errors.As(err, new(*warehouse.HeldError)):
		return ledger.Held
	case ctx.Err() != nil:
		return ledger.Interrupted
	}
	return ledger.Failed
}
