package notify

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestPausesGrow sends to a receiver that fails for a time.
func TestPausesGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var attempts []time.Duration
		_ = New(Config{}, slog.New(slog.DiscardHandler)).retry(t.Context(), func(context.Context) (bool, error) {
			attempts = append(attempts, time.Since(start))
			return true, errors.New("503")
		})
		if want := []time.Duration{0, 2 * time.Second, 10 * time.Second}; !slices.Equal(attempts, want) {
			t.Errorf("the attempts began after %v, want %v", attempts, want)
		}
	})
}
