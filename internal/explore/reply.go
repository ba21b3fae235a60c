package explore

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"placementsync/internal/page"
	"placementsync/internal/query"
	"placementsync/internal/report"
)

//go:embed assets
var assetFiles embed.FS

// assetFolder is the address of style and scripts.
const assetFolder = base + "/assets/"

// reply is what a page answers with.
type reply interface {
	send(e *Explorer, w http.ResponseWriter, v *visit) error
}

// htmlPage is an answer in the frame of all pages: assets/<Template>.html with Data.
type htmlPage struct {
	// Heading is in the title of the window.
	Heading, Template string
	Data              any
	// Status is that of HTTP. Defaults to 200.
	Status int
	// Reload is after how many seconds the browser loads the page again. 0 means never.
	Reload int
	// More are the scripts that it runs beside those of all pages.
	More []string
}

// download is an answer as a file.
type download struct {
	Query  query.Query
	Values map[string]string
	// Name is that of the file, without its ending; Format is CSV or Parquet.
	Name   string
	Format query.Format
}

// sentError is what went wrong when the answer had begun: nothing more can be said of it
// but that the connection breaks.
type sentError struct{ err error }

func (e *sentError) Error() string { return e.err.Error() }
func (e *sentError) Unwrap() error { return e.err }

func (d download) send(e *Explorer, w http.ResponseWriter, v *visit) error {
	kind := map[query.Format]string{query.CSV: "text/csv; charset=utf-8", query.Parquet: "application/vnd.apache.parquet"}[d.Format]
	if kind == "" {
		return usageErr(fmt.Sprintf("refuse the format %q: a page can be had as csv or parquet", d.Format), "Change format in the address.")
	}
	begin := func() {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", d.Name+"."+string(d.Format)))
	}
	if v.Method == http.MethodHead { // whoever only looks does not let the query run
		begin()
		return nil
	}
	begun := &begunWriter{w: w, begin: begin}
	var err error
	if d.Format == query.Parquet {
		_, err = v.db.SendParquet(v.Context(), d.Query, d.Values, begun)
	} else {
		_, err = v.db.Run(v.Context(), d.Query, d.Values, query.NewSpreadsheetWriter(begun))
	}
	if hasBegun := begun.end(); err != nil && hasBegun {
		e.cfg.Log.Warn("download cut off", "url", v.URL.Path, "error", err)
		panic(http.ErrAbortHandler) // a short file must not look whole
	}
	return err
}

// begunWriter sets the headers with the first bytes: an error before them has a page. It
// writes nothing after its end, since a query that could not be stopped may still write
// when the connection serves another request.
type begunWriter struct {
	mu    sync.Mutex // guards begin and ended
	w     http.ResponseWriter
	begin func()
	ended bool
}

func (b *begunWriter) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return 0, errTooSlow
	}
	if b.begin != nil {
		b.begin()
		b.begin = nil
	}
	return b.w.Write(p)
}

// end waits for a Write in progress, and reports whether there was any.
func (b *begunWriter) end() (hasBegun bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	return b.begin == nil
}

// frame is the data of all templates.
type frame struct {
	page.Frame
	htmlPage
	// Snapshot is what the page was read from. Nil means that no snapshot could be read.
	Snapshot *snapshot
	// AsOf is that of the address, so that links can carry it.
	AsOf string
	// Newest is the address of the page in the newest snapshot.
	Newest string
}

// Link is a link that stays in the snapshot of the page, if what it leads to has any but
// the newest.
func (f frame) Link(to string) string {
	newestOnly := func(r route) bool { return r.newest && to == base+r.path }
	if f.AsOf == "" || slices.ContainsFunc(routes(), newestOnly) {
		return to
	}
	separator := "?"
	if strings.Contains(to, "?") {
		separator = "&"
	}
	return to + separator + url.Values{asOfKey: {f.AsOf}}.Encode()
}

func (p htmlPage) send(e *Explorer, w http.ResponseWriter, v *visit) error {
	t := e.templates[p.Template]
	if t == nil {
		return fmt.Errorf("show the page: there is no template %q", p.Template)
	}
	f := frame{htmlPage: p, Snapshot: v.snapshot, AsOf: v.asked.Get(asOfKey), Newest: v.newestAddress(),
		Frame: page.Frame{Title: p.Heading + " – placementsync", Name: "workbench", Refresh: p.Reload, Folder: assetFolder, Scripts: append([]string{"page.js", "htmx.min.js"}, p.More...)}}
	for _, t := range tabs() {
		f.Tabs = append(f.Tabs, page.Tab{Name: t.Name, Link: f.Link(t.Path), Current: t.Name == v.route.tab})
	}
	var text bytes.Buffer
	if err := page.Render(&text, t, f); err != nil {
		return fmt.Errorf("show the page: %w", err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(max(p.Status, http.StatusOK))
	if _, err := w.Write(text.Bytes()); err != nil {
		return &sentError{err}
	}
	return nil
}

// statusError is an error with the status and the advice that its page shows.
type statusError struct {
	status int
	// problem is verb first, advice is a sentence.
	problem, advice string
}

func (e *statusError) Error() string { return e.problem }

// usageErr says that an address asks for what cannot be.
func usageErr(problem, advice string) error {
	return &statusError{http.StatusBadRequest, problem, advice}
}

var errTooSlow = errors.New("stop a page that takes too long")

// sendError shows an error as a page.
func (e *Explorer) sendError(w http.ResponseWriter, v *visit, err error) {
	shown, ok := errors.AsType[*statusError](err)
	misuse, misused := errors.AsType[*query.UsageError](err)
	switch {
	case ok:
	case misused:
		shown = &statusError{http.StatusBadRequest, misuse.Error(), "Change the address or the form."}
	case errors.Is(err, errTooSlow) || errors.Is(err, context.DeadlineExceeded):
		shown = &statusError{http.StatusServiceUnavailable, errTooSlow.Error(), "Ask for less, or try again when the machine is less busy."}
	case query.IsMissing(err):
		shown = &statusError{http.StatusInternalServerError, err.Error(), "An earlier program made this snapshot: the next night adds what it lacks."}
	default:
		shown = &statusError{http.StatusInternalServerError, err.Error(), "placementsync verify says whether the file is damaged."}
	}
	if shown.status >= http.StatusInternalServerError {
		e.cfg.Log.Error("page not shown", "url", v.URL.Path, "error", err)
	}
	p := htmlPage{Heading: "Error", Template: "error", Status: shown.status,
		Data: map[string]any{"Heading": headingOf(shown.status), "Problem": query.OnScreen(shown.problem), "Advice": shown.advice}}
	if err := p.send(e, w, v); err != nil {
		e.cfg.Log.Error("error page not shown", "url", v.URL.Path, "error", err)
	}
}

// headingOf says in words what a status means.
func headingOf(status int) string {
	switch status {
	case http.StatusNotFound:
		return "Not found"
	case http.StatusBadRequest:
		return "This cannot be asked"
	}
	return "This cannot be shown now"
}

// templates are the pages by name, each with the layout and the shared parts.
type templates map[string]*template.Template

func parseTemplates() (templates, error) {
	files, err := assetFiles.ReadDir("assets")
	if err != nil {
		return nil, err
	}
	parsed := templates{}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".html")
		if name == "parts" {
			continue
		}
		if parsed[name], err = page.Parse(assetFiles, nil, "assets/parts.html", "assets/"+f.Name()); err != nil {
			return nil, err
		}
	}
	t, err := page.Parse(assetFiles, nil, "assets/parts.html")
	if err == nil {
		parsed["report"], err = t.ParseFS(report.Files(), "assets/report.html")
	}
	return parsed, err
}
