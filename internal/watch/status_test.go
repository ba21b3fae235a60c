package watch_test

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/testing/harness"
	"placementsync/internal/watch"
)

// TestReadStatus reads the status before the first evaluation, after a delivery to one of two channels, and
// after successful deliveries.
func TestReadStatus(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), billsWatch()
	w.Channels = []string{"chat", "mail"}
	requireStatus := func(want watch.Status) {
		t.Helper()
		got, err := watch.ReadStatus(f.folder(t), w.Name)
		harness.Must(t, err)
		if got.Sent.IsZero() != want.Sent.IsZero() || time.Since(got.Sent) > time.Hour && !want.Sent.IsZero() {
			t.Errorf("last sent at %s, want a time in the last hour: %t", got.Sent, !want.Sent.IsZero())
		}
		got.Sent, want.Sent, want.Watch = time.Time{}, time.Time{}, w.Name
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the status (-want +got):\n%s", diff)
		}
	}
	requireStatus(watch.Status{})
	f.publish("a|1", "b|2")
	f.channelErrs = map[string]error{"chat": errReceiver}
	f.evaluate(t, w)
	requireStatus(watch.Status{Evaluated: f.snapshots[0], Found: 2, Pending: 1})
	f.channelErrs = nil
	f.publish("b|2")
	f.evaluate(t, w)
	requireStatus(watch.Status{Evaluated: f.snapshots[1], Found: 1, Sent: time.Now()})
	f.publish()
	f.evaluate(t, w)
	requireStatus(watch.Status{Evaluated: f.snapshots[2], Sent: time.Now()})
	harness.Must(t, os.WriteFile(f.statePath(w.Name), []byte("{}"), 0o600))
	if s, err := watch.ReadStatus(f.folder(t), w.Name); err == nil {
		t.Errorf("ReadStatus read a damaged state as %+v, want an error", s)
	}
}
