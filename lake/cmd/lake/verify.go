package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/internal/humanize"
	"placementsync/internal/ledger"
	"placementsync/internal/warehouse"
	"placementsync/lake/internal/lake"
)

func verifyCommand(g *globals) *cobra.Command {
	return g.lakeCommand(&cobra.Command{
		Use:   "verify [RUN]",
		Short: "Compare every table of the lake with the version that it was published from",
		Long: "Compare every table of RUN, by default the night that the lake shows, with the version that\n" +
			"it was published from. The number of rows and a checksum of all values are compared. DuckDB\n" +
			"reads the data files that the lake lists, and finds columns by their field ids, as an engine\n" +
			"does.\n" +
			"The command changes nothing, and ends with 3 when a table differs.",
		Args: cobra.MaximumNArgs(1),
	}, verifyLake)
}

func verifyLake(ctx context.Context, wh *warehouse.Warehouse, l *lake.Lake, args []string) (r result, err error) {
	run := ""
	if len(args) > 0 {
		run = args[0]
	} else {
		s, err := l.Status(ctx)
		if err != nil {
			return r, err
		}
		run = s.Run
		if run == "" {
			return r, errors.New("verify the lake: it has no night yet: run \"placementsync lake publish --all\" first")
		}
	}
	v, err := lake.OpenVersion(ctx, wh, run)
	if err != nil {
		return r, fmt.Errorf("verify the lake: %w; a night whose version was removed (warehouse.keep_versions) cannot be compared", err)
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	verified, err := l.Verify(ctx, v)
	if err != nil {
		return r, err
	}
	if len(verified.Differences) > 0 {
		err = cli.EndWith(ledger.Partial, nil)
	}
	return result{verified, describeVerified(verified)}, err
}

func describeVerified(v lake.VerifyReport) string {
	var b strings.Builder
	for _, d := range v.Differences {
		fmt.Fprintf(&b, "%s: %s\n", d.Table, d.Problem)
	}
	verdict := "the same as in the warehouse"
	if n := len(v.Differences); n > 0 {
		verdict = humanize.Count(n, "table") + " with differences"
	}
	fmt.Fprintf(&b, "night %s: %s, %s, %s: %s (%.1f s)\n", v.Run, humanize.Count(v.Tables, "table"), humanize.Count(v.Files, "file"), humanize.Count(v.Rows, "row"), verdict, v.Seconds)
	return b.String()
}
