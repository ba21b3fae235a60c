// Command placementsync-lake publishes nights as Apache Iceberg tables. It is a program
// of its own, since Iceberg brings more code than all the rest, and so that a fault of
// the lake is a fault of another process. This package wires internal/lake to the
// configuration, one file a command; it must not know how a commit works.
package main

import (
	"context"
	"os"
)

// version is set by the build.
var version = "dev"

func main() {
	p := hostProcess()
	os.Exit(runInterruptible(p.stderr, func(ctx context.Context) int { return executeArgs(ctx, os.Args[1:], p) }))
}
