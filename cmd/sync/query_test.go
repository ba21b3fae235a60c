package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/cli"
	"placementsync/internal/ledger"
	"placementsync/internal/testing/harness"
)

// TestQueriesOfTheDemo compares the whole output of queries: of an earlier snapshot, of files, on a terminal, and with
// enumerations, which a named query shows as words only to a person.
func TestQueriesOfTheDemo(t *testing.T) {
	t.Parallel()
	d := newDemoHarness(t)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		harness.Must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	const kinds, newest = "SELECT max(run_id) AS run, 'FULL_FEATURE' AS kind FROM meta.runs", "20261104T020000Z"
	csv, outFile := outputOptions{format: "csv"}, filepath.Join(dir, "out.csv")
	for name, c := range map[string]struct {
		o             queryOptions
		sql           string
		quiet         bool
		width         int
		out, messages string
		wantErr       string
		outcome       ledger.Outcome
	}{
		"newest": {sql: kinds, out: "run               kind\n" + newest + "  FULL_FEATURE\n"},
		"earlier": {o: queryOptions{asOf: "2026-11-03"}, sql: kinds,
			out:      "run               kind\n20261103T020000Z  FULL_FEATURE\n",
			messages: "as of snapshot 20261103T020000Z of 2026-11-03T02:00:00Z\n"},
		"quiet": {o: queryOptions{asOf: "2026-11-03", output: csv}, sql: kinds, quiet: true,
			out: "run,kind\r\n20261103T020000Z,FULL_FEATURE\r\n"},
		"no such": {o: queryOptions{asOf: "2026-10-01"}, sql: kinds, wantErr: `"2026-10-01" is before the first snapshot`,
			outcome: ledger.Misused},
		"a file": {o: queryOptions{output: outputOptions{file: outFile}}, sql: kinds},
		"of a file": {o: queryOptions{file: file("q", "SELECT 1 AS a"), output: outputOptions{bom: true, format: "csv"}},
			out: "\ufeffa\r\n1\r\n"},
		"both": {o: queryOptions{file: "q.sql"}, sql: "SELECT 1", wantErr: "query takes either SQL or --file, not both",
			outcome: ledger.Misused},
		"safe": {sql: "SELECT content FROM read_text('" + file("text", "secret") + "')",
			wantErr: "the SQL is refused: it uses files", outcome: ledger.Failed},
		"unsafe": {o: queryOptions{unsafe: true}, sql: "SELECT content FROM read_text('" + dir + "/text')",
			out: "content\nsecret\n"},
		"named": {o: queryOptions{output: outputOptions{vertical: true}, params: []string{"top=1"}}, sql: "kinds",
			out: "-[ row 1 ]------------------------------\nkind | Full feature\n"},
		"named csv": {o: queryOptions{output: csv, params: []string{"top=1"}}, sql: "kinds", out: "kind\r\nFULL_FEATURE\r\n"},
		"cut": {sql: "kinds", out: "kind\nFull feature\n",
			messages: "There may be more rows: the parameter top is 1 (number of rows).\n"},
		"cut, quiet":       {sql: "kinds", quiet: true, out: "kind\nFull feature\n"},
		"time zone":        {o: queryOptions{output: csv}, sql: "zone", out: "zone\r\nPacific/Honolulu\r\n"},
		"important column": {sql: "wide", width: 20, out: "third\nVARCHAR\n\nthree\n"},
		"few rows": {o: queryOptions{output: outputOptions{maxRows: 1, noPager: true}}, sql: "SELECT unnest([7, 8, 9]) AS a",
			width: 40, out: "7"},
	} {
		d.out.Reset()
		d.messages.Reset()
		g := *d.g
		g.Quiet, g.width = c.quiet, c.width
		g.Config = file("config.yaml", strings.ReplaceAll(read(t, d.g.Config), "dir: ./warehouse", "dir: "+d.dir)+
			"queries: {dir: "+dir+"}\nschedule: {timezone: Pacific/Honolulu}\n")
		file("zone.sql", "-- title: Zone\n-- param: zone TIMEZONE schedule.timezone -- time zone\nSELECT $zone AS zone\n")
		file("kinds.sql", "-- title: Kinds\n-- param: top COUNT 1 -- number of rows\n"+
			"SELECT 'FULL_FEATURE' AS kind LIMIT $top\n")
		file("wide.sql", "-- title: Wide\n-- columns: first third\n"+
			"SELECT 'one9' AS first, 'two' AS second, 'three' AS third\n")
		harness.Must(t, os.RemoveAll(outFile))
		var args []string
		if c.sql != "" {
			args = []string{c.sql}
		}
		err := runQuery(t.Context(), &g, c.o, args)
		if outcome := cli.OutcomeOf(t.Context(), err); c.wantErr == "" && err != nil || c.wantErr != "" &&
			(err == nil || !strings.Contains(err.Error(), c.wantErr) || outcome != c.outcome) {
			t.Errorf("%s: got the outcome %q (%v), want %q", name, outcome, err, c.wantErr)
		}
		if c.width > 0 {
			got := regexp.MustCompile(`[^\w\n]+`).ReplaceAllString(d.out.String(), "")
			if !strings.Contains(got, c.out) || strings.Contains(got, "9") {
				t.Errorf("%s: got %q, want %q, and nothing else of the data", name, got, c.out)
			}
			continue
		}
		if diff := cmp.Diff(c.out+c.messages, d.out.String()+d.messages.String()); diff != "" {
			t.Errorf("%s: output and messages (-want +got):\n%s", name, diff)
		}
		if c.o.output.file != "" {
			if got, want := read(t, outFile), "run,kind\r\n"+newest+",FULL_FEATURE\r\n"; got != want {
				t.Errorf("%s: the file contains %q, want %q", name, got, want)
			}
		}
	}
	d.testReports(t, dir)
}

// testReports writes the report of a client on an earlier snapshot to a file, and refuses a folder.
func (d *demoHarness) testReports(t *testing.T, dir string) {
	t.Helper()
	client := "Quantum Lift"
	d.out.Reset()
	file := filepath.Join(dir, "report.html")
	harness.Must(t, runReport(t.Context(), d.g, reportOptions{file: file, profile: client, asOf: "2026-11-03"}))
	if got, want := d.out.String(), "wrote "+file+": open it in a browser\n"; got != want {
		t.Errorf("report printed %q, want %q", got, want)
	}
	page := read(t, file)
	if !strings.Contains(page, "<h1>Report for "+client) || !strings.Contains(page, ", 2026-11-03 02:00 UTC</title>") || strings.Contains(page, "placementsync query") {
		t.Errorf("the report for %s lacks its name or its time, or contains commands:\n%.2000s", client, page)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the report has the mode %v (%v), want 0644", info.Mode(), err)
	}
	if err := runReport(t.Context(), d.g, reportOptions{file: dir}); cli.OutcomeOf(t.Context(), err) != ledger.Misused {
		t.Errorf("a report into a folder ended with %v, want an error of usage", err)
	}
}
