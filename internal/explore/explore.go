package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"placementsync/internal/page"
	"placementsync/internal/query"
	"placementsync/internal/report"
)

// base is the path below which everything is served.
const base = "/explore"

// Config is what the pages need to know.
type Config struct {
	Warehouse
	// MemoryLimit is a size such as "512MB" and Threads a number, for all requests of
	// a snapshot together. While a new snapshot takes over, the old one can have as
	// much again, and so can each earlier one that is open.
	MemoryLimit string
	Threads     int
	// Program is how a user calls the program, for the commands that pages show.
	Program string
	// Timeout is how long a page may take; a download and the report get a minute. Defaults to 20 seconds.
	Timeout time.Duration
	Log     *slog.Logger
}

// Warehouse has the snapshots and the queries that pages show.
type Warehouse interface {
	// Newest returns the version that readers see. It is called for each request. Its
	// error is shown, and should say what to do.
	Newest() (Version, error)
	// Queries returns the named queries. It is called for each request about them. Its error
	// says which files were left out; the others can be asked.
	Queries() (query.Library, error)
}

// Version is a published version of the catalog.
type Version struct {
	// Run is the id of the run that made it, Catalog the path of its DuckDB file.
	Run, Catalog string
}

// Explorer serves the pages.
type Explorer struct {
	cfg       Config
	pool      *pool
	templates templates
	assets    page.Assets
}

// route is one page.
type route struct {
	// path is below base, as http.ServeMux reads it.
	path string
	// tab is the entry of the navigation that is marked.
	tab string
	// show answers a request.
	show func(v *visit) (reply, error)
	// slow marks files and pages that may take longer than others.
	slow bool
	// newest marks what reads the newest snapshot only.
	newest bool
	// ownKeys marks pages that check the keys of their address themselves.
	ownKeys bool
	// keys are those of its address beside as_of; paramKey stands for all that begin so.
	keys []string
}

// routes are the pages, in the order of the code.
func routes() []route {
	return append(recordRoutes(), []route{
		{path: "/catalog", tab: "Catalog", show: showCatalog, newest: true, ownKeys: true},
		{path: "/catalog.csv", tab: "Catalog", show: sendCatalog(query.CSV), newest: true, ownKeys: true, slow: true},
		{path: "/catalog.parquet", tab: "Catalog", show: sendCatalog(query.Parquet), newest: true, ownKeys: true, slow: true},
		{path: "/report", tab: "Report", show: showReport, newest: true, slow: true},
		{path: "/snapshot", tab: "Snapshot", show: showSnapshot},
	}...)
}

// tab is an entry of the navigation.
type tab struct{ Name, Path string }

func tabs() []tab {
	return []tab{{"Catalog", base + "/catalog"}, {"Orders", base + "/orders"}, {"Campaigns", base + "/campaigns"}, {"Articles", base + "/articles"},
		{"Profiles", base + "/profiles"}, {"Questions", base + "/questions"}, {"Report", base + "/report"}, {"Snapshot", base + "/snapshot"}}
}

// New reads the assets. Nothing is opened before the first request.
func New(cfg Config) (*Explorer, error) {
	cfg.Timeout = cmp.Or(cfg.Timeout, 20*time.Second)
	parsed, err := parseTemplates()
	if err != nil {
		return nil, fmt.Errorf("read the pages: %w", err)
	}
	assets, err := page.ReadAssets(report.Files())
	if err != nil {
		return nil, fmt.Errorf("read the pages: %w", err)
	}
	return &Explorer{cfg: cfg, pool: newPool(cfg), templates: parsed, assets: assets}, nil
}

// Close closes the snapshots. Requests must have ended.
func (e *Explorer) Close() error { return e.pool.close() }

// Handler serves the pages below /explore.
func (e *Explorer) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range routes() {
		mux.HandleFunc("GET "+base+r.path, func(w http.ResponseWriter, req *http.Request) { e.serve(w, req, r) })
	}
	for name, a := range e.assets {
		mux.Handle("GET "+assetFolder+name, a)
	}
	start := http.RedirectHandler(tabs()[0].Path, http.StatusSeeOther)
	mux.Handle("GET "+base+"/{$}", start)
	mux.Handle("GET "+base, start)
	mux.HandleFunc("GET "+base+"/", func(w http.ResponseWriter, req *http.Request) {
		e.serve(w, req, route{show: func(*visit) (reply, error) {
			return nil, &statusError{http.StatusNotFound, "find no page at this address", "Choose one above."}
		}})
	})
	return addHeaders(mux)
}

// policy lets a page load its own style and script and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

func addHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// serve answers one request with a page of its own snapshot, or with an error page. The
// work ends when the browser goes away.
func (e *Explorer) serve(w http.ResponseWriter, req *http.Request, r route) {
	limit := e.cfg.Timeout
	if r.slow {
		limit = max(limit, downloadTime)
	}
	// The server may allow less. One that allows all, as in a test, has no deadline to move.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(limit + sendGrace))
	ctx, cancel := context.WithTimeoutCause(req.Context(), limit, errTooSlow)
	defer cancel()
	v, err := e.begin(ctx, req, r)
	if err == nil {
		defer e.pool.release(v.snapshot, v.db)
		var answer reply
		if answer, err = r.show(v); err == nil {
			err = answer.send(e, w, v)
		}
	}
	switch {
	case err == nil:
	case req.Context().Err() != nil || errors.As(err, new(*sentError)):
		e.cfg.Log.Debug("request ended early", "url", req.URL.Path, "error", err)
	default:
		if context.Cause(ctx) == errTooSlow {
			err = fmt.Errorf("%w: %w", errTooSlow, err)
		}
		e.sendError(w, v, err)
	}
}

// begin borrows the snapshot that the request is about.
func (e *Explorer) begin(ctx context.Context, req *http.Request, r route) (*visit, error) {
	v := &visit{Request: req.WithContext(ctx), route: r, pool: e.pool, program: e.cfg.Program}
	var err error
	if v.asked, err = url.ParseQuery(req.URL.RawQuery); err != nil {
		return v, usageErr(fmt.Sprintf("read the address: %v", err), "Write % and ; in it as %25 and %3B.")
	}
	if err := r.checkAddress(v.asked); err != nil {
		return v, err
	}
	v.snapshot, v.db, err = e.pool.borrow(ctx, strings.TrimSpace(v.asked.Get(asOfKey)))
	return v, err
}

// checkAddress refuses what the page does not know, and what is there twice: left out, the
// answer would be that of another question. The catalog knows its own keys.
func (r route) checkAddress(asked url.Values) error {
	for _, key := range slices.Sorted(maps.Keys(asked)) {
		isParam := strings.HasPrefix(key, paramKey) && slices.Contains(r.keys, paramKey)
		switch {
		case r.newest && key == asOfKey:
			return usageErr("refuse as_of: this page shows the newest snapshot only", "Remove as_of from the address.")
		case r.ownKeys || r.path == "":
		case key != asOfKey && !isParam && !slices.Contains(r.keys, key):
			advice := "Remove it from the address."
			if slices.Contains(r.keys, paramKey) {
				advice = "A parameter is written as " + paramKey + "NAME=value."
			}
			return usageErr(fmt.Sprintf("refuse the parameter %q: this page does not know it", key), advice)
		case len(asked[key]) > 1:
			return usageErr(fmt.Sprintf("refuse the parameter %q: it is given %d times", key, len(asked[key])), "Give it once.")
		}
	}
	return nil
}

const (
	// downloadTime is how long a download may take at least, its query included.
	downloadTime = time.Minute
	// sendGrace is how long the last bytes of an answer, or an error, may take after the
	// time limit: DuckDB may need some of it to stop.
	sendGrace = 15 * time.Second
)

// asOfKey is the parameter of an address that names an earlier snapshot.
const asOfKey = "as_of"
