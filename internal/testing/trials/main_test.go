package trials_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"placementsync/internal/testing/torture"
)

// programVariable is the environment variable with the name of the program that this binary runs
// instead of the tests. The first argument contains the fields of the program as JSON.
const programVariable = "PLACEMENTSYNC_TRIAL_PROGRAM"

// program runs in a child process of a trial.
type program interface{ run(context.Context) error }

// TestMain runs the program of a child process, or all tests. It checks that no test leaks a
// goroutine.
func TestMain(m *testing.M) {
	name := os.Getenv(programVariable)
	if name == "" {
		goleak.VerifyTestMain(m)
		return
	}
	p := map[string]program{"night": &job{}, "held": &heldJob{}, "season": &seasonJob{}, "reader": &readerConfig{}}[name]
	err := json.Unmarshal([]byte(os.Args[1]), p)
	if err == nil {
		err = p.run(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func requireTrials(t *testing.T) {
	t.Helper()
	torture.RequireTrials(t, os.Getenv)
}
