package daemon

import (
	"embed"
	"html/template"
	"net/http"
	"os"
	"strconv"
	"strings"

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
	p := statusPage{status: st, Version: d.cfg.Version, Schedule: settings.Schedule.String(),
		Unready: d.unreadyReasons(st), HooksEnabled: settings.Hooks != nil}
	if night, ok := p.lastPublishedNight(); ok {
		p.LastPublished = &night
	}
	if progress, ok := d.cfg.Program.Progress(); ok {
		p.Progress = &progress
	}
	p.Full, p.Structure = p.Inspection.lastVerification(true), p.Inspection.lastVerification(false)
	if p.Full != nil && p.Structure != nil && !p.Structure.At.After(p.Full.At) {
		p.Structure = nil
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

// IsDiskTight compares the free disk space with the need of the next night.
func (p statusPage) IsDiskTight() bool {
	return p.Inspection.Has(SourceFree) && p.Inspection.FreeBytes < p.Inspection.NeededBytes
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
