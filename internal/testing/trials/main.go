package trials

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// programVariable is an environment variable. If it names a program, this test binary runs the
// program instead of the tests. The first argument contains the fields of the program as JSON.
const programVariable = "PLACEMENTSYNC_TRIAL_PROGRAM"

// Program is a part of a trial that runs in a child process.
type Program interface{ Run(context.Context) error }

// Main is the TestMain of a package. It runs one of the programs, or a night, in a child process, and the tests in
// any other process. It fails if the tests leak a goroutine.
func Main(m *testing.M, programs map[string]Program) {
	name := os.Getenv(programVariable)
	if name == "" {
		goleak.VerifyTestMain(m)
		return
	}
	p := programs[name]
	if p == nil {
		p = &Job{}
	}
	err := json.Unmarshal([]byte(os.Args[1]), p)
	if err == nil {
		err = p.Run(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Size returns the number of cases or nights of a trial, for example: full, or short with -short, as in
// "make trials-short".
func Size(full, short int) int {
	if testing.Short() {
		return short
	}
	return full
}
