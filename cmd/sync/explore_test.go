package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"regexp"
	"strings"
	"testing"

	"placementsync/internal/testing/harness"
)

// TestExploreChecksHostFirst sends requests with a foreign host. They must be rejected, not
// redirected.
func TestExploreChecksHostFirst(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	pages := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a page") })
	go func() { done <- servePages(ctx, slog.New(slog.DiscardHandler), listener, pages) }()
	t.Cleanup(func() {
		stop()
		harness.Must(t, <-done)
	})
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	requestPage := func(host, path string) (status int, body string) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+listener.Addr().String()+path, nil)
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
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- servePages(ctx, slog.New(slog.DiscardHandler), listener, requireExploreToken(pages, token, listener.Addr()))
	}()
	t.Cleanup(func() {
		stop()
		harness.Must(t, <-done)
	})
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
	cookies := res.Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode || cookies[0].Path != "/explore" {
		t.Errorf("the cookies are %v, want one for /explore that scripts and other sites cannot use", cookies)
	}
}

// TestExplorePrintsTheToken starts the command with and without the token.
func TestExplorePrintsTheToken(t *testing.T) {
	t.Parallel()
	config := demoOfThreeNights(t)
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
