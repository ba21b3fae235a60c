package watch_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/watch"
)

// TestReadStatus follows a watch from its first evaluation over a failed delivery to a
// successful one.
func TestReadStatus(t *testing.T) {
	t.Parallel()
	h, w := newFixture(t), billsWatch()
	want := func(s watch.Status) {
		t.Helper()
		got, err := watch.ReadStatus(h.folder(t), w.Name)
		must(t, err)
		if got.Sent.IsZero() != s.Sent.IsZero() || time.Since(got.Sent) > time.Hour && !s.Sent.IsZero() {
			t.Errorf("last sent at %s, want %s", got.Sent, s.Sent)
		}
		got.Sent, s.Sent, s.Watch = time.Time{}, time.Time{}, w.Name
		if diff := cmp.Diff(s, got); diff != "" {
			t.Errorf("the status (-want +got):\n%s", diff)
		}
	}
	want(watch.Status{})
	h.publish("a|1", "b|2")
	h.channelErrs = map[string]error{"chat": errReceiver}
	h.evaluate(t, w)
	want(watch.Status{Evaluated: h.snapshots[0], Found: 2, Pending: 1})
	h.channelErrs = nil
	h.publish("b|2")
	h.evaluate(t, w)
	want(watch.Status{Evaluated: h.snapshots[1], Found: 1, Sent: time.Now()})
	h.publish()
	h.evaluate(t, w)
	want(watch.Status{Evaluated: h.snapshots[2], Sent: time.Now()})
	must(t, os.WriteFile(filepath.Join(h.dir, "state", "watches", w.Name+".json"), []byte("{}"), 0o600))
	if s, err := watch.ReadStatus(h.folder(t), w.Name); err == nil {
		t.Errorf("ReadStatus read a damaged state as %+v, want an error", s)
	}
}
