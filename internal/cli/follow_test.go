package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"placementsync/internal/cli"
	"placementsync/internal/config"
	"placementsync/internal/ledger"
	"placementsync/internal/notify"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestAlertsOfFollowUps checks that an alert is sent when a follow-up of a night fails, and when a
// later attempt succeeds. A command started by hand sends only the alert about the success.
func TestAlertsOfFollowUps(t *testing.T) {
	alerts := make(chan notify.Alert, 1)
	var agents []string
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		agents = append(agents, r.Method+" "+r.UserAgent())
		if r.Method == http.MethodGet { // the heartbeat
			return
		}
		var a notify.Alert
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
			t.Error(err)
		}
		alerts <- a
	}))
	defer receiver.Close()
	dir := t.TempDir()
	wh := warehouse.New(warehouse.Config{Dir: dir})
	harness.Must(t, os.Mkdir(filepath.Join(dir, "state"), 0o700))
	address := config.Secret(receiver.URL)
	sender := cli.NewNotifier(config.Notify{FailureURL: address, HeartbeatURL: address}, "test", slog.New(slog.DiscardHandler))
	stopped, stop := context.WithCancel(t.Context()) // as at the end of the daemon
	stop()
	lastAlert := func() (a notify.Alert) {
		select {
		case a = <-alerts:
		default: // none was sent
		}
		return a
	}
	// A failure of another follow-up does not count.
	backup := ledger.BeginFollowUp(ledger.Backup, "test", time.Unix(0, 0)).EndFollowUp(t.Context(), time.Unix(0, 1), errors.New("no bucket"))
	harness.Must(t, cli.RecordFollowUp(stopped, wh, sender, backup))
	nightEvents, manualEvents := []string{notify.Behind, notify.Recovered}, []string{notify.Recovered}
	for i, step := range []struct {
		outcome ledger.Outcome
		events  []string
		want    string // the event of the alert, or "" if none is sent
		code    int    // the exit code in the alert
		since   int64  // Unix time in the alert
	}{
		{ledger.Complete, nightEvents, "", 0, 0},
		{ledger.Failed, manualEvents, "", 0, 0},
		{ledger.Interrupted, nightEvents, "", 0, 0},
		{ledger.Complete, manualEvents, notify.Recovered, 0, 1},
		{ledger.Complete, manualEvents, "", 0, 0},
		{ledger.Partial, nightEvents, notify.Behind, ledger.Partial.ExitCode(), 5},
		{ledger.Failed, nightEvents, notify.Behind, ledger.Partial.ExitCode(), 5},
		{ledger.Complete, nightEvents, notify.Recovered, 0, 5},
	} {
		entry := ledger.BeginFollowUp(ledger.Lake, "test", time.Unix(int64(i), 0)).EndFollowUp(t.Context(), time.Unix(int64(i), 5), nil)
		entry.Outcome, entry.Version, entry.Error = step.outcome, "20261118T020000Z", "no space"
		harness.Must(t, cli.RecordFollowUp(stopped, wh, sender, entry, step.events...))
		got := lastAlert()
		if got.Event != step.want || got.ExitCode != step.code {
			t.Errorf("step %d, outcome %s, events %v: got alert %+v, want event %q with exit code %d", i, step.outcome, step.events, got, step.want, step.code)
		}
		if step.want != "" && (got.Work != ledger.Lake || got.Run != "20261118T020000Z" || got.Error != "no space" || got.Program != "test" ||
			!got.StartedAt.Equal(entry.StartedAt) || !got.EndedAt.Equal(entry.EndedAt) || got.Since.Unix() != step.since) {
			t.Errorf("step %d: got alert %+v, want the data of %+v, and the time %d since which it is behind", i, got, entry, step.since)
		}
	}
	// The alert names the newest version.
	harness.Must(t, os.Symlink("versions/20261119T020000Z", filepath.Join(dir, "latest")))
	behind := ledger.BeginFollowUp(ledger.Backup, "test", time.Unix(9, 0)).EndFollowUp(t.Context(), time.Unix(9, 5), errors.New("no bucket"))
	harness.Must(t, cli.RecordFollowUp(stopped, wh, sender, behind, nightEvents...))
	if got := lastAlert(); got.Run != "20261119T020000Z" {
		t.Errorf("the alert names the version %q, want the newest", got.Run)
	}
	sender.Heartbeat(t.Context())
	if last := agents[len(agents)-1]; last != "GET placementsync/test" {
		t.Errorf("the last request is %q, want the heartbeat with the version of the program", last)
	}
}
