package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"placementsync/internal/command"
	"placementsync/internal/ledger"
	"placementsync/internal/query"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
)

func runsCommand(g *globals) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "Show the ledger: what each night and all other work did, failed ones too",
		Args:  cobra.NoArgs,
		RunE:  command.MarkWork(func(*cobra.Command, []string) error { return runRuns(g, format) }),
	}
	cmd.Flags().StringVar(&format, "format", "table", "table or json; json includes the streams")
	return cmd
}

func runRuns(g *globals, format string) error {
	if format != "table" && format != "json" {
		return command.UsageErr("--format is %q: use table or json", format)
	}
	wh, _, err := g.openWarehouse()
	if err != nil {
		return err
	}
	runs, err := wh.Ledger.AllRuns()
	if err != nil {
		return err
	}
	seen, _, err := wh.Versions.Latest()
	if err != nil {
		return err
	}
	if format == "json" {
		all := make([]shownRun, len(runs))
		for i, r := range runs {
			all[i] = shownRun{r, r.ID == seen}
		}
		return writeJSON(g.stdout, all)
	}
	return runsTable(g.stdout, runs, seen)
}

// shownRun is a run as JSON has it.
type shownRun struct {
	ledger.Run
	// Seen marks the version that readers see.
	Seen bool `json:"seen"`
}

func runsTable(w io.Writer, runs []ledger.Run, seen string) error {
	if len(runs) == 0 {
		_, err := fmt.Fprintln(w, "no run yet: start one with placementsync run")
		return err
	}
	t := newTable("run", "kind", "readers", "started", "took", "attempts", "outcome", "exit", "requests", "received", "retries", "rows", "new", "changed", "gone", "grades", "why")
	for _, r := range runs {
		t.AppendRow(table.Row{r.ID, cmp.Or(r.Kind, ledger.Night), readersMark(r, seen), r.StartedAt.Format(time.DateTime), durationText(r),
			r.Attempts, r.Outcome, exitCodeText(r), r.Requests, sizeText(r.Bytes), r.Retries, r.Rows, r.New, r.Changed, r.Gone, countGrades(r), query.OnScreen(r.Why())})
	}
	alignRight(t, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15)
	_, err := fmt.Fprintln(w, t.Render())
	return err
}

// readersMark marks the version that readers see, and says where a rollback led, and what a
// backup or the lake is of.
func readersMark(r ledger.Run, seen string) string {
	switch {
	case r.ID == seen:
		return "see this"
	case r.Kind == ledger.Rollback:
		return "to " + r.Version
	case r.IsFollow() && r.Version != "":
		return "of " + r.Version
	}
	return ""
}

// durationText and exitCodeText are empty for a run that was killed.
func durationText(r ledger.Run) string {
	if r.EndedAt.IsZero() {
		return ""
	}
	return r.EndedAt.Sub(r.StartedAt).Round(time.Millisecond).String()
}

func exitCodeText(r ledger.Run) string {
	if r.ExitCode < 0 {
		return ""
	}
	return strconv.Itoa(r.ExitCode)
}

// countGrades sums up the streams of a run, the worst first: "1 skipped, 8 exact".
func countGrades(r ledger.Run) string {
	counts := map[string]int{}
	var order []string
	for _, s := range r.WorstFirst() {
		if counts[s.Grade] == 0 {
			order = append(order, s.Grade)
		}
		counts[s.Grade]++
	}
	for i, g := range order {
		order[i] = fmt.Sprintf("%d %s", counts[g], g)
	}
	return strings.Join(order, ", ")
}

func writeJSON(w io.Writer, value any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(value)
}
