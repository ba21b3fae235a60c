// Command placementsync is the nightly job: it reads the service, proves that the result is
// complete, and publishes one snapshot as DuckDB and Parquet. This package connects the
// packages below internal/, with one file for each command. It must not do their work.
package main

import (
	"context"
	"os"

	"placementsync/internal/command"
)

// version and commit are set by the build. A build from a tarball needs commit, because its
// source has no repository.
var (
	version = "dev"
	commit  = ""
)

// abandoned is the last message after a second signal.
const abandoned = "placementsync: stopped in the middle of its work: the stored answers and the last snapshot are kept, run again to resume"

func main() {
	p := hostProcess()
	os.Exit(command.RunInterruptible(p.stderr, abandoned, func(ctx context.Context, patient func()) int {
		p.patient = patient
		return executeArgs(ctx, os.Args[1:], p)
	}))
}
