package main

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/testing/harness"
)

// TestTrialExplorePagesInChromium uses the pages of a demo in a browser. All subtests share the browser.
func TestTrialExplorePagesInChromium(t *testing.T) {
	harness.Long(t)
	w := newExploreBrowser(t)
	t.Run("drill down and back", w.drillDown)
	t.Run("earlier snapshot", w.showEarlierSnapshot)
	t.Run("named query", w.openNamedQuery)
	t.Run("keyboard", w.useKeys)
	t.Run("click on a chart", w.clickChart)
	t.Run("layouts", w.checkLayouts)
	w.t = t
	// checkLayouts opens a page with an invalid parameter, which has the status 400.
	isExpected := func(problem string) bool {
		return strings.Contains(problem, "status of 400") && strings.Contains(problem, "p.min_listings=few")
	}
	if bad := slices.DeleteFunc(w.problems, isExpected); len(bad) > 0 {
		t.Errorf("the pages violated their content security policy or logged errors:\n%q", bad)
	}
}

// exploreBrowser is a browser with the pages of a demo.
type exploreBrowser struct {
	*browser
	site       demoSite
	exploreURL string
	// listing, order and article are the ids of records that link to one another.
	listing, order, article string
}

func newExploreBrowser(t *testing.T) *exploreBrowser {
	t.Helper()
	w := &exploreBrowser{browser: startBrowser(t), site: exploreDemo(t)}
	w.exploreURL = w.site.url + "/explore/"
	row := strings.Split(w.sql(t, `SELECT l.id, i.order_id, i.article_id FROM order_items i JOIN product_listings l ON l.id = i.product_id
		JOIN articles a ON a.id = i.article_id JOIN campaigns g ON g.id = a.campaign_id ORDER BY ALL LIMIT 1`), "\r\n")[1]
	ids := strings.Split(row, ",")
	w.listing, w.order, w.article = ids[0], ids[1], ids[2]
	w.origin = w.site.url
	return w
}

// sql returns the result of a query as CSV.
func (w *exploreBrowser) sql(t *testing.T, text string, flags ...string) string {
	t.Helper()
	return mustRun(t, append([]string{"query", "--config", w.site.config, "--quiet", "--format", "csv", text}, flags...)...)
}

// waitForPage waits for a requested page. A page from the browser's back-forward cache is shown
// without a load event.
func (w *exploreBrowser) waitForPage() {
	w.t.Helper()
	for {
		m := w.next()
		isFromCache := m.Method == "Page.frameNavigated" && strings.Contains(string(m.Params), `"BackForwardCacheRestore"`)
		if isFromCache || m.Method == "Page.loadEventFired" {
			return
		}
	}
}

// runAndWait runs a script that leaves the page, and waits for the next page.
func (w *exploreBrowser) runAndWait(script string) {
	w.t.Helper()
	w.calls++
	message := fmt.Sprintf(`{"id":%d,"method":"Runtime.evaluate","sessionId":%q,"params":{"expression":%q}}`, w.calls, w.session, script)
	if _, err := w.commands.Write(append([]byte(message), 0)); err != nil {
		w.t.Fatal(err)
	}
	w.waitForPage()
}

func (w *exploreBrowser) requirePage(path, heading string) {
	w.t.Helper()
	var location, gotHeading string
	w.eval("location.href", &location)
	w.eval(`document.querySelector("h1").textContent.trim()`, &gotHeading)
	if location != w.exploreURL+path || heading != "" && gotHeading != heading {
		w.t.Errorf("the browser is at %s with the heading %q, want %s and %q", location, gotHeading, w.exploreURL+path, heading)
	}
}

func (w *exploreBrowser) drillDown(t *testing.T) {
	w.t = t
	w.visitURL(w.exploreURL+"listings/"+w.listing, 1400, 900, "light")
	var heading string
	w.eval(`document.querySelector("h1").textContent.trim()`, &heading)
	w.runAndWait(`document.querySelector('a[href="/explore/orders/` + w.order + `"]').click()`)
	w.requirePage("orders/"+w.order, "")
	w.runAndWait(`document.querySelector('a[href="/explore/articles/` + w.article + `"]').click()`)
	w.requirePage("articles/"+w.article, "")
	w.runAndWait("history.back()")
	w.requirePage("orders/"+w.order, "")
	w.runAndWait(`document.querySelector('a[href="/explore/listings/` + w.listing + `"]').click()`)
	w.requirePage("listings/"+w.listing, heading)
}

func (w *exploreBrowser) showEarlierSnapshot(t *testing.T) {
	w.t = t
	w.visitURL(w.exploreURL+"listings/"+w.listing, 1400, 900, "light")
	w.runAndWait(`(() => { const choice = document.getElementById("as_of"); choice.selectedIndex = choice.length - 1; choice.form.requestSubmit(); })()`)
	firstRun := strings.Split(w.sql(t, "SELECT run_id FROM meta.runs ORDER BY snapshot_at"), "\r\n")[1] // after the header
	w.requirePage("listings/"+w.listing+"?as_of="+firstRun, "")
	var outlet, prices string
	w.eval(`document.querySelector('a[href^="/explore/outlets/"]').getAttribute("href")`, &outlet)
	if !strings.HasSuffix(outlet, "?as_of="+firstRun) {
		t.Errorf("the link %s does not contain the snapshot %s", outlet, firstRun)
	}
	w.eval(`[...document.querySelectorAll(".prices tbody tr")].map((r) => r.cells[1].querySelector("bdi").textContent.replaceAll(",", "")).sort().join()`, &prices)
	want := strings.Split(strings.TrimSpace(w.sql(t, "SELECT CAST(unit_amount AS DECIMAL(18, 2)) FROM product_listing_prices WHERE product_listing_id = '"+w.listing+"'", "--as-of", firstRun)), "\r\n")[1:]
	slices.Sort(want)
	if diff := cmp.Diff(strings.Join(want, ","), prices); diff != "" {
		t.Errorf("the prices of the first snapshot differ (-want +got):\n%s", diff)
	}
}

func (w *exploreBrowser) openNamedQuery(t *testing.T) {
	w.t = t
	w.visitURL(w.exploreURL+"questions", 1400, 900, "light")
	w.runAndWait(`document.querySelector('a[href="/explore/questions/price_by_segment"]').click()`)
	w.runAndWait(`(() => { const choice = document.getElementById("p.currency"); choice.value = "EUR"; choice.form.requestSubmit(); })()`)
	var search string
	w.eval("location.search", &search)
	params, err := url.ParseQuery(strings.TrimPrefix(search, "?"))
	if err != nil || params.Get("p.currency") != "EUR" {
		t.Errorf("the address does not contain the values of the form: %s", search)
	}
	var csv string
	w.eval(`fetch([...document.querySelectorAll("a.button")].find((a) => a.textContent === "CSV").href).then((r) => r.text())`, &csv)
	if diff := cmp.Diff(w.sql(t, "price_by_segment", "--param", "currency=EUR"), csv); diff != "" {
		t.Errorf("the CSV differs from the output of the command (-want +got):\n%s", diff)
	}
	var rows int
	w.eval(`document.querySelectorAll("tbody tr").length`, &rows)
	if want := min(strings.Count(csv, "\r\n")-1, 100); rows != want {
		t.Errorf("the page has %d rows, want %d as in the CSV", rows, want)
	}
}

// checkLayouts opens each kind of page at three widths and in both color schemes. Except on the report and on a
// tablet, a table must not be wider than its page. The axes of a chart must have distinct labels.
func (w *exploreBrowser) checkLayouts(t *testing.T) {
	row := strings.Split(strings.Split(w.sql(t, "SELECT c.campaign_id, g.profile_id, i.outlet_id FROM campaign_articles c JOIN campaigns g ON g.id = c.campaign_id JOIN order_items i ON i.id = c.order_item_id WHERE c.id = '"+w.article+"'"), "\r\n")[1], ",")
	for _, path := range []string{"listings/" + w.listing, "orders/" + w.order, "articles/" + w.article, "campaigns/" + row[0], "profiles/" + row[1], "outlets/" + row[2],
		"catalog", "outlets", "orders?is.status=paid&min.total=1000&sort=-total", "campaigns", "articles", "profiles", "snapshot", "report", "questions", "questions/margins", "questions/find_placements",
		"questions/weekly_throughput", "questions/commissions_by_month", "questions/payables_ageing", "questions/price_by_segment?p.min_listings=few"} {
		for _, view := range []struct {
			colorScheme string
			width       int
		}{{"light", 1280}, {"dark", 1280}, {"light", 768}, {"dark", 768}, {"light", 390}, {"dark", 390}} {
			w.t = t
			w.visitURL(w.exploreURL+path, view.width, 900, view.colorScheme)
			checkWidth(t, w.browser, view.width)
			checkAccessibility(t, w.browser, w.site)
			var clipped []string
			w.eval(`[...document.querySelectorAll(".scroll, .within")].filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.getAttribute("aria-label"))`, &clipped)
			if len(clipped) > 0 && path != "report" && view.width != 768 { // a wide table of a tablet scrolls
				t.Errorf("%s: these tables are clipped at %d pixels: %q", path, view.width, clipped)
			}
			var repeatedLabels []string
			w.eval(`[...document.querySelectorAll(".chart svg")].flatMap((svg) => {
				const labels = [...svg.querySelectorAll("text")].map((e) => e.textContent);
				return labels.filter((label, i) => /^[\d.,]+[KMB]?$|^\d{4}-/.test(label) && labels.indexOf(label) !== i);
			})`, &repeatedLabels)
			if len(repeatedLabels) > 0 && path != "report" {
				t.Errorf("%s: the labels %q of a chart are repeated at %d pixels", path, repeatedLabels, view.width)
			}
			var inlineCount int
			w.eval(`document.querySelectorAll("main script, main img, main style, main [style]:not(.chart, .chart *), main [onclick]").length`, &inlineCount)
			if inlineCount > 0 {
				t.Errorf("%s contains %d scripts, images or inline styles, want none", path, inlineCount)
			}
		}
	}
}

// press presses and releases a key, with Ctrl if modifiers is 2. text is the text that the key types. Tab has none.
func (b *browser) press(key, text string, code, modifiers int) {
	b.t.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		typed := map[string]string{"keyDown": text}[kind]
		b.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key, "code": key, "text": typed,
			"windowsVirtualKeyCode": code, "modifiers": modifiers}, nil)
	}
}

// useKeys presses at most ten keys to reach the rows of a table, and one key to reach the search.
func (w *exploreBrowser) useKeys(t *testing.T) {
	w.t = t
	for _, path := range []string{"catalog", "orders", "questions/margins"} {
		w.visitURL(w.exploreURL+path, 1280, 900, "light")
		const maxKeys = 10
		var focus string
		for keys := 1; keys <= maxKeys && !strings.HasSuffix(focus, "-rows"); keys++ {
			w.press("Tab", "", 9, 0)
			w.eval(`document.activeElement.className === "skip" ? "skip" : ""`, &focus)
			if focus == "skip" {
				keys++
				w.press("Enter", "\r", enter, 0)
			}
			w.eval(`document.activeElement.id`, &focus)
		}
		if !strings.HasSuffix(focus, "-rows") {
			t.Errorf("%s: after %d keys the focus is at %q, want the rows of the table", path, maxKeys, focus)
		}
		w.press("/", "/", 191, 0)
		w.eval(`document.activeElement.id + document.activeElement.value`, &focus)
		if focus != "q" {
			t.Errorf("%s: after a slash the focus is at %q, want the empty search", path, focus)
		}
	}
}

// clickChart clicks on the last bar of a chart. The page must then show only the row of this bar.
func (w *exploreBrowser) clickChart(t *testing.T) {
	w.t = t
	w.visitURL(w.exploreURL+"questions/order_value_by_month", 1280, 900, "light")
	var point []float64
	w.eval(`new Promise((done) => {
		const look = () => {
			const bars = [...document.querySelectorAll(".chart svg path")].filter((p) => p.getAttribute("fill") === "var(--c0)");
			if (bars.length === 0) return requestAnimationFrame(look);
			bars.at(-1).scrollIntoView({ behavior: "instant", block: "center" });
			const box = bars.at(-1).getBoundingClientRect();
			done([box.x + box.width / 2, box.y + box.height / 2]);
		};
		look();
	})`, &point)
	for _, kind := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
		w.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": point[0], "y": point[1], "button": "left", "clickCount": 1}, nil)
	}
	w.waitForPage()
	var shown string
	w.eval(`location.search + " " + [...document.querySelectorAll("#table-rows tr")].map((r) => r.cells[0].textContent).join()`, &shown)
	month := strings.TrimSpace(w.sql(t, "SELECT max(strftime(date_paid, '%Y-%m')) FROM orders WHERE deleted_at IS NULL"))
	month = month[strings.LastIndex(month, "\n")+1:]
	if want := fmt.Sprintf("?max.month=%s-01&min.month=%[1]s-01 %[1]s", month); shown != want {
		t.Errorf("a click on the last bar shows %q, want %q", shown, want)
	}
}
