package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain creates the folder of sharedNights and checks that commands do not leak goroutines.
func TestMain(m *testing.M) {
	var err error
	if os.Getenv(killEnv) == "" { // child processes need no nights
		sharedNights.dir, err = os.MkdirTemp("", "placementsync-lake-test-")
	}
	if err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("database/sql.(*DB).connectionOpener"), goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(sharedNights.dir)
		os.Exit(code)
	}))
}
