package bench_test

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// pageTemplate contains the hand-written parts of docs/performance.md.
//
//go:embed performance.tmpl.md
var pageTemplate string

// renderPage returns docs/performance.md: the hand-written parts with the measurements.
func renderPage(results map[string]result) string {
	parts := map[string]string{"main": mainFiguresTable(results), "numbers": otherFiguresTable(results), "stages": stageTable(results["stages"]),
		"fastest": fastestComparisons(results), "peers": peerTables(results), "measured": conditionsTable(results)}
	text := pageTemplate
	for name, part := range parts {
		text = strings.ReplaceAll(text, "<!-- "+name+" -->\n", part)
	}
	return text
}

// mainFiguresTable compares the main figures with their limits, and marks figures that were not measured.
func mainFiguresTable(results map[string]result) string {
	figures := figuresOf(results)
	var b strings.Builder
	b.WriteString("| figure | limit | measured | lowest to highest | result |\n|---|---|---|---|---|\n")
	for _, m := range mainFigures() {
		f, median := figures[m.Name], ""
		if len(f.Runs) > 0 {
			median = formatFigure(f.median(), m.Unit)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", m.Name, m.limitText(), median, f.spread(), m.compare(f))
	}
	return b.String()
}

// figuresOf returns all figures by name. If Figures and OtherFigures of a section contain the same
// name, the map contains the figure in Figures.
func figuresOf(results map[string]result) map[string]figure {
	figures := map[string]figure{}
	for _, sec := range sections() {
		for _, f := range slices.Concat(results[sec.name].OtherFigures, results[sec.name].Figures) {
			figures[f.Name] = f
		}
	}
	return figures
}

// fastestComparisons compares a first night with the fastest mode of DuckDB. Like the program, this mode
// does not keep the order of the input. The default mode, which keeps the order, has more work.
func fastestComparisons(results map[string]result) string {
	figures := figuresOf(results)
	var parts []string
	for _, comparison := range []struct{ against, wall, cpu string }{
		{"DuckDB alone", fastestFigureName("wall"), fastestFigureName("CPU")},
		{curl + ", " + small, curlFigureName(fastCurl, small, "wall"), curlFigureName(fastCurl, small, "CPU")},
		{curl + ", " + large, curlFigureName(fastCurl, large, "wall"), curlFigureName(fastCurl, large, "CPU")},
	} {
		if wall, cpu := figures[comparison.wall], figures[comparison.cpu]; len(wall.Runs) > 0 && len(cpu.Runs) > 0 {
			parts = append(parts, fmt.Sprintf("%s times the wall time and %s times the CPU time of %s",
				formatFigure(wall.median(), "x"), formatFigure(cpu.median(), "x"), comparison.against))
		}
	}
	if len(parts) == 0 {
		return "DuckDB at its fastest was not measured yet.\n"
	}
	return "Compared with DuckDB at its fastest, a first night takes\n\n- " + strings.Join(parts, "\n- ") + "\n"
}

func otherFiguresTable(results map[string]result) string {
	var b strings.Builder
	b.WriteString("| figure | median | lowest to highest |\n|---|---|---|\n")
	for _, sec := range sections() {
		for _, f := range results[sec.name].OtherFigures {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", f.Name, formatFigure(f.median(), f.Unit), f.spread())
		}
	}
	return b.String()
}

// spread returns the lowest and the highest value of the runs, or "" for fewer than two runs.
func (f figure) spread() string {
	if len(f.Runs) < 2 {
		return ""
	}
	low, high := f.Runs[0], f.Runs[0]
	for _, v := range f.Runs {
		low, high = min(low, v), max(high, v)
	}
	return formatFigure(low, f.Unit) + " to " + formatFigure(high, f.Unit)
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

// conditionsTable shows the date and the machine of each section.
func conditionsTable(results map[string]result) string {
	var b strings.Builder
	b.WriteString("| section | listings | runs | date | commit | machine | load before | took | Go | DuckDB |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, sec := range sections() {
		if r, ok := results[sec.name]; ok {
			fmt.Fprintf(&b, "| %s | %d | %d | %s | %s | %s, %d cores, %s, %s | %s | %s | %s | %s |\n", sec.name, r.Listings, r.Runs, r.Date,
				r.Commit, r.CPU, r.Cores, formatMemory(r.RAM), r.System, r.Load, formatMinutes(r.Seconds), strings.TrimPrefix(r.Go, "go"), r.DuckDB)
		}
	}
	return b.String()
}

// formatMinutes returns the duration of a section as text, or "" if it is unknown.
func formatMinutes(seconds float64) string {
	if seconds == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f min", seconds/60)
}

// formatMemory converts a size from /proc/meminfo, such as "24689708 kB", to gibibytes. These kB are
// kibibytes.
func formatMemory(text string) string {
	kibibytes, err := strconv.ParseFloat(strings.TrimSuffix(text, " kB"), 64)
	if err != nil {
		return text
	}
	return fmt.Sprintf("%.0f GiB", kibibytes/(1<<20))
}

// peerTables returns a table for each size. The tables compare the peers with this program.
func peerTables(results map[string]result) string {
	var b strings.Builder
	for _, r := range []result{results[peersSmall], results[peersLarge]} {
		if len(r.Peers) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%d product listings:\n\n| | wall time | CPU time | peak memory | tables | rows | runs |\n|---|---|---|---|---|---|---|\n", r.Peers[0].Listings)
		for _, p := range r.Peers {
			b.WriteString(p.row() + "\n")
		}
		b.WriteString("\n")
	}
	if b.Len() == 0 {
		return "Not measured yet: `make bench SECTIONS=peers`.\n"
	}
	return strings.TrimSuffix(b.String(), "\n")
}
