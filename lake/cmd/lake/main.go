// Command placementsync-lake publishes nights as Apache Iceberg tables. It is a separate
// program because the Iceberg libraries are larger than the rest of the code, and because a
// crash of placementsync-lake must not stop a night. This package connects internal/lake with the
// configuration. Each command has a file. The package must not know how a commit works.
package main

import (
	"context"
	"io"
	"os"
	"time"

	"placementsync/internal/cli"
	"placementsync/internal/config"
)

// The build sets version, and sets commit if the sources are not in a repository, as in a tarball.
var (
	version = "dev"
	commit  = ""
)

func main() {
	const abandonedMessage = "placementsync-lake: stopped before its work was complete; a night is in the lake completely or not at all: run the command again"
	p := process{stdout: os.Stdout, stderr: os.Stderr, Host: cli.Host{LookupEnv: os.LookupEnv, Now: time.Now}}
	os.Exit(cli.RunInterruptible(p.stderr, abandonedMessage, func(ctx context.Context, _ func()) int { return executeArgs(ctx, os.Args[1:], p) }))
}

// process is the environment of a command. Tests replace it.
type process struct {
	stdout, stderr io.Writer
	cli.Host
}

// globals are the environment, the flags and the configuration of every command.
type globals struct {
	process
	cli.Flags
	// cfg is the configuration after loadConfig.
	cfg config.Config
}
