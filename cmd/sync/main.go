// Command placementsync is the nightly job: it walks the service, proves what
// it saw, and publishes one snapshot as DuckDB and Parquet. This package wires
// the packages below internal/ together, one file a command; it must not know
// how any of them does its work.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// version is set by the build.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal ends the work in order, the second ends the process.
	context.AfterFunc(ctx, stop)
	os.Exit(execute(ctx, os.Args[1:], hostProcess()))
}
