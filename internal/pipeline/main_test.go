package pipeline_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests, which must leak no goroutine, and removes the shared warehouse.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "pipeline-test-")
	if err != nil {
		panic(err)
	}
	shared.dir = dir
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir) // an error leaves only temporary files
		os.Exit(code)
	}))
}
