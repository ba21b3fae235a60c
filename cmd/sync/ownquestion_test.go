package main

import (
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"placementsync/internal/cli"
	"placementsync/internal/config"
	"placementsync/internal/testing/harness"
)

// TestTrialQuestionIsWatchedAndSaved runs the watch that the page of a question prints, and the question that the page
// saves.
func TestTrialQuestionIsWatchedAndSaved(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	configFile := demoOfThreeNights(t)
	queriesDir := filepath.Join(filepath.Dir(configFile), "queries")
	harness.Must(t, os.Mkdir(queriesDir, 0o700))
	addToConfig := func(text string) {
		harness.Must(t, os.WriteFile(configFile, []byte(read(t, configFile)+text), 0o600))
	}
	addToConfig("queries: {dir: queries}\n")
	g := &globals{process: hostProcess(), Flags: cli.Flags{Config: configFile, Quiet: true}}
	g.stdout, g.stderr = io.Discard, t.Output()
	wh, cfg, err := g.openWarehouse()
	harness.Must(t, err)
	pages, err := newExplorer(g, cfg, exploreWarehouse{wh: wh, config: func() config.Config { return cfg }})
	harness.Must(t, err)
	defer pages.Close()
	server := httptest.NewServer(pages.Handler())
	defer server.Close()
	readBody := func(res *http.Response, err error) string {
		t.Helper()
		harness.Must(t, err)
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		harness.Must(t, err)
		if res.StatusCode != http.StatusOK {
			t.Fatalf("got status %d for %s, want 200:\n%s", res.StatusCode, res.Request.URL, body)
		}
		return string(body)
	}

	page := readBody(server.Client().Get(server.URL + "/explore/questions/margins?p.by=outlet&p.top=3"))
	lines := html.UnescapeString(regexp.MustCompile(`(?s)<pre id="watch">(.*?)</pre>`).FindStringSubmatch(page)[1])
	token := regexp.MustCompile(`name="token" value="(\w+)"`).FindStringSubmatch(page)[1]
	form := url.Values{"token": {token}, "p.by": {"outlet"}, "p.top": {"3"}, "sort": {"outlet"}, "name": {"best_outlets"}, "title": {"Best outlets"}}
	saved := readBody(server.Client().PostForm(server.URL+"/explore/questions/margins", form))
	if !strings.Contains(saved, "<h1>Best outlets") || !strings.Contains(saved, " best_outlets</pre>") {
		t.Errorf("the saved question is not shown:\n%s", saved)
	}

	addToConfig(lines)
	if out := mustRun(t, "watch", "--config", configFile, "--dry-run", "margins"); !strings.Contains(out, "margins: 3 new, 3 in all") || !strings.Contains(out, "would send to chat") {
		t.Errorf("the watch of these lines:\n%s\nprinted:\n%s\nwant three findings for the channel", lines, out)
	}
	query := func(args ...string) string {
		return mustRun(t, append([]string{"query", "--config", configFile, "--format", "csv"}, args...)...)
	}
	want := query("margins", "--param", "by=outlet", "--param", "top=3")
	if got := query("best_outlets"); got != want || strings.Count(got, "\n") != 4 {
		t.Errorf("the saved question returned:\n%s\nwant:\n%s", got, want)
	}
	if list := mustRun(t, "query", "--config", configFile, "--list"); !strings.Contains(list, "best_outlets") {
		t.Errorf("the list lacks the saved question:\n%s", list)
	}
}
