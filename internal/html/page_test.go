package html_test

import (
	"crypto/sha256"
	"encoding/base64"
	stdhtml "html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"placementsync/internal/html"
	"placementsync/internal/stream"
)

// testPage is the data of a page with a table, a chart and the word of a state.
type testPage struct {
	html.Frame
	Table html.Table
	Chart *html.Chart
	Word  string
}

const content = `{{define "content"}}{{template "tag" .Word}}{{template "table" .Table}}{{with .Chart}}{{template "variants" .}}{{template "figure" .}}{{end}}{{end}}`

func render(t *testing.T, p testPage) string {
	t.Helper()
	parsed, err := html.Parse(fstest.MapFS{"content.html": {Data: []byte(content)}}, nil, "content.html")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := html.Render(&text, parsed, p); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

const ownScript = "let a = 1 < 2; // </p>\n"

func readAssets(t *testing.T) html.Assets {
	t.Helper()
	assets, err := html.ReadAssets(fstest.MapFS{"assets/own.js": {Data: []byte(ownScript)}, "assets/page.html": {}})
	if err != nil {
		t.Fatal(err)
	}
	return assets
}

// TestPolicyAllowsOnlyInlineAssets compares the hashes in the policy with the hashes of the style sheet
// and of the scripts in the page.
func TestPolicyAllowsOnlyInlineAssets(t *testing.T) {
	text := render(t, testPage{Frame: html.Frame{Title: "T", Scripts: []string{"page.js", "own.js", "echarts.min.js"}, Inline: readAssets(t)}})
	source := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	var scripts []string
	for _, m := range regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindAllStringSubmatch(text, -1) {
		scripts = append(scripts, source(m[1]))
	}
	style := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindStringSubmatch(text)
	want := "default-src 'none'; script-src " + strings.Join(scripts, " ") + "; style-src " + source(style[1]) + "; base-uri 'none'; form-action 'none'"
	if len(scripts) != 3 || !strings.Contains(stdhtml.UnescapeString(text), `content="`+want+`"`) {
		t.Errorf("the page with %d scripts lacks the policy %q", len(scripts), want)
	}
	if strings.Contains(text, "<link") || strings.Contains(text, " src=") {
		t.Error("the page loads another file, want only inline assets")
	}
	if licenses := (html.Frame{Inline: readAssets(t)}).Licenses(); !strings.Contains(licenses, "Apache License") {
		t.Errorf("the licenses of the inline scripts are %.40q", licenses)
	}
}

func TestLinkedPageHasNoInlineAssets(t *testing.T) {
	text := render(t, testPage{Frame: html.Frame{Title: "<T>", Name: "workbench", AssetPath: "/a/", Scripts: []string{"page.js"}, Refresh: 3,
		Tabs: []html.Tab{{Name: "One", Link: "/1"}, {Name: "Two", Link: "/2", Current: true}}}})
	for _, want := range []string{`<link rel="stylesheet" href="/a/page.css">`, `<script src="/a/page.js" defer></script>`, `content="3"`, "<title>&lt;T&gt;</title>",
		`<a href="/1">One</a><a href="/2" aria-current="page">Two</a>`, `id="theme"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, bad := range []string{"<style", "<script>", "style="} {
		if strings.Contains(text, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	if static := render(t, testPage{Frame: html.Frame{AssetPath: "/a/"}}); strings.Contains(static, "<script") || strings.Contains(static, "theme") || strings.Contains(static, "refresh") {
		t.Error("the page without scripts contains a script, or a control that needs a script")
	}
}

func TestAssetsAreRevalidated(t *testing.T) {
	assets := readAssets(t)
	for _, name := range []string{"page.html", "layout.html", "echarts.entry.js"} {
		if _, found := assets[name]; found {
			t.Errorf("the assets contain %s, want only style sheets, scripts and licenses", name)
		}
	}
	own := httptest.NewRecorder()
	assets["own.js"].ServeHTTP(own, httptest.NewRequest(http.MethodGet, "/", nil))
	if got := own.Body.String(); got != ownScript {
		t.Errorf("the served own.js is %q, want %q", got, ownScript)
	}
	etags := map[string]bool{}
	for name, mediaType := range map[string]string{"page.css": "text/css", "own.js": "text/javascript", "NOTICE": "text/plain"} {
		w := httptest.NewRecorder()
		assets[name].ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		if got := w.Result().Header.Get("Content-Type"); w.Code != http.StatusOK || got != mediaType+"; charset=utf-8" || w.Body.Len() == 0 {
			t.Errorf("%s: got status %d and %d bytes of %s, want 200 and %s", name, w.Code, w.Body.Len(), got, mediaType)
		}
		etags[w.Header().Get("ETag")] = true
		revalidation := httptest.NewRequest(http.MethodGet, "/", nil)
		revalidation.Header.Set("If-None-Match", w.Header().Get("ETag"))
		w = httptest.NewRecorder()
		assets[name].ServeHTTP(w, revalidation)
		if w.Code != http.StatusNotModified || w.Body.Len() > 0 {
			t.Errorf("%s with its ETag: got status %d and %d bytes, want 304 and none", name, w.Code, w.Body.Len())
		}
	}
	if len(etags) != 3 {
		t.Errorf("three files have the ETags %v, want a different one for each", etags)
	}
}

func TestTablesShowTheirCells(t *testing.T) {
	const evil = `<b onload="x">`
	text := render(t, testPage{Word: evil, Table: html.Table{Caption: "Prices", More: "1 of 2 rows.", Blank: []string{"a", "b"},
		Heads: []html.Head{{Label: "Name", About: "Who"}, {Label: "Price", Numeric: true}},
		Rows: []html.Row{{Currency: "USD", Cells: []html.Cell{
			{Text: evil, Link: "/listings/1", Sub: evil}, {Text: "1,234.50", Unit: "USD", Class: "n", Sort: "1234.5", Bar: "50.00%"},
			{Text: "proven", Tag: "good"}, {Text: "2026-11-01 02:00", Exact: "2026-11-01T02:00:00Z", Class: "t"},
			{Text: "example", Address: "https://example.com"}, {Text: "1…", Exact: "1 234"},
		}}}}})
	for _, want := range []string{
		`<th scope="col" title="Who">Name</th><th scope="col" class="n">Price</th>`, `<tr data-currency="USD">`,
		`<td><a href="/listings/1"><bdi>&lt;b onload=&#34;x&#34;&gt;</bdi></a><small>&lt;b onload=&#34;x&#34;&gt;</small></td>`,
		`<td class="n" data-sort="1234.5"><bdi>1,234.50</bdi> <span class="unit">USD</span><svg class="share" aria-hidden="true"><rect width="50.00%" height="4"></rect></svg></td>`,
		`<td><span class="tag good">proven</span></td>`, `<td class="t"><time datetime="2026-11-01T02:00:00Z">2026-11-01 02:00</time></td>`,
		`<a href="https://example.com" rel="noopener noreferrer nofollow" target="_blank"><bdi>example</bdi></a>`, `<bdi title="1 234">1…</bdi>`,
		"1 of 2 rows.", "No value in any row: a, b.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(text, "<b ") {
		t.Error("the text of a cell is not escaped")
	}
	if empty := render(t, testPage{Table: html.Table{Empty: "No order was paid."}}); strings.Contains(empty, "<table") || !strings.Contains(empty, "No order was paid.") {
		t.Error("the page with an empty table lacks the text Empty, or contains the table")
	}
}

func TestChartContainsItsData(t *testing.T) {
	var s html.Series
	s.Add("1000.50", "1,000.50")
	s.Add("", html.Unknown)
	s.Add("NaN", "NaN")
	s.Add("Infinity", "∞")
	var timeSeries html.Series
	timeSeries.AddAt(time.Date(2026, 11, 1, 3, 0, 0, 0, time.FixedZone("", 3600)), "2", "two </script>")
	text := render(t, testPage{Chart: &html.Chart{Title: "Prices", Unit: "USD", Kind: html.Bars, ChoiceLabel: "Tier", Variants: []html.Variant{
		{Label: "pro", Currency: "USD", Categories: []string{"a", "b", "c", "d"}, Series: []html.Series{s}}, {Label: "basic", Series: []html.Series{timeSeries}}}}})
	for _, want := range []string{
		`<figcaption>Prices, USD</figcaption>`, `<option value="0" data-currency="USD">pro</option><option value="1">basic</option>`,
		`data-chart="{&#34;title&#34;:&#34;Prices&#34;,&#34;kind&#34;:&#34;bar&#34;,&#34;unit&#34;:&#34;USD&#34;,`,
		`&#34;values&#34;:[1000.5,null,null,null],&#34;texts&#34;:[&#34;1,000.50&#34;,&#34;–&#34;,&#34;NaN&#34;,&#34;∞&#34;]`,
		`&#34;values&#34;:[2],&#34;texts&#34;:[&#34;two &lt;/script&gt;&#34;],&#34;times&#34;:[&#34;2026-11-01T02:00:00Z&#34;]`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s:\n%s", want, text)
		}
	}
	if strings.Contains(text, "</script>") {
		t.Error("the text of a value is not escaped")
	}
	// charts.js reads these members.
	full, err := html.Chart{Title: "A & B", Kind: html.Steps, Horizontal: true, Stacked: true, LogScale: true,
		Variants: []html.Variant{{Label: "pro", Heading: "Pro, USD", Currency: "USD", Categories: []string{"a"}, AxisEnd: 5,
			Note: "One value is cut.", Unfinished: true, Series: []html.Series{{Name: "s", Colour: 1, Values: []any{7.5},
				Texts: []string{"7.50"}, Links: []string{"/a"}, Times: []time.Time{time.Unix(0, 0).UTC()}}}}}}.JSON()
	const want = `{"title":"A & B","kind":"step","horizontal":true,"stacked":true,"log":true,"variants":[{"label":"pro",` +
		`"heading":"Pro, USD","currency":"USD","categories":["a"],"series":[{"name":"s","colour":1,"values":[7.5],` +
		`"texts":["7.50"],"links":["/a"],"times":["1970-01-01T00:00:00Z"]}],"axis_end":5,"note":"One value is cut.",` +
		`"unfinished":true}]}`
	if err != nil || full != want {
		t.Errorf("a chart is %s (%v), want %s", full, err, want)
	}
}

func TestStatesHaveATone(t *testing.T) {
	compare(t, "Tone", func(word string) string { return html.Tone(word) }, map[string]string{
		"exact": "good", "complete": "good", "proven": "good", "ready": "good", "repaired": "fair", "bounded": "fair", "carried": "poor", "carried_forward": "poor",
		"partial": "poor", "interrupted": "poor", "killed": "poor", "failed": "bad", "not ready": "bad", "best_effort": "none", "skipped": "none",
		"passed": "good", "held": "poor", "not run": "poor", "past its promise": "bad",
		"not proven": "none", "not read": "none", "": "", "Exact": "", `"><script>`: "", "published": "",
	})
}

func TestTableOptions(t *testing.T) {
	heads := []html.Head{{Name: "name", Label: "Name", Link: "?sort=name", Sorted: "ascending"}, {Name: "rows", Label: "Rows", Numeric: true}}
	table := html.Table{ID: "tables", Caption: "Tables", Heads: heads, RowHeads: true,
		Rows: []html.Row{{Class: "behind", Cells: []html.Cell{{Text: "listings"}, html.CountCell(1234567)}},
			{Cells: []html.Cell{{Text: "an id", Copy: "4711"}, html.SizeCell(3 << 20)}},
			{Cells: []html.Cell{{Text: "{}", Summary: "JSON"}, html.TagCell("partial")}},
			{Cells: []html.Cell{html.TagCell("published"), {}}}},
		Foot: []html.Row{{Cells: []html.Cell{{Text: "total"}, {Text: "7", Class: "n"}}}}}
	cells := []string{`<tr class="behind"><th scope="row"><bdi>listings</bdi></th><td class="n"><bdi>1,234,567</bdi></td></tr>`,
		`<td class="n"><bdi>3.0 MiB</bdi></td>`, `data-text="4711" title="4711">Copy id</button>`,
		`<details><summary>JSON</summary><bdi>{}</bdi></details>`, `<span class="tag poor">partial</span>`, `<span class="tag none">published</span>`,
		`<tfoot>` + "\n" + `<tr><td><bdi>total</bdi></td><td class="n"><bdi>7</bdi></td></tr>`}
	stacked := table
	stacked.Stacked, stacked.Folded, stacked.Swap = true, true, "all-tables"
	many := html.Table{Stacked: true, Heads: make([]html.Head, 9), Rows: []html.Row{{}}}
	for name, c := range map[string]struct {
		table      html.Table
		want, none []string
	}{
		"a plain table": {table, append(cells, `<table id="tables">`,
			`<th scope="col" aria-sort="ascending"><a href="?sort=name">Name</a></th><th scope="col" class="n">Rows</th>`),
			[]string{"<summary>Table</summary>", "data-label", "hx-"}},
		"a stacked, folded table with a part to swap": {stacked, []string{`<details class="folded"><summary>Table</summary>`, `<table id="tables" class="stacked">`,
			`<td class="n" data-label="Rows">`, `<a href="?sort=name" hx-boost="true" hx-target="#all-tables" hx-select="#all-tables" hx-swap="outerMorph">Name</a>`}, nil},
		"a stacked table with more than eight columns": {many, []string{`class="stacked many"`}, []string{" id="}},
	} {
		text := render(t, testPage{Table: c.table})
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %s:\n%s", name, want, text)
			}
		}
		for _, none := range c.none {
			if _, shown, _ := strings.Cut(text, "<table"); strings.Contains(shown, none) {
				t.Errorf("%s contains %s:\n%s", name, none, shown)
			}
		}
	}
}

func TestStyleSheetIsServed(t *testing.T) {
	w := httptest.NewRecorder()
	html.StyleSheet().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if inPage := readAssets(t)["page.css"]; w.Header().Get("Cache-Control") != "no-cache" || inPage != html.StyleSheet() {
		t.Errorf("the style sheet has Cache-Control %q, want no-cache and the style sheet of the assets", w.Header().Get("Cache-Control"))
	}
}

// TestFunctionsOfTemplates renders a value with each function that all templates have.
func TestFunctionsOfTemplates(t *testing.T) {
	const page = `{{define "content"}}{{num 1234}} {{bytes 2048}} {{share 1 3}} {{span .Wait}} {{clock .At}} {{ago .At .Later}} {{standing .Grade}}{{end}}`
	parsed, err := html.Parse(fstest.MapFS{"page.html": {Data: []byte(page)}}, nil, "page.html")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 1, 3, 0, 0, 0, time.FixedZone("", 3600))
	data := struct {
		html.Frame
		Wait      time.Duration
		At, Later time.Time
		Grade     stream.Grade
	}{Wait: time.Minute, At: at, Later: at.Add(3 * time.Hour), Grade: stream.BestEffort}
	var text strings.Builder
	if err := html.Render(&text, parsed, data); err != nil {
		t.Fatal(err)
	}
	const want = "1,234 2.0 KiB 33 % 1 min 0 s 2026-11-01 02:00 3 h 0 min not proven"
	if !strings.Contains(text.String(), want) {
		t.Errorf("the page lacks %q:\n%s", want, text.String())
	}
}
