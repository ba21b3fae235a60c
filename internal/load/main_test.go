package load_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// requireTrials skips a test of more than a few seconds unless the environment asks for
// it, as make test does: the others are to be run after every edit.
func requireTrials(t *testing.T) {
	t.Helper()
	if os.Getenv("PLACEMENTSYNC_TRIALS") == "" {
		t.Skip("takes long: make test runs it, and so does PLACEMENTSYNC_TRIALS=1")
	}
}
