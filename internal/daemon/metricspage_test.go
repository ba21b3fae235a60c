package daemon

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

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

// TestOwnNightIsShownOnce adds the second attempt at a run, which this process made, to a ledger with another line.
func TestOwnNightIsShownOnce(t *testing.T) {
	t.Parallel()
	own := ledger.Run{ID: "a", Outcome: ledger.Interrupted, StartedAt: time.Unix(1, 0), EndedAt: time.Unix(5, 0), Attempts: 2}
	killed := ledger.Run{ID: "a", Outcome: ledger.Killed, StartedAt: own.StartedAt, Attempts: 2}
	killedAgain := killed
	killedAgain.Attempts = 3
	earlier := ledger.Run{ID: "a", Outcome: ledger.Killed, StartedAt: own.StartedAt, Attempts: 1}
	other := ledger.Run{ID: "b", StartedAt: own.StartedAt, EndedAt: own.EndedAt, Attempts: 1}
	for name, c := range map[string]struct {
		line  ledger.Run
		shown []ledger.Run
	}{
		"its line":                        {own, []ledger.Run{own}},
		"an earlier attempt":              {earlier, []ledger.Run{own}},
		"its line could not be written":   {killed, []ledger.Run{own}},
		"a later attempt that was killed": {killedAgain, []ledger.Run{killedAgain}},
		"another night":                   {other, []ledger.Run{other, own}},
	} {
		s := &state{lastOwnNight: own}
		s.Nights = []ledger.Run{c.line}
		s.addOwnNight()
		if diff := cmp.Diff(c.shown, s.Nights); diff != "" {
			t.Errorf("%s: the page shows other nights (-want +got):\n%s", name, diff)
		}
	}
}

// TestMetricsPage compares docs/metrics.md with the metrics, and the metrics with the conventions of Prometheus.
func TestMetricsPage(t *testing.T) {
	t.Parallel()
	const file = "../../docs/metrics.md"
	const head = "# Metrics\n\nFor operators: the metrics of `/metrics`. `make docs` writes this page. " +
		"[Operations](operations.md#metrics) explains how to read them.\n\n" +
		"| metric | labels | meaning |\n|---|---|---|\n"
	var rows []string
	var exposition strings.Builder
	for _, m := range newCollector(nil).metrics {
		kind := "gauge"
		if m.isCounter {
			kind = "counter"
		}
		fmt.Fprintf(&exposition, "# HELP %[1]s%[2]s %[3]s\n# TYPE %[1]s%[2]s %[4]s\n%[1]s%[2]s 1\n", metricPrefix, m.name, m.help, kind)
		rows = append(rows, fmt.Sprintf("| `%s%s` | %s | %s |\n", metricPrefix, m.name, strings.Join(m.labels, ", "), m.help))
	}
	problems, err := promlint.New(strings.NewReader(exposition.String())).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("the metrics violate conventions: %v %v", problems, err)
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
