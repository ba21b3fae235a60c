package watch_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/watch"
)

// TestStatusIsWhatTheStateSays follows a watch from nothing over a receiver that takes
// nothing to one that does.
func TestStatusIsWhatTheStateSays(t *testing.T) {
	t.Parallel()
	h, w := newHouse(t), bills()
	want := func(s watch.Status) {
		t.Helper()
		got, err := watch.ReadStatus(h.folder(t), w.Name)
		must(t, err)
		if got.Sent.IsZero() != s.Sent.IsZero() || time.Since(got.Sent) > time.Hour && !s.Sent.IsZero() {
			t.Errorf("last sent %s", got.Sent)
		}
		got.Sent, s.Sent, s.Watch = time.Time{}, time.Time{}, w.Name
		if diff := cmp.Diff(s, got); diff != "" {
			t.Errorf("the status (-want +got):\n%s", diff)
		}
	}
	want(watch.Status{})
	h.night("a|1", "b|2")
	h.deaf = map[string]error{"chat": errDeaf}
	h.look(t, w)
	want(watch.Status{Looked: h.line[0], Found: 2, Waiting: 1})
	h.deaf = nil
	h.night("b|2")
	h.look(t, w)
	want(watch.Status{Looked: h.line[1], Found: 1, Sent: time.Now()})
	h.night()
	h.look(t, w)
	want(watch.Status{Looked: h.line[2], Sent: time.Now()})
	must(t, os.WriteFile(filepath.Join(h.dir, "state", "watches", w.Name+".json"), []byte("{}"), 0o600))
	if s, err := watch.ReadStatus(h.folder(t), w.Name); err == nil {
		t.Errorf("a damaged state is read as %+v", s)
	}
}
