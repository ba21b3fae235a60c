package main

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/internal/durable"
	"placementsync/internal/mcp"
	"placementsync/internal/query"
)

func mcpCommand(g *globals) *cobra.Command {
	var queryTimeout time.Duration
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the newest snapshot to an assistant by the Model Context Protocol",
		Long: "Serve the newest snapshot to an assistant by the Model Context Protocol over stdin and\n" +
			"stdout: named queries, SQL, the dictionary, grades and snapshots. The command reads only the\n" +
			"catalog. The assistant's program starts the command and ends it by closing stdin; stderr is\n" +
			"the log. docs/guide/assistants.md shows how to add the command to common programs.",
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runMCP(cmd.Context(), g, queryTimeout) },
	}
	cmd.Flags().DurationVar(&queryTimeout, "timeout", 30*time.Second, "stop a query after this `duration`; 0 means never")
	return cmd
}

func runMCP(ctx context.Context, g *globals, queryTimeout time.Duration) error {
	if queryTimeout < 0 {
		return cli.UsageErr("--timeout is %s: use 0 or more", queryTimeout)
	}
	cfg, err := g.loadConfig("warehouse", "retention", "statuses")
	if err != nil {
		return err
	}
	if err := durable.CheckTemp(); err != nil {
		return err
	}
	// After the end of the input, calls may run until the timeout. If there is no timeout, they may run
	// for 25 seconds. A stopped query then has 5 seconds to end.
	drain := cmp.Or(queryTimeout, 25*time.Second) + 5*time.Second
	return mcp.Run(ctx, mcp.Config{
		Warehouse: mcpWarehouse{g}, Timeout: queryTimeout, Drain: drain, Child: g.statementProcess(cfg), Version: version, Now: g.Now, Log: g.NewLoggerAt(slog.LevelWarn, g.stderr),
	}, io.NopCloser(g.stdin), nopCloseWriter{g.stdout})
}

// mcpWarehouse implements mcp.Warehouse.
type mcpWarehouse struct{ g *globals }

func (w mcpWarehouse) Open(ctx context.Context, opts query.Options, held bool) (*query.DB, error) {
	silent := w.g.silent() // no line about the snapshot, because each result names the snapshot
	silent.held = held
	return openCatalog(ctx, silent, opts)
}

func (w mcpWarehouse) Queries() (query.Library, error) { return w.g.loadQueries() }

func (w mcpWarehouse) Explain(err error) error { return explainDamage(w.g, err) }

type nopCloseWriter struct{ io.Writer }

func (nopCloseWriter) Close() error { return nil }
