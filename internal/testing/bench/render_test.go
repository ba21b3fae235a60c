package bench_test

import (
	"strings"
	"testing"
)

// requireLines fails for each line that a page does not contain.
func requireLines(t *testing.T, page string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("the page lacks the line\n%s", line)
		}
	}
}

func TestPageWithoutMeasurements(t *testing.T) {
	page := renderPage(nil)
	if strings.Contains(page, "<!--") {
		t.Error("the page contains an unfilled placeholder")
	}
	if strings.Contains(page, "|\n\n|") {
		t.Error("a table of the page contains a blank line")
	}
	requireLines(t, page, "Not measured yet: `make bench SECTIONS=peers`.",
		"| first night against DuckDB alone, CPU time |  |  |  | not measured |",
		"| 429s caused | at most 0 |  |  | not measured |")
	if got := strings.Count(page, "Not measured yet"); got != 1 {
		t.Errorf("the page contains \"Not measured yet\" %d times, want once", got)
	}
	if got := strings.Count(page, "| not measured |"); got != len(mainFigures()) {
		t.Errorf("%d main figures are not measured, want all %d", got, len(mainFigures()))
	}
}

func TestPageWithMeasurements(t *testing.T) {
	all := []peerResult{
		{Name: thisProgram, Listings: 1000, Wall: []float64{4, 5, 6}, CPU: []float64{6, 6, 6}, Peak: []float64{400 * mebibyte, 0, 500 * mebibyte}, counts: counts{Tables: 5, Rows: 7000}},
		{Name: dlt, Version: "1.31.0", Listings: 1000, Wall: []float64{40, 45, 72}, CPU: []float64{24, 24, 30}, Peak: []float64{600 * mebibyte}, counts: counts{Tables: 6, Rows: 7100}},
		{Name: curl, Listings: 1000, Wall: []float64{4, 5, 8}, CPU: []float64{6, 6, 6}, Peak: []float64{600 * mebibyte}, counts: counts{Tables: 1, Rows: 1000}},
		{Name: fastCurl, Listings: 1000, Wall: []float64{2, 2, 2}, CPU: []float64{2, 2, 2}, counts: counts{Tables: 1, Rows: 1000}},
		{Name: thisProgram, Listings: 10000, Wall: []float64{30}, CPU: []float64{40}, Peak: []float64{700 * mebibyte}, counts: counts{Tables: 5, Rows: 70000}},
	}
	page := renderPage(map[string]result{
		"nights": {findings: findings{OtherFigures: []figure{{Name: fastestFigureName("wall"), Unit: "x", Runs: []float64{1.5}},
			{Name: fastestFigureName("CPU"), Unit: "x", Runs: []float64{2}}}}},
		peersSmall: {findings: findings{Peers: all[:4], Figures: peerFigures(small, all[:4]), OtherFigures: curlFigures(fastCurl, small, all[:4])}},
		peersLarge: {findings: findings{Peers: all[4:]}},
		"tiny": {conditions: conditions{Date: "2026-11-22", Commit: "abc", CPU: "Some CPU", Cores: 2, RAM: "25165824 kB",
			System: "linux/amd64", Go: "go1.26.8", DuckDB: "v1.5.5", Listings: 1000, Runs: 3, Load: "0.10", Seconds: 90}},
		"limited": {findings: findings{Figures: []figure{{Name: "allowed rate used", Runs: []float64{98.96}}, {Name: "429s caused", Runs: []float64{3, 0, 2}}}}},
		"demo":    {findings: findings{Figures: []figure{{Name: "DuckDB file of the demo", Runs: []float64{12}}}}},
	})
	requireLines(t, page,
		"| tiny | 1000 | 3 | 2026-11-22 | abc | Some CPU, 2 cores, 24 GiB, linux/amd64 | 0.10 | 1.5 min | 1.26.8 | v1.5.5 |",
		"Compared with DuckDB at its fastest, a first night takes\n\n- 1.50 times the wall time and 2.00 times the CPU time of DuckDB alone\n"+
			"- 2.50 times the wall time and 3.00 times the CPU time of curl and DuckDB, at a tenth of the listings\n",
		"| this program against curl and DuckDB at its fastest, wall time, at a tenth of the listings | 2.50 | 2.00 to 3.00 |",
		"1000 product listings:", "10000 product listings:",
		"| this program | 5.00 s | 6.00 s | 400 MiB | 5 | 7000 | 3 |",
		"| dlt (1.31.0) | 45.00 s | 24.00 s | 600 MiB | 6 | 7100 | 3 |",
		"| curl and DuckDB | 5.00 s | 6.00 s | 600 MiB | 1 | 1000 | 3 |",
		"| this program | 30.00 s | 40.00 s | 700 MiB | 5 | 70000 | 1 |",
		"| dlt against this program, wall time, at a tenth of the listings |  | 10.00 | 9.00 to 12.00 |  |",
		"| dlt against this program, CPU time, at a tenth of the listings |  | 4.00 | 4.00 to 5.00 |  |",
		"| this program against curl and DuckDB, wall time, at a tenth of the listings |  | 1.00 | 0.75 to 1.00 |  |",
		"| this program against curl and DuckDB, CPU time, at all listings |  |  |  | not measured |",
		"| allowed rate used | at least 99.0 % | 99.0 % |  | within |",
		"| 429s caused | at most 0 | 2 | 0 to 3 | missed by 2 |",
		"| DuckDB file of the demo | at most 10 MB | 12 MB |  | missed by 20 % |")
	if strings.Contains(page, "Not measured yet") {
		t.Error(`the page contains "Not measured yet", although all peers were measured`)
	}
}

// TestMainFiguresAreMeasured checks the sections nights, wire, peers and lake: each of their Figures
// must be a main figure. The first eight main figures and those of dlt, curl and the lake must be
// among them.
func TestMainFiguresAreMeasured(t *testing.T) {
	measured := map[string]bool{}
	night := outcome{usage: usage{Wall: 1}}
	figures := nightFindings([]usage{{Wall: 1}}, []usage{{Wall: 1}}, []outcome{night}, []outcome{night}).Figures
	figures = append(figures, wireFindings(map[string][]outcome{"": {night}, "gzip": {night}, "zstd": {night}}).Figures...)
	figures = append(figures, peerFigures(small, nil)...)
	figures = append(figures, peerFigures(large, nil)...)
	figures = append(figures, lakeFindings(nil, nil, nil).Figures...)
	for _, f := range figures {
		measured[f.Name] = true
		if _, ok := mainFigureOf(f.Name); !ok {
			t.Errorf("the figure %q is not a main figure: add it to OtherFigures", f.Name)
		}
	}
	for _, m := range mainFigures()[:8] { // of the sections "nights" and "wire"
		if !measured[m.Name] {
			t.Errorf("no section measures %q", m.Name)
		}
	}
	for _, m := range mainFigures() {
		if (strings.Contains(m.Name, "dlt") || strings.Contains(m.Name, "curl") || strings.Contains(m.Name, "lake")) && !measured[m.Name] {
			t.Errorf("no section measures %q", m.Name)
		}
	}
}
