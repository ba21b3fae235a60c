package daemon

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	fixtures "placementsync/internal/testing/harness"
)

var update = flag.Bool("update", false, "write docs/metrics.md instead of comparing it")

// TestMetricsPage compares docs/metrics.md with the metrics.
func TestMetricsPage(t *testing.T) {
	t.Parallel()
	const file = "../../docs/metrics.md"
	const head = "# Metrics\n\nFor operators: the metrics of `/metrics`. `make docs` writes this page. " +
		"[Operations](operations.md#metrics) explains how to read them.\n\n" +
		"| metric | labels | meaning |\n|---|---|---|\n"
	var rows []string
	for _, m := range newCollector(nil).metrics {
		rows = append(rows, fmt.Sprintf("| `%s%s` | %s | %s |\n", metricPrefix, m.name, strings.Join(m.labels, ", "), m.help))
	}
	slices.Sort(rows)
	want := head + strings.Join(rows, "")
	if *update {
		fixtures.Must(t, os.WriteFile(file, []byte(want), 0o644))
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%s differs from the metrics (%v): run make docs", file, err)
	}
}
