// Command placementsync is the nightly job: it reads the service, checks each list for missing
// records, and publishes one snapshot as DuckDB and Parquet. Most commands have their own file in
// this package. The packages below internal/ do the work; this package only connects them.
package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"placementsync/internal/command"
)

// version and commit are set by the build. Go finds the commit of a build in a repository. A tarball
// contains no repository, so its build must set the variable commit.
var (
	version = "dev"
	commit  = ""
)

// abandonedMessage is the last message of a program that did not end in time after a signal, or received a
// second signal.
const abandonedMessage = "placementsync: stopped before its work was complete: readers see a complete snapshot, and stored responses are kept: repeat the command; an interrupted night resumes"

func main() {
	p := hostProcess()
	os.Exit(command.RunInterruptible(p.stderr, abandonedMessage, func(ctx context.Context, removeTimeLimit func()) int {
		p.removeTimeLimit = removeTimeLimit
		return executeArgs(ctx, os.Args[1:], p)
	}))
}

func executeArgs(ctx context.Context, args []string, p process) int {
	g := &globals{process: p, Flags: command.Flags{Journal: command.FeedsJournal(p.stderr, p.LookupEnv)}}
	return g.Execute(ctx, newRoot(g), args, p.stdout, p.stderr)
}

func exitCodes() string {
	return command.Meanings{Complete: "complete", Failed: "failed", Partial: "published but partial",
		Locked: "another run holds the lock"}.Table()
}

func newRoot(g *globals) *cobra.Command {
	root := &cobra.Command{
		Use:   "placementsync",
		Short: "Sync a media placement marketplace into DuckDB and Parquet",
		Long: "placementsync reads every endpoint of the service, checks each list for missing records,\n" +
			"and publishes one consistent snapshot as a DuckDB file and as Parquet.\n\n" + exitCodes(),
	}
	g.AddTo(root)
	root.AddCommand(demoCommand(g), initCommand(g), checkCommand(g), runCommand(g), serveCommand(g), runsCommand(g), queryCommand(g), mcpCommand(g),
		diffCommand(g), auditCommand(g), reportCommand(g), exploreCommand(g), exportCommand(g), schemaCommand(g), replayCommand(g), rebuildCommand(g),
		rollbackCommand(g), publishCommand(g), discardCommand(g), rawCommand(g), verifyCommand(g), backupCommand(g), lakeCommand(g), watchCommand(g), pruneCommand(g), statementCommand(g))
	command.AddManual(root, manual())
	command.AddVersion(root, version, commit)
	return root
}
