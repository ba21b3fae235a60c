package bench_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// conditions describe the machine and the program of a measurement.
type conditions struct {
	Date     string `json:"date"`
	Commit   string `json:"commit"`
	CPU      string `json:"cpu"`
	Cores    int    `json:"cores"`
	RAM      string `json:"ram"`
	System   string `json:"system"`
	Go       string `json:"go"`
	DuckDB   string `json:"duckdb"`
	Listings int    `json:"listings"`
	Runs     int    `json:"runs"`
	// Load is the load average of the minute before the measurement.
	Load string `json:"load"`
	// Seconds is the duration of the section.
	Seconds float64 `json:"seconds,omitempty"`
}

// result is the stored result of a section.
type result struct {
	conditions
	findings
}

func readConditions(t *testing.T, s settings) conditions {
	t.Helper()
	return conditions{
		Date: time.Now().UTC().Format(time.DateOnly), Commit: outputOf(t, "git", "describe", "--always", "--dirty", "--exclude=*"),
		CPU: valueOfLine("/proc/cpuinfo", "model name"), Cores: runtime.NumCPU(), RAM: valueOfLine("/proc/meminfo", "MemTotal"),
		System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), DuckDB: duckDBVersion(t),
		Listings: s.listings, Runs: s.runs, Load: firstWord("/proc/loadavg"),
	}
}

func outputOf(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// valueOfLine returns the value of a "name : value" line, or "unknown" if there is no such line.
func valueOfLine(path, name string) string {
	data, _ := os.ReadFile(path)
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func firstWord(path string) string {
	data, _ := os.ReadFile(path)
	if words := strings.Fields(string(data)); len(words) > 0 {
		return words[0]
	}
	return "unknown"
}

// storeResult stores the result of a section beside the results of other sections, and writes
// docs/performance.md.
func storeResult(t *testing.T, docs, name string, r result) {
	t.Helper()
	path := filepath.Join(docs, "performance.json")
	all := readResults(t, path)
	all[name] = r
	must(t, writeJSON(path, all))
	writePage(t, docs, all)
}

func readResults(t *testing.T, path string) map[string]result {
	t.Helper()
	all := map[string]result{}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return all
	}
	must(t, err)
	must(t, json.Unmarshal(data, &all))
	return all
}

// TestRenderPerformance writes docs/performance.md again from the stored results. It is run by hand after the
// template was edited.
func TestRenderPerformance(t *testing.T) {
	docs := os.Getenv(docsVar)
	if docs == "" || os.Getenv(sectionsVar) != "" {
		t.Skipf("writes the page only if %s is set and no sections are selected", docsVar)
	}
	writePage(t, docs, readResults(t, filepath.Join(docs, "performance.json")))
}

func writePage(t *testing.T, docs string, all map[string]result) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(docs, "performance.md"), []byte(renderPage(all)), 0o644))
	if result, ok := all["year"]; ok {
		must(t, os.WriteFile(filepath.Join(docs, "performance-year.svg"), []byte(chart(result.Days)), 0o644))
	}
}

// formatTable formats the findings of a section for the terminal.
func formatTable(f findings) string {
	var b strings.Builder
	for _, figure := range f.Figures {
		m, _ := mainFigureOf(figure.Name)
		fmt.Fprintf(&b, "%-70s %12s  %-16s %s\n", figure.Name, formatFigure(figure.median(), figure.Unit), m.limitText(), m.compare(figure))
	}
	for _, figure := range f.OtherFigures {
		fmt.Fprintf(&b, "%-70s %12s\n", figure.Name, formatFigure(figure.median(), figure.Unit))
	}
	for _, s := range f.Stages {
		fmt.Fprintf(&b, "%-70s %8.2f CPU s %8.2f s\n", s.Name, s.CPU, s.Wall)
	}
	for _, p := range f.Peers {
		fmt.Fprintf(&b, "%s\n", p.row())
	}
	return b.String()
}

// announce logs the start of a section and its expected duration.
func (sec section) announce(t *testing.T, s settings) {
	t.Helper()
	duration := fmt.Sprintf("about %s with the default settings", formatMinutes(sec.expectedSeconds))
	if s.docs != "" {
		if r := readResults(t, filepath.Join(s.docs, "performance.json"))[sec.name]; r.Seconds > 0 {
			duration = fmt.Sprintf("the last measurement of %d listings and %d runs took %s", r.Listings, r.Runs, formatMinutes(r.Seconds))
		}
	}
	t.Logf("%s begins at %s with %d listings and %d runs: %s", sec.name, time.Now().UTC().Format(time.TimeOnly), s.listings, s.runs, duration)
}
