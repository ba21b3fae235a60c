package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"placementsync/internal/config"
	"placementsync/internal/query"
	"placementsync/internal/warehouse"
)

// TestErrorsBecomeOutcomes holds each row of outcomeOf; the numbers are tested beside
// warehouse.Outcome.
func TestErrorsBecomeOutcomes(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	failed, held := errors.New("disk"), fmt.Errorf("lock: %w", &warehouse.HeldError{})
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		want warehouse.Outcome
	}{
		"no error":             {t.Context(), nil, warehouse.Complete},
		"no error, stopped":    {stopped, nil, warehouse.Complete},
		"the command line":     {t.Context(), errors.New("unknown flag"), warehouse.Misused},
		"a wrong use":          {t.Context(), &workError{usageErr("--nights is 0")}, warehouse.Misused},
		"the configuration":    {t.Context(), &workError{&config.Error{}}, warehouse.Misused},
		"a wrong query":        {t.Context(), &workError{fmt.Errorf("query: %w", &query.UsageError{})}, warehouse.Misused},
		"a refused query":      {t.Context(), &workError{&query.RefusedError{}}, warehouse.Failed},
		"another run":          {t.Context(), &workError{held}, warehouse.Held},
		"another run, then ^C": {stopped, &workError{held}, warehouse.Held},
		"work":                 {t.Context(), &workError{failed}, warehouse.Failed},
		"work, stopped":        {stopped, &workError{failed}, warehouse.Interrupted},
		"a partial night":      {t.Context(), &workError{&outcomeError{warehouse.Partial, nil}}, warehouse.Partial},
		"an outcome wins":      {stopped, &workError{&outcomeError{warehouse.Failed, held}}, warehouse.Failed},
	} {
		if got := outcomeOf(c.ctx, c.err); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
