package main

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"placementsync/internal/command"
	"placementsync/internal/durable"
	"placementsync/internal/mcp"
	"placementsync/internal/query"
)

func mcpCommand(g *globals) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Let an assistant ask, by the Model Context Protocol over stdin and stdout",
		Long: "Let an assistant ask the newest snapshot, by the Model Context Protocol over stdin and\n" +
			"stdout: named queries, SQL, the dictionary, grades and snapshots. It reads the catalog and\n" +
			"nothing else. The assistant's program starts it and ends it by closing stdin; stderr is the\n" +
			"log. docs/guide/assistants.md says how to add it to the usual programs.",
		Args: cobra.NoArgs,
		RunE: command.MarkWork(func(cmd *cobra.Command, _ []string) error { return runMCP(cmd.Context(), g, timeout) }),
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "stop a query after this `duration`; 0: never")
	return cmd
}

func runMCP(ctx context.Context, g *globals, timeout time.Duration) error {
	if timeout < 0 {
		return command.UsageErr("--timeout is %s: use 0 or more", timeout)
	}
	if _, err := g.loadConfig("warehouse", "retention"); err != nil {
		return err
	}
	if err := durable.CheckTemp(); err != nil {
		return err
	}
	return mcp.Run(ctx, mcp.Config{
		Warehouse: assistants{g}, Timeout: timeout, Drain: drainTime(timeout), Version: version, Now: g.now, Log: g.NewLoggerOf(slog.LevelWarn, g.stderr),
	}, io.NopCloser(g.stdin), unclosed{g.stdout})
}

// assistants is the warehouse as assistants get it.
type assistants struct{ g *globals }

// Open implements mcp.Warehouse.
func (a assistants) Open(ctx context.Context, opts query.Options) (*query.DB, error) {
	quiet := *a.g
	quiet.Quiet = true // each answer names its snapshot
	return openCatalog(ctx, &quiet, opts)
}

// Queries implements mcp.Warehouse.
func (a assistants) Queries() (query.Library, error) { return a.g.loadQueries() }

// Explain implements mcp.Warehouse.
func (a assistants) Explain(err error) error { return suspectDamage(a.g, err) }

// drainTime is how long calls may run after the end of the input: as long as a query may
// take, and 30 seconds where queries have no limit.
func drainTime(timeout time.Duration) time.Duration {
	const grace = 5 * time.Second // for a stopped query to end
	if timeout == 0 {
		return 30 * time.Second
	}
	return timeout + grace
}

// unclosed is a writer that outlives the one who writes to it.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
