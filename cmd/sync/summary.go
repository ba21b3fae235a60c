package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/pipeline"
	"placementsync/internal/query"
)

// showNight prints the result of a night: a line a stream with grade and cost, then
// what changed.
func showNight(g *globals, res pipeline.Result, dryRun bool) error {
	t := newTable("stream", "grade", "rows", "requests", "passes", "why")
	for _, s := range res.Run.Streams {
		t.AppendRow(table.Row{s.Stream, s.Grade, s.Rows, s.Requests, s.Passes, firstLine(s.Reason)})
	}
	alignRight(t, 3, 4, 5)
	if _, err := fmt.Fprintln(g.stdout, t.Render()); err != nil {
		return err
	}
	if err := showChanges(g.stdout, res.Changes); err != nil {
		return err
	}
	return showOutcome(g.stdout, res, dryRun)
}

// showChanges prints the tables in which anything moved.
func showChanges(w io.Writer, changes []load.Change) error {
	t := newTable("table", "rows", "new", "changed", "gone")
	for _, c := range changes {
		if c.New+c.Changed+c.Gone > 0 {
			t.AppendRow(table.Row{c.Table, c.After, c.New, c.Changed, c.Gone})
		}
	}
	if t.Length() == 0 {
		return nil
	}
	alignRight(t, 2, 3, 4, 5)
	_, err := fmt.Fprintf(w, "\n%s\n", t.Render())
	return err
}

func showOutcome(w io.Writer, res pipeline.Result, dryRun bool) error {
	r := res.Run
	verdict := "published"
	switch {
	case dryRun && r.Outcome == ledger.Complete:
		verdict = "dry run, nothing published"
	case r.Outcome == ledger.Partial:
		verdict = "published, partial: " + query.OnScreen(r.Why())
	case r.Outcome != ledger.Complete:
		verdict = "nothing published, the last snapshot stays"
	}
	_, err := fmt.Fprintf(w, "\nrun %s: %s\n%d rows, %d new, %d changed, %d gone; %d requests, %s, %d retries, %s\n",
		r.ID, verdict, r.Rows, r.New, r.Changed, r.Gone, r.Requests, sizeText(r.Bytes), r.Retries,
		r.EndedAt.Sub(r.StartedAt).Round(time.Millisecond))
	if ids, streams := r.Unread(); err == nil && ids > 0 {
		_, err = fmt.Fprintf(w, "not read within run.max_duration: %s\n", unreadText(ids, streams, r.NightsLeft))
	}
	return err
}

// newTable is a table without decoration, for people and for grep.
func newTable(header ...string) table.Writer {
	t := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Format.Header = text.FormatDefault
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	t.SetStyle(style)
	row := make(table.Row, len(header))
	for i, h := range header {
		row[i] = h
	}
	t.AppendHeader(row)
	return t
}

func alignRight(t table.Writer, columns ...int) {
	var configs []table.ColumnConfig
	for _, c := range columns {
		configs = append(configs, table.ColumnConfig{Number: c, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
}

// firstLine keeps a table row on one line. Reasons and errors may quote the service,
// so the text is made safe for a terminal.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return query.OnScreen(line)
}

// sizeText writes bytes for people.
func sizeText(n int64) string {
	const kib = 1024
	switch {
	case n < kib:
		return fmt.Sprintf("%d B", n)
	case n < kib*kib:
		return fmt.Sprintf("%.1f KiB", float64(n)/kib)
	case n < kib*kib*kib:
		return fmt.Sprintf("%.1f MiB", float64(n)/kib/kib)
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/kib/kib/kib)
}
