package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/cli"
	"placementsync/internal/config"
	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/notify"
	"placementsync/internal/pipeline"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestAlertsHaveAdvice checks the advice of causes whose error is too long for an alert.
func TestAlertsHaveAdvice(t *testing.T) {
	t.Parallel()
	const proxy = "a proxy or a sign-in page answered in place of the service: run placementsync check, " +
		"and correct api.base_url or the proxy."
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("load: %w", &warehouse.DiskFullError{Dir: "/data/wh", Err: syscall.ENOSPC}),
			"free some space on the disk of /data/wh, or run placementsync prune; " +
				"then run placementsync run, or wait for the next night."},
		{&fetch.StatusError{Code: 200, IsHTML: true}, proxy},
		{&fetch.StatusError{Code: 502, IsHTML: true, Body: "its body may contain private values and is not shown"}, proxy},
		{&fetch.StatusError{Code: 500, Body: `body begins "{}"`}, ""},
		{&warehouse.VerifyError{},
			"check the disk, then run placementsync replay r: it builds the version again from the stored responses."},
	} {
		a := newAlert(notify.Failed, ledger.Run{ID: "r", Outcome: ledger.Failed}, c.err, nil, time.Now())
		if a.Advice != c.want {
			t.Errorf("%v: the advice is %q, want %q", c.err, a.Advice, c.want)
		}
	}
}

// TestAlertOfAPartialNight compares the alert of the second partial night in a row.
func TestAlertOfAPartialNight(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.November, 20, 2, 0, 0, 0, time.UTC)
	yesterday := at.AddDate(0, 0, -1)
	before := ledger.Run{ID: "r1", Outcome: ledger.Partial, StartedAt: yesterday, SnapshotAt: yesterday}
	r := ledger.Run{ID: "r2", Outcome: ledger.Partial, ExitCode: 3, StartedAt: at, EndedAt: at.Add(time.Minute),
		SnapshotAt: at.Add(time.Second), Error: "the reason", Streams: []ledger.Stream{
			{Stream: "orders", Grade: "carried_forward", Reason: "503", Incomplete: true}, {Stream: "tags", Grade: "exact"}}}
	want := notify.Alert{Event: notify.Partial, Run: "r2", ExitCode: 3, Error: "the reason", StartedAt: at,
		EndedAt: r.EndedAt, Since: yesterday, Streak: 2, SnapshotAt: r.SnapshotAt, Program: version,
		Streams: []notify.Stream{{Stream: "orders", Grade: "carried_forward", Standing: "carried", Reason: "503"}}}
	if diff := cmp.Diff(want, newAlert(notify.Partial, r, nil, []ledger.Run{before, r}, at.AddDate(0, 0, 1))); diff != "" {
		t.Errorf("alert (-want +got):\n%s", diff)
	}
}

// TestAlertOfANightThatDidNotStart checks the times of a night without a ledger line.
func TestAlertOfANightThatDidNotStart(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.November, 20, 2, 0, 0, 0, time.UTC)
	a := newAlert(notify.Failed, ledger.Run{}, errors.New("the folder contains no warehouse"), nil, now)
	if a.StartedAt != now || a.EndedAt != now || a.Since != now || a.Streak != 1 || a.ExitCode != 1 {
		t.Errorf("the alert is %+v, want the time %s in all times, one failure and exit code 1", a, now)
	}
}

// TestNotificationsOfANight ends nights in different ways, while the program is being stopped.
func TestNotificationsOfANight(t *testing.T) {
	t.Parallel()
	var got []string
	var alert notify.Alert
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			got = append(got, "heartbeat")
			return
		}
		alert = notify.Alert{}
		if err := json.NewDecoder(r.Body).Decode(&alert); err != nil {
			t.Error(err)
		}
		got = append(got, alert.Event)
	}))
	defer receiver.Close()
	address := config.Secret(receiver.URL)
	cfg := config.Config{Notify: config.Notify{FailureURL: address, HeartbeatURL: address}}
	night := pipeline.Config{Warehouse: warehouse.Config{Dir: t.TempDir()}, Log: slog.New(slog.DiscardHandler)}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	now := time.Date(2026, time.November, 20, 2, 0, 0, 0, time.UTC)
	check := ledger.CheckResult{Name: "prices_scaled", Severity: "hold", Outcome: ledger.CheckFailed, Rows: 4}
	for _, c := range []struct {
		name    string
		outcome ledger.Outcome
		err     error
		want    string
		code    int
		text    string // in Alert.Error
	}{
		{"complete", ledger.Complete, nil, "heartbeat", 0, ""},
		{"partial", ledger.Partial, nil, notify.Partial, 3, "the series was not extended"},
		{"failed", ledger.Failed, errors.New("the service is unreachable"), notify.Failed, 1, "the service is unreachable"},
		{"held", ledger.Failed, &pipeline.HoldError{Checks: []ledger.CheckResult{check}}, notify.Held, 1, "prices_scaled"},
		{"stopped by a gate", ledger.Failed, &load.MassDeleteError{}, notify.Gate, 1, ""},
		{"damaged before the publish", ledger.Failed, &warehouse.VerifyError{Run: "r"}, notify.Gate, 1, ""},
		{"interrupted", ledger.Interrupted, context.Canceled, "", 0, ""},
		{"locked", "", &warehouse.LockedError{}, "", 0, ""},
	} {
		got = nil
		r := ledger.Run{ID: "r", Outcome: c.outcome, ExitCode: c.outcome.ExitCode(), StartedAt: now, EndedAt: now.Add(time.Minute),
			Streams: []ledger.Stream{{Stream: "orders", Grade: "carried_forward", Reason: "503", Incomplete: true}, {Stream: "outlets", Grade: "exact"}}}
		if c.outcome == ledger.Partial {
			r.Error = c.text
		}
		notifyOfNight(ctx, cfg, night, r, now, c.err)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: sent %q, want %q", c.name, got, c.want)
		}
		if c.code == 0 {
			continue
		}
		if alert.ExitCode != c.code || !strings.Contains(alert.Error, c.text) || alert.Run != "r" || !alert.EndedAt.Equal(r.EndedAt) ||
			strings.Contains(alert.Text, "Readers have no snapshot") {
			t.Errorf("%s: got the alert %+v, want exit code %d, the error %q, the run, and no statement about the unknown snapshot",
				c.name, alert, c.code, c.text)
		}
		if len(alert.Streams) != 1 || alert.Streams[0].Stream != "orders" || alert.Streams[0].Standing != "carried" {
			t.Errorf("%s: got the streams %+v, want only orders", c.name, alert.Streams)
		}
		if hasChecks := len(alert.Checks) > 0; hasChecks != (c.want == notify.Held) {
			t.Errorf("%s: got the checks %+v, want checks only for a held night", c.name, alert.Checks)
		}
	}
}

// TestOutcomeWithAFailedFollowUp joins the error of a follow-up with that of its night.
func TestOutcomeWithAFailedFollowUp(t *testing.T) {
	t.Parallel()
	errBackup := errors.New("no bucket")
	const want = "no bucket; readers of the warehouse see the night; the next night repeats this step"
	if got := joinFollowUpError(t.Context(), nil, errBackup); got.Error() != want {
		t.Errorf("got the error %q, want %q", got, want)
	}
	for _, c := range []struct {
		night error
		want  ledger.Outcome
	}{{nil, ledger.Partial}, {cli.EndWith(ledger.Partial, nil), ledger.Partial}, {cli.EndWith(ledger.Failed, nil), ledger.Failed}} {
		err := joinFollowUpError(t.Context(), c.night, errBackup)
		if got := cli.OutcomeOf(t.Context(), err); got != c.want || !errors.Is(err, errBackup) {
			t.Errorf("a night that ended with %v: got the outcome %s (%v), want %s and the error of the follow-up", c.night, got, err, c.want)
		}
		if err := joinFollowUpError(t.Context(), c.night, nil); !errors.Is(err, c.night) {
			t.Errorf("without a failure got %v, want %v of the night", err, c.night)
		}
	}
}

// TestStoppedServeBeginsNoWork waits for a turn that is free after the stop. Select chooses at random between the two.
func TestStoppedServeBeginsNoWork(t *testing.T) {
	t.Parallel()
	h := &hooks{turn: make(chan struct{}, 1)}
	ctx, stop := context.WithCancel(t.Context())
	harness.Must(t, h.runInTurn(ctx, func() error { return nil }))
	stop()
	for range 100 {
		err := h.runInTurn(ctx, func() error { t.Fatal("work began after the stop"); return nil })
		if !errors.Is(err, context.Canceled) || len(h.turn) != 0 {
			t.Fatalf("got %v with the turn taken %d times, want the cause of the stop and a free turn", err, len(h.turn))
		}
	}
}
