package bench_test

import (
	_ "embed"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// words are the parts of the page that no machine can write.
//
//go:embed performance.tmpl.md
var words string

// order is that of the sections on the page.
func order() []string { return []string{"nights", "large", "decode", "limited", "tiny", "year"} }

// writePage fills the page's words with what was measured.
func writePage(out io.Writer, all map[string]result) {
	parts := map[string]string{"goals": goals(all), "numbers": numbers(all), "stages": stageTable(all["stages"]), "measured": measured(all)}
	text := words
	for name, part := range parts {
		text = strings.ReplaceAll(text, "<!-- "+name+" -->\n", part)
	}
	fmt.Fprint(out, text)
}

func goals(all map[string]result) string {
	var b strings.Builder
	b.WriteString("| what | goal | measured | lowest to highest | |\n|---|---|---|---|---|\n")
	for _, name := range order() {
		for _, f := range all[name].Figures {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", f.What, f.bound(), shown(f.median(), f.Unit), f.spread(), verdict(f))
		}
	}
	return b.String()
}

func numbers(all map[string]result) string {
	var b strings.Builder
	b.WriteString("| what | median | lowest to highest |\n|---|---|---|\n")
	for _, name := range order() {
		for _, f := range all[name].Numbers {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", f.What, shown(f.median(), f.Unit), f.spread())
		}
	}
	return b.String()
}

// spread is the range of the runs; empty for a single one.
func (f figure) spread() string {
	if len(f.Runs) < 2 {
		return ""
	}
	low, high := f.Runs[0], f.Runs[0]
	for _, v := range f.Runs {
		low, high = min(low, v), max(high, v)
	}
	return shown(low, f.Unit) + " to " + shown(high, f.Unit)
}

func stageTable(r result) string {
	var sum float64
	for _, s := range r.Stages {
		sum += s.CPU
	}
	var b strings.Builder
	b.WriteString("| stage | CPU s | share | wall s |\n|---|---|---|---|\n")
	for _, s := range r.Stages {
		wall := ""
		if s.Wall > 0 {
			wall = strconv.FormatFloat(s.Wall, 'f', 2, 64)
		}
		fmt.Fprintf(&b, "| %s | %.2f | %.0f %% | %s |\n", s.Name, s.CPU, 100*s.CPU/sum, wall)
	}
	return b.String()
}

// measured says when and on what each section was measured.
func measured(all map[string]result) string {
	var b strings.Builder
	b.WriteString("| section | listings | runs | date | commit | machine | load before | Go | DuckDB |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, name := range append(order(), "stages") {
		if r, ok := all[name]; ok {
			fmt.Fprintf(&b, "| %s | %d | %d | %s | %s | %s, %d cores, %s, %s | %s | %s | %s |\n", name, r.Listings, r.Runs, r.Date,
				r.Commit, r.CPU, r.Cores, memory(r.RAM), r.System, r.Load, strings.TrimPrefix(r.Go, "go"), r.DuckDB)
		}
	}
	return b.String()
}

// memory turns "24689708 kB" into gibibytes.
func memory(text string) string {
	kilobytes, err := strconv.ParseFloat(strings.TrimSuffix(text, " kB"), 64)
	if err != nil {
		return text
	}
	return fmt.Sprintf("%.0f GiB", kilobytes/mebibyte)
}
