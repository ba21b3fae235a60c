package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/testing/harness"
)

// TestTrialSQLInChromium completes, runs, corrects and cancels statements on the page "SQL" of a
// demo. It also opens a table from the page "Schema".
func TestTrialSQLInChromium(t *testing.T) {
	harness.Long(t)
	w := newExploreBrowser(t)
	t.Run("layouts", w.checkSQLLayouts)
	t.Run("type and run", w.typeSQL)
	t.Run("schema", w.openTable)
	w.t = t
	// A failed statement of typeSQL has the status 400.
	isExpected := func(problem string) bool { return strings.Contains(problem, "status of 400") }
	if bad := slices.DeleteFunc(w.problems, isExpected); len(bad) > 0 {
		t.Errorf("the pages violated their content security policy or logged errors:\n%q", bad)
	}
}

// waitFor waits until an expression is true in the page.
func (w *exploreBrowser) waitFor(expression string) {
	w.t.Helper()
	w.eval(fmt.Sprintf(`new Promise((done) => { const look = () => { if (%s) return done(true); requestAnimationFrame(look); }; look(); })`, expression), nil)
}

// openEditor opens the page "SQL" and waits for the editor. urlQuery may contain a statement.
func (w *exploreBrowser) openEditor(urlQuery string, width int, colorScheme string) {
	w.t.Helper()
	w.visitURL(w.exploreURL+"sql"+urlQuery, width, 900, colorScheme)
	w.waitFor(`"editor" in document.documentElement.dataset`)
}

// typeText replaces the statement in the editor by typing a text.
func (w *exploreBrowser) typeText(text string) {
	w.t.Helper()
	w.eval(`document.querySelector(".cm-content").focus(); document.execCommand("selectAll"); document.execCommand("delete")`, nil)
	w.call("Input.insertText", map[string]any{"text": text}, nil)
}

const enter, ctrl = 13, 2

// waitForResultText waits until no statement is running, and returns the text of the result.
func (w *exploreBrowser) waitForResultText() (text string) {
	w.t.Helper()
	w.waitFor(`document.getElementById("cancel").hidden && document.querySelector("#result > *")`)
	w.eval(`document.getElementById("result").innerText`, &text)
	return text
}

func (w *exploreBrowser) typeSQL(t *testing.T) {
	w.t = t
	w.openEditor("", 1280, "light")
	// Names of tables and columns are completed.
	w.typeText("SELECT amount FROM mart.pay")
	w.waitFor(`[...document.querySelectorAll(".cm-tooltip-autocomplete li")].some((l) => l.textContent.includes("payables"))`)
	w.eval(`new Promise((done) => setTimeout(done, 200))`, nil) // the editor ignores Enter while the list is new
	w.press("Enter", "", enter, 0)
	w.waitFor(`document.querySelector("textarea").value === "SELECT amount FROM mart.payables"`)
	w.press("Escape", "", 27, 0)

	const statement = "SELECT country, count(*) AS listings FROM product_listings GROUP BY country ORDER BY listings DESC, country"
	w.typeText(statement)
	w.press("Escape", "", 27, 0)
	w.press("Enter", "", enter, ctrl)
	w.waitFor(`document.querySelector("#result table")`)
	w.waitForResultText()
	want := readCSV(t, w.sql(t, statement))
	var got [][]string
	w.eval(`[...document.querySelectorAll("#result tbody tr")].map((r) => [...r.cells].map((c) => c.innerText.trim()))`, &got)
	for i := range want {
		for j := range want[i] {
			if want[i][j] == "" { // NULL is empty in CSV and a dash on the page
				want[i][j] = "–"
			}
		}
	}
	if diff := cmp.Diff(want[1:], got); diff != "" {
		t.Errorf("the page differs from the output of the command (-want +got):\n%s", diff)
	}
	var sqlInAddress string
	w.eval(`new URLSearchParams(location.search).get("sql")`, &sqlInAddress)
	if sqlInAddress != statement {
		t.Errorf("the address has the statement %q, want %q", sqlInAddress, statement)
	}
	var csv string
	w.eval(`(() => { const form = new URLSearchParams(new FormData(document.getElementById("statement"))); form.set("format", "csv");
		return fetch("/explore/sql", {method: "POST", body: form}).then((r) => r.text()); })()`, &csv)
	if diff := cmp.Diff(w.sql(t, statement), csv); diff != "" {
		t.Errorf("the CSV differs from the output of the command (-want +got):\n%s", diff)
	}

	// An error shows its position, and a click on the position puts the cursor there.
	w.typeText("SELECT 1,\n  nam FROM product_listings")
	w.eval(`document.querySelector("#statement .main").click()`, nil)
	w.waitFor(`document.querySelector("button[data-line]")`)
	if message := w.waitForResultText(); !strings.Contains(message, `"nam" not found`) || !strings.Contains(message, "Line 2, column 3") {
		t.Errorf("the error is shown as %q, want the unknown name and Line 2, column 3", message)
	}
	w.eval(`document.querySelector("button[data-line]").click()`, nil)
	w.waitFor(`document.activeElement.classList.contains("cm-content")`)
	w.call("Input.insertText", map[string]any{"text": "->"}, nil)
	w.waitFor(`document.querySelector("textarea").value === "SELECT 1,\n  ->nam FROM product_listings"`)

	// The memory limit of the process also stops a single call of a function.
	w.typeText("SELECT list_sum(range(400000000))")
	w.eval(`document.querySelector("#statement .main").click()`, nil)
	w.waitFor(`document.getElementById("result").innerText.includes("Out of Memory")`)

	// A statement is cancelled, and the next statement runs.
	w.typeText("SELECT count(*) FROM range(1000000000000) AS t(i) WHERE i % 7 = 3")
	w.eval(`document.querySelector("#statement .main").click()`, nil)
	w.waitFor(`!document.getElementById("cancel").hidden`)
	w.eval(`document.getElementById("cancel").click()`, nil)
	w.waitFor(`document.getElementById("state").textContent === "Cancelled"`)
	w.typeText("-- chart: bar x=day y=squares\nSELECT DATE '2026-01-01' + i::INTEGER AS day, i * i AS squares FROM range(30) AS t(i)")
	w.eval(`document.querySelector("#statement .main").click()`, nil)
	w.waitFor(`document.querySelector("#result .chart svg")`)
	// A head sorts the shown rows. Back shows the last statement that ended before the chart: the cancelled statement is
	// only in the history.
	w.eval(`document.querySelectorAll("#result th")[1].click(); document.querySelectorAll("#result th")[1].click()`, nil)
	var first string
	w.eval(`document.querySelector("#result tbody tr").cells[1].textContent.trim()`, &first)
	if first != "841" {
		t.Errorf("sorted by the squares, the largest first, the first row has %q, want 841", first)
	}
	w.eval(`history.back()`, nil)
	w.waitFor(`document.querySelector("textarea").value.startsWith("SELECT list_sum") && document.getElementById("result").innerText.includes("Out of Memory")`)
	// A click on a column beside the editor inserts its name.
	w.eval(`[...document.querySelectorAll("#tables details")].find((d) => d.querySelector("summary").textContent === "orders").open = true`, nil)
	w.eval(`[...document.querySelectorAll("#tables details[open] button")].find((b) => b.textContent === "reference_number").click()`, nil)
	w.waitFor(`document.querySelector("textarea").value.includes("reference_number")`)
	var history []string
	w.eval(`[...document.querySelectorAll("#history li")].map((l) => l.textContent)`, &history)
	if len(history) < 5 || history[4] != statement {
		t.Errorf("the history is %q, want %q in the fifth place", history, statement)
	}
}

// openTable clicks on a table in the map of the page "Schema", and runs the statement of the editor.
func (w *exploreBrowser) openTable(t *testing.T) {
	w.t = t
	w.visitURL(w.exploreURL+"schema", 1280, 900, "light")
	w.runAndWait(`[...document.querySelectorAll(".map a")].find((a) => a.textContent.trim() === "order_items").dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true}))`)
	w.waitFor(`"editor" in document.documentElement.dataset`)
	var statement string
	w.eval(`document.querySelector("textarea").value`, &statement)
	if statement != "FROM order_items LIMIT 100" {
		t.Errorf("the editor has %q, want FROM order_items LIMIT 100", statement)
	}
	w.eval(`document.querySelector("#statement .main").click()`, nil)
	w.waitFor(`document.querySelectorAll("#result tbody tr").length > 10`)
}

// checkSQLLayouts checks the width and the accessibility of the pages "SQL" and "Schema", and that the
// page "SQL" works without a script.
func (w *exploreBrowser) checkSQLLayouts(t *testing.T) {
	for _, view := range []struct {
		colorScheme string
		width       int
	}{{"light", 1280}, {"dark", 1280}, {"light", 768}, {"dark", 768}, {"light", 390}, {"dark", 390}} {
		w.t = t
		w.openEditor("?sql=SELECT+id%2C+name%2C+country%2C+domain_authority+--+a+comment%0AFROM+product_listings%0AWHERE+domain_authority+%3E+20+AND+name+LIKE+%27%25a%25%27%0ALIMIT+20", view.width, view.colorScheme)
		w.eval(`document.querySelector("#statement .main").click()`, nil)
		w.waitFor(`document.querySelector("#result table")`)
		w.eval(`document.querySelector("#result details").open = true`, nil)
		w.waitForResultText()
		checkWidth(t, w.browser, view.width)
		checkAccessibility(t, w.browser, w.site)
		w.visitURL(w.exploreURL+"schema", view.width, 900, view.colorScheme)
		w.eval(`document.querySelector("#order_items, details").open = true`, nil)
		checkWidth(t, w.browser, view.width)
		checkAccessibility(t, w.browser, w.site)
	}
	// Without scripts the text area is the editor, and the form opens a new page.
	w.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	w.visitURL(w.exploreURL+"sql?sql=SELECT+42+AS+n", 1280, 900, "light")
	w.runAndWait(`document.querySelector("#statement .main").click()`)
	w.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": false}, nil)
	var shown string
	w.eval(`document.getElementById("result").innerText`, &shown)
	if !strings.Contains(shown, "42") || !strings.Contains(shown, "1 row") {
		t.Errorf("without a script the result is %q, want 42 and 1 row", shown)
	}
}
