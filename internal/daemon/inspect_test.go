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

// TestOneCauseIsOneLine loses two parts by one cause, and has them again.
func TestOneCauseIsOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		began := time.Now()
		h.inspect = func(context.Context) daemon.Inspection {
			found := daemon.Inspection{At: time.Now()}
			if time.Since(began) < 10*time.Minute {
				gone := errors.New("no disk")
				found.Errors = map[string]error{daemon.SourceFree: gone, daemon.SourceInbox: gone}
			}
			return found
		}
		h.run()
		if text := h.get("/").Body.String(); !strings.Contains(text, "Unknown because it cannot be read: the free disk space, the webhook inbox. See the log.") {
			t.Errorf("the page does not list them:\n%s", text)
		}
		time.Sleep(time.Hour)
		h.end()
		for _, want := range []string{`sources="free, inbox" error="no disk"`, `can be read again" sources="free, inbox"`} {
			if n := strings.Count(h.log.String(), want); n != 1 {
				t.Errorf("the log has %q %d times:\n%s", want, n, &h.log)
			}
		}
	})
}

// TestADiskThatDoesNotAnswerIsSaid never ends a look at the warehouse.
func TestADiskThatDoesNotAnswerIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.inspect = func(ctx context.Context) daemon.Inspection {
			<-ctx.Done()
			return daemon.Inspection{}
		}
		h.run()
		time.Sleep(20*time.Minute + time.Second)
		if n := h.metric(`read_errors_total{source="free"}`); n != "6" {
			t.Errorf("%s errors are counted, want one a minute from the 15th on", n)
		}
		if text := h.get("/").Body.String(); !strings.Contains(text, "has not responded since 2000-01-01 00:00 UTC") {
			t.Errorf("the page says nothing:\n%s", text)
		}
		if n := strings.Count(h.log.String(), "does not answer"); n != 1 {
			t.Errorf("the log says it %d times", n)
		}
		h.end()
	})
}
