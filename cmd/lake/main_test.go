package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain also shows that no command leaves a goroutine behind.
func TestMain(m *testing.M) {
	var err error
	if os.Getenv(struckEnv) == "" { // who is killed removes nothing
		nightsOfAll.dir, err = os.MkdirTemp("", "placementsync-lake-test-")
	}
	if err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("database/sql.(*DB).connectionOpener"), goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(nightsOfAll.dir) // in a folder that is emptied
		os.Exit(code)
	}))
}
