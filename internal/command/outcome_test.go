package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"placementsync/internal/config"
	"placementsync/internal/durable"
	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/warehouse"
)

// TestOutcomeOf covers each case of the switch. Package ledger tests the exit codes.
func TestOutcomeOf(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	failed, locked := errors.New("disk"), fmt.Errorf("lock: %w", &warehouse.LockedError{})
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		want ledger.Outcome
	}{
		"no error":             {t.Context(), nil, ledger.Complete},
		"no error, stopped":    {stopped, nil, ledger.Complete},
		"the command line":     {t.Context(), errors.New("unknown flag"), ledger.Misused},
		"a wrong use":          {t.Context(), &workError{UsageErr("--nights is 0")}, ledger.Misused},
		"the configuration":    {t.Context(), &workError{&config.Error{}}, ledger.Misused},
		"a wrong query":        {t.Context(), &workError{fmt.Errorf("query: %w", &query.UsageError{})}, ledger.Misused},
		"an unknown run":       {t.Context(), &workError{fmt.Errorf("roll back: %w", &ledger.UnknownRunError{})}, ledger.Misused},
		"a wrong TMPDIR":       {t.Context(), &workError{fmt.Errorf("report: %w", &durable.TempError{Dir: "/none", Err: fs.ErrNotExist})}, ledger.Misused},
		"a full TMPDIR":        {t.Context(), &workError{&durable.TempError{Dir: "/tmp", Err: syscall.ENOSPC}}, ledger.Failed},
		"a refused query":      {t.Context(), &workError{&query.RefusedError{}}, ledger.Failed},
		"locked":               {t.Context(), &workError{locked}, ledger.Locked},
		"locked, then stopped": {stopped, &workError{locked}, ledger.Locked},
		"failed work":          {t.Context(), &workError{failed}, ledger.Failed},
		"stopped work":         {stopped, &workError{failed}, ledger.Interrupted},
		"a partial night":      {t.Context(), &workError{EndWith(ledger.Partial, nil)}, ledger.Partial},
		"an explicit outcome":  {stopped, &workError{EndWith(ledger.Failed, locked)}, ledger.Failed},
	} {
		if got := OutcomeOf(c.ctx, c.err); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
