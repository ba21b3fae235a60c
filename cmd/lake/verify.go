package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"placementsync/internal/command"
	"placementsync/internal/lake"
	"placementsync/internal/ledger"
	"placementsync/internal/plural"
	"placementsync/internal/warehouse"
)

func verifyCommand(g *globals) *cobra.Command {
	return g.lakeCommand(&cobra.Command{
		Use:   "verify [RUN]",
		Short: "Compare every table of the lake with the version that it was published from",
		Long: "Compare every table of the night that the lake shows, or of RUN, with the version that it\n" +
			"was published from: rows, and a checksum of all values. The metadata of the lake name the\n" +
			"files, and DuckDB reads them by their field ids, as an engine does. It changes nothing, and\n" +
			"ends with 3 when a table differs.",
		Args: cobra.MaximumNArgs(1),
	}, verifyLake)
}

func verifyLake(ctx context.Context, wh *warehouse.Warehouse, l *lake.Lake, args []string) (a result, err error) {
	run := ""
	if len(args) > 0 {
		run = args[0]
	} else {
		s, err := l.Status(ctx)
		if err != nil {
			return a, err
		}
		if run = s.Run; run == "" {
			return a, errors.New("verify the lake: it has no night yet: run \"placementsync lake publish\" first")
		}
	}
	v, err := lake.OpenVersion(ctx, wh, run)
	if err != nil {
		return a, fmt.Errorf("verify the lake: %w; only nights that the warehouse keeps can be compared (warehouse.keep_versions)", err)
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	found, err := l.Verify(ctx, v)
	if err != nil {
		return a, err
	}
	if len(found.Differences) > 0 {
		err = command.EndWith(ledger.Partial, nil)
	}
	return result{found, describeVerified(found)}, err
}

func describeVerified(v lake.Verified) string {
	var b strings.Builder
	for _, d := range v.Differences {
		fmt.Fprintf(&b, "%s: %s\n", d.Table, d.Problem)
	}
	verdict := "the same as in the warehouse"
	if n := len(v.Differences); n > 0 {
		verdict = fmt.Sprintf("%d differ", n)
	}
	fmt.Fprintf(&b, "night %s: %s, %s, %s: %s (%.1f s)\n", v.Run, plural.Count(v.Tables, "table"), plural.Count(v.Files, "file"), plural.Count(v.Rows, "row"), verdict, v.Seconds)
	return b.String()
}
