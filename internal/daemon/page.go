package daemon

import (
	"cmp"
	"embed"
	"html/template"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"placementsync/internal/html"
	"placementsync/internal/ledger"
	"placementsync/internal/repair"
)

//go:embed *.html
var pageFiles embed.FS

// statusPage is the data of page.html.
type statusPage struct {
	html.Frame
	status
	Version  string
	Schedule string
	Unready  []string
	// LastPublished is the newest published night, or nil.
	LastPublished *ledger.Run
	Progress      *ledger.Progress
	HooksEnabled  bool
	// Full is the last verification of every byte, Structure a later one of names and sizes. Nil means none.
	Full, Structure *repair.VerifyRecord
	Unreadable      string // names of the unreadable sources
}

// The page has no scripts. The browser reloads it, more often while a night runs.
func (d *Daemon) serveStatus(w http.ResponseWriter, _ *http.Request) {
	settings, st := d.settings(), d.state.read()
	p := statusPage{
		status: st, Version: d.cfg.Version, Schedule: settings.Schedule.String(),
		Unready: d.unreadyReasons(st), HooksEnabled: settings.HooksEnabled,
	}
	if night, ok := p.lastPublishedNight(); ok {
		p.LastPublished = &night
	}
	if progress, ok := d.cfg.Program.Progress(); ok {
		p.Progress = &progress
	}
	p.Full, p.Structure = p.Inspection.lastVerification(true), p.Inspection.lastVerification(false)
	if p.Full != nil && p.Structure != nil && !p.Structure.At.After(p.Full.At) {
		p.Structure = nil // the full verification has checked names and sizes too
	}
	var unreadable []string
	for _, name := range sources() {
		if p.Inspection.Errors[name] != nil {
			unreadable = append(unreadable, sourceNames[name])
		}
	}
	p.Unreadable = strings.Join(unreadable, ", ")
	p.Frame = html.Frame{Title: p.State() + " - placementsync", Name: "status", Refresh: 60, Tabs: d.tabs()}
	if p.Progress != nil {
		p.Refresh = 3
	}
	writePage(w, d.cfg.Log, pageTemplate, p)
}

func (d *Daemon) tabs() []html.Tab {
	tabs := []html.Tab{{Name: "Status", Link: ".", Current: true}}
	if d.cfg.Explore != nil {
		tabs = append(tabs, html.Tab{Name: "Explore", Link: "explore/"})
	}
	if _, err := os.Stat(d.cfg.ReportFile); err == nil {
		tabs = append(tabs, html.Tab{Name: "Report", Link: "report"})
	}
	return append(tabs, html.Tab{Name: "Metrics", Link: "metrics"})
}

// IsDiskTight compares the free disk space, if it was read, with the need of the next night.
func (p statusPage) IsDiskTight() bool {
	return p.Inspection.FreeBytes < p.Inspection.NeededBytes
}

// State returns one or two words.
func (p statusPage) State() string {
	last, ok := p.lastNight()
	switch {
	case len(p.Unready) > 0:
		return "not ready"
	case p.Inspection.Held != nil:
		return "held"
	case ok && last.Outcome != ledger.Complete:
		return string(last.Outcome)
	}
	return "ready"
}

var pageTemplate = template.Must(html.Parse(pageFiles, pageFuncs(), "page.html", "heldnight.html"))

func pageFuncs() template.FuncMap {
	return template.FuncMap{"line": firstLine, "checks": checkTable, "stamp": stamp, "join": strings.Join,
		"rate":    func(r float64) string { return strconv.FormatFloat(r, 'f', 1, 64) },
		"verdict": func(v *repair.VerifyRecord) string { return resultText(verdict(*v)) }, "result": resultText,
	}
}

func resultText(result string) string {
	if result == repair.Whole {
		return "intact"
	}
	return result
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

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
		Heads: []html.Head{
			{Label: "Night"}, {Label: "Outcome"}, {Label: "Took", Numeric: true},
			{Label: "Rows", Numeric: true}, {Label: "New", Numeric: true}, {Label: "Changed", Numeric: true}, {Label: "Gone", Numeric: true},
			{Label: "Requests", Numeric: true}, {Label: "Retries", Numeric: true}, {Label: "Why"},
		}}
	for _, night := range slices.Backward(s.Nights[max(0, len(s.Nights)-shownNights):]) {
		took := html.Cell{}
		rowCounts := make([]html.Cell, 4) // empty for a night that published nothing
		if !night.EndedAt.IsZero() {
			took = html.Cell{Text: html.Duration(night.Took()), Class: "n"}
		}
		if night.IsPublished() {
			rowCounts = []html.Cell{
				html.CountCell(night.Rows), html.CountCell(night.New), html.CountCell(night.Changed), html.CountCell(night.Gone),
			}
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
	bySeverity := func(a, b ledger.CheckResult) int { return strings.Compare(a.Severity, b.Severity) }
	for _, c := range slices.SortedStableFunc(slices.Values(night.Checks), bySeverity) {
		severity := html.Cell{Text: c.Severity}
		if slices.Contains(night.Accepted, c.Name) {
			severity.Sub = "accepted " + stamp(night.AcceptedAt)
		}
		why := cmp.Or(c.Reason, strings.Join(c.SampleLines(), "\n"))
		t.Rows = append(t.Rows, html.Row{Cells: []html.Cell{
			{Text: c.Name, Sub: c.Title}, severity, html.TagCell(string(c.Outcome)), html.CountCell(c.Rows), {Text: why, Class: "why"},
		}})
	}
	return t
}

func (s status) WatchTable() html.Table {
	t := html.Table{Caption: "Watches", RowHeads: true,
		Heads: []html.Head{
			{Label: "Watch"}, {Label: "Last checked"}, {Label: "Found", Numeric: true}, {Label: "Not delivered", Numeric: true}, {Label: "Last sent"},
		}}
	for _, w := range s.Inspection.Watches {
		row := html.Row{Cells: []html.Cell{
			{Text: w.Watch}, stampOr(w.Evaluated.At, "not yet"),
			html.CountCell(int64(w.Found)), html.CountCell(int64(w.Pending)), stampOr(w.Sent, "never"),
		}}
		if w.Pending > 0 {
			row.Class = "behind"
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (s status) UsageTable() html.Table {
	t := html.Table{Caption: "Use of the disk", RowHeads: true,
		Heads: []html.Head{{Label: "Part"}, {Label: "Takes", Numeric: true}, {Label: "Share", Numeric: true}}}
	var total int64
	for _, part := range s.Inspection.Usage {
		total += part.Bytes
	}
	for _, part := range s.Inspection.Usage {
		share := html.Cell{Text: html.Share(part.Bytes, total), Class: "n"}
		t.Rows = append(t.Rows, html.Row{Cells: []html.Cell{{Text: part.Part}, html.SizeCell(part.Bytes), share}})
	}
	t.Rows = append(t.Rows, html.Row{Cells: []html.Cell{{Text: "total"}, html.SizeCell(total), {}}})
	return t
}
