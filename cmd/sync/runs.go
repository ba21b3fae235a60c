package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/internal/humanize"
	"placementsync/internal/ledger"
	"placementsync/internal/warehouse"
)

func runsCommand(g *globals) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "Show the ledger: nights and other work, including failures",
		Args:  cli.NoArguments,
		RunE:  func(*cobra.Command, []string) error { return runRuns(g, format) },
	}
	cli.AddFormat(cmd, &format, "table", "json")
	cmd.Flags().Lookup("format").Usage += "; json includes the streams"
	return cmd
}

func runRuns(g *globals, format string) error {
	wh, _, err := g.openWarehouse()
	if err != nil {
		return err
	}
	runs, err := readLedger(wh)
	if err != nil {
		return err
	}
	current, _, err := wh.Versions.Latest()
	if err != nil {
		return err
	}
	if format == "json" {
		all := make([]runJSON, len(runs))
		for i, r := range runs {
			all[i] = runJSON{r, r.ID == current}
		}
		return cli.WriteJSON(g.stdout, all)
	}
	if len(runs) == 0 {
		_, err := fmt.Fprintln(g.stderr, "no run yet: start one with placementsync run")
		return err
	}
	_, err = fmt.Fprintln(g.stdout, ledgerTable(runs, current).render(g.width))
	return err
}

// readLedger returns an error for an unmounted disk, not an empty ledger.
func readLedger(wh *warehouse.Warehouse) ([]ledger.Run, error) {
	if err := wh.Folder.CheckExists(); err != nil {
		return nil, err
	}
	return wh.RunLog.AllRuns()
}

type runJSON struct {
	ledger.Run
	// IsCurrent is set for the run whose version readers see.
	IsCurrent bool `json:"seen"`
}

func ledgerTable(runs []ledger.Run, current string) *textTable {
	type ledgerColumn struct {
		column
		valueOf func(r ledger.Run) any
	}
	columns := []ledgerColumn{
		{column{name: "run"}, func(r ledger.Run) any { return r.ID }},
		{column{name: "kind", drop: 6}, func(r ledger.Run) any { return cmp.Or(r.Kind, ledger.Night) }},
		{column{name: "readers", drop: 2}, func(r ledger.Run) any { return readersMark(r, current) }},
		{column{name: "started", drop: 9}, func(r ledger.Run) any { return r.StartedAt.Format(time.DateTime) }},
		{column{name: "took", isNumber: true, drop: 3}, func(r ledger.Run) any { return tookText(r) }},
		{column{name: "attempts", isNumber: true, drop: 12}, func(r ledger.Run) any { return r.Attempts }},
		{column{name: "outcome"}, func(r ledger.Run) any { return r.Outcome }},
		{column{name: "exit", isNumber: true, drop: 10}, func(r ledger.Run) any { return exitText(r) }},
		{column{name: "requests", isNumber: true, drop: 7}, func(r ledger.Run) any { return r.Requests }},
		{column{name: "received", isNumber: true, drop: 11}, func(r ledger.Run) any { return humanize.FormatBytes(r.Bytes) }},
		{column{name: "retries", isNumber: true, drop: 13}, func(r ledger.Run) any { return r.Retries }},
		{column{name: "rows", isNumber: true, drop: 5}, func(r ledger.Run) any { return r.Rows }},
		{column{name: "new", isNumber: true, drop: 4}, func(r ledger.Run) any { return r.New }},
		{column{name: "changed", isNumber: true, drop: 4}, func(r ledger.Run) any { return r.Changed }},
		{column{name: "gone", isNumber: true, drop: 4}, func(r ledger.Run) any { return r.Gone }},
		{column{name: "streams", drop: 8}, func(r ledger.Run) any { return countStandings(r) }},
		{column{name: "why", drop: 1, minWidth: 24}, func(r ledger.Run) any { return r.Why() }},
	}
	t := &textTable{}
	for _, c := range columns {
		t.columns = append(t.columns, c.column)
	}
	for _, r := range runs {
		var cells []any
		for _, c := range columns {
			cells = append(cells, c.valueOf(r))
		}
		t.addRow(cells...)
	}
	return t
}

// tookText returns an empty text for a killed run, whose end is unknown.
func tookText(r ledger.Run) string {
	if r.EndedAt.IsZero() {
		return ""
	}
	return r.Took().Round(time.Millisecond).String()
}

// exitText returns an empty text for a killed run, which has no exit code.
func exitText(r ledger.Run) string {
	if r.ExitCode < 0 {
		return ""
	}
	return strconv.Itoa(r.ExitCode)
}

func readersMark(r ledger.Run, current string) string {
	switch {
	case r.ID == current:
		return "see this"
	case r.Kind == ledger.Rollback:
		return "to " + r.Version
	case r.IsFollowUp() && r.Version != "":
		return "of " + r.Version
	}
	return ""
}

func countStandings(r ledger.Run) string {
	counts := map[ledger.Standing]int{}
	for _, s := range r.Streams {
		counts[ledger.StandingOf(s.Grade)]++
	}
	var parts []string
	for _, standing := range []ledger.Standing{ledger.NotRead, ledger.Carried, ledger.NotProven, ledger.Proven} {
		if n := counts[standing]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, standing))
		}
	}
	return strings.Join(parts, ", ")
}
