// Command placementsync-lake publishes nights as Apache Iceberg tables. It is a program
// of its own, since Iceberg brings more code than all the rest, and so that a fault of
// the lake is a fault of another process. This package wires internal/lake to the
// configuration, one file a command; it must not know how a commit works.
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

func main() {
	const kept = "placementsync-lake: stopped in the middle of its work: the lake shows all of a night or nothing of it, run again to continue"
	p := hostProcess()
	os.Exit(command.RunInterruptible(p.stderr, kept, func(ctx context.Context, _ func()) int { return executeArgs(ctx, os.Args[1:], p) }))
}
