package pipeline_test

import (
	"testing"

	testharness "placementsync/internal/testing/harness"
)

// TestMain runs the tests, which must leak no goroutine, and removes the shared warehouse.
func TestMain(m *testing.M) {
	testharness.MainWithFolder(m, "pipeline-test-", &shared.dir)
}
