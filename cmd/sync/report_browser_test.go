package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"

	"placementsync/internal/testing/harness"
)

// TestTrialReportInChromium opens the report of a demo from the disk, in both themes and on wide
// and narrow screens.
func TestTrialReportInChromium(t *testing.T) {
	harness.Long(t)
	b := startBrowser(t)
	file := filepath.Join(t.TempDir(), "report.html")
	mustRun(t, "report", "--config", demoOfThreeNights(t), "-o", file)
	for _, view := range []struct {
		name, colorScheme string
		width, height     int
	}{
		{"wide-light", "light", 1400, 900}, {"wide-dark", "dark", 1400, 900},
		{"phone-light", "light", 390, 844}, {"phone-dark", "dark", 390, 844},
	} {
		t.Run(view.name, func(t *testing.T) {
			b.t = t
			b.visitReport(file, view.width, view.height, view.colorScheme)
			checkCharts(t, b)
			checkWidth(t, b, view.width)
		})
	}
	t.Run("controls", func(t *testing.T) { b.t = t; checkControls(t, b) })
	t.Run("print", func(t *testing.T) { b.t = t; checkPrint(t, b, file) })
	t.Run("first paint", func(t *testing.T) { b.t = t; checkFirstPaint(t, b, file) })
	t.Run("client", func(t *testing.T) {
		b.t = t
		config, file := demoOfThreeNights(t), filepath.Join(t.TempDir(), "client.html")
		mustRun(t, "report", "--config", config, "--profile", scalar(t, config, "select min(id) from profiles"), "-o", file)
		const width, height = 390, 844
		b.visitReport(file, width, height, "light")
		checkWidth(t, b, width)
	})
	b.t = t
	if len(b.problems) > 0 {
		t.Errorf("the page violated its content security policy or logged errors:\n%q", b.problems)
	}
}

// mustRun runs the program in this process and returns its standard output.
func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	var out, stderr bytes.Buffer
	if code := executeArgs(t.Context(), args, processWithoutEnvironment(&out, &stderr)); code != 0 {
		t.Fatalf("placementsync %q ended with %d, want 0:\n%s", args, code, stderr.String())
	}
	return out.String()
}

func checkCharts(t *testing.T, b *browser) {
	t.Helper()
	var charts []struct {
		ID            string
		Width, Height float64
		Shapes        int
	}
	b.eval(`[...document.querySelectorAll(".chart")].map((c) => {
		const svg = c.querySelector("svg"), box = svg ? svg.getBoundingClientRect() : {width: 0, height: 0};
		return {id: c.parentElement.id, width: box.width, height: box.height, shapes: svg ? svg.querySelectorAll("path").length : 0};
	})`, &charts)
	const minCharts = 10
	if len(charts) < minCharts {
		t.Errorf("the page has %d charts, want %d or more", len(charts), minCharts)
	}
	for _, c := range charts {
		if c.Width < 200 || c.Height < 60 || c.Shapes < 3 {
			t.Errorf("%s is %.0f by %.0f pixels with %d shapes, want at least 200 by 60 pixels with 3 shapes", c.ID, c.Width, c.Height, c.Shapes)
		}
	}
}

// checkPrint prints the page. A printed chart must fill its panel. It must have a heading, because the
// menu that chooses the chart is not printed.
func checkPrint(t *testing.T, b *browser, file string) {
	t.Helper()
	b.visitReport(file, 1400, 900, "light")
	var pdf struct{ Data []byte }
	b.call("Page.printToPDF", map[string]any{}, &pdf)
	const minPages, maxPages, minCharts = 5, 16, 5
	if pages := bytes.Count(pdf.Data, []byte("/Type /Page\n")); pages < minPages || pages > maxPages {
		t.Errorf("the report has %d pages on paper, want %d to %d", pages, minPages, maxPages)
	}
	var charts []struct {
		ID, Heading string
		WidthRatio  float64
	}
	b.eval(`(() => {
		dispatchEvent(new Event("beforeprint"));
		const found = [...document.querySelectorAll(".panel:has(.chart)")].map((p) => ({ id: p.id, heading: p.querySelector(".heading").textContent,
			widthRatio: p.querySelector("svg").getBoundingClientRect().width / p.clientWidth }));
		dispatchEvent(new Event("afterprint"));
		return found;
	})()`, &charts)
	for _, c := range charts {
		if c.WidthRatio < 0.9 || c.WidthRatio > 1 || c.Heading == "" {
			t.Errorf("%s fills %.2f of its panel on paper and has the heading %q, want 0.90 to 1.00 and a heading", c.ID, c.WidthRatio, c.Heading)
		}
	}
	if len(charts) < minCharts {
		t.Errorf("the page has %d charts on paper, want at least %d", len(charts), minCharts)
	}
}

// checkWidth checks that the page does not scroll horizontally.
func checkWidth(t *testing.T, b *browser, width int) {
	t.Helper()
	var got int
	b.eval("document.documentElement.scrollWidth", &got)
	if got > width {
		t.Errorf("the page is %d pixels wide, want at most %d, the width of the window", got, width)
	}
}

func checkControls(t *testing.T, b *browser) {
	t.Helper()
	for _, c := range []struct{ claim, expression, want string }{
		{"a column heading sorts its table", `(() => {
			const table = [...document.querySelectorAll("table")].find((t) => t.caption.textContent === "Grades of the streams");
			const column = [...table.tHead.rows[0].cells].findIndex((c) => c.textContent === "Rows");
			table.tHead.rows[0].cells[column].querySelector("button").click();
			const rows = [...table.tBodies[0].rows].map((r) => r.cells[column].dataset.sort).filter((v) => v !== undefined).map(Number);
			return table.tHead.rows[0].cells[column].ariaSort + " " + rows.every((v, i) => i === 0 || rows[i - 1] >= v);
		})()`, "descending true"},
		{"the theme can be chosen", `(() => {
			const schemes = [], button = document.getElementById("theme");
			for (let i = 0; i < 3; i++) { button.click(); schemes.push(getComputedStyle(document.documentElement).colorScheme); }
			return schemes.join();
		})()`, "light,dark,light dark"},
		{"the menu of a panel draws another chart", `(() => {
			const select = document.querySelector("select.variants");
			const chart = select.closest(".panel").querySelector(".chart"), before = chart.innerHTML;
			select.value = "1";
			select.dispatchEvent(new Event("change", {bubbles: true}));
			return String(chart.innerHTML !== before);
		})()`, "true"},
		{"a chosen currency applies to the whole page", `(() => {
			const menu = document.getElementById("currency");
			menu.value = "EUR";
			menu.dispatchEvent(new Event("change"));
			const isVisible = (e) => e.offsetParent !== null;
			const rows = [...document.querySelectorAll("tr[data-currency]")].filter((r) => !r.classList.contains("away"));
			const options = [...document.querySelectorAll("select.variants")].filter(isVisible).map((s) => s.selectedOptions[0].dataset.currency || "EUR");
			return [location.hash, rows.length > 5, rows.every((r) => r.dataset.currency === "EUR"), options.length > 2, options.every((o) => o === "EUR")].join();
		})()`, "#currency=EUR,true,true,true,true"},
		{"a link to a section keeps the currency", `document.querySelector(".jump a[href^='#prices']").getAttribute("href")`, "#prices&currency=EUR"},
		{"the address chooses the currency", `new Promise((done) => {
			addEventListener("hashchange", () => setTimeout(() => done([document.getElementById("currency").value,
				[...document.querySelectorAll("tr[data-currency].away")].length > 0, Math.abs(document.getElementById("prices").getBoundingClientRect().top) < 200].join()), 700), { once: true });
			location.hash = "#prices&currency=USD";
		})`, "USD,true,true"},
		{"a cut table shows a message if no row has the chosen currency", `(() => {
			const menu = document.getElementById("currency"), panel = document.getElementById("price-changes");
			const rows = [...panel.querySelectorAll("tr[data-currency]")], before = rows.map((r) => r.dataset.currency);
			rows.forEach((r) => { r.dataset.currency = "USD"; });
			const choose = (currency) => { menu.value = currency; menu.dispatchEvent(new Event("change")); };
			choose("EUR");
			const message = panel.querySelector(".more") ? panel.querySelector(".nothing").textContent : "the table is not cut";
			rows.forEach((r, i) => { r.dataset.currency = before[i]; });
			choose("");
			return message;
		})()`, "No amounts in EUR in the rows shown."},
		{"names with markup are text", `String(document.querySelectorAll("main b:not(.change b), main script, main img").length)`, "0"},
	} {
		var got string
		b.eval(c.expression, &got)
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.claim, got, c.want)
		}
	}
}

// firstPaintScript is a script with the time of the first paint in milliseconds as its result.
const firstPaintScript = `new Promise((done) => new PerformanceObserver((list) => {
	for (const e of list.getEntries()) if (e.name === "first-contentful-paint") done(e.startTime);
}).observe({type: "paint", buffered: true}))`

// checkFirstPaint measures the time of the first paint three times. If PLACEMENTSYNC_BENCH
// is set, the best time must be within the limit. Times on a busy machine are not reliable.
func checkFirstPaint(t *testing.T, b *browser, file string) {
	t.Helper()
	const tries, maxMilliseconds = 3, 1000.0
	best := math.Inf(1)
	for range tries {
		b.visitReport(file, 1400, 900, "light")
		var milliseconds float64
		b.eval(firstPaintScript, &milliseconds)
		best = min(best, milliseconds)
	}
	if best > maxMilliseconds && os.Getenv("PLACEMENTSYNC_BENCH") != "" {
		t.Errorf("the first paint was after %.0f ms, want at most %.0f", best, maxMilliseconds)
	}
	t.Logf("first paint after %.0f ms", best)
}
