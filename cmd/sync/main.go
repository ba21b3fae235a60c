// Command placementsync is the nightly job: it walks the service, proves what
// it saw, and publishes one snapshot as DuckDB and Parquet. This package wires
// the packages below internal/ together, one file a command; it must not know
// how any of them does its work.
package main

import (
	"context"
	"os"

	"placementsync/internal/command"
)

// version and commit are set by the build. A commit is only needed where the source has no
// repository, such as that of a tarball.
var (
	version = "dev"
	commit  = ""
)

// kept is what a command that is abandoned says last.
const kept = "placementsync: stopped in the middle of its work: the stored answers and the last snapshot are kept, run again to resume"

func main() {
	p := hostProcess()
	os.Exit(command.RunInterruptible(p.stderr, kept, func(ctx context.Context, patient func()) int {
		p.patient = patient
		return executeArgs(ctx, os.Args[1:], p)
	}))
}
