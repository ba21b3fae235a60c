package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"placementsync/internal/query"
)

// executeArgs runs one command and returns the exit code: results on stdout,
// everything else on stderr.
func executeArgs(ctx context.Context, args []string, p process) int {
	g := &globals{process: p}
	root := newRoot(g)
	root.SetArgs(args)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	err := root.ExecuteContext(ctx)
	code := outcomeOf(ctx, err).ExitCode()
	switch {
	case err == nil || err.Error() == "": // all has been said
	case g.logFormat == "json" && errors.As(err, new(*workError)): // whoever collects the lines gets this one too
		name := ""
		if cmd, _, err := root.Find(args); err == nil {
			name = cmd.Name()
		}
		g.newLogger().Error("command failed", "command", name, "exit_code", code, "error", err)
	default:
		fmt.Fprintln(p.stderr, "placementsync:", query.OnScreen(errorText(err)))
	}
	return code
}

func newRoot(g *globals) *cobra.Command {
	root := &cobra.Command{
		Use:   "placementsync",
		Short: "Sync a media placement marketplace into DuckDB and Parquet",
		Long: "placementsync reads every endpoint of the service, proves that nothing is missing,\n" +
			"and publishes one consistent snapshot as a DuckDB file and as Parquet.\n\n" + exitCodes(),
		SilenceUsage: true, SilenceErrors: true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if g.logFormat != "text" && g.logFormat != "json" {
				return usageErr("--log-format is %q: use text or json", g.logFormat)
			}
			return nil
		},
	}
	flags := root.PersistentFlags()
	flags.StringVar(&g.config, "config", defaultConfig, "configuration `file`")
	flags.StringVar(&g.logFormat, "log-format", "text", "format of the log on stderr: text or json")
	flags.BoolVar(&g.quiet, "quiet", false, "log warnings and errors only")
	root.AddCommand(demoCommand(g), checkCommand(g), runCommand(g), serveCommand(g), runsCommand(g), queryCommand(g),
		diffCommand(g), reportCommand(g), exploreCommand(g), exportCommand(g), schemaCommand(g), replayCommand(g), rebuildCommand(g),
		rollbackCommand(g), rawCommand(g), verifyCommand(g), backupCommand(g), lakeCommand(g), pruneCommand(g), versionCommand(g), docsCommand(g))
	return root
}

// markWork marks the errors of a command that began its work. All others come from
// cobra reading the command line.
func markWork(run func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := run(cmd, args); err != nil {
			return &workError{err}
		}
		return nil
	}
}
