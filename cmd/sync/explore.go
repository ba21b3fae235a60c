package main

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"placementsync/internal/cli"
	"placementsync/internal/config"
	"placementsync/internal/daemon"
	"placementsync/internal/durable"
	"placementsync/internal/explore"
	"placementsync/internal/query"
	"placementsync/internal/report"
	"placementsync/internal/warehouse"
)

func exploreCommand(g *globals) *cobra.Command {
	o := exploreOptions{listen: "127.0.0.1:8090"}
	cmd := &cobra.Command{
		Use:   "explore",
		Short: "Show the newest snapshot in the browser: catalog, records, named queries",
		Long: "Serve pages of the newest snapshot until the command is stopped: search and filter the\n" +
			"catalog, follow a listing, an order or an article, run the named queries and SQL. The command\n" +
			"prints the address, which contains a random token, so that other users of this machine cannot\n" +
			"open the pages. The pages are for this machine only. They change nothing, except that they save\n" +
			"questions into queries.dir. The command \"serve\" has the same pages below /explore.",
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runExplore(cmd.Context(), g, o) },
	}
	cmd.Flags().StringVar(&o.listen, "listen", o.listen, "loopback `address` to serve on; port 0 means any free port")
	cmd.Flags().BoolVar(&o.noToken, "no-token", false, "let every user of this machine open the pages, without the token in the address")
	addHeldFlag(cmd, g)
	return cmd
}

type exploreOptions struct {
	listen  string
	noToken bool
}

func runExplore(ctx context.Context, g *globals, o exploreOptions) error {
	if address, parseErr := netip.ParseAddrPort(o.listen); parseErr != nil || !address.Addr().IsLoopback() {
		return cli.UsageErr("--listen is %q: use a loopback address such as 127.0.0.1:8090; the command \"serve\" with serve.auth_token can be reached from other machines", o.listen)
	}
	cfg, err := g.loadConfig("warehouse", "retention", "statuses")
	if err == nil {
		err = durable.CheckTemp()
	}
	if err != nil {
		return err
	}
	wh := g.newWarehouse(cfg)
	source := exploreWarehouse{wh, func() config.Config { return cfg }, g.held}
	if _, err := source.ShownVersion(); err != nil {
		return err
	}
	pages, err := newExplorer(g, cfg, source)
	if err != nil {
		return err
	}
	defer pages.Close()
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return fmt.Errorf("serve on %s (--listen): %w", o.listen, err)
	}
	handler, urlQuery := pages.Handler(), ""
	if !o.noToken {
		token := rand.Text()
		handler = requireExploreToken(handler, token, listener.Addr())
		urlQuery = "?" + exploreTokenKey + "=" + token
	}
	fmt.Fprintf(g.stdout, "http://%s/explore/%s\n", listener.Addr(), urlQuery)
	return servePages(ctx, g.newLogger(), listener, handler)
}

// exploreTokenKey is the parameter of the printed address.
const exploreTokenKey = "token"

// requireExploreToken accepts requests with the token in a cookie. A request with the token in its address gets
// the cookie and is redirected, so that the token does not remain in the address. The name of the cookie
// contains the port, because browsers send a cookie to all ports of a host.
func requireExploreToken(next http.Handler, token string, listen net.Addr) http.Handler {
	_, port, _ := net.SplitHostPort(listen.String()) // the address of a listener has a port
	cookieName := "placementsync-" + port
	isToken := func(text string) bool { return subtle.ConstantTimeCompare([]byte(text), []byte(token)) == 1 }
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		params := r.URL.Query()
		if isToken(params.Get(exploreTokenKey)) {
			http.SetCookie(w, &http.Cookie{Name: cookieName, Value: token, Path: "/explore", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			params.Del(exploreTokenKey)
			target := url.URL{Path: r.URL.Path, RawQuery: params.Encode()}
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("Referrer-Policy", "no-referrer")
			http.Redirect(w, r, target.String(), http.StatusSeeOther)
			return
		}
		cookie, err := r.Cookie(cookieName)
		if err != nil || !isToken(cookie.Value) {
			http.Error(w, "open the address that \"placementsync explore\" printed: it contains a token, which changes with each start", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func newExplorer(g *globals, cfg config.Config, wh exploreWarehouse) (*explore.Explorer, error) {
	c := explore.Config{
		Warehouse: wh, MemoryLimit: cfg.Warehouse.MemoryLimit, Threads: cfg.Warehouse.Threads,
		Settings: cfg.QuerySettings(), Program: g.programLine("query"), Log: g.newLogger(),
	}
	if cfg.Serve.SQL {
		c.Child = g.statementProcess(cfg)
	}
	return explore.New(c)
}

const statementCommandName = "statement"

// statementProcess returns the command line of statementCommand, or nil if the path of this program is unknown.
func (g *globals) statementProcess(cfg config.Config) []string {
	if g.executable == "" {
		return nil
	}
	const otherBytes = 2 << 30 // for Go, threads and the result file
	return []string{g.executable, statementCommandName, "--memory", strconv.FormatInt(2*cfg.Warehouse.MemoryBytes()+otherBytes, 10)}
}

// statementCommand returns a hidden command. The pages and the tools of assistants start it as a child process
// to run the SQL of a user, see [query.Job].
func statementCommand(g *globals) *cobra.Command {
	var memory uint64
	cmd := &cobra.Command{
		Use:    statementCommandName,
		Short:  "Run one SQL statement from stdin for the pages of explore and for assistants",
		Hidden: true,
		Args:   cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// When memory runs out, this process must end before others. If a call fails, the system's limits apply.
			_ = unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: memory, Max: memory})
			_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
			return query.Work(cmd.Context(), g.stdin, g.stdout)
		},
	}
	cmd.Flags().Uint64Var(&memory, "memory", 0, "limit the memory of the process to this number of `bytes`")
	return cmd
}

// exploreWarehouse implements explore.Warehouse.
type exploreWarehouse struct {
	wh *warehouse.Warehouse
	// config returns the configuration, which a reload may change.
	config func() config.Config
	held   bool
}

func (p exploreWarehouse) ShownVersion() (explore.Version, error) {
	if p.held {
		h, err := findHeld(p.wh)
		return explore.Version{Run: h.Manifest.RunID, Catalog: p.wh.Folder.HeldCatalog(h.Manifest.RunID)}, err
	}
	if err := checkPublished(p.wh); err != nil {
		return explore.Version{}, err
	}
	run, _, err := p.wh.Versions.Latest()
	return explore.Version{Run: run, Catalog: p.wh.Folder.VersionCatalog(run)}, err
}

func (p exploreWarehouse) Queries() (query.Library, error) { return query.Load(p.QueriesDir()) }

func (p exploreWarehouse) QueriesDir() string { return p.config().Queries.Dir }

func (p exploreWarehouse) WatchLines(queryName string, params map[string]string, key []string) string {
	cfg := p.config()
	return config.FormatWatch(config.Watch{Query: queryName, Params: params, Key: key}, cfg.Watch, cfg.Notify.Channels)
}

func (p exploreWarehouse) Notices() ([]report.Notice, error) { return heldNotices(p.wh, p.held) }

// servePages serves until ctx ends. Running requests then have two seconds to end. The host
// is checked before the mux, because the mux redirects some paths.
func servePages(ctx context.Context, log *slog.Logger, listener net.Listener, pages http.Handler) error {
	mux := http.NewServeMux()
	mux.Handle("/explore/", pages)
	mux.Handle("GET /{$}", http.RedirectHandler("/explore/", http.StatusSeeOther))
	allowed := daemon.NewHostList(listener.Addr().String(), nil)
	server := daemon.NewServer(daemon.GuardHosts(mux, func() daemon.HostList { return allowed }, log), log)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve pages: %w", err)
	case <-ctx.Done():
	}
	_ = daemon.StopServer(server, 2*time.Second) // an error is ignored: clients notice the closed connection
	<-served
	return nil
}
