package daemon_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"placementsync/internal/ledger"
)

// TestFollowUpDoesNotDelayNights runs four nights. The follow-ups of a night take a day and a half.
// They start after the first night, and twice more, each time when the earlier follow-ups end.
func TestFollowUpDoesNotDelayNights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, nil)
		var mu sync.Mutex
		started, running, mostRunning := 0, 0, 0
		h.followUp = func(ctx context.Context) {
			mu.Lock()
			started, running = started+1, running+1
			mostRunning = max(mostRunning, running)
			mu.Unlock()
			select {
			case <-time.After(36 * time.Hour):
			case <-ctx.Done():
			}
			mu.Lock()
			running--
			mu.Unlock()
		}
		h.start()
		time.Sleep(4 * 24 * time.Hour)
		synctest.Wait()
		now := time.Now()
		h.record(ledger.Run{ID: "good", Kind: ledger.Backup, EndedAt: now.Add(-25 * time.Hour), Outcome: ledger.Complete})
		h.record(ledger.Run{ID: "worse", Kind: ledger.Backup, EndedAt: now.Add(-3 * time.Hour), Outcome: ledger.Failed})
		h.record(ledger.Run{ID: "bad", Kind: ledger.Backup, Version: "20260101T020000Z", Outcome: ledger.Failed,
			Error: "put s3://store/a: no", StartedAt: now.Add(-2 * time.Hour), EndedAt: now.Add(-time.Hour)})
		time.Sleep(time.Minute)
		if n := len(h.nightStarts()); n != 4 {
			t.Errorf("%d nights in four days, want 4", n)
		}
		mu.Lock()
		if started != 3 || mostRunning != 1 {
			t.Errorf("the follow-ups started %d times, at most %d at the same time; want 3 times, one at a time", started, mostRunning)
		}
		mu.Unlock()
		if text := h.get("/").Body.String(); !strings.Contains(text, "<dt>Last backup</dt><dd>failed<small>1 h 1 min ago, of 20260101T020000Z, put s3://store/a: no</small>") {
			t.Errorf("the page does not show the failed backup:\n%s", text)
		}
		metrics := h.get("/metrics").Body.String()
		for _, want := range []string{
			`placementsync_follow_behind{kind="backup"} 1`,
			`placementsync_follow_failures{kind="backup"} 2`,
			`placementsync_follow_last_duration_seconds{kind="backup"} 3600`,
			`placementsync_follow_last_success_timestamp_seconds{kind="backup"} 9.469404e+08`,
			`placementsync_follow_info{kind="backup",run="20260101T020000Z"} 1`,
		} {
			if !strings.Contains(metrics, want) {
				t.Errorf("the metrics do not contain %s", want)
			}
		}
		h.shutDown()
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if running != 0 {
			t.Error("the daemon ended before the follow-ups of the last night")
		}
	})
}

// TestFollowUpIsRepeatedOnce runs three nights. The follow-ups of the first take a day and a half, the others an hour. One
// start makes up for the second night, which is published meanwhile, and the third night has one of its own.
func TestFollowUpIsRepeatedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, nil)
		var started atomic.Int32
		h.followUp = func(ctx context.Context) {
			took := time.Hour
			if started.Add(1) == 1 {
				took = 36 * time.Hour
			}
			select {
			case <-time.After(took):
			case <-ctx.Done():
			}
		}
		h.start()
		time.Sleep(3 * 24 * time.Hour)
		synctest.Wait()
		if nights := len(h.nightStarts()); nights != 3 || started.Load() != 3 {
			t.Errorf("%d nights started follow-ups %d times, want 3 nights and 3 starts", nights, started.Load())
		}
		h.shutDown()
	})
}

// TestUnconfiguredFollowUpIsHidden checks that the page omits a failed backup that is no longer
// configured, and shows a killed follow-up, which has no end.
func TestUnconfiguredFollowUpIsHidden(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	now := time.Now()
	h.record(ledger.Run{ID: "b", Kind: ledger.Backup, Outcome: ledger.Failed, StartedAt: now, EndedAt: now})
	h.record(ledger.Run{ID: "l", Kind: ledger.Lake, Outcome: ledger.Killed, StartedAt: now.Add(-time.Hour)})
	h.settings.FollowUpKinds = []string{ledger.Lake}
	h.wantPage("<dt>Last lake</dt><dd>killed<small>started 1 h 0 min ago</small>")
	if text := h.get("/").Body.String(); strings.Contains(text, "Last backup") || h.metrics()[`follow_behind{kind="backup"}`] != "" {
		t.Errorf("the page or the metrics show a backup that is not configured:\n%s", text)
	}
}
