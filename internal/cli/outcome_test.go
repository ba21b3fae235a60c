package cli

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
	"placementsync/schema"
)

// TestOutcomeOf covers each case of the switch. Package ledger tests the exit codes.
func TestOutcomeOf(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	errDisk, errLocked := errors.New("disk"), fmt.Errorf("lock: %w", &warehouse.LockedError{})
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		want ledger.Outcome
	}{
		"no error":                {t.Context(), nil, ledger.Complete},
		"no error, stopped":       {stopped, nil, ledger.Complete},
		"a usage error":           {t.Context(), UsageErr("--nights is 0"), ledger.Misused},
		"a configuration error":   {t.Context(), &config.Error{}, ledger.Misused},
		"a query usage error":     {t.Context(), fmt.Errorf("query: %w", &query.UsageError{}), ledger.Misused},
		"an unknown run":          {t.Context(), fmt.Errorf("roll back: %w", &ledger.UnknownRunError{}), ledger.Misused},
		"no warehouse":            {t.Context(), fmt.Errorf("roll back: %w", &warehouse.NoWarehouseError{}), ledger.Misused},
		"an unknown table":        {t.Context(), fmt.Errorf("query: %w", &schema.UnknownTableError{}), ledger.Misused},
		"a TMPDIR that is a file": {t.Context(), &durable.TempError{Dir: "/file", Err: syscall.ENOTDIR}, ledger.Misused},
		"a read-only TMPDIR":      {t.Context(), &durable.TempError{Dir: "/tmp", Err: syscall.EROFS}, ledger.Misused},
		"a missing TMPDIR":        {t.Context(), fmt.Errorf("report: %w", &durable.TempError{Dir: "/none", Err: fs.ErrNotExist}), ledger.Misused},
		"a full TMPDIR":           {t.Context(), &durable.TempError{Dir: "/tmp", Err: syscall.ENOSPC}, ledger.Failed},
		"a refused query":         {t.Context(), &query.RefusedError{}, ledger.Failed},
		"locked":                  {t.Context(), errLocked, ledger.Locked},
		"locked, then stopped":    {stopped, errLocked, ledger.Locked},
		"failed work":             {t.Context(), errDisk, ledger.Failed},
		"stopped work":            {stopped, errDisk, ledger.Interrupted},
		"a partial night":         {t.Context(), EndWith(ledger.Partial, nil), ledger.Partial},
		"an explicit outcome":     {stopped, EndWith(ledger.Failed, errLocked), ledger.Failed},
	} {
		if got := OutcomeOf(c.ctx, c.err); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
