package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"placementsync/internal/cli"
	"placementsync/internal/humanize"
	"placementsync/internal/ledger"

	"github.com/spf13/cobra"
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
	runs, err := wh.RunLog.AllRuns()
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

type runJSON struct {
	ledger.Run
	// IsCurrent is set for the run whose version readers see.
	IsCurrent bool `json:"seen"`
}

func ledgerTable(runs []ledger.Run, current string) *textTable {
	t := &textTable{columns: []column{{name: "run"}, {name: "kind", drop: 6}, {name: "readers", drop: 2}, {name: "started", drop: 9},
		{name: "took", isNumber: true, drop: 3}, {name: "attempts", isNumber: true, drop: 12}, {name: "outcome"}, {name: "exit", isNumber: true, drop: 10},
		{name: "requests", isNumber: true, drop: 7}, {name: "received", isNumber: true, drop: 11}, {name: "retries", isNumber: true, drop: 13},
		{name: "rows", isNumber: true, drop: 5}, {name: "new", isNumber: true, drop: 4}, {name: "changed", isNumber: true, drop: 4},
		{name: "gone", isNumber: true, drop: 4}, {name: "streams", drop: 8}, {name: "why", drop: 1, minWidth: 24}}}
	for _, r := range runs {
		took, exitCode := "", "" // of a killed run
		if !r.EndedAt.IsZero() {
			took = r.EndedAt.Sub(r.StartedAt).Round(time.Millisecond).String()
		}
		if r.ExitCode >= 0 {
			exitCode = strconv.Itoa(r.ExitCode)
		}
		t.addRow(r.ID, cmp.Or(r.Kind, ledger.Night), readersMark(r, current), r.StartedAt.Format(time.DateTime), took,
			r.Attempts, r.Outcome, exitCode, r.Requests, humanize.FormatBytes(r.Bytes), r.Retries, r.Rows, r.New, r.Changed, r.Gone, countStandings(r), r.Why())
	}
	return t
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
