package explore

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"html/template"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"placementsync/internal/html"
	"placementsync/internal/query"
	"placementsync/internal/report"
)

const (
	rootPath    = "/explore"
	catalogPath = rootPath + "/catalog"
	reportPath  = rootPath + "/report"
)

// Config configures an Explorer.
type Config struct {
	Warehouse
	// MemoryLimit, such as "512MB", and Threads limit all requests for one snapshot together. Several
	// snapshots can be open: the newest, two that as_of chooses, and replaced snapshots until their requests
	// end. Each process of typed SQL has the same limits.
	MemoryLimit string
	Threads     int
	// Settings are the values of the configuration that parameters of queries can name.
	Settings query.Settings
	// Program is the beginning of the shown commands, such as "placementsync query".
	Program string
	// Timeout is the time limit of a page and of a typed statement. Defaults to 20 seconds.
	// Downloads and the report have at least a minute, downloads of typed SQL at least 45 seconds.
	Timeout time.Duration
	// Child is the command of the process that runs typed SQL, see [query.Job]. Nil means that
	// there is no page for SQL.
	Child []string
	Log   *slog.Logger
}

// Warehouse is called for each request that needs its results.
type Warehouse interface {
	// ShownVersion returns the version that the pages show. Its error is shown and should contain advice
	// for the user.
	ShownVersion() (Version, error)
	// Queries returns the named queries. If the error is a *query.FilesError, the library contains the valid
	// queries.
	Queries() (query.Library, error)
	// Notices returns the notices that the report shows first, for example about a held night.
	Notices() ([]report.Notice, error)
	// QueriesDir returns the folder of the user's own queries. Empty means that there is none.
	QueriesDir() string
	// WatchLines returns the lines of the configuration that watch a query. key names the columns that identify a row.
	WatchLines(queryName string, params map[string]string, key []string) string
}

// Version is a published version or a held night.
type Version struct {
	// Run is the id of the run that built the version. Catalog is the path of its DuckDB file.
	Run, Catalog string
}

// Explorer serves the pages.
type Explorer struct {
	cfg       Config
	pool      *pool
	templates map[string]*template.Template
	assets    html.Assets
	// formToken is a secret in the HTML forms that are posted. Pages of other sites cannot read it.
	formToken  string
	statements *queue // of typed SQL
}

type route struct {
	path         string // a pattern for http.ServeMux below rootPath
	tab          string
	show         func(v *visit) (reply, error)
	isSlow       bool // the time limit is at least minSlowTimeout
	newestOnly   bool // as_of is rejected
	allowsRepeat bool // a parameter of the address can have several values
	kind         recordKind
	// keys lists the parameters of the address besides as_of and bom. A key that ends with a dot means
	// all parameters that begin with it.
	keys []string
}

func (e *Explorer) routes() []route {
	catalog := route{path: "/catalog", tab: "Catalog", show: showCatalog, newestOnly: true, allowsRepeat: true, keys: catalogKeys()}
	all := append(fileRoutes(catalog), catalog,
		route{path: "/questions", tab: "Questions", show: showQuestions, keys: []string{searchKey}},
		route{path: "/questions/{name}", tab: "Questions", show: showQuestion, keys: tableKeys(paramKey)},
		route{path: "/questions/{name}/{format}", tab: "Questions", show: sendResult, keys: tableKeys(paramKey), isSlow: true},
		route{path: "/report", tab: "Report", show: showReport, newestOnly: true, isSlow: true},
		route{path: "/snapshot", tab: "Snapshot", show: showSnapshot},
		route{path: "/schema", tab: "Schema", show: showSchema},
	)
	for _, kind := range recordKinds() {
		list := route{path: "/" + kind.name + "s", tab: kind.label + "s", show: showRecords, kind: kind, keys: tableKeys()}
		if kind.aboutList == "" { // the catalog lists these records
			list.tab = "Catalog"
		} else {
			all = append(all, list)
			all = append(all, fileRoutes(list)...)
		}
		all = append(all, route{path: list.path + "/{id}", tab: list.tab, show: showRecord, kind: kind},
			route{path: list.path + "/{id}/{section}", tab: list.tab, show: showSection, kind: kind, keys: tableKeys()},
			route{path: list.path + "/{id}/{section}/{format}", tab: list.tab, show: showSection, kind: kind, keys: tableKeys(), isSlow: true})
	}
	return all
}

// fileRoutes returns the routes for the table of a page as a file, such as /orders.csv.
func fileRoutes(pageRoute route) []route {
	var all []route
	for _, f := range downloadFormats() {
		file := pageRoute
		file.path, file.isSlow = pageRoute.path+"."+string(f.format), true
		all = append(all, file)
	}
	return all
}

// tabNames lists the tabs in the order of the header. The path of a tab is its name in lower case.
func tabNames() []string {
	return []string{"Catalog", "Outlets", "Orders", "Campaigns", "Articles", "Profiles", "Questions", "SQL", "Schema", "Report", "Snapshot"}
}

// New parses the templates. The first request opens the snapshot.
func New(cfg Config) (*Explorer, error) {
	cfg.Timeout = cmp.Or(cfg.Timeout, 20*time.Second)
	parsed, err := parseTemplates()
	if err != nil {
		return nil, fmt.Errorf("parse the page templates: %w", err)
	}
	assets, err := html.ReadAssets(report.Files(), assetFiles)
	if err == nil {
		assets["completion.json"], err = newCompletion()
	}
	if err != nil {
		return nil, fmt.Errorf("read the page assets: %w", err)
	}
	return &Explorer{cfg: cfg, pool: &pool{cfg: cfg, turn: make(chan struct{}, 1)}, templates: parsed, assets: assets,
		formToken: rand.Text(), statements: newQueue()}, nil
}

// Close closes the snapshots. All requests must have ended.
func (e *Explorer) Close() { e.pool.removeAll() }

// Handler returns the handler for all paths below /explore.
func (e *Explorer) Handler() http.Handler {
	mux := http.NewServeMux()
	get := func(path string, r route) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, req *http.Request) { e.serve(w, req, r) })
	}
	for _, r := range e.routes() {
		get(rootPath+r.path, r)
	}
	if e.cfg.Child != nil {
		get(sqlPath, sqlRoute(showSQL))
		mux.HandleFunc("POST "+sqlPath, e.serveStatement)
	}
	mux.HandleFunc("POST "+rootPath+"/questions/{name}", e.serveSave)
	for name, a := range e.assets {
		mux.Handle("GET "+assetFolder+name, a)
	}
	start := http.RedirectHandler(catalogPath, http.StatusSeeOther)
	mux.Handle("GET "+rootPath+"/{$}", start)
	mux.Handle("GET "+rootPath, start)
	get(rootPath+"/", route{show: func(*visit) (reply, error) {
		return nil, &statusError{http.StatusNotFound, "no page has this address", "Choose a page above."}
	}})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, r)
	})
}

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// serve handles one request. Its work is cancelled when the client closes the connection.
func (e *Explorer) serve(w http.ResponseWriter, req *http.Request, r route) {
	limit := e.cfg.Timeout
	if r.isSlow {
		limit = max(limit, minSlowTimeout)
	}
	// An error means that the connection has no write deadline, as in tests.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(limit + sendGrace))
	ctx, cancel := context.WithTimeoutCause(req.Context(), limit, errTooSlow)
	defer cancel()
	v, err := e.begin(ctx, req, r)
	var response reply
	if err == nil {
		defer v.free()
		response, err = r.show(v)
	}
	if err == nil {
		err = response.send(w, v)
	}
	if err == nil {
		return
	}
	if req.Context().Err() != nil {
		e.cfg.Log.Debug("request ended early", "url", req.URL.Path, "error", err)
		return
	}
	if context.Cause(ctx) == errTooSlow { // the error of an interrupted query has no cause
		err = fmt.Errorf("%w: %w", errTooSlow, err)
	}
	sendError(w, v, err)
}

func (e *Explorer) begin(ctx context.Context, req *http.Request, r route) (*visit, error) {
	v := &visit{Request: req.WithContext(ctx), route: r, explorer: e}
	var err error
	if v.params, err = url.ParseQuery(req.URL.RawQuery); err != nil {
		return v, usageErr(fmt.Sprintf("read the address: %v", err), "Write % and ; in it as %25 and %3B.")
	}
	if err := r.cleanParams(v.params); err != nil {
		return v, err
	}
	v.snapshot, v.db, err = e.pool.borrow(ctx, strings.TrimSpace(v.params.Get(asOfKey)))
	return v, err
}

// cleanParams removes unknown parameters, such as utm_source, which mail programs and other sites add to a link. It
// returns an error for repeated parameters.
func (r route) cleanParams(params url.Values) error {
	knownKeys := append([]string{asOfKey, markKey}, r.keys...)
	for _, key := range slices.Sorted(maps.Keys(params)) {
		isKnown := slices.ContainsFunc(knownKeys, func(known string) bool {
			isPrefix := strings.HasSuffix(known, ".") && strings.HasPrefix(key, known)
			return isPrefix || key == known
		})
		switch {
		case r.newestOnly && key == asOfKey:
			return usageErr("as_of is not supported: this page shows only the newest snapshot", "Remove as_of from the address.")
		case !isKnown:
			delete(params, key)
		case len(params[key]) > 1 && !r.allowsRepeat:
			return usageErr(fmt.Sprintf("the parameter %q is given %d times", key, len(params[key])), "Give it once.")
		}
	}
	return nil
}

const (
	minSlowTimeout = time.Minute
	sendGrace      = 15 * time.Second // after the time limit, for stopping DuckDB and sending an error page
)

// Parameters of an address.
const (
	asOfKey  = "as_of"
	markKey  = "bom" // "no" means that a CSV file has no byte order mark
	paramKey = "p."  // the prefix of the parameters of a named query
)

// acceptForm reports whether a form comes from a page of this server: the browser sends the origin of the form, and the
// form contains formToken. It moves the fields of the form to the address, from which serve reads the parameters.
// If it returns false, it has sent an error page. subject begins the problem, such as "the statement was not run".
func (e *Explorer) acceptForm(w http.ResponseWriter, req *http.Request, subject, advice string) bool {
	refuse := func(status int, problem string) bool {
		sendError(w, &visit{Request: req, explorer: e}, &statusError{status, subject + ": " + problem, advice})
		return false
	}
	if err := http.NewCrossOriginProtection().Check(req); err != nil {
		return refuse(http.StatusForbidden, "another site sent it")
	}
	req.Body = http.MaxBytesReader(w, req.Body, maxFormBytes)
	if err := req.ParseForm(); err != nil {
		return refuse(http.StatusBadRequest, err.Error())
	}
	if subtle.ConstantTimeCompare([]byte(req.PostForm.Get(tokenKey)), []byte(e.formToken)) != 1 {
		return refuse(http.StatusForbidden, "the page was opened before the program was restarted")
	}
	req.PostForm.Del(tokenKey)
	req.URL.RawQuery = req.PostForm.Encode()
	return true
}
