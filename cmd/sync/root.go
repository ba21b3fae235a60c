package main

import (
	"context"

	"github.com/spf13/cobra"

	"placementsync/internal/command"
)

// executeArgs runs one command and returns the exit code.
func executeArgs(ctx context.Context, args []string, p process) int {
	g := &globals{process: p, Flags: command.Flags{Journal: p.journal}}
	return g.Execute(ctx, newRoot(g), args, p.stdout, p.stderr)
}

// exitCodes is the table of exit codes in the help of most commands.
func exitCodes() string {
	return command.Meanings{Complete: "complete", Failed: "failed, nothing published", Partial: "published but partial",
		Held: "another run holds the lock"}.Table()
}

func newRoot(g *globals) *cobra.Command {
	root := &cobra.Command{
		Use:   "placementsync",
		Short: "Sync a media placement marketplace into DuckDB and Parquet",
		Long: "placementsync reads every endpoint of the service, proves that nothing is missing,\n" +
			"and publishes one consistent snapshot as a DuckDB file and as Parquet.\n\n" + exitCodes(),
		PersistentPreRunE: func(*cobra.Command, []string) error { return g.Check() },
	}
	g.AddTo(root)
	root.AddCommand(demoCommand(g), initCommand(g), checkCommand(g), runCommand(g), serveCommand(g), runsCommand(g), queryCommand(g), mcpCommand(g),
		diffCommand(g), auditCommand(g), reportCommand(g), exploreCommand(g), exportCommand(g), schemaCommand(g), replayCommand(g), rebuildCommand(g),
		rollbackCommand(g), publishCommand(g), discardCommand(g), rawCommand(g), verifyCommand(g), backupCommand(g), lakeCommand(g), watchCommand(g), pruneCommand(g), docsCommand(g), statementCommand(g))
	command.AddVersion(root, version, commit)
	return root
}
