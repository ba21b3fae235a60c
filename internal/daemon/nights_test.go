package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/config"
	"placementsync/internal/daemon"
	"placementsync/internal/ledger"
	"placementsync/internal/warehouse"
)

// wantNights compares the start times of nights.
func wantNights(t *testing.T, h *harness, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, h.nightStarts()); diff != "" {
		t.Errorf("nights started (-want +got):\n%s", diff)
	}
}

func TestNightsStartAtSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, nil)
		h.start()
		time.Sleep(50*time.Hour + 4*time.Minute)
		if w := h.get("/healthz"); w.Code != 200 {
			t.Errorf("two days after the start, /healthz returned %d %q, want 200", w.Code, w.Body)
		}
		h.shutDown()
		wantNights(t, h, "01-01 02:00", "01-02 02:00", "01-03 02:00")
		if got := h.metric(`runs_total{outcome="complete"}`); got != "2" {
			t.Errorf("%s nights are counted as complete, want 2", got)
		}
	})
}

func TestNightsNeverOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, nightOf(30*time.Hour))
		h.start()
		time.Sleep(80 * time.Hour)
		wantNights(t, h, "01-01 02:00", "01-03 02:00")
		if got := h.metric(`missed_slots_total{reason="running"}`); got != "2" {
			t.Errorf("got %s missed slots, want 2: the second and the fourth", got)
		}
		if text := h.get("/").Body.String(); !strings.Contains(text, "2<small>running</small>") {
			t.Error("the page does not show the missed slots")
		}
		h.shutDown()
	})
}

func TestCatchUp(t *testing.T) {
	published := func(at time.Time) ledger.Run {
		return ledger.Run{ID: "earlier", Outcome: ledger.Complete, StartedAt: at, EndedAt: at.Add(time.Minute), SnapshotAt: at}
	}
	unpublished := func(outcome ledger.Outcome, at time.Time) ledger.Run {
		return ledger.Run{ID: string(outcome), Outcome: outcome, StartedAt: at, EndedAt: at.Add(time.Minute)}
	}
	day := 24 * time.Hour
	for _, c := range []struct {
		name    string
		ledger  func(now time.Time) []ledger.Run
		catchUp bool
		missed  string   // number of missed slots, without the slot that is caught up
		want    []string // start times of nights
	}{
		{"down for three days", func(now time.Time) []ledger.Run { return []ledger.Run{published(now.Add(-3*day + 2*time.Hour))} },
			true, "1", []string{"01-01 00:00", "01-01 02:00"}},
		{"catch_up is false", func(now time.Time) []ledger.Run { return []ledger.Run{published(now.Add(-3*day + 2*time.Hour))} },
			false, "2", []string{"01-01 02:00"}},
		{"one slot was missed", func(now time.Time) []ledger.Run { return []ledger.Run{published(now.Add(-2*day + 2*time.Hour))} },
			true, "0", []string{"01-01 00:00", "01-01 02:00"}},
		{"no slot was missed", func(now time.Time) []ledger.Run { return []ledger.Run{published(now.Add(-22 * time.Hour))} },
			true, "0", []string{"01-01 02:00"}},
		{"no earlier night", func(time.Time) []ledger.Run { return nil }, true, "0", []string{"01-01 02:00"}},
		{"the last night was interrupted", func(now time.Time) []ledger.Run {
			return []ledger.Run{published(now.Add(-22 * time.Hour)), unpublished(ledger.Interrupted, now.Add(-21*time.Hour))}
		},
			true, "0", []string{"01-01 00:00", "01-01 02:00"}},
		{"the last night was killed", func(now time.Time) []ledger.Run {
			killed := unpublished(ledger.Killed, now.Add(-21*time.Hour))
			killed.EndedAt = time.Time{}
			return []ledger.Run{published(now.Add(-22 * time.Hour)), killed}
		},
			true, "0", []string{"01-01 00:00", "01-01 02:00"}},
		{"two nights failed, and no slot was missed", func(now time.Time) []ledger.Run {
			return []ledger.Run{published(now.Add(-3*day + 2*time.Hour)), unpublished(ledger.Failed, now.Add(-2*day+2*time.Hour)), unpublished(ledger.Failed, now.Add(-22*time.Hour))}
		},
			true, "0", []string{"01-01 00:00", "01-01 02:00"}},
		{"a night failed, and catch_up is false", func(now time.Time) []ledger.Run {
			return []ledger.Run{published(now.Add(-3*day + 2*time.Hour)), unpublished(ledger.Failed, now.Add(-2*day+2*time.Hour))}
		},
			false, "1", []string{"01-01 02:00"}},
		{"no night succeeded, and two slots were missed", func(now time.Time) []ledger.Run {
			return []ledger.Run{unpublished(ledger.Failed, now.Add(-3*day+2*time.Hour))}
		},
			true, "2", []string{"01-01 02:00"}},
		{"a replay by hand", func(now time.Time) []ledger.Run {
			replay := published(now.Add(-time.Hour))
			replay.Kind = ledger.Replay
			return []ledger.Run{published(now.Add(-3*day + 2*time.Hour)), replay}
		},
			true, "1", []string{"01-01 00:00", "01-01 02:00"}},
		{"slots passed during the last night", func(now time.Time) []ledger.Run {
			long := published(now.Add(-3*day + 2*time.Hour))
			long.EndedAt = now.Add(-20 * time.Hour)
			return []ledger.Run{long}
		},
			false, "0", []string{"01-01 02:00"}},
		{"a slot passed during the last night, and catch_up is true", func(now time.Time) []ledger.Run {
			long := published(now.Add(-3*day + 2*time.Hour))
			long.EndedAt = now.Add(-20 * time.Hour)
			return []ledger.Run{long}
		},
			true, "0", []string{"01-01 00:00", "01-01 02:00"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t, nil)
				runs := c.ledger(time.Now())
				h.ledger, h.settings.CatchUp = runs, c.catchUp
				h.start()
				for _, run := range runs { // the catch-up ignores replays, but the page shows them
					h.wantPage(`<th scope="row"><bdi>` + run.StartedAt.UTC().Format("2006-01-02 15:04 UTC"))
				}
				time.Sleep(3 * time.Hour)
				h.shutDown()
				wantNights(t, h, c.want...)
				if got := h.metric(`missed_slots_total{reason="downtime"}`); got != c.missed {
					t.Errorf("%s slots are missed, want %s", got, c.missed)
				}
			})
		})
	}
}

func TestNightRetriesLockedWarehouse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		h := newHarness(t, func(context.Context) (ledger.Run, error) {
			if tries++; tries <= 2 {
				return ledger.Run{}, fmt.Errorf("publish: %w", &warehouse.LockedError{Run: "20000101T015900Z"})
			}
			return ledger.Run{Outcome: ledger.Complete}, nil
		})
		h.start()
		time.Sleep(2*time.Hour + time.Minute)
		h.wantPage("No night has run yet") // a night that waits for the lock has not run
		time.Sleep(time.Hour)
		h.shutDown()
		wantNights(t, h, "01-01 02:00", "01-01 02:05", "01-01 02:10")
		if got := h.metric(`runs_total{outcome="held"}`); got != "2" {
			t.Errorf("%s nights are counted as locked, want 2", got)
		}
	})
}

func TestRetryEndsAtNextSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, func(context.Context) (ledger.Run, error) { return ledger.Run{}, &warehouse.LockedError{} })
		h.start()
		time.Sleep(26*time.Hour + time.Minute)
		h.shutDown()
		if n := len(h.nightStarts()); n != 24*12+1 { // one every 5 minutes
			t.Errorf("%d nights started from the first slot to the second, want %d", n, 24*12+1)
		}
		if got := h.metric(`missed_slots_total{reason="held"}`); got != "1" {
			t.Errorf("%s slots are missed, want 1", got)
		}
	})
}

func TestStopWaitsForNight(t *testing.T) {
	t.Run("a night that is reading", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHarness(t, nil)
			h.start()
			time.Sleep(2*time.Hour + time.Minute)
			h.wantMetrics(map[string]string{`run_active`: "1"})
			h.wantPage("<dt>Running</dt><dd>yes<small>for 1 min 0 s", "0 2 * * * UTC</span>")
			h.shutDown()
			if got := h.metric(`runs_total{outcome="interrupted"}`); got != "1" {
				t.Errorf("%s nights are interrupted, want 1", got)
			}
		})
	})
	t.Run("a night that is publishing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHarness(t, func(context.Context) (ledger.Run, error) {
				time.Sleep(time.Hour)
				return ledger.Run{Outcome: ledger.Complete}, nil
			})
			h.followUp = func(context.Context) { t.Error("a follow-up began while the daemon was stopping") }
			h.start()
			time.Sleep(2*time.Hour + time.Minute)
			h.stop()
			time.Sleep(30 * time.Minute) // longer than the limit for a scheduler that is stuck
			h.wantPage("<dt>Running</dt><dd>yes<small>for 31 min 0 s, stopping</small>")
			if w := h.get("/healthz"); w.Code != 200 {
				t.Errorf("while the daemon waits for the night, /healthz returned %d %q, want 200, so that no supervisor kills the night", w.Code, w.Body)
			}
			if w := h.get("/readyz"); w.Code != 503 || !strings.Contains(w.Body.String(), "stopping") {
				t.Errorf("while the daemon waits for the night, /readyz returned %d %q, want 503 and stopping", w.Code, w.Body)
			}
			h.shutDown()
			if got := h.metric(`runs_total{outcome="complete"}`); got != "1" {
				t.Errorf("%s nights are complete, want 1", got)
			}
		})
	})
}

// TestFailedServerEndsDaemon closes the listener while the daemon runs. Without a server, no page shows the state of the
// nights, so the daemon ends and the service manager starts it again.
func TestFailedServerEndsDaemon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, nil)
		h.cfg.Notify = nil // there is no service manager
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		l := newSilentListener()
		time.AfterFunc(time.Minute, func() { _ = l.Close() })
		err := h.sharedDaemon().Run(ctx, l)
		if ctx.Err() != nil || err == nil || !strings.Contains(err.Error(), "serve: ") {
			t.Errorf("the daemon ended with %v (context: %v), want the error of the server at once", err, ctx.Err())
		}
	})
}

func TestReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, nil)
		hangups := make(chan os.Signal)
		h.cfg.Hangups = hangups
		load := func() (daemon.Settings, error) {
			return daemon.Settings{}, errors.New("config.yaml:3: api.burst: is bad")
		}
		h.reload = func() (daemon.Settings, error) { return load() }
		h.start()

		hangups <- syscall.SIGHUP
		synctest.Wait()
		if log := h.log.String(); !strings.Contains(log, "configuration not applied; the old settings remain in use") || !strings.Contains(log, "api.burst") {
			t.Errorf("the log does not report the invalid configuration:\n%s", log)
		}
		h.wantMetrics(map[string]string{`config_last_reload_successful`: "0"})
		load = func() (daemon.Settings, error) {
			settings := h.settings
			settings.Schedule = parseSchedule(t, "0 5 * * *", "UTC")
			return settings, nil
		}
		time.Sleep(3 * time.Hour)
		hangups <- syscall.SIGHUP
		time.Sleep(3 * time.Hour)
		h.shutDown()
		wantNights(t, h, "01-01 02:00", "01-01 05:00")
		h.wantMetrics(map[string]string{`config_last_reload_successful`: "1"})
		for _, result := range []string{"applied", "refused"} {
			if got := h.metric(`config_reloads_total{result="` + result + `"}`); got != "1" {
				t.Errorf("%s reloads are %s, want 1", got, result)
			}
		}
	})
}

func TestServiceManagerIsNotified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, nil)
		h.cfg.Watchdog = 20 * time.Second
		h.start()
		time.Sleep(time.Minute + time.Second)
		h.shutDown()
		first, last := h.notified[0], h.notified[len(h.notified)-1]
		if first != "READY=1" || last != "STOPPING=1" {
			t.Errorf("the first message is %q and the last %q, want READY=1 and STOPPING=1", first, last)
		}
		beats := slices.DeleteFunc(slices.Clone(h.notified), func(s string) bool { return s != "WATCHDOG=1" })
		if len(beats) != 6 {
			t.Errorf("the watchdog is notified %d times in a minute, want 6", len(beats))
		}
	})
}

// TestWaitOfANightIsShown makes a night wait for the service for half an hour.
func TestWaitOfANightIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, nil)
		began := time.Now().Add(time.Hour)
		h.progress = func() (ledger.Progress, bool) {
			if now := time.Now(); now.Before(began) || now.After(began.Add(30*time.Minute)) {
				return ledger.Progress{Requests: 1}, true
			}
			return ledger.Progress{WaitingFor: "connection refused", WaitingSince: began, WaitingUntil: began.Add(30 * time.Minute)}, true
		}
		h.start()
		defer h.shutDown()
		h.wantMetrics(map[string]string{"waiting_seconds": "0"})
		h.wantPage("0 of 0 streams read, 1 requests, 0 retries.</p>") // nothing else is known
		time.Sleep(70 * time.Minute)
		h.wantMetrics(map[string]string{"waiting_seconds": "600"})
		const wait = "waiting for the service until 01:30:00 UTC: connection refused"
		if text := h.get("/").Body.String(); !strings.Contains(text, "The night is "+wait+".") {
			t.Errorf("the status page does not contain %q", wait)
		}
		time.Sleep(30 * time.Minute)
		h.mu.Lock()
		defer h.mu.Unlock()
		const next = "STATUS=next night at 2000-01-01T02:00:00Z"
		want := []string{next, "STATUS=" + wait, next}
		if got := slices.DeleteFunc(slices.Clone(h.notified), func(s string) bool { return !strings.HasPrefix(s, "STATUS=") }); !slices.Equal(got, want) {
			t.Errorf("the status lines are %q, want %q", got, want)
		}
		if slices.Contains(h.notified, "WATCHDOG=1") {
			t.Error("a service manager without a watchdog is notified")
		}
	})
}

// TestKilledNightIsCountedWhenSeen checks that a killed night is counted when its ledger line appears, but not if the line
// existed at the start of the process. Killed runs have no duration.
func TestKilledNightIsCountedWhenSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, nil)
		h.settings.CatchUp = false
		began := time.Now().Add(-time.Hour)
		h.record(ledger.Run{ID: "earlier", Outcome: ledger.Complete, StartedAt: began.Add(-time.Hour), EndedAt: began, SnapshotAt: began})
		h.record(ledger.Run{ID: "old", Outcome: ledger.Killed, StartedAt: began})
		h.record(ledger.Run{ID: "refresh", Kind: ledger.Refresh, Outcome: ledger.Killed, StartedAt: began})
		h.start()
		defer h.shutDown()
		h.wantMetrics(map[string]string{`runs_total{outcome="killed"}`: "0", `last_run_outcome{outcome="killed"}`: "1", `last_run_duration_seconds`: "",
			`last_refresh_timestamp_seconds`: "9.466812e+08", `last_refresh_duration_seconds`: ""})
		h.wantPage("<dt>Last refresh</dt><dd>killed<small></small></dd>")
		h.record(ledger.Run{ID: "new", Outcome: ledger.Killed, StartedAt: time.Now().Add(-time.Minute)})
		time.Sleep(time.Hour)
		if n := h.metric(`runs_total{outcome="killed"}`); n != "1" {
			t.Errorf("%s killed nights are counted, want 1", n)
		}
		h.wantPage(`<span class="tag poor">killed</span></td><td></td>`) // without a duration
	})
}

// failingNight returns nights of ten minutes that fail, at most n times, and then nights that are complete.
func failingNight(n int, err error) func(ctx context.Context) (ledger.Run, error) {
	return func(ctx context.Context) (ledger.Run, error) {
		run, _ := nightOf(10 * time.Minute)(ctx)
		if n == 0 {
			return run, nil
		}
		n--
		return ledger.Run{Outcome: ledger.Failed}, err
	}
}

func TestFailedNightStartsAgain(t *testing.T) {
	retries := config.Default().Schedule.Retries
	for _, c := range []struct {
		name     string
		schedule string // empty means daily at 02:00
		retries  []time.Duration
		failures int
		err      error
		want     []string
		alerts   int64
	}{
		{name: "it is complete at the third attempt", retries: retries, failures: 2, err: errTransient,
			want: []string{"01-01 02:00", "01-01 02:15", "01-01 02:45", "01-02 02:00"}},
		{name: "all attempts fail", retries: retries, failures: 5, err: errTransient, alerts: 1,
			want: []string{"01-01 02:00", "01-01 02:15", "01-01 02:45", "01-01 03:55", "01-02 02:00", "01-02 02:15"}},
		{name: "the next slot is earlier than the third attempt", schedule: "0 2,3 * * *", retries: retries, failures: 3, err: errTransient, alerts: 1,
			want: []string{"01-01 02:00", "01-01 02:15", "01-01 02:45", "01-01 03:00", "01-02 02:00", "01-02 03:00"}},
		{name: "the next slot is at the time of the retry", schedule: "0 2,3 * * *", retries: []time.Duration{50 * time.Minute}, failures: 1, err: errTransient, alerts: 1,
			want: []string{"01-01 02:00", "01-01 03:00", "01-02 02:00", "01-02 03:00"}},
		{name: "another attempt does not help", retries: retries, failures: 1, err: errors.New("the token is refused"),
			want: []string{"01-01 02:00", "01-02 02:00"}},
		{name: "no retries", failures: 1, err: errTransient, alerts: 1,
			want: []string{"01-01 02:00", "01-02 02:00"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t, failingNight(c.failures, c.err))
				if c.schedule != "" {
					h.settings.Schedule = parseSchedule(t, c.schedule, "UTC")
				}
				h.settings.Retries, h.settings.CatchUp = c.retries, false
				earlier := time.Now().Add(-22 * time.Hour)
				h.record(ledger.Run{ID: "earlier", Outcome: ledger.Complete, StartedAt: earlier, EndedAt: earlier, SnapshotAt: earlier})
				h.start()
				defer h.shutDown()
				time.Sleep(28 * time.Hour)
				if diff := cmp.Diff(c.want, h.nightStarts()); diff != "" {
					t.Errorf("starts (-want +got):\n%s", diff)
				}
				if n := h.alerts.Load(); n != c.alerts {
					t.Errorf("%d failures need an alert, want %d", n, c.alerts)
				}
			})
		})
	}
}

// TestPendingRetryIsShown also checks that a night of another process makes the retry unnecessary.
func TestPendingRetryIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, failingNight(1, errTransient))
		h.settings.Retries = []time.Duration{time.Hour}
		h.start()
		defer h.shutDown()
		time.Sleep(2*time.Hour + 15*time.Minute)
		requireNext := func(want time.Time) {
			t.Helper()
			value, err := strconv.ParseFloat(h.metric("next_run_timestamp_seconds"), 64)
			if next := time.Unix(int64(value), 0).UTC(); err != nil || !next.Equal(want) {
				t.Errorf("the next night is at %s (%v), want %s", next, err, want)
			}
		}
		requireNext(time.Date(2000, 1, 1, 3, 10, 0, 0, time.UTC))
		at := time.Now()
		began := at.Add(-10 * time.Minute) // before the failure
		h.record(ledger.Run{ID: "by hand", Outcome: ledger.Complete, StartedAt: began, EndedAt: at.Add(time.Minute), SnapshotAt: began})
		time.Sleep(2 * time.Hour)
		requireNext(time.Date(2000, 1, 2, 2, 0, 0, 0, time.UTC))
		if starts := h.nightStarts(); len(starts) != 1 {
			t.Errorf("nights started at %v, want only the failed one", starts)
		}
	})
}

// TestRetryDuringASuspendIsDropped suspends the machine before the retry of a failed night, and past the next slot. The
// night of the slot must not run beside the retry.
func TestRetryDuringASuspendIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, failingNight(1, errTransient))
		h.settings.Retries = []time.Duration{time.Hour}
		var suspended atomic.Int64
		h.cfg.Now = func() time.Time { return time.Now().Add(time.Duration(suspended.Load())) }
		h.start()
		defer h.shutDown()
		time.Sleep(2*time.Hour + 15*time.Minute)
		suspended.Store(int64(49 * time.Hour))
		time.Sleep(time.Hour)
		if starts := h.nightStarts(); len(starts) != 2 {
			t.Errorf("nights started at %v, want the failed one and one after the suspend", starts)
		}
		h.wantMetrics(map[string]string{`missed_slots_total{reason="downtime"}`: "1"}) // the slot before the last one
	})
}

// TestUnreadableLedgerAtTheStart starts a daemon that cannot know which nights were missed.
func TestUnreadableLedgerAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, nil)
		h.runs = func() ([]ledger.Run, error) { return nil, errors.New("no disk") }
		h.start()
		h.shutDown()
		if log := h.log.String(); !strings.Contains(log, "missed nights are not caught up") {
			t.Errorf("the log does not say that missed nights are not caught up:\n%s", log)
		}
	})
}

// TestClockSetBack sets the clock back after the ledger was read. A later night must be shown nevertheless.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	now := parseTime(t, "2026-11-20T12:00:00Z")
	h.cfg.Now = func() time.Time { return now }
	h.get("/")
	now = now.Add(-time.Hour)
	h.record(ledger.Run{ID: "later", Outcome: ledger.Complete, StartedAt: now, EndedAt: now, SnapshotAt: now})
	h.wantPage("<h2>Streams of later</h2>")
}
