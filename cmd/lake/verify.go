package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"placementsync/internal/lake"
)

func verifyCommand(g *globals) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "verify [RUN]",
		Short: "Compare every table of the lake with the version that it was published from",
		Long: "Compare every table of the night that the lake shows, or of RUN, with the version that it\n" +
			"was published from: rows, and a checksum of all values. The metadata of the lake name the\n" +
			"files, and DuckDB reads them by their field ids, as an engine does. It changes nothing, and\n" +
			"ends with 3 when a table differs.",
		Args: cobra.MaximumNArgs(1),
		RunE: markWork(func(cmd *cobra.Command, args []string) error { return runVerify(cmd.Context(), g, format, args) }),
	}
	cmd.Flags().StringVar(&format, "format", "table", "table or json")
	return cmd
}

func runVerify(ctx context.Context, g *globals, format string, args []string) (err error) {
	if err := checkFormat(format); err != nil {
		return err
	}
	wh, l, err := g.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	run := ""
	if len(args) > 0 {
		run = args[0]
	} else {
		s, err := l.Status(ctx)
		if err != nil {
			return err
		}
		if run = s.Run; run == "" {
			return errors.New("verify the lake: it has no night yet: run \"placementsync lake publish\" first")
		}
	}
	v, err := lake.OpenVersion(ctx, wh, run)
	if err != nil {
		return fmt.Errorf("verify the lake: %w: only nights that the warehouse keeps can be compared (warehouse.keep_versions)", err)
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	found, err := l.Verify(ctx, v)
	if err != nil {
		return err
	}
	if err := showVerified(g, format, found); err != nil {
		return err
	}
	if len(found.Differences) > 0 {
		return &partialError{}
	}
	return nil
}

func showVerified(g *globals, format string, v lake.Verified) error {
	if format == "json" {
		return writeJSON(g.stdout, v)
	}
	for _, d := range v.Differences {
		fmt.Fprintf(g.stdout, "%s: %s\n", d.Table, d.Problem)
	}
	verdict := "the same as in the warehouse"
	if n := len(v.Differences); n > 0 {
		verdict = fmt.Sprintf("%d differ", n)
	}
	_, err := fmt.Fprintf(g.stdout, "night %s: %d tables, %d files, %d rows: %s (%.1f s)\n", v.Run, v.Tables, v.Files, v.Rows, verdict, v.Seconds)
	return err
}
