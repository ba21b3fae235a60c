package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/cli"
	"placementsync/internal/config"
	"placementsync/internal/testing/harness"
)

// startPages serves pages as the command "explore" does, until the test ends.
func startPages(t *testing.T, listener net.Listener, pages http.Handler) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- servePages(ctx, slog.New(slog.DiscardHandler), listener, pages) }()
	t.Cleanup(func() {
		stop()
		harness.Must(t, <-done)
	})
}

// TestExploreChecksHostFirst sends requests with a foreign host. They must be rejected, not
// redirected.
func TestExploreChecksHostFirst(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Must(t, err)
	startPages(t, listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a page") }))
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	requestPage := func(host, path string) (status int, body string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+path, nil)
		harness.Must(t, err)
		req.Host = host
		res, err := client.Do(req)
		harness.Must(t, err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		harness.Must(t, err)
		return res.StatusCode, string(text)
	}
	for _, path := range []string{"/explore", "/explore/", "/", "//explore", "/nosuch"} {
		if status, body := requestPage("evil.example.com", path); status != http.StatusMisdirectedRequest || strings.Contains(body, "a page") {
			t.Errorf("%s for a foreign host: got %d %s, want 421 without the page", path, status, body)
		}
	}
	for path, want := range map[string]int{"/explore": http.StatusTemporaryRedirect, "/explore/": http.StatusOK, "/": http.StatusSeeOther} {
		if status, body := requestPage("localhost", path); status != want {
			t.Errorf("%s: got %d %s, want %d", path, status, body, want)
		}
	}
}

// TestExploreNeedsTheToken checks that the pages need the token of the printed address, and that a browser keeps
// it in a cookie.
func TestExploreNeedsTheToken(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Must(t, err)
	const token = "SOMETOKEN"
	pages := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "a page at "+r.URL.String()) })
	startPages(t, listener, requireExploreToken(pages, token, listener.Addr()))
	base := "http://" + listener.Addr().String()
	requestPage := func(client *http.Client, path string) (*http.Response, string) {
		t.Helper()
		res, err := client.Get(base + path)
		harness.Must(t, err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		harness.Must(t, err)
		return res, string(text)
	}
	jar, err := cookiejar.New(nil)
	harness.Must(t, err)
	browser, other := &http.Client{Jar: jar}, &http.Client{}
	defer browser.CloseIdleConnections()
	defer other.CloseIdleConnections()
	paths := []string{"/explore/", "/explore", "/", "/explore/catalog.csv?q=a", "/explore/assets/page.css", "/explore/?token=", "/explore/?token=sometoken", "/explore/?token=SOMETOKENS"}
	for _, path := range paths {
		if res, body := requestPage(other, path); res.StatusCode != http.StatusForbidden || strings.Contains(body, "a page") || strings.Contains(body, token) {
			t.Errorf("%s without the token: got %d %s, want 403 without the page", path, res.StatusCode, body)
		}
	}
	res, body := requestPage(browser, "/explore/catalog?q=a%26b&token="+token)
	if body != "a page at /explore/catalog?q=a%26b" || strings.Contains(res.Request.URL.String(), token) {
		t.Errorf("the printed address: got %s at %s, want the page at an address without the token", body, res.Request.URL)
	}
	for _, path := range []string{"/explore/", "/explore", "/", "/explore/catalog.csv?q=a"} {
		if res, body := requestPage(browser, path); res.StatusCode != http.StatusOK {
			t.Errorf("%s with the cookie: got %d %s, want 200", path, res.StatusCode, body)
		}
	}
	noRedirects := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer noRedirects.CloseIdleConnections()
	res, _ = requestPage(noRedirects, "/explore/?token="+token)
	wantCookies := []string{"placementsync-" + strings.TrimPrefix(base, "http://127.0.0.1:") +
		"=SOMETOKEN; Path=/explore; HttpOnly; SameSite=Strict"}
	if got := res.Header["Set-Cookie"]; !slices.Equal(got, wantCookies) {
		t.Errorf("the cookies are %q, want %q", got, wantCookies)
	}
	if got := res.Header; got.Get("Cache-Control") != "no-store" || got.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("the headers of the redirect are %v, want that neither a cache nor another site gets the token", got)
	}
}

// TestExploreFailsAtItsStart starts the command on a used port, and without a published snapshot.
func TestExploreFailsAtItsStart(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Must(t, err)
	defer listener.Close()
	published := &globals{process: hostProcess(), Flags: cli.Flags{Config: threeNights(t)}}
	empty := newLoggingGlobals(t, io.Discard, io.Discard, "")
	ctx, stop := context.WithCancel(t.Context())
	stop() // so that a command that starts ends at once
	for want, c := range map[string]struct {
		g      *globals
		listen string
	}{
		"serve on " + listener.Addr().String() + " (--listen): ": {published, listener.Addr().String()},
		"nothing is published yet":                               {empty, "127.0.0.1:0"},
		"use a loopback address such as 127.0.0.1:8090":          {published, "localhost:0"},
	} {
		var out strings.Builder
		c.g.stdout = &out
		err := runExplore(ctx, c.g, exploreOptions{listen: c.listen})
		if err == nil || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("explore printed %q and ended with %v, want only the error %q", &out, err, want)
		}
	}
}

// TestPagesFollowTheConfiguration checks what the pages take from the configuration and from the program.
func TestPagesFollowTheConfiguration(t *testing.T) {
	t.Parallel()
	g := &globals{process: process{executable: "/bin/placementsync"}}
	cfg := config.Config{Warehouse: config.Warehouse{MemoryLimit: "1GB"}}
	want := []string{"/bin/placementsync", "statement", "--memory", "4147483648"}
	if got := g.statementProcess(cfg); !slices.Equal(got, want) {
		t.Errorf("SQL is run by %q, want %q", got, want)
	}
	g.executable = ""
	if got := g.statementProcess(cfg); got != nil {
		t.Errorf("SQL is run by %q, want no process of an unknown program", got)
	}
	source := exploreWarehouse{config: func() config.Config { return cfg }}
	cfg.Queries.Dir = t.TempDir()
	harness.Must(t, os.WriteFile(filepath.Join(cfg.Queries.Dir, "mine.sql"), []byte("-- title: Mine\nSELECT 1"), 0o600))
	all, err := source.Queries()
	harness.Must(t, err)
	if _, err := all.Resolve("mine"); err != nil {
		t.Errorf("a query in the folder of the new configuration is unknown: %v", err)
	}
	cfg.Watch = []config.Watch{{Name: "mine"}}
	cfg.Notify.Channels = []config.Channel{{Name: "chat"}}
	lines := source.WatchLines("mine", map[string]string{"top": "3"}, []string{"id"})
	for _, want := range []string{"name: mine-2", "query: mine", "top: ", "key: [id]", "send: [chat]"} {
		if !strings.Contains(lines, want) {
			t.Errorf("the lines of a watch lack %q:\n%s", want, lines)
		}
	}
}

// TestExplorePrintsTheToken starts the command with and without the token.
func TestExplorePrintsTheToken(t *testing.T) {
	t.Parallel()
	config := threeNights(t)
	for name, c := range map[string]struct {
		args       []string
		address    string
		wantStatus int
	}{
		"with a token":    {nil, `^(http://127\.0\.0\.1:\d+/explore/)\?token=[A-Z2-7]{26}\n$`, http.StatusForbidden},
		"without a token": {[]string{"--no-token"}, `^(http://127\.0\.0\.1:\d+/explore/)\n$`, http.StatusOK},
	} {
		ctx, stop := context.WithCancel(t.Context())
		printed := make(chan string, 1)
		p := hostProcess()
		p.stderr = t.Output()
		p.stdout = writerFunc(func(b []byte) (int, error) {
			printed <- string(b)
			return len(b), nil
		})
		ended := make(chan int, 1)
		go func() {
			ended <- executeArgs(ctx, append([]string{"explore", "--quiet", "--config", config, "--listen", "127.0.0.1:0"}, c.args...), p)
		}()
		address := regexp.MustCompile(c.address).FindStringSubmatch(<-printed)
		if address == nil {
			t.Fatalf("%s: the address does not match %s", name, c.address)
		}
		client := &http.Client{}
		res, err := client.Get(address[1])
		harness.Must(t, err)
		harness.Must(t, res.Body.Close())
		if res.StatusCode != c.wantStatus {
			t.Errorf("%s: the address without the token returned %d, want %d", name, res.StatusCode, c.wantStatus)
		}
		client.CloseIdleConnections()
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("%s: the command ended with %d, want 0", name, code)
		}
	}
}
