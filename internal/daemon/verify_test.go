package daemon_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"placementsync/internal/daemon"
	"placementsync/internal/repair"
	"placementsync/internal/warehouse"
)

// TestScheduledVerify runs two verifications. The second finds damage, which the page, the metrics
// and the log must show.
func TestScheduledVerify(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, nil)
		var mu sync.Mutex
		var starts []string
		record := repair.VerifyRecord{}
		h.settings.VerifySchedule = parseSchedule(t, "0 5 * * 0", "UTC")
		h.verify = func(context.Context) (repair.VerifyRecord, error) {
			mu.Lock()
			defer mu.Unlock()
			record = repair.VerifyRecord{ReadData: true, At: time.Now(), Seconds: 1, Result: repair.Whole}
			starts = append(starts, time.Now().UTC().Format("01-02 15:04"))
			if len(starts) == 2 {
				record.Result, record.DamagedFiles = "rebuildable", []string{"latest", "parquet/orders/x"}
			}
			return record, nil
		}
		h.inspect = func(context.Context) daemon.Inspection {
			mu.Lock()
			defer mu.Unlock()
			inspection := daemon.Inspection{At: time.Now()}
			if !record.At.IsZero() {
				inspection.Verifications = []repair.VerifyRecord{record, {At: record.At.Add(-time.Hour), Result: repair.Whole}}
			}
			return inspection
		}
		h.start()
		if text := h.get("/").Body.String(); !strings.Contains(text, "<dt>Verified</dt><dd>not yet") || h.metric(`last_verify_timestamp_seconds{depth="full"}`) != "0" {
			t.Error("a warehouse that was never verified is shown as verified")
		}
		time.Sleep(9*24*time.Hour + 7*time.Hour)
		synctest.Wait()
		if want := []string{"01-02 05:00", "01-09 05:00"}; !slices.Equal(starts, want) {
			t.Errorf("verifications started at %v, want %v", starts, want)
		}
		if text := h.get("/").Body.String(); !strings.Contains(text, "rebuildable<small>every byte, 1 d 2 h ago, latest, parquet/orders/x</small><small>next in 5 d 22 h</small>") {
			t.Errorf("the page does not show the damage:\n%s", text)
		} else if strings.Contains(text, "names and sizes") {
			t.Errorf("the page shows an older verification of names and sizes:\n%s", text)
		}
		if n := h.metric(`last_verify_damaged_files{depth="full"}`); n != "2" {
			t.Errorf("the metrics have %s damaged files, want 2", n)
		}
		if !strings.Contains(h.log.String(), "level=ERROR msg=\"verify ended\" result=rebuildable damaged=2") {
			t.Errorf("the log does not report the damage:\n%s", &h.log)
		}
		if n := len(h.nightStarts()); n != 10 {
			t.Errorf("%d nights in ten days, want 10", n)
		}
		h.shutDown()
	})
}

// TestVerificationsNeverOverlap runs verifications that take longer than their interval.
func TestVerificationsNeverOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, nil)
		var starts []string
		h.settings.VerifySchedule = parseSchedule(t, "0 * * * *", "UTC")
		h.verify = func(context.Context) (repair.VerifyRecord, error) {
			starts = append(starts, time.Now().UTC().Format("15:04"))
			time.Sleep(90 * time.Minute)
			return repair.VerifyRecord{}, nil
		}
		h.start()
		time.Sleep(5*time.Hour + time.Minute)
		h.shutDown()
		if want := []string{"01:00", "03:00", "05:00"}; !slices.Equal(starts, want) {
			t.Errorf("verifications started at %v, want %v", starts, want)
		}
	})
}

// TestStoppedVerifyIsNoError stops the daemon during a verification.
func TestStoppedVerifyIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, nil)
		h.settings.VerifySchedule = parseSchedule(t, "0 1 * * *", "UTC")
		h.verify = func(ctx context.Context) (repair.VerifyRecord, error) {
			<-ctx.Done()
			return repair.VerifyRecord{}, ctx.Err()
		}
		h.start()
		time.Sleep(time.Hour + time.Minute)
		h.shutDown()
		const want = `level=INFO msg="verify ended" result=interrupted next=2000-01-02T01:00:00.000Z`
		if text := h.log.String(); !strings.Contains(text, want) || strings.Contains(text, "ERROR") {
			t.Errorf("the log lacks %q, or has an error:\n%s", want, text)
		}
	})
}

// TestUnscheduledVerifyIsNotRetried removes the schedule of the verification while a retry is planned. The daemon must
// drop this retry. If it waited for the retry, its loop would never sleep and would use a whole core.
func TestUnscheduledVerifyIsNotRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const manyInspections = 1000 // one a minute would be 180
		h := newHarness(t, nil)
		hangups := make(chan os.Signal)
		h.cfg.Hangups = hangups
		h.reload = func() (daemon.Settings, error) {
			settings := h.settings
			settings.VerifySchedule = daemon.Schedule{}
			return settings, nil
		}
		h.settings.VerifySchedule = parseSchedule(t, "57 1 * * *", "UTC")
		verifications := 0
		h.verify = func(context.Context) (repair.VerifyRecord, error) {
			verifications++
			return repair.VerifyRecord{}, &warehouse.LockedError{PID: 1, Run: "x"}
		}
		inspections := 0
		h.inspect = func(context.Context) daemon.Inspection {
			inspections++
			if inspections == manyInspections {
				h.stop()
			}
			return daemon.Inspection{At: time.Now()}
		}
		h.start()
		time.Sleep(time.Hour + 58*time.Minute)
		hangups <- syscall.SIGHUP
		time.Sleep(time.Hour)
		h.shutDown()
		if verifications != 1 || inspections >= manyInspections {
			t.Errorf("%d verifications and %d inspections in three hours, want 1 verification and an inspection a minute", verifications, inspections)
		}
	})
}

// TestVerifyRetriesLockedWarehouse starts a verification three times. The warehouse is locked at the first
// two attempts, and the third attempt fails. The failure must not hide earlier damage. A night starts before
// the second attempt and must not cancel it.
func TestVerifyRetriesLockedWarehouse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, nil)
		var starts []string
		at := time.Now()
		failed := repair.VerifyRecord{ReadData: true, At: at, Result: "damaged", DamagedFiles: []string{"a"}, Error: "no disk", FailedAt: at.Add(time.Hour)}
		h.settings.VerifySchedule = parseSchedule(t, "57 1 * * 0", "UTC")
		h.verify = func(context.Context) (repair.VerifyRecord, error) {
			starts = append(starts, time.Now().UTC().Format("01-02 15:04"))
			if len(starts) < 3 {
				return repair.VerifyRecord{}, &warehouse.LockedError{PID: 1, Run: "x"}
			}
			return failed, nil
		}
		h.inspect = func(context.Context) daemon.Inspection {
			return daemon.Inspection{At: time.Now(), Verifications: []repair.VerifyRecord{failed}}
		}
		h.start()
		time.Sleep(30 * time.Hour)
		h.shutDown()
		if want := []string{"01-02 01:57", "01-02 02:02", "01-02 02:07"}; !slices.Equal(starts, want) {
			t.Errorf("verifications started at %v, want %v", starts, want)
		}
		if n := h.metric(`last_verify_damaged_files{depth="full"}`); n != "1" {
			t.Errorf("after a failure the metrics have %s damaged files, want 1", n)
		}
		h.wantMetrics(map[string]string{`last_verify_result{depth="full",result="failed"}`: "1", `last_verify_result{depth="full",result="damaged"}`: "0"})
		if text := h.get("/").Body.String(); !strings.Contains(text, "no disk</small><small>damaged: every byte, 1 d 6 h ago, a</small>") {
			t.Errorf("the page hides damage:\n%s", text)
		}
		if log := h.log.String(); strings.Count(log, "verify waits for another process") != 2 || strings.Count(log, "verify ended") != 1 || !strings.Contains(log, `msg="verify ended" result=failed error="no disk"`) {
			t.Errorf("the log must contain both waits and one failure:\n%s", log)
		}
	})
}
