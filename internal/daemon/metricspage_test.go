package daemon

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"placementsync/internal/ledger"
	fixtures "placementsync/internal/testing/harness"
)

var update = flag.Bool("update", false, "write docs/metrics.md instead of comparing it")

// TestCopiedStatusDoesNotChange changes the state after it was copied for a page, and copies it again.
func TestCopiedStatusDoesNotChange(t *testing.T) {
	t.Parallel()
	s := &state{d: &Daemon{cfg: Config{Now: time.Now}}, ledgerReadAt: time.Now(), status: status{Missed: map[string]int{}, counts: newCounts(nil)}}
	s.d.currentSettings.Store(&Settings{FollowUpKinds: []string{ledger.Backup}})
	s.FollowUps = []ledger.FollowUp{{Last: ledger.Run{Kind: ledger.Lake}}, {Last: ledger.Run{Kind: ledger.Backup}}}
	copied := s.read()
	s.update(func(s *state) {
		s.Missed[missedRunning]++
		s.counts.add(reloadsTotal, "applied", 1)
	})
	if copied.Missed[missedRunning] != 0 || copied.counts.values[timeSeries{reloadsTotal, "applied"}] != 0 {
		t.Error("a copied status changes while a page shows it")
	}
	if len(copied.FollowUps) != 1 || s.FollowUps[0].Last.Kind != ledger.Lake {
		t.Errorf("the copy has the follow-ups %+v and the state %+v, want the configured one and both", copied.FollowUps, s.FollowUps)
	}
}

// TestOwnNightIsShownOnce adds a night of this process to a ledger with another line of the same run.
func TestOwnNightIsShownOnce(t *testing.T) {
	t.Parallel()
	own := ledger.Run{ID: "a", Outcome: ledger.Interrupted, StartedAt: time.Unix(1, 0), EndedAt: time.Unix(5, 0)}
	for name, c := range map[string]struct {
		line  ledger.Run
		shown int
	}{
		"its line":                        {own, 1},
		"an earlier attempt":              {ledger.Run{ID: "a", StartedAt: own.StartedAt, EndedAt: time.Unix(4, 0)}, 2},
		"a later attempt that was killed": {ledger.Run{ID: "a", StartedAt: own.StartedAt, Outcome: ledger.Killed}, 1},
		"another night":                   {ledger.Run{ID: "b", StartedAt: own.StartedAt, EndedAt: own.EndedAt}, 2},
	} {
		s := &state{lastOwnNight: own}
		s.Nights = []ledger.Run{c.line}
		if s.addOwnNight(); len(s.Nights) != c.shown {
			t.Errorf("%s: the page shows %+v, want %d nights", name, s.Nights, c.shown)
		}
	}
}

// TestLoggedFiles limits the damaged files in a line of the log. The page names all.
func TestLoggedFiles(t *testing.T) {
	t.Parallel()
	for want, files := range map[string][]string{
		"": nil, "a, b, c": {"a", "b", "c"}, "a, b, c and 2 more": {"a", "b", "c", "d", "e"},
	} {
		if got := firstFiles(files); got != want {
			t.Errorf("the log names %q, want %q", got, want)
		}
	}
}

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
