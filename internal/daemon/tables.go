package daemon

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"placementsync/internal/html"
	"placementsync/internal/ledger"
)

const shownNights = 14 // at most, in NightTable

func stamp(t time.Time) string { return t.Format("2006-01-02 15:04 MST") }

func stampOr(t time.Time, word string) html.Cell {
	if t.IsZero() {
		return html.Cell{Text: word}
	}
	return html.Cell{Text: stamp(t), Class: "t"}
}

// NightTable lists the last nights, newest first.
func (s status) NightTable() html.Table {
	t := html.Table{Caption: "Last nights", RowHeads: true,
		Empty: "No night has run yet. The schedule starts the first night; the command \"placementsync run\" starts it now.",
		Heads: []html.Head{{Label: "Night"}, {Label: "Outcome"}, {Label: "Took", Numeric: true}, {Label: "Rows", Numeric: true}, {Label: "New", Numeric: true},
			{Label: "Changed", Numeric: true}, {Label: "Gone", Numeric: true}, {Label: "Requests", Numeric: true}, {Label: "Retries", Numeric: true}, {Label: "Why"}}}
	for _, night := range slices.Backward(s.Nights[max(0, len(s.Nights)-shownNights):]) {
		took, rowCounts := html.Cell{}, make([]html.Cell, 4)
		if !night.EndedAt.IsZero() {
			took = html.Cell{Text: html.Duration(night.Took()), Class: "n"}
		}
		if night.IsPublished() {
			rowCounts = []html.Cell{html.CountCell(night.Rows), html.CountCell(night.New), html.CountCell(night.Changed), html.CountCell(night.Gone)}
		}
		outcome := string(night.Outcome)
		if night.Held {
			outcome = "held"
		}
		cells := append([]html.Cell{{Text: stamp(night.StartedAt)}, html.TagCell(outcome), took}, rowCounts...)
		cells = append(cells, html.CountCell(night.Requests), html.CountCell(night.Retries), html.Cell{Text: night.Why(), Class: "why"})
		t.Rows = append(t.Rows, html.Row{Cells: cells})
	}
	return t
}

// StreamTable lists the streams of the last published night, in the order of [ledger.Run.WorstFirst].
func (s status) StreamTable() html.Table {
	t := html.Table{Caption: "Streams of the last published night", RowHeads: true,
		Heads: []html.Head{{Label: "Stream"}, {Label: "Grade"}, {Label: "Rows", Numeric: true}, {Label: "Rejects", Numeric: true},
			{Label: "Requests", Numeric: true}, {Label: "Retries", Numeric: true}, {Label: "Evidence"}}}
	night, _ := s.lastPublishedNight()
	for _, stream := range night.WorstFirst() {
		grade := html.TagCell(string(ledger.StandingOf(stream.Grade)))
		grade.Sub = string(stream.Grade)
		reason := firstLine(stream.Reason)
		if !stream.AgeSince.IsZero() {
			reason += " (rows of " + stamp(stream.AgeSince) + ")"
		}
		row := html.Row{Cells: []html.Cell{{Text: stream.Stream}, grade, html.CountCell(stream.Rows), html.CountCell(stream.Rejects),
			html.CountCell(stream.Requests), html.CountCell(stream.Retries), {Text: reason, Class: "why"}}}
		if stream.Incomplete {
			row.Class = "lacking"
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// checkTable lists checks of severity "hold" first.
func checkTable(night ledger.Run) html.Table {
	t := html.Table{Caption: "Checks that failed or did not run", RowHeads: true,
		Heads: []html.Head{{Label: "Check"}, {Label: "Severity"}, {Label: "Outcome"}, {Label: "Rows", Numeric: true}, {Label: "First rows"}}}
	for _, c := range slices.SortedStableFunc(slices.Values(night.Checks), func(a, b ledger.CheckResult) int { return strings.Compare(a.Severity, b.Severity) }) {
		severity := html.Cell{Text: c.Severity}
		if slices.Contains(night.Accepted, c.Name) {
			severity.Sub = "accepted " + stamp(night.AcceptedAt)
		}
		why := cmp.Or(c.Reason, strings.Join(c.SampleLines(), "\n"))
		t.Rows = append(t.Rows, html.Row{Cells: []html.Cell{{Text: c.Name, Sub: c.Title}, severity, html.TagCell(string(c.Outcome)), html.CountCell(c.Rows), {Text: why, Class: "why"}}})
	}
	return t
}

func (s status) WatchTable() html.Table {
	t := html.Table{Caption: "Watches", RowHeads: true,
		Heads: []html.Head{{Label: "Watch"}, {Label: "Last checked"}, {Label: "Found", Numeric: true}, {Label: "Not delivered", Numeric: true}, {Label: "Last sent"}}}
	for _, w := range s.Inspection.Watches {
		row := html.Row{Cells: []html.Cell{{Text: w.Watch}, stampOr(w.Evaluated.At, "not yet"), html.CountCell(int64(w.Found)), html.CountCell(int64(w.Pending)), stampOr(w.Sent, "never")}}
		if w.Pending > 0 {
			row.Class = "behind"
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (s status) UsageTable() html.Table {
	t := html.Table{Caption: "Use of the disk", RowHeads: true, Heads: []html.Head{{Label: "Part"}, {Label: "Takes", Numeric: true}, {Label: "Share", Numeric: true}}}
	var total int64
	for _, part := range s.Inspection.Usage {
		total += part.Bytes
	}
	for _, part := range s.Inspection.Usage {
		t.Rows = append(t.Rows, html.Row{Cells: []html.Cell{{Text: part.Part}, html.SizeCell(part.Bytes), {Text: html.Share(part.Bytes, total), Class: "n"}}})
	}
	t.Rows = append(t.Rows, html.Row{Cells: []html.Cell{{Text: "total"}, html.SizeCell(total), {}}})
	return t
}
