package trials_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"placementsync/internal/torture"
)

// TestMain also shows that no night leaves a goroutine behind, however it ends.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func requireTrials(t *testing.T) {
	t.Helper()
	torture.RequireTrials(t, os.Getenv)
}

// skipRaced leaves a long trial to the run without the race detector, with which
// it would take half an hour: make test runs the trials by their names.
func skipRaced(t *testing.T) {
	t.Helper()
	requireTrials(t)
	if raced {
		t.Skip("a trial: it runs without the race detector")
	}
}
