package daemon_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"placementsync/internal/daemon"
	"placementsync/internal/ledger"
	fixtures "placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
	"placementsync/internal/webhook"
)

// TestReadErrorsAreLoggedOnce makes two sources unreadable for ten minutes, for the same reason.
func TestReadErrorsAreLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, nil)
		began := time.Now()
		h.inspect = func(context.Context) daemon.Inspection {
			inspection := daemon.Inspection{At: time.Now()}
			if time.Since(began) < 10*time.Minute {
				noDisk := errors.New("no disk")
				inspection.Errors = map[string]error{daemon.SourceFree: noDisk, daemon.SourceInbox: noDisk}
			}
			return inspection
		}
		h.start()
		if text := h.get("/").Body.String(); !strings.Contains(text, "Unknown because it cannot be read: the free disk space, the webhook inbox. See the log.") {
			t.Errorf("the page does not list the sources:\n%s", text)
		}
		time.Sleep(time.Hour)
		h.shutDown()
		for _, want := range []string{`sources="free, inbox" error="no disk"`, `can be read again" sources="free, inbox"`} {
			if n := strings.Count(h.log.String(), want); n != 1 {
				t.Errorf("the log has %q %d times, want once:\n%s", want, n, &h.log)
			}
		}
	})
}

// TestDiskUsageIsMeasuredSeldom inspects a warehouse each minute. The measurement reads the whole folder, so
// its time changes only after ten minutes, with a new version, or after the clock was set back.
func TestDiskUsageIsMeasuredSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := warehouse.New(warehouse.Config{Dir: t.TempDir(), KeepVersions: 1})
		log := slog.New(slog.DiscardHandler)
		var offset time.Duration // of the clock
		now := func() time.Time { return time.Now().Add(offset) }
		receiver := webhook.New(webhook.Config{Dir: w.Folder.InboxPath()}, log, now)
		inspector := daemon.Inspector{Warehouse: w, Receiver: receiver, Now: now}
		publish := func(run string) {
			t.Helper()
			latest := w.Folder.Path(warehouse.LatestLink)
			err := errors.Join(os.MkdirAll(w.Folder.Path(warehouse.VersionsDir), 0o700), os.RemoveAll(latest), os.Symlink(run, latest))
			fixtures.Must(t, err)
		}
		publish("20000101T000000Z")
		var measured []string
		for minute := range 16 {
			switch minute {
			case 13:
				publish("20000101T001300Z")
			case 15: // the clock is set back
				offset = -time.Hour
			}
			inspection := inspector.Inspect(t.Context())
			if inspection.Held != nil {
				t.Fatalf("the night %+v is held, want none", inspection.Held)
			}
			if slices.ContainsFunc(inspection.Usage, func(u warehouse.Usage) bool { return u.Part == "lake" }) {
				t.Fatalf("the disk usage is %+v, want no lake, which is not configured", inspection.Usage)
			}
			if at := inspection.UsageAt.Format("15:04"); !slices.Contains(measured, at) {
				measured = append(measured, at)
			}
			time.Sleep(time.Minute)
		}
		if want := []string{"00:00", "00:10", "00:13", "23:15"}; !slices.Equal(measured, want) {
			t.Errorf("the disk usage is measured at %v, want %v", measured, want)
		}
	})
}

// TestInspectionFollowsNight checks that the page shows a held night at its end, without the inspection of the next minute.
func TestInspectionFollowsNight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, func(context.Context) (ledger.Run, error) {
			time.Sleep(10*time.Minute + 30*time.Second)
			return ledger.Run{Outcome: ledger.Failed, Held: true}, errors.New("held")
		})
		h.inspect = func(context.Context) daemon.Inspection {
			inspection := daemon.Inspection{At: time.Now()}
			if runs, _ := h.readLedger(); len(runs) > 0 {
				inspection.Held = &warehouse.HeldNight{Run: runs[0]}
			}
			return inspection
		}
		h.start()
		defer h.shutDown()
		time.Sleep(2*time.Hour + 10*time.Minute + 20*time.Second)
		h.get("/") // reads the ledger before the night ends
		time.Sleep(11 * time.Second)
		h.wantPage("<h2>Night 20000101T020000Z is held</h2>", `<th scope="row"><bdi>2000-01-01 02:00 UTC`)
	})
}
