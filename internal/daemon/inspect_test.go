package daemon_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"placementsync/internal/daemon"
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

// TestStuckDiskIsReported runs an inspection that does not end.
func TestStuckDiskIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, nil)
		h.inspect = func(ctx context.Context) daemon.Inspection {
			<-ctx.Done()
			return daemon.Inspection{}
		}
		h.start()
		time.Sleep(20*time.Minute + time.Second)
		if n := h.metric(`read_errors_total{source="free"}`); n != "6" {
			t.Errorf("got %s read errors, want 6: one a minute from minute 15 to minute 20", n)
		}
		if text := h.get("/").Body.String(); !strings.Contains(text, "has not responded since 2000-01-01 00:00 UTC") {
			t.Errorf("the page does not report the disk:\n%s", text)
		}
		if n := strings.Count(h.log.String(), "does not respond"); n != 1 {
			t.Errorf("the log reports the stuck disk %d times, want once", n)
		}
		h.shutDown()
	})
}
