package daemon

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"os"
	"strconv"
	"strings"

	"placementsync/internal/ledger"
	"placementsync/internal/page"
)

//go:embed page.html
var pageFiles embed.FS

// statusPage is the data of the status page.
type statusPage struct {
	page.Frame
	snapshot
	Version  string
	Schedule string
	Unready  []string
	// Good is the newest night that was published, Seen the run that readers see:
	// that night, or a refresh after it.
	Good, Seen *ledger.Run
	Now        *ledger.Progress
	Hooks      bool
	// Full is the last verification of every byte, Structure one of names and sizes since
	// then; nil: there was none, or it cannot be read.
	Full, Structure *Verified
	// Missing lists what cannot be read, for people.
	Missing string
}

// serveStatus renders the page. It needs no script: the browser loads it again, more
// often while a night runs.
func (d *Daemon) serveStatus(w http.ResponseWriter, _ *http.Request) {
	var text bytes.Buffer
	if err := page.Render(&text, pageTemplate, d.newPage()); err != nil {
		d.cfg.Log.Error("status page not rendered", "error", err)
		writeText(w, http.StatusInternalServerError, "the page could not be rendered: see the log")
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(text.Bytes()) // an error means that the client has gone
}

func (d *Daemon) newPage() statusPage {
	set := d.settings()
	p := statusPage{snapshot: d.board.readSnapshot(), Version: d.cfg.Version, Schedule: set.Schedule.String(),
		Unready: d.unreadyReasons(), Hooks: set.Hooks != nil}
	if good, ok := p.lastPublished(); ok {
		p.Good = &good
	}
	if seen, ok := p.currentRun(); ok {
		p.Seen = &seen
	}
	if now, ok := d.cfg.Progress(); ok {
		p.Now = &now
	}
	if v, ok := p.Inspection.lastVerified(true); ok {
		p.Full = &v
	}
	if v, ok := p.Inspection.lastVerified(false); ok && (p.Full == nil || v.At.After(p.Full.At)) {
		p.Structure = &v
	}
	var missing []string
	for _, name := range readNames() {
		if p.Inspection.Errors[name] != nil {
			missing = append(missing, describeRead(name))
		}
	}
	p.Missing = strings.Join(missing, ", ")
	p.Frame = page.Frame{Title: p.State() + " - placementsync", Name: "status", Refresh: 60, Tabs: d.tabs()}
	if p.Now != nil {
		p.Refresh = 3
	}
	return p
}

// tabs are the links to what else there is, relative to the status page.
func (d *Daemon) tabs() []page.Tab {
	tabs := []page.Tab{{Name: "Status", Link: ".", Current: true}}
	if d.cfg.Explore != nil {
		tabs = append(tabs, page.Tab{Name: "Explore", Link: "explore/"})
	}
	if _, err := os.Stat(d.cfg.Report()); err == nil {
		tabs = append(tabs, page.Tab{Name: "Report", Link: "report"})
	}
	return append(tabs, page.Tab{Name: "Metrics", Link: "metrics"})
}

// IsTight reports whether the next night may need more room than there is.
func (p statusPage) IsTight() bool {
	return p.Inspection.Has(ReadFree) && p.Inspection.Free >= 0 && p.Inspection.Free < p.Inspection.Needed
}

// State is the state of the daemon in one word.
func (p statusPage) State() string {
	last, ok := p.lastNight()
	switch {
	case len(p.Unready) > 0:
		return "not ready"
	case ok && last.Outcome != ledger.Complete:
		return string(last.Outcome)
	}
	return "ready"
}

var pageTemplate = template.Must(page.Parse(pageFiles, template.FuncMap{
	"line":  firstLine,
	"stamp": stamp,
	"rate":  func(r float64) string { return strconv.FormatFloat(r, 'f', 1, 64) },
}, "page.html"))

// firstLine cuts a text to its first line, for tables.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
