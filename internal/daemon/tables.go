package daemon

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/page"
)

const shownNights = 14 // at most, in NightTable

func stamp(t time.Time) string { return t.Format("2006-01-02 15:04 MST") }

func stampOr(t time.Time, word string) page.Cell {
	if t.IsZero() {
		return page.Cell{Text: word}
	}
	return page.Cell{Text: stamp(t), Class: "t"}
}

// NightTable lists the last nights, newest first.
func (s status) NightTable() page.Table {
	t := page.Table{Caption: "Last nights", RowHeads: true,
		Empty: "No night has run yet. The schedule starts the first night; the command \"placementsync run\" starts it now.",
		Heads: []page.Head{{Label: "Night"}, {Label: "Outcome"}, {Label: "Took", Numeric: true}, {Label: "Rows", Numeric: true}, {Label: "New", Numeric: true},
			{Label: "Changed", Numeric: true}, {Label: "Gone", Numeric: true}, {Label: "Requests", Numeric: true}, {Label: "Retries", Numeric: true}, {Label: "Why"}}}
	for _, night := range slices.Backward(s.Nights[max(0, len(s.Nights)-shownNights):]) {
		took, rowCounts := page.Cell{}, make([]page.Cell, 4)
		if !night.EndedAt.IsZero() {
			took = page.Cell{Text: page.Duration(night.Took()), Class: "n"}
		}
		if night.IsPublished() {
			rowCounts = []page.Cell{page.CountCell(night.Rows), page.CountCell(night.New), page.CountCell(night.Changed), page.CountCell(night.Gone)}
		}
		outcome := string(night.Outcome)
		if night.Held {
			outcome = "held"
		}
		cells := append([]page.Cell{{Text: stamp(night.StartedAt)}, page.TagCell(outcome), took}, rowCounts...)
		cells = append(cells, page.CountCell(night.Requests), page.CountCell(night.Retries), page.Cell{Text: night.Why(), Class: "why"})
		t.Rows = append(t.Rows, page.Row{Cells: cells})
	}
	return t
}

// StreamTable lists the streams of the last published night, in the order of [ledger.Run.WorstFirst].
func (s status) StreamTable() page.Table {
	t := page.Table{Caption: "Streams of the last published night", RowHeads: true,
		Heads: []page.Head{{Label: "Stream"}, {Label: "Grade"}, {Label: "Rows", Numeric: true}, {Label: "Rejects", Numeric: true},
			{Label: "Requests", Numeric: true}, {Label: "Retries", Numeric: true}, {Label: "Evidence"}}}
	night, _ := s.lastPublishedNight()
	for _, stream := range night.WorstFirst() {
		grade := page.TagCell(string(ledger.StandingOf(stream.Grade)))
		grade.Sub = string(stream.Grade)
		reason := firstLine(stream.Reason)
		if !stream.AgeSince.IsZero() {
			reason += " (rows of " + stamp(stream.AgeSince) + ")"
		}
		row := page.Row{Cells: []page.Cell{{Text: stream.Stream}, grade, page.CountCell(stream.Rows), page.CountCell(stream.Rejects),
			page.CountCell(stream.Requests), page.CountCell(stream.Retries), {Text: reason, Class: "why"}}}
		if stream.Incomplete {
			row.Class = "lacking"
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// checkTable lists checks of severity "hold" first.
func checkTable(night ledger.Run) page.Table {
	t := page.Table{Caption: "Checks that failed or did not run", RowHeads: true,
		Heads: []page.Head{{Label: "Check"}, {Label: "Severity"}, {Label: "Outcome"}, {Label: "Rows", Numeric: true}, {Label: "First rows"}}}
	for _, c := range slices.SortedStableFunc(slices.Values(night.Checks), func(a, b ledger.CheckResult) int { return strings.Compare(a.Severity, b.Severity) }) {
		severity := page.Cell{Text: c.Severity}
		if slices.Contains(night.Accepted, c.Name) {
			severity.Sub = "accepted " + stamp(night.AcceptedAt)
		}
		why := cmp.Or(c.Reason, strings.Join(c.SampleLines(), "\n"))
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: c.Name, Sub: c.Title}, severity, page.TagCell(string(c.Outcome)), page.CountCell(c.Rows), {Text: why, Class: "why"}}})
	}
	return t
}

func (s status) WatchTable() page.Table {
	t := page.Table{Caption: "Watches", RowHeads: true,
		Heads: []page.Head{{Label: "Watch"}, {Label: "Last checked"}, {Label: "Found", Numeric: true}, {Label: "Not delivered", Numeric: true}, {Label: "Last sent"}}}
	for _, w := range s.Inspection.Watches {
		row := page.Row{Cells: []page.Cell{{Text: w.Watch}, stampOr(w.Evaluated.At, "not yet"), page.CountCell(int64(w.Found)), page.CountCell(int64(w.Pending)), stampOr(w.Sent, "never")}}
		if w.Pending > 0 {
			row.Class = "behind"
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (s status) UsageTable() page.Table {
	t := page.Table{Caption: "Use of the disk", RowHeads: true, Heads: []page.Head{{Label: "Part"}, {Label: "Takes", Numeric: true}, {Label: "Share", Numeric: true}}}
	var total int64
	for _, part := range s.Inspection.Usage {
		total += part.Bytes
	}
	for _, part := range s.Inspection.Usage {
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: part.Part}, page.SizeCell(part.Bytes), {Text: page.Share(part.Bytes, total), Class: "n"}}})
	}
	t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: "total"}, page.SizeCell(total), {}}})
	return t
}
