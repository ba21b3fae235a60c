package trials_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"placementsync/internal/testing/torture"
)

// TestMain also shows that no night leaves a goroutine behind, however it ends.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func requireTrials(t *testing.T) {
	t.Helper()
	torture.RequireTrials(t, os.Getenv)
}
