package webhook_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/durable"
	"placementsync/internal/testing/harness"
	"placementsync/internal/webhook"
)

// filesIn returns the paths of the events in an inbox.
func filesIn(t testing.TB, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "2*"))
	harness.Must(t, err)
	return files
}

// inboxBytes returns the size of all events of an inbox.
func inboxBytes(t *testing.T, dir string) (sum int64) {
	t.Helper()
	for _, file := range filesIn(t, dir) {
		info, err := os.Stat(file)
		harness.Must(t, err)
		sum += info.Size()
	}
	return sum
}

// TestCapturedBodyDoesNotFillTheInbox sends one signed body with new ids, timestamps and topics. An
// attacker who captured one delivery can do this, because only the body is signed. The inbox must
// not grow without limit.
func TestCapturedBodyDoesNotFillTheInbox(t *testing.T) {
	d := newFixture(t, webhook.Config{})
	d.startStrict(5 * time.Minute)
	body := `{"article_id":"a1","notes":"` + strings.Repeat("x", 10_000) + `"}`
	send := func(id, topic string) int {
		return d.send(delivery{id: id, topic: topic, body: body, timestamp: d.now.Format(time.RFC3339Nano)})
	}
	if got := send("genuine", "comment.updated"); got != http.StatusNoContent {
		t.Fatalf("got status %d for the genuine delivery, want 204", got)
	}
	sizeBefore := inboxBytes(t, d.dir)
	for i := range 200 {
		if got := send(fmt.Sprint("forged", i), "comment.updated"); got != http.StatusNoContent {
			t.Fatalf("got status %d, after which the service would repeat the delivery; want 204", got)
		}
	}
	if got := inboxBytes(t, d.dir); got != sizeBefore {
		t.Errorf("the inbox grew from %d to %d bytes, want no growth", sizeBefore, got)
	}
	statuses := map[int]int{}
	for i := range 200 {
		statuses[send(fmt.Sprint("forged", i), fmt.Sprint("topic", i))]++
	}
	// A body is stored under at most 8 topics, and the genuine delivery used one of them.
	if want := map[int]int{http.StatusNoContent: 7, http.StatusUnauthorized: 193}; !cmp.Equal(want, statuses) {
		t.Errorf("under 200 topics, the number of each status is %v, want %v", statuses, want)
	}
	if got := inboxBytes(t, d.dir); got > 9*sizeBefore {
		t.Errorf("200 topics grew the inbox from %d to %d bytes, want at most 9 times", sizeBefore, got)
	}
	counts := d.receiver.Counts()
	if counts[webhook.Repeated] != 200 || counts[webhook.Relabeled] != 193 {
		t.Errorf("counts are %v, want 200 repeated and 193 relabeled", counts)
	}
}

// TestSameBodyLaterIsAnotherEvent repeats a body with other ids. Within an hour, the same topic and
// body are one event. Another topic, an added space, or a repetition after an hour is a new event.
func TestSameBodyLaterIsAnotherEvent(t *testing.T) {
	d := newFixture(t, webhook.Config{}).start()
	for _, hook := range []struct {
		after     time.Duration
		id, topic string
		body      string
	}{
		{0, "created", "comment.created", `{"id":"c"}`},
		{0, "updated", "comment.updated", `{"id":"c"}`},
		{0, "with a space", "comment.updated", `{"id":"c"} `},
		{0, "again", "comment.updated", `{"id":"c"}`},
		{59 * time.Minute, "59 minutes later", "comment.updated", `{"id":"c"}`},
		{time.Minute, "an hour later", "comment.updated", `{"id":"c"}`},
		{time.Minute, "an hour and a minute later", "comment.updated", `{"id":"c"}`},
	} {
		d.now = d.now.Add(hook.after + time.Nanosecond) // the names of the files are in the order of receipt
		if got := d.send(delivery{id: hook.id, topic: hook.topic, body: hook.body}); got != http.StatusNoContent {
			t.Fatalf("%s got status %d, want 204", hook.id, got)
		}
	}
	if diff := cmp.Diff([]string{"created", "updated", "with a space", "an hour later"}, storedIDs(t, d.dir)); diff != "" {
		t.Errorf("stored ids (-want +got):\n%s", diff)
	}
}

// TestOldDeliveriesAreRecognized repeats a body under another id after four hours. Timestamps may be three hours old.
func TestOldDeliveriesAreRecognized(t *testing.T) {
	d := newFixture(t, webhook.Config{})
	d.startStrict(3 * time.Hour)
	for _, id := range []string{"first", "captured"} {
		if got := d.send(delivery{id: id, topic: "t", body: `{"n":1}`, timestamp: d.now.Format(time.RFC3339)}); got != http.StatusNoContent {
			t.Errorf("%s: got status %d, want 204", id, got)
		}
		d.now = d.now.Add(4 * time.Hour)
	}
	if diff := cmp.Diff([]string{"first"}, storedIDs(t, d.dir)); diff != "" {
		t.Errorf("stored ids (-want +got):\n%s", diff)
	}
}

// TestFullInboxRejectsAndRecovers fills an inbox to its limit. The sender repeats a rejected
// event until a night has emptied the inbox. A delivery notices that after at most ten seconds. Then
// every acknowledged event must be in the folder of the night or in the inbox.
func TestFullInboxRejectsAndRecovers(t *testing.T) {
	const limit = 40_000
	var measured int64
	limitOf := func(bytes int64) int64 {
		measured = bytes
		return limit
	}
	d := newFixture(t, webhook.Config{MaxBody: 1000, Owner: owner{limit: limitOf}}).start()
	var acknowledged []string
	largeDelivery := func(n int) delivery {
		return delivery{id: fmt.Sprint("e", n), body: fmt.Sprintf(`{"n":%d,"notes":%q}`, n, strings.Repeat("x", 900))}
	}
	n := 0
	for ; ; n++ {
		status := d.send(largeDelivery(n))
		if status == http.StatusServiceUnavailable {
			break
		}
		if status != http.StatusNoContent {
			t.Fatalf("got status %d, want 204 or 503", status)
		}
		acknowledged = append(acknowledged, largeDelivery(n).id)
	}
	if got := inboxBytes(t, d.dir); got > limit || got < limit-2000 {
		t.Errorf("the full inbox has %d bytes, want slightly less than %d", got, limit)
	}
	state, err := d.receiver.Inbox()
	harness.Must(t, err)
	if state.Bytes != inboxBytes(t, d.dir) || state.Limit != limit || !state.FullSince.Equal(d.now) {
		t.Errorf("the state of the full inbox is %+v, want %d bytes, limit %d, full since %s", state, inboxBytes(t, d.dir), limit, d.now)
	}
	status, header := d.do(d.request(largeDelivery(n)))
	if wait := header.Get("Retry-After"); status != http.StatusServiceUnavailable || wait != "300" {
		t.Errorf("got status %d with Retry-After %q, want 503 with 300", status, wait)
	}
	if got := d.send(largeDelivery(0)); got != http.StatusNoContent {
		t.Errorf("a known event got status %d from a full inbox, want 204", got)
	}

	folder := filepath.Join(t.TempDir(), "webhooks")
	batch, err := webhook.LinkEvents(durable.Disk{}, d.dir, folder)
	harness.Must(t, err)
	harness.Must(t, batch.EmptyInbox())
	d.now = d.now.Add(9 * time.Second)
	if got := d.send(largeDelivery(n)); got != http.StatusServiceUnavailable {
		t.Errorf("the rejected event got status %d 9 seconds after the last measurement, want 503 without a measurement", got)
	}
	d.now = d.now.Add(time.Second)
	if got := d.send(largeDelivery(n)); got != http.StatusNoContent {
		t.Errorf("the rejected event got status %d after the night, want 204", got)
	}
	state, err = d.receiver.Inbox()
	harness.Must(t, err)
	if !state.FullSince.IsZero() || state.Bytes != inboxBytes(t, d.dir) || state.Events != 1 {
		t.Errorf("after the night the state is %+v, want 1 event with %d bytes and not full", state, inboxBytes(t, d.dir))
	}
	kept := map[string]bool{}
	for _, dir := range []string{folder, d.dir} {
		for _, id := range storedIDs(t, dir) {
			kept[id] = true
		}
	}
	for _, id := range append(acknowledged, largeDelivery(n).id) {
		if !kept[id] {
			t.Errorf("the acknowledged event %s is lost", id)
		}
	}
	for _, file := range filesIn(t, d.dir) {
		harness.Must(t, os.Remove(file))
	}
	if _, err = d.receiver.Inbox(); err != nil || measured != 0 {
		t.Errorf("the limit of an empty inbox is that of an inbox of %d bytes (%v), want 0", measured, err)
	}
}

// TestNumberOfEventsIsLimited sends more small events than the inbox may contain, before and after a restart. The event
// of start is the first of the three. A full inbox still accepts the known event b.
func TestNumberOfEventsIsLimited(t *testing.T) {
	d := newFixture(t, webhook.Config{MaxEvents: 3}).start()
	var statuses []int
	for _, id := range []string{"a", "b", "c"} {
		statuses = append(statuses, d.send(newDelivery(id)))
	}
	d.stop()
	harness.Must(t, os.WriteFile(filepath.Join(d.dir, ".arriving"), nil, 0o600)) // of a killed process; it is no event
	restarted := newFixture(t, webhook.Config{Dir: d.dir, MaxEvents: 3}).start()
	statuses = append(statuses, restarted.send(newDelivery("c")), restarted.send(newDelivery("b")))
	if diff := cmp.Diff([]int{204, 204, 503, 503, 204}, statuses); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	state, err := restarted.receiver.Inbox()
	harness.Must(t, err)
	if want := (webhook.InboxState{Bytes: inboxBytes(t, d.dir), Events: 3, FullSince: restarted.now}); !cmp.Equal(want, state) {
		t.Errorf("the state is %+v, want %+v", state, want)
	}
}

// TestFullInboxAfterClockIsSetBack sets the clock back after the inbox was measured. The next delivery measures the full
// inbox again, and notices that a night has emptied it.
func TestFullInboxAfterClockIsSetBack(t *testing.T) {
	d := newFixture(t, webhook.Config{MaxEvents: 1}).start()
	for _, file := range filesIn(t, d.dir) {
		harness.Must(t, os.Remove(file))
	}
	d.now = d.now.Add(-time.Hour)
	if got := d.send(newDelivery("a")); got != http.StatusNoContent {
		t.Errorf("got status %d, want 204", got)
	}
}

// TestFullInboxStaysFullForLongEvents removes one small event of a full inbox. There is room for a short event but
// not for the longest one, so the inbox stays full since the same time.
func TestFullInboxStaysFullForLongEvents(t *testing.T) {
	limit := int64(100_000)
	d := newFixture(t, webhook.Config{MaxBody: 1000, Owner: owner{limit: func(int64) int64 { return limit }}}).start()
	since := d.now
	limit = 1
	_, err := d.receiver.Inbox()
	harness.Must(t, err)
	if got := d.send(newDelivery("a")); got != http.StatusServiceUnavailable {
		t.Fatalf("got status %d from a full inbox, want 503", got)
	}
	d.now = d.now.Add(time.Hour)
	d.send(newDelivery("b"))          // is rejected too
	const longest = 1000*4/3 + 16<<10 // the largest body in base64, and the other members of the event
	for _, c := range []struct {
		room int64
		want time.Time
	}{{longest - 1, since}, {longest, time.Time{}}} {
		limit = inboxBytes(t, d.dir) + c.room
		if state, err := d.receiver.Inbox(); err != nil || !state.FullSince.Equal(c.want) {
			t.Errorf("with room for %d bytes the inbox is full since %v (%v), want %v", c.room, state.FullSince, err, c.want)
		}
	}
}
