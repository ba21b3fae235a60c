package daemon

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/page"
	"placementsync/internal/plural"
)

//go:embed page.html
var pageText string

// shownNights are the lines of the table of nights.
const shownNights = 14

// statusPage is the data of the status page.
type statusPage struct {
	snapshot
	Version  string
	Schedule string
	// Refresh is after how many seconds the browser loads the page again.
	Refresh int
	Unready []string
	// Good is the newest night that was published, Seen the run that readers see:
	// that night, or a refresh after it.
	Good, Seen *ledger.Run
	Recent     []ledger.Run // newest first
	Now        *ledger.Progress
	Report     bool
	Explore    bool
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
	if err := pageTemplate.Execute(&text, d.newPage()); err != nil {
		d.cfg.Log.Error("status page not rendered", "error", err)
		writeText(w, http.StatusInternalServerError, "the page could not be rendered: see the log")
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(text.Bytes()) // an error means that the client has gone
}

func (d *Daemon) newPage() statusPage {
	set := d.settings()
	p := statusPage{snapshot: d.board.readSnapshot(), Version: d.cfg.Version, Schedule: set.Schedule.String(), Refresh: 60,
		Unready: d.unreadyReasons(), Hooks: set.Hooks != nil}
	if good, ok := p.lastPublished(); ok {
		p.Good = &good
	}
	if seen, ok := p.currentRun(); ok {
		p.Seen = &seen
	}
	p.Recent = slices.Clone(p.Nights[max(0, len(p.Nights)-shownNights):])
	slices.Reverse(p.Recent)
	if now, ok := d.cfg.Progress(); ok {
		p.Now, p.Refresh = &now, 3
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
	_, err := os.Stat(d.cfg.Report())
	p.Report, p.Explore = err == nil, d.cfg.Explore != nil
	return p
}

// IsTight reports whether the next night may need more room than there is.
func (p statusPage) IsTight() bool {
	return p.Inspection.Has(ReadFree) && p.Inspection.Free >= 0 && p.Inspection.Free < p.Inspection.Needed
}

// State is the state of the daemon in one word, which also selects the color.
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

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"count": plural.Number[int64], "bytes": plural.FormatBytes, "share": page.Share, "standing": ledger.StandingOf, "span": page.Duration, "line": firstLine, "class": cssClass,
	"stamp": func(t time.Time) string { return t.Format("2006-01-02 15:04 MST") },
	"ago":   func(from, to time.Time) string { return page.Duration(to.Sub(from)) },
	"rate":  func(r float64) string { return strconv.FormatFloat(r, 'f', 1, 64) },
}).Parse(pageText))

// cssClass makes the name of a CSS class from a state or grade.
func cssClass(word any) string {
	return strings.NewReplacer("_", "-", " ", "-").Replace(fmt.Sprint(word))
}

// firstLine cuts a text to its first line, for tables.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
