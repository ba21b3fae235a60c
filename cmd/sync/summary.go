package main

import (
	"fmt"
	"strings"
	"time"

	"placementsync/internal/humanize"
	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/query"
)

// showNight shows numbers of rows for a complete or partial night, even in a dry run. For any other night,
// which may have ended before the merge, it shows numbers of records.
func showNight(g *globals, res pipeline.Result, dryRun bool) error {
	countsRows := res.Run.Outcome == ledger.Complete || res.Run.Outcome == ledger.Partial
	rowsHead := "rows"
	if !countsRows {
		rowsHead = "records"
	}
	t := textTable{columns: []column{{name: "stream"}, {name: "standing"}, {name: rowsHead, isNumber: true}, {name: "requests", isNumber: true, drop: 2},
		{name: "passes", isNumber: true, drop: 3}, {name: "why", drop: 1, minWidth: 24}}}
	notChosen := 0
	for _, s := range res.Run.Streams {
		if !countsRows && s.Reason == ledger.ReasonNotChosen {
			notChosen++
			continue
		}
		standing := ledger.StandingOf(s.Grade)
		if !countsRows && standing == ledger.Carried {
			standing = ledger.NotRead // without a snapshot, no rows are carried
		}
		t.addRow(s.Stream, standing, s.Rows, s.Requests, s.Passes, firstLine(s.Reason))
	}
	if _, err := fmt.Fprintln(g.stdout, t.render(g.width)); err != nil {
		return err
	}
	if notChosen > 0 {
		fmt.Fprintln(g.stdout, humanize.Count(notChosen, "stream")+" not chosen")
	}
	changes := textTable{columns: []column{{name: "table", minWidth: 20}, {name: "rows", isNumber: true, drop: 1}, {name: "new", isNumber: true},
		{name: "changed", isNumber: true}, {name: "gone", isNumber: true}}}
	for _, c := range res.Changes {
		if c.New+c.Changed+c.Gone > 0 {
			changes.addRow(c.Table, c.After, c.New, c.Changed, c.Gone)
		}
	}
	if len(changes.rows) > 0 {
		if _, err := fmt.Fprintf(g.stdout, "\n%s\n", changes.render(g.width)); err != nil {
			return err
		}
	}
	return showOutcome(g, res, dryRun)
}

func showOutcome(g *globals, res pipeline.Result, dryRun bool) error {
	r := res.Run
	result := "published"
	switch {
	case dryRun && r.Outcome == ledger.Complete:
		result = "dry run, nothing published"
	case dryRun && r.Outcome == ledger.Partial:
		result = "dry run, nothing published, partial: " + query.EscapeLines(r.Why())
	case r.Outcome == ledger.Partial:
		result = "published, partial: " + query.EscapeLines(r.Why())
	case r.Held:
		result = "held by its checks, nothing published; readers keep the last snapshot"
	case res.IsUnsynced:
		result = "readers see the new snapshot, but a power cut may undo the switch"
	case r.Outcome != ledger.Complete:
		result = "nothing published; readers keep the last snapshot"
	}
	text := fmt.Sprintf("run %s: %s\n%s, %d new, %d changed, %d gone; %s, %s, %s, %s",
		r.ID, result, humanize.Count(r.Rows, "row"), r.New, r.Changed, r.Gone, humanize.Count(r.Requests, "request"), humanize.FormatBytes(r.Bytes),
		humanize.Count(r.Retries, "retry"), r.Took().Round(time.Millisecond))
	if ids, streams := r.Unread(); ids > 0 {
		where := "within run.max_duration"
		if r.Kind == ledger.Replay {
			where = "by the run that is replayed"
		}
		text += "\nnot read " + where + ": " + unreadText(ids, streams)
	}
	if r.Outcome == ledger.Complete && len(r.Checks) > 0 {
		text += "\n" + ledger.DescribeChecks(r.Checks)
	}
	_, err := fmt.Fprintf(g.stdout, "\n%s\n", query.WrapLines(text, g.width))
	return err
}

// firstLine returns the first line of a text. The text may come from the service, so control
// characters are escaped.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return query.EscapeLines(line)
}
