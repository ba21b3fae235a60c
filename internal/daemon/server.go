package daemon

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"placementsync/internal/page"
)

// Content security policies of the pages: only what they need is allowed. The report
// is one file that includes its script and style.
const (
	pagePolicy   = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	reportPolicy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; " +
		"font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

// NewServer returns a server that strangers may reach: a request, its answer and a
// connection without one take a bounded time. A handler whose answer takes longer moves
// the deadline by an http.ResponseController.
func NewServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    32 << 10, // the address of a page has all its filters
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// StopServer stops a server. Requests in progress have so long to end; then their
// connections are closed, so that nobody takes half an answer for a whole one.
func StopServer(server *http.Server, patience time.Duration) error {
	closing, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := server.Shutdown(closing); err != nil {
		return errors.Join(fmt.Errorf("stop serving: %w", err), server.Close())
	}
	return nil
}

// Handler serves all endpoints, to requests that name an allowed host.
func (d *Daemon) Handler() http.Handler {
	closed := http.NewServeMux()
	closed.Handle("GET /metrics", limitConcurrency(4, promhttp.HandlerFor(d.cfg.Metrics, promhttp.HandlerOpts{})))
	closed.HandleFunc("GET /readyz", d.serveReadyz)
	closed.HandleFunc("GET /{$}", d.serveStatus)
	closed.Handle("GET /page.css", page.StyleSheet())
	closed.HandleFunc("GET /report", d.serveReport)
	if d.cfg.Explore != nil {
		closed.Handle("/explore/", d.cfg.Explore)
		closed.Handle("/explore", d.cfg.Explore)
	}

	open := http.NewServeMux()
	open.HandleFunc("/hooks", d.serveHooks)
	open.HandleFunc("GET /healthz", d.serveHealthz)
	open.Handle("/", d.requireToken(closed))
	return addSecurityHeaders(GuardHosts(open, func() HostList { return d.settings().Hosts }, d.cfg.Log))
}

// limitConcurrency answers n requests at a time. Others wait some milliseconds; a refusal
// would be a gap in a graph.
func limitConcurrency(n int, next http.Handler) http.Handler {
	turns := make(chan struct{}, n)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case turns <- struct{}{}:
		case <-r.Context().Done():
			return
		}
		defer func() { <-turns }()
		next.ServeHTTP(w, r)
	})
}

// addSecurityHeaders keeps browsers from guessing types, framing pages, storing them
// and sending a referrer.
func addSecurityHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", pagePolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// requireToken refuses requests without the token, if there is one. It accepts a bearer
// token, or the password of basic authentication, for which every browser can ask.
func (d *Daemon) requireToken(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token := d.settings().AuthToken; token != "" && !equalSecrets(token, presentedToken(r)) {
			w.Header().Set("WWW-Authenticate", `Basic realm="placementsync", charset="UTF-8"`)
			writeText(w, http.StatusUnauthorized, "send serve.auth_token as a bearer token, or as the password of any user")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func presentedToken(r *http.Request) string {
	if _, password, ok := r.BasicAuth(); ok {
		return password
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// equalSecrets compares in constant time; the hashes hide the lengths, too.
func equalSecrets(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// serveHooks passes a delivery to the receiver. Without one the endpoint does not
// exist.
func (d *Daemon) serveHooks(w http.ResponseWriter, r *http.Request) {
	receiver := d.settings().Hooks
	switch {
	case receiver == nil:
		http.NotFound(w, r)
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		writeText(w, http.StatusMethodNotAllowed, "use POST")
	default:
		receiver.ServeHTTP(w, r)
	}
}

// serveReport serves the newest report.
func (d *Daemon) serveReport(w http.ResponseWriter, r *http.Request) {
	file, err := os.Open(d.cfg.ReportFile)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			d.cfg.Log.Error("report not served", "error", err)
		}
		http.NotFound(w, r)
		return
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Security-Policy", reportPolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	http.ServeContent(w, r, "", info.ModTime(), file)
}
