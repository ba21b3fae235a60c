package webhook_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/durable"
	"placementsync/internal/webhook"
)

// emptyInbox lands and empties an inbox as a published night does.
func emptyInbox(t *testing.T, dir string) {
	t.Helper()
	batch, err := webhook.Land(durable.Disk{}, dir, filepath.Join(t.TempDir(), "webhooks"))
	must(t, err)
	must(t, batch.EmptyInbox())
}

// TestAPublishedEventIsKnownAfterARestart restarts the receiver after a night has emptied the inbox.
func TestAPublishedEventIsKnownAfterARestart(t *testing.T) {
	first := newFixture(t, webhook.Config{}).start()
	hook := delivery{id: "e1", topic: "x", body: `{"n":1}`}
	first.send(hook)
	first.stop()
	emptyInbox(t, first.dir)
	if left, _ := filepath.Glob(filepath.Join(first.dir, "*.log")); len(left) > 0 {
		t.Fatalf("the emptied inbox has the segments %v, want none", left)
	}
	for _, c := range []struct {
		id            string
		after, maxAge time.Duration
		want          string
	}{
		{"again", time.Minute, 5 * time.Minute, webhook.Repeated},
		{"later, in a longer window", 2 * time.Hour, 6 * time.Hour, webhook.Repeated},
		{"later", 2 * time.Hour, 5 * time.Minute, webhook.Stored},
		{"e1", 2 * time.Hour, 5 * time.Minute, webhook.Replayed},
	} {
		next := newFixture(t, webhook.Config{Dir: first.dir})
		next.now = next.now.Add(c.after)
		next.startStrict(c.maxAge)
		countBefore := next.receiver.Counts()[c.want]
		hook.id, hook.timestamp = c.id, next.now.Format(time.RFC3339)
		next.send(hook)
		if next.receiver.Counts()[c.want] != countBefore+1 {
			t.Errorf("id %q: counts are %v, want one more %s", c.id, next.receiver.Counts(), c.want)
		}
		next.stop()
	}
}

// TestAFullInboxHasRoomAfterANight checks that a full inbox seals its open segment, so that a night
// removes this segment, too.
func TestAFullInboxHasRoomAfterANight(t *testing.T) {
	d := newFixture(t, webhook.Config{Owner: owner{limit: func(int64) int64 { return 2000 }}}).start()
	large := func(id string) delivery { return delivery{id: id, body: `"` + id + strings.Repeat("x", 500) + `"`} }
	status := 0
	for id := 'a'; id <= 'z' && status != http.StatusServiceUnavailable; id++ {
		status = d.send(large(string(id)))
	}
	emptyInbox(t, d.dir)
	got := d.send(large("again"))
	if status != http.StatusServiceUnavailable || got != http.StatusNoContent {
		t.Errorf("got status %d, and %d after a night, want 503 and 204", status, got)
	}
}

// TestFullDiskKeepsNoEmptySegments checks that events that cannot be written leave no empty
// segments.
func TestFullDiskKeepsNoEmptySegments(t *testing.T) {
	full := false
	disk := durable.Disk{Step: func(name, _ string) error {
		if full && strings.HasPrefix(name, "mid write") {
			return syscall.ENOSPC
		}
		return nil
	}}
	d := newFixture(t, webhook.Config{Disk: disk}).start()
	full = true
	for _, id := range []string{"a", "b", "c", "d"} {
		if got := d.send(newDelivery(id)); got != http.StatusServiceUnavailable {
			t.Errorf("got status %d from a full disk, want 503", got)
		}
	}
	full = false
	d.send(newDelivery("e"))
	d.stop()
	var withContent []bool
	segments, _ := filepath.Glob(filepath.Join(d.dir, "*.log"))
	for _, path := range segments {
		info, err := os.Stat(path)
		must(t, err)
		withContent = append(withContent, info.Size() > 0)
	}
	// One segment contains the event that fixture.start sends, and one contains e.
	if diff := cmp.Diff([]bool{true, true}, withContent); diff != "" {
		t.Errorf("segments with content (-want +got):\n%s", diff)
	}
}
