package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"placementsync/internal/config"
	"placementsync/internal/daemon"
	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/notify"
	"placementsync/internal/pipeline"
	"placementsync/internal/repair"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// newTestSettings returns the program and the settings of the current configuration.
func newTestSettings(t *testing.T, g *globals) (*serveProgram, daemon.Settings) {
	t.Helper()
	cfg, err := g.loadConfig()
	harness.Must(t, err)
	s, err := newServeProgram(g, cfg)
	harness.Must(t, err)
	settings, err := s.newSettings(cfg)
	harness.Must(t, err)
	return s, settings
}

func newTestJobs(t *testing.T, g *globals) (*serveProgram, *jobs) {
	t.Helper()
	s, settings := newTestSettings(t, g)
	return s, settings.Jobs.(*jobs)
}

// TestNightsOfServeFinishTheirCommit checks that a stop does not cancel a night that is being published.
func TestNightsOfServeFinishTheirCommit(t *testing.T) {
	g := newLoggingGlobals(t, io.Discard, io.Discard, "privacy: {drop: []}\n")
	if _, j := newTestJobs(t, g); !j.night.FinishCommit {
		t.Error("a stop of serve cancels a night that is being published, want the night to finish")
	}
}

// TestFailedReloadKeepsAllSettings reloads a changed configuration whose folder of checks has a file
// that cannot be loaded.
func TestFailedReloadKeepsAllSettings(t *testing.T) {
	harness.Concurrent(t)
	g := newLoggingGlobals(t, io.Discard, io.Discard, "serve: {webhook_secrets: [old-signing-secret], inbox_max: 50MB}\nqueries: {dir: old}\nprivacy: {drop: []}\nchecks: {dir: "+t.TempDir()+"}\n")
	s, _ := newTestJobs(t, g)
	oldDir := s.hooks.current.Load().cfg.Queries.Dir
	harness.Must(t, os.WriteFile(g.Config, []byte(strings.NewReplacer("old", "new", "50MB", "60MB").Replace(read(t, g.Config))), 0o600))
	harness.Must(t, os.WriteFile(filepath.Join(s.startConfig.Checks.Dir, "damaged.sql"), nil, 0o600))
	if _, err := s.Reload(); err == nil || !strings.Contains(err.Error(), "damaged.sql") {
		t.Fatalf("the reload ended with %v, want an error for the damaged check", err)
	}
	current := s.hooks.current.Load().cfg
	if dir, limit := current.Queries.Dir, current.Serve.InboxMaxBytes(); dir != oldDir || limit != 50e6 {
		t.Errorf("after the failed reload queries.dir is %q and serve.inbox_max is %d, want %q and 50000000", dir, limit, oldDir)
	}
	delivery := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}"))
	// The HMAC-SHA256 of the body with the old secret.
	delivery.Header.Set("X-Hook-Signature", "v0=82c3af244d6a0d6555547ceae5c02882826890acf48c438957d9b93b45361eaa")
	response := httptest.NewRecorder()
	s.hooks.receiver.ServeHTTP(response, delivery)
	if response.Code != http.StatusServiceUnavailable { // the signature is valid, but the receiver does not run
		t.Errorf("a delivery with the old signing secret got status %d, want 503", response.Code)
	}
}

// TestFailedNightIsReportedAtItsLastAttempt lets a service fail. The receiver counts the alerts.
func TestFailedNightIsReportedAtItsLastAttempt(t *testing.T) {
	harness.Concurrent(t)
	var alerts, status atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { alerts.Add(1) }))
	t.Cleanup(receiver.Close)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) }))
	t.Cleanup(service.Close)
	g := newLoggingGlobals(t, io.Discard, io.Discard, "notify: {failure_url: '"+receiver.URL+"'}\n")
	text := regexp.MustCompile(`base_url: [^,]+`).ReplaceAllString(read(t, g.Config), "base_url: "+service.URL)
	harness.Must(t, os.WriteFile(g.Config, []byte(text), 0o600))
	s, j := newTestJobs(t, g)
	for _, c := range []struct {
		name            string
		status          int
		retried, asked  bool
		alerts          int64
		runs, attempted int // of the newest run
	}{
		{name: "the service fails, and a retry follows", status: 501, retried: true, asked: true, runs: 1, attempted: 1},
		{name: "the service fails at the last attempt", status: 501, asked: true, alerts: 1, runs: 1, attempted: 2},
		{name: "the token is refused", status: 401, retried: true, alerts: 1, runs: 1, attempted: 3},
	} {
		status.Store(int64(c.status))
		alerts.Store(0)
		asked := false
		if _, err := j.Night(t.Context(), func() bool { asked = true; return c.retried }); err == nil {
			t.Errorf("%s: the night did not fail", c.name)
		}
		if asked != c.asked || alerts.Load() != c.alerts {
			t.Errorf("%s: a retry was possible: %t, and %d alerts were sent; want %t and %d", c.name, asked, alerts.Load(), c.asked, c.alerts)
		}
		runs, err := s.Runs()
		harness.Must(t, err)
		if len(runs) != c.runs || runs[len(runs)-1].Attempts != c.attempted {
			t.Errorf("%s: the ledger is %+v, want %d runs, the newest with %d attempts", c.name, runs, c.runs, c.attempted)
		}
	}
}

// TestOnlyTransientFailuresAreTriedAgain lists the failures that last until an operator acts.
func TestOnlyTransientFailuresAreTriedAgain(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{errors.New("the connection is refused"), true},
		{&fetch.StatusError{Code: http.StatusBadGateway}, true},
		{&fetch.StatusError{Code: http.StatusUnauthorized}, false},
		{&pipeline.HoldError{}, false},
		{&load.MassDeleteError{}, false},
		{&warehouse.VerifyError{}, false},
		{&warehouse.LockedError{}, false},
		{&config.Error{}, false},
		{nil, false},
	} {
		if got := isTransient(ledger.Run{}, c.err); got != c.want {
			t.Errorf("%T is transient: %t, want %t", c.err, got, c.want)
		}
	}
	if isTransient(ledger.Run{Outcome: ledger.Interrupted}, context.Canceled) {
		t.Error("an interrupted night is a transient failure, want none")
	}
}

// TestVerificationsOfServe verifies an empty warehouse that is whole, damaged, locked and unreadable in turn.
func TestVerificationsOfServe(t *testing.T) {
	t.Parallel()
	var alerts []notify.Alert
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var a notify.Alert
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
			t.Error(err)
		}
		alerts = append(alerts, a)
	}))
	t.Cleanup(receiver.Close)
	g := newLoggingGlobals(t, io.Discard, t.Output(), "notify: {failure_url: '"+receiver.URL+"'}\n")
	at := time.Date(2026, time.November, 20, 2, 0, 0, 0, time.UTC)
	g.Now = func() time.Time { return at }
	s, j := newTestJobs(t, g)
	inboxFile, ledgerFile := filepath.Join(s.wh.Folder.InboxPath(), "1.log"), s.wh.RunLog.Path()
	inbox := []string{"state/inbox"}
	var lock *warehouse.Lock
	for _, c := range []struct {
		name    string
		prepare func() error
		want    repair.VerifyRecord
		event   string
		code    int
		text    string // in Alert.Error
	}{
		{name: "whole", prepare: func() error { return nil }, want: repair.VerifyRecord{Result: repair.Whole}},
		{name: "damaged", prepare: func() error { return os.WriteFile(inboxFile, []byte("damaged\n"), 0o600) },
			want:  repair.VerifyRecord{Result: repair.DataLost, DamagedFiles: inbox},
			event: notify.Damaged, code: 1, text: "1 file: state/inbox"},
		{name: "unreadable", prepare: func() error { return errors.Join(os.Remove(inboxFile), os.Mkdir(ledgerFile, 0o700)) },
			want:  repair.VerifyRecord{Result: repair.DataLost, DamagedFiles: inbox, FailedAt: at, Error: "is a directory"},
			event: notify.Unverified, code: 1, text: "is a directory"},
		{name: "locked", prepare: func() (err error) {
			lock, err = s.wh.LockExisting("other", at)
			return err
		}},
		{name: "whole again", prepare: func() error { return errors.Join(lock.Release(), os.Remove(ledgerFile)) },
			want: repair.VerifyRecord{Result: repair.Whole}},
	} {
		alerts = nil
		harness.Must(t, c.prepare())
		got, err := j.Verify(t.Context())
		isLocked := errors.As(err, new(*warehouse.LockedError))
		if isLocked != (c.want.Result == "") || err != nil && !isLocked {
			t.Errorf("%s: the verification ended with %v", c.name, err)
		}
		if got.Result != c.want.Result || !slices.Equal(got.DamagedFiles, c.want.DamagedFiles) ||
			!got.FailedAt.Equal(c.want.FailedAt) || !strings.Contains(got.Error, c.want.Error) ||
			c.want.Error == "" && got.Error != "" {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
		stored, _, err := repair.LastRecord(s.wh.Folder, verifyReadsData)
		if err == nil && c.want.Result == "" {
			got = stored // nothing is stored
		}
		if diff := cmp.Diff(got, stored, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%s: the stored result (-returned +stored), %v:\n%s", c.name, err, diff)
		}
		switch {
		case c.event == "" && len(alerts) == 0:
		case len(alerts) != 1 || alerts[0].Event != c.event || alerts[0].ExitCode != c.code ||
			!strings.Contains(alerts[0].Error, c.text) || !alerts[0].StartedAt.Equal(at) || alerts[0].EndedAt.Before(at):
			t.Errorf("%s: sent %+v, want the event %q with exit code %d and %q", c.name, alerts, c.event, c.code, c.text)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if got, err := j.Verify(ctx); !errors.Is(err, context.Canceled) || got.Result != "" {
		t.Errorf("a stopped verification ended with %v: %+v, want neither a result nor another error", err, got)
	}
}

// TestNightsOfServeThatDoNotStart asks for a night while the daemon stops, and while another process holds the lock.
func TestNightsOfServeThatDoNotStart(t *testing.T) {
	t.Parallel()
	const lake = "lake: {catalog: rest, rest: {uri: 'https://lake.example.com'}, warehouse: 's3://lake/tables'}\n"
	g := newLoggingGlobals(t, io.Discard, io.Discard, lake)
	s, j := newTestJobs(t, g)
	if j.LakeDir != "" {
		t.Errorf("the disk of the lake is %q, want none for a lake in a bucket", j.LakeDir)
	}
	lock, err := s.wh.LockExisting("other", time.Now())
	harness.Must(t, err)
	defer lock.Release()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for _, want := range []ledger.Outcome{ledger.Failed, ledger.Interrupted} {
		run, err := j.Night(ctx, func() bool { return false })
		if err == nil || run.Outcome != want || run.Error != err.Error() {
			t.Errorf("the night ended with %v: %+v; want the outcome %s and the error", err, run, want)
		}
		stop()
	}
}

// TestServeHasNoTimeLimitToStop stops "serve" at its start. A night that is publishing may need more time to end than
// other commands.
func TestServeHasNoTimeLimitToStop(t *testing.T) {
	t.Parallel()
	g := newLoggingGlobals(t, io.Discard, io.Discard, "serve: {listen: '127.0.0.1:0'}\n")
	ctx, stop := context.WithCancel(t.Context())
	isLimitRemoved := false
	g.removeStopTimeLimit = func() { isLimitRemoved = true }
	stop()
	if err := runServe(ctx, g); err != nil || !isLimitRemoved {
		t.Errorf("serve ended with %v, and the time limit is removed: %t, want no error and no limit", err, isLimitRemoved)
	}
}
