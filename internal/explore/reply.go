package explore

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"placementsync/internal/html"
	"placementsync/internal/humanize"
	"placementsync/internal/query"
	"placementsync/internal/report"
)

//go:embed assets
var assetFiles embed.FS

const assetFolder = rootPath + "/assets/"

type reply interface {
	send(w http.ResponseWriter, v *visit) error
}

// htmlPage is a page of the template assets/<Template>.html. The template receives the whole
// htmlPage.
type htmlPage struct {
	html.Frame
	Template string
	Data     any
	Status   int // the HTTP status; 0 means 200
	// Nonce allows styles that a script adds with this nonce. Empty means that scripts cannot add
	// styles.
	Nonce string

	// The method send fills in these fields, and the tabs.
	Links      links
	Snapshot   *openSnapshot // nil if it could not be opened
	NewestLink string        // the address of this page without as_of
}

func newPage(title, template string, data any, scripts ...string) htmlPage {
	return htmlPage{Template: template, Data: data, Frame: html.Frame{Title: title + " – placementsync", Name: "workbench", AssetPath: assetFolder,
		Scripts: append([]string{"page.js", "htmx.min.js"}, scripts...)}}
}

type download struct {
	Query  query.Query
	Values map[string]string
	// Title is the name of the sheet in an Excel file, such as Orders. Name is the part of the file name before the
	// date of the snapshot.
	Title, Name string
	Format      query.Format
}

type downloadFormat struct {
	format           query.Format
	label, mediaType string
}

func downloadFormats() []downloadFormat {
	return []downloadFormat{
		{query.CSV, "CSV", "text/csv; charset=utf-8"},
		{query.Excel, "Excel", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
		{query.Parquet, "Parquet", "application/vnd.apache.parquet"},
	}
}

func findFormat(format query.Format) (downloadFormat, error) {
	i := slices.IndexFunc(downloadFormats(), func(f downloadFormat) bool { return f.format == format })
	if i < 0 {
		return downloadFormat{}, usageErr(fmt.Sprintf("unknown format %q: use csv, xlsx or parquet", format), "Change the format in the address.")
	}
	return downloadFormats()[i], nil
}

func (d download) send(w http.ResponseWriter, v *visit) error {
	format, err := findFormat(d.Format)
	if err != nil {
		return err
	}
	out := &downloadWriter{w: w, mediaType: format.mediaType, file: v.nameFile(d.Name, d.Format)}
	if v.Method == http.MethodHead { // do not run the query
		out.begin()
		return nil
	}
	q := d.Query
	q.Title = d.Title
	_, err = v.db.Send(v.Context(), q, d.Values, query.Output{Format: d.Format, BOM: v.hasMark(d.Format), Defuse: true}, out)
	out.end(v, err)
	return err
}

// nameFile returns a file name with the date of the snapshot, such as orders-2026-11-29.csv.
func (v *visit) nameFile(name string, format query.Format) string {
	return name + "-" + v.snapshot.At.UTC().Format(time.DateOnly) + "." + string(format)
}

// hasMark reports whether a file begins with a byte order mark. Excel needs it to recognize UTF-8 in CSV.
func (v *visit) hasMark(format query.Format) bool {
	return format == query.CSV && v.params.Get(markKey) != "no"
}

// downloadWriter sends the headers of a file only with the first byte of the file. If the query fails
// before the first byte, an error page can be sent. After end, downloadWriter rejects writes: a query
// that DuckDB cannot interrupt may still write when the HTTP connection is used for another request.
type downloadWriter struct {
	mu              sync.Mutex // guards hasBegun and hasEnded
	w               http.ResponseWriter
	mediaType, file string

	hasBegun, hasEnded bool
}

func (d *downloadWriter) begin() {
	d.w.Header().Set("Content-Type", d.mediaType)
	d.w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", d.file))
	d.hasBegun = true
}

func (d *downloadWriter) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.hasEnded {
		return 0, errTooSlow
	}
	if !d.hasBegun {
		d.begin()
	}
	return d.w.Write(p)
}

// end waits for a Write in progress. If any byte was written before the error, end aborts the
// connection, so that the client notices that the file is incomplete.
func (d *downloadWriter) end(v *visit, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hasEnded = true
	if err != nil && d.hasBegun {
		v.explorer.cfg.Log.Warn("download cut off", "url", v.URL.Path, "error", err)
		panic(http.ErrAbortHandler)
	}
}

func (p htmlPage) Link(to string) string { return p.Links.keepAsOf(to) }

func (p htmlPage) send(w http.ResponseWriter, v *visit) error {
	p.Links, p.Snapshot, p.NewestLink = v.links(), v.snapshot, v.addressWith(pair{asOfKey, ""})
	for _, name := range tabNames() {
		address := rootPath + "/" + strings.ToLower(name)
		if address == sqlPath && v.explorer.cfg.Child == nil {
			continue // typed SQL runs only in a child process
		}
		p.Tabs = append(p.Tabs, html.Tab{Name: name, Link: p.Link(address), Current: name == v.route.tab})
	}
	var body bytes.Buffer
	if err := html.Render(&body, v.explorer.templates[p.Template], p); err != nil {
		return fmt.Errorf("render the page: %w", err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if p.Nonce != "" {
		w.Header().Set("Content-Security-Policy", strings.Replace(policy, "style-src 'self'", "style-src 'self' 'nonce-"+p.Nonce+"'", 1))
	}
	w.WriteHeader(max(p.Status, http.StatusOK))
	if _, err := w.Write(body.Bytes()); err != nil {
		panic(http.ErrAbortHandler) // too late for an error page
	}
	return nil
}

type statusError struct {
	status          int
	problem, advice string
}

func (e *statusError) Error() string { return e.problem }

func usageErr(problem, advice string) error {
	return &statusError{http.StatusBadRequest, problem, advice}
}

// retryAfterSeconds is close to the time limit of a page.
const retryAfterSeconds = "20"

var errTooSlow = errors.New("the page took too long and was stopped")

func sendError(w http.ResponseWriter, v *visit, err error) {
	shown, isComplete := errors.AsType[*statusError](err)
	wrongUse, isWrongUse := errors.AsType[*query.UsageError](err)
	switch {
	case isComplete: // the error contains its status and its advice
	case isWrongUse:
		shown = &statusError{http.StatusBadRequest, wrongUse.Error(), "Change the address or the form."}
	case errors.Is(err, errTooSlow):
		shown = &statusError{http.StatusServiceUnavailable, errTooSlow.Error(), "Narrow the request, or try again when the machine is less busy."}
	case query.IsMissing(err):
		shown = &statusError{http.StatusInternalServerError, err.Error(), "An earlier version of the program created this snapshot. The next night adds the missing tables and columns."}
	default:
		shown = &statusError{http.StatusInternalServerError, err.Error(), "Run \"placementsync verify\" to check the warehouse for damage."}
	}
	if shown.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfterSeconds)
	}
	if shown.status >= http.StatusInternalServerError {
		v.explorer.cfg.Log.Error("page not shown", "url", v.URL.Path, "error", err)
	}
	p := newPage("Error", "error", map[string]any{"Heading": headingOf(shown.status), "Problem": query.EscapeLines(startSentence(shown.problem)), "Advice": shown.advice})
	p.Status = shown.status
	if err := p.send(w, v); err != nil {
		v.explorer.cfg.Log.Error("error page not shown", "url", v.URL.Path, "error", err)
	}
}

func headingOf(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "Invalid address"
	case http.StatusForbidden:
		return "Not allowed"
	case http.StatusNotFound:
		return "Not found"
	case http.StatusUnprocessableEntity:
		return "Not saved"
	}
	return "The page cannot be shown now"
}

// startSentence begins a problem with a capital letter, except a problem that begins with a name, such as as_of.
func startSentence(problem string) string {
	word, _, _ := strings.Cut(problem, " ")
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") != "" {
		return problem
	}
	return humanize.UpperFirst(problem)
}

func parseTemplates() (map[string]*template.Template, error) {
	files, err := fs.Glob(assetFiles, "assets/*.html")
	if err != nil {
		return nil, err
	}
	parsed := map[string]*template.Template{}
	for _, file := range files {
		name := strings.TrimSuffix(path.Base(file), ".html")
		if name == "parts" {
			continue
		}
		if parsed[name], err = html.Parse(assetFiles, nil, "assets/parts.html", file); err != nil {
			return nil, err
		}
	}
	t, err := html.Parse(assetFiles, nil, "assets/parts.html")
	if err == nil {
		parsed["report"], err = t.ParseFS(report.Files(), "assets/report.html")
	}
	return parsed, err
}
