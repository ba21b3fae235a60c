package trials_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain also shows that no night leaves a goroutine behind, however it ends.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// requireTrials skips a test of more than a few seconds unless the environment asks for
// it, as make test does: the others take less than a minute together, and are to be run
// after every edit.
func requireTrials(t *testing.T) {
	t.Helper()
	if os.Getenv("PLACEMENTSYNC_TRIALS") == "" {
		t.Skip("takes long: make test runs it, and so does PLACEMENTSYNC_TRIALS=1")
	}
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
