package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestExploreChecksHostFirst sends requests with a foreign host. They must be rejected, not
// redirected.
func TestExploreChecksHostFirst(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	pages := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a page") })
	go func() { done <- servePages(ctx, slog.New(slog.DiscardHandler), listener, pages) }()
	t.Cleanup(func() {
		stop()
		must(t, <-done)
	})
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	requestPage := func(host, path string) (status int, body string) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+listener.Addr().String()+path, nil)
		must(t, err)
		req.Host = host
		res, err := client.Do(req)
		must(t, err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		must(t, err)
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
