package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/cli"
	"placementsync/internal/config"
	"placementsync/internal/testing/harness"
	"placementsync/internal/testing/pinned"
)

// TestTrialExploreInChromium opens the catalog page of a demo in a browser. It checks the layout in
// both color schemes on wide and narrow screens. Then it searches, filters, sorts and turns pages.
func TestTrialExploreInChromium(t *testing.T) {
	harness.Long(t)
	b := startBrowser(t)
	site := exploreDemo(t)
	b.origin = site.url
	for _, view := range []struct {
		name, colorScheme string
		width, height     int
	}{
		{"explore-wide-light", "light", 1280, 900}, {"explore-wide-dark", "dark", 1280, 900}, {"explore-tablet-light", "light", 768, 1024}, {"explore-tablet-dark", "dark", 768, 1024},
		{"explore-phone-light", "light", 390, 844}, {"explore-phone-dark", "dark", 390, 844},
	} {
		t.Run(view.name, func(t *testing.T) {
			b.t = t
			b.visitURL(site.url+"/explore/catalog", view.width, view.height, view.colorScheme)
			checkWidth(t, b, view.width)
			checkAccessibility(t, b, site)
		})
	}
	t.Run("catalog steps", func(t *testing.T) { b.t = t; checkCatalog(t, b, site) })
	b.t = t
	if len(b.problems) > 0 {
		t.Errorf("the pages violated their content security policy or logged errors:\n%q", b.problems)
	}
}

// demoSite serves the pages of a demo as the command "explore" does.
type demoSite struct {
	url, config string
	// axe is the source code of axe-core, or "" if it is not available.
	axe string
}

func exploreDemo(t *testing.T) demoSite {
	t.Helper()
	site := demoSite{config: demoOfThreeNights(t)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Must(t, err)
	site.url = "http://" + listener.Addr().String()
	g := &globals{process: hostProcess(), Flags: cli.Flags{Config: site.config, Quiet: true}}
	g.stdout, g.stderr = io.Discard, t.Output()
	wh, cfg, err := g.openWarehouse()
	harness.Must(t, err)
	pages, err := newExplorer(g, cfg, exploreWarehouse{wh: wh, config: func() config.Config { return cfg }})
	harness.Must(t, err)
	t.Cleanup(pages.Close)
	startPages(t, listener, pages.Handler())
	site.axe = installAxeCore(t)
	return site
}

// installAxeCore installs axe-core in the version that testdata/axe pins, and returns its source code.
func installAxeCore(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	harness.Must(t, os.CopyFS(dir, os.DirFS("testdata/axe")))
	if err := pinned.InstallNodePackages(t.Context(), dir); err != nil {
		t.Logf("axe-core is not used: %v", err)
		return ""
	}
	text, err := os.ReadFile(filepath.Join(dir, "node_modules/axe-core/axe.min.js"))
	harness.Must(t, err)
	return string(text)
}

// checkAccessibility checks the page with axe-core. The browser runs axe-core through the DevTools
// protocol, which the content security policy of the page does not restrict.
func checkAccessibility(t *testing.T, b *browser, site demoSite) {
	t.Helper()
	if site.axe == "" {
		return
	}
	b.eval(site.axe+";true", nil)
	var violations []struct{ ID, Impact, Help, HTML string }
	b.eval(`axe.run(document, {resultTypes: ["violations"]}).then((r) => r.violations.filter((v) => v.impact === "serious" || v.impact === "critical")
		.map((v) => ({id: v.id, impact: v.impact, help: v.help, html: v.nodes.slice(0, 3).map((n) => n.html).join(" ")})))`, &violations)
	for _, v := range violations {
		t.Errorf("axe-core finds %s (%s): %s: %s", v.ID, v.Impact, v.Help, v.HTML)
	}
}

// waitForResult is a script that waits until the address of the page contains the text %q and no
// request is running. The result of the script is the text of the page's status element.
const waitForResult = `new Promise((done) => {
	const look = () => {
		const status = document.querySelector("[role=status]");
		if (location.search.includes(%q) && status && !document.querySelector(".htmx-request")) return done(status.textContent);
		requestAnimationFrame(look);
	};
	look();
})`

// checkCatalog searches, filters, sorts and turns pages in the catalog page. The page,
// the SQL statement on the page and the CSV must have the same rows after each step but the last.
func checkCatalog(t *testing.T, b *browser, site demoSite) {
	t.Helper()
	b.visitURL(site.url+"/explore/catalog", 1400, 900, "light")
	const hostColumn = 1 // in the result of the SQL statement
	step := func(name, script, wantInAddress string) {
		t.Helper()
		b.eval(script, nil)
		var status string
		b.eval(fmt.Sprintf(waitForResult, wantInAddress), &status)
		var shown, sql, search string
		b.eval(`document.querySelector("#statement").textContent`, &sql)
		b.eval("location.search", &search)
		b.eval(`[...document.querySelectorAll("#listings tbody tr td:first-child")].map((c) => c.textContent).join("\n")`, &shown)
		records := readCSV(t, mustRun(t, "query", "--config", site.config, "--format", "csv", "--quiet", sql))
		if len(records) < 2 || !strings.HasPrefix(fmt.Sprintf("%d listings", len(records)-1), strings.Fields(status)[0]) {
			t.Errorf("%s: the page shows %q, want %d records", name, status, len(records)-1)
		}
		hosts := strings.Split(shown, "\n")
		for i, host := range hosts {
			if records[i+1][hostColumn] != host && records[i+1][hostColumn] != "" && !strings.Contains(search, "page=") {
				t.Fatalf("%s: row %d is %q, want %q as in the statement", name, i+1, host, records[i+1][hostColumn])
			}
		}
		if diff := cmp.Diff(records[1:], readCSV(t, fetchText(t, site.url+"/explore/catalog.csv"+search))[1:]); diff != "" && !strings.Contains(search, "page=") {
			t.Errorf("%s: the CSV differs (-statement +CSV):\n%s", name, diff)
		}
	}
	step("search", `document.getElementById("q").focus(); document.execCommand("insertText", false, "München")`, "q=M")
	var focused string
	b.eval("document.activeElement.id", &focused)
	if focused != "q" {
		t.Errorf("the focus after a search is on %q, want q", focused)
	}
	step("facet", `document.querySelector("[name=currency][value=USD]").click()`, "currency=USD")
	step("range", `const f = document.getElementById("price_max"); f.focus(); f.value = "5000"; f.dispatchEvent(new InputEvent("input", {bubbles: true}))`, "price_max=5000")
	step("sort", `[...document.querySelectorAll("#listings th a")].find((a) => a.textContent === "Price from").click()`, "sort=price")
	step("clear the search", `const q = document.getElementById("q"); q.focus(); q.select(); document.execCommand("delete")`, "?sort=price")
	step("page", `document.querySelector("[rel=next]").click()`, "page=2")
	b.eval("history.back()", nil)
	for b.next().Method != "Page.loadEventFired" {
	}
	var status string
	b.eval(strings.Replace(fmt.Sprintf(waitForResult, "sort=price"), `location.search`, `!location.search.includes("page=") && location.search`, 1), &status)
	if !strings.Contains(status, ", 1 to 50") {
		t.Errorf("after going back the page shows %q, want rows 1 to 50", status)
	}
}

func readCSV(t *testing.T, text string) [][]string {
	t.Helper()
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	harness.Must(t, err)
	for _, r := range records {
		for i, cell := range r { // a download prefixes cells that a spreadsheet would execute
			if len(cell) > 1 && cell[0] == '\'' && strings.ContainsRune("=+-@", rune(cell[1])) {
				r[i] = cell[1:]
			}
		}
	}
	return records
}

func fetchText(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	harness.Must(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	harness.Must(t, err)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s returned %s: %s", url, res.Status, text)
	}
	return string(text)
}
