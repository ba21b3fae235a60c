package daemon

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/time/rate"

	"placementsync/internal/html"
)

// Content security policies of the pages. They allow only the needed resources. The report
// is one file with inline scripts and styles.
const (
	pagePolicy   = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	reportPolicy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; " +
		"font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

// NewServer returns a server for a public address: the time of requests, responses and idle
// connections is limited. A handler with a long response extends its deadline with an
// http.ResponseController.
func NewServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    32 << 10, // URLs of explore contain all filters
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// StopServer stops a server. It waits for running requests until the timeout. It then closes
// their connections, so that clients notice incomplete responses.
func StopServer(server *http.Server, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("shut down the HTTP server: %w", err), server.Close())
	}
	return nil
}

// Handler serves all endpoints.
func (d *Daemon) Handler() http.Handler {
	protected := http.NewServeMux()
	protected.Handle("GET /metrics", promhttp.HandlerFor(d.cfg.Metrics, promhttp.HandlerOpts{}))
	protected.HandleFunc("GET /readyz", d.serveReadyz)
	protected.HandleFunc("GET /{$}", d.serveStatus)
	protected.Handle("GET /page.css", html.StyleSheet())
	protected.HandleFunc("GET /report", d.serveReport)
	if d.cfg.Held != nil {
		protected.Handle("GET /held", d.cfg.Held)
	}
	if d.cfg.Explore != nil {
		protected.Handle("/explore/", d.cfg.Explore)
		protected.Handle("/explore", d.cfg.Explore)
	}

	public := http.NewServeMux()
	if d.cfg.Hooks != nil {
		public.Handle("/hooks", d.cfg.Hooks)
	}
	public.HandleFunc("GET /healthz", d.serveHealthz)
	public.Handle("/", d.requireToken(protected))
	return addSecurityHeaders(GuardHosts(public, func() HostList { return d.settings().Hosts }, d.cfg.Log))
}

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

// A browser sends the token as the password of basic authentication. At most one wrong token a minute is
// logged. A request without a token is not logged, because browsers send one before they ask for the password.
func (d *Daemon) requireToken(next http.Handler) http.Handler {
	logLimit := rate.Sometimes{Interval: time.Minute}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		presented := presentedToken(r)
		if token := d.settings().AuthToken; token != "" && !equalSecrets(token, presented) {
			if presented != "" {
				logLimit.Do(func() {
					d.cfg.Log.Warn("request rejected: wrong token", "remote", r.RemoteAddr)
				})
			}
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

// equalSecrets compares in constant time. The hashes also hide the lengths.
func equalSecrets(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

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

// writePage renders the whole page before it responds, because an error changes the status code.
func writePage(w http.ResponseWriter, log *slog.Logger, t *template.Template, data any) {
	var text bytes.Buffer
	if err := html.Render(&text, t, data); err != nil {
		log.Error("page not rendered", "error", err)
		writeText(w, http.StatusInternalServerError, "the page could not be rendered: see the log")
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(text.Bytes()) // an error means that the client has disconnected
}

func writeText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	// An error means that the client has disconnected.
	_, _ = fmt.Fprintln(w, text)
}

// HostList contains the names of allowed hosts, see [HostList.Allows].
type HostList struct{ names []string }

// NewHostList returns a list of the host in a listen address (host:port) and the given names.
func NewHostList(listen string, names []string) HostList {
	var l HostList
	for _, name := range append([]string{listen}, names...) {
		l.names = append(l.names, normalize(name))
	}
	return l
}

// Allows reports whether requests with this Host header, with or without port, are allowed.
//
// An attack by DNS rebinding needs a browser, which always sends a host, and needs a name whose DNS entry the
// attacker controls. So IP addresses, localhost and a missing host are always allowed. Every other name must
// be in the list, even the name of this machine, because others may control its DNS entry.
func (l HostList) Allows(host string) bool {
	name := normalize(host)
	if name == "" || name == "localhost" {
		return true
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return slices.Contains(l.names, name)
}

// normalize returns a host in lower case, without port, brackets and trailing dot.
func normalize(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	} else {
		host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// GuardHosts responds with status 421 to requests whose host the list does not allow. This protects
// against DNS rebinding, where the host name of a foreign web page resolves to the address of
// this machine. The browser would then allow the page to read the server's responses.
//
// At most one rejected request a minute is logged. GuardHosts calls list for each request, because a reload
// of the configuration can change the list.
func GuardHosts(next http.Handler, list func() HostList, log *slog.Logger) http.Handler {
	logLimit := rate.Sometimes{Interval: time.Minute}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if list().Allows(r.Host) {
			next.ServeHTTP(w, r)
			return
		}
		logLimit.Do(func() {
			log.Warn("request rejected: its host is neither an IP address nor in serve.hosts", "host", r.Host)
		})
		w.Header().Set("X-Content-Type-Options", "nosniff")
		writeText(w, http.StatusMisdirectedRequest,
			fmt.Sprintf("this server does not serve the host %q: use localhost or an IP address, or add the name to serve.hosts", normalize(r.Host)))
	})
}
