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
	"placementsync/internal/webhook"
)

// bytesOf adds the lengths of all segments of an inbox.
func bytesOf(t *testing.T, dir string) (sum int64) {
	t.Helper()
	for _, file := range segmentsIn(t, dir) {
		info, err := os.Stat(file)
		must(t, err)
		sum += info.Size()
	}
	return sum
}

// TestACapturedBodyDoesNotFillTheInbox sends one signed body under new ids, timestamps
// and topics: what an attacker can do who has seen one delivery, since nothing but the
// body is signed.
func TestACapturedBodyDoesNotFillTheInbox(t *testing.T) {
	d := newDesk(t, webhook.Config{Secrets: []string{secret}, MaxAge: 5 * time.Minute})
	d.openStrict(5 * time.Minute)
	body := `{"article_id":"a1","notes":"` + strings.Repeat("x", 10_000) + `"}`
	send := func(id, topic string) int {
		return d.send(delivery{id: id, topic: topic, body: body, timestamp: d.now.Format(time.RFC3339Nano)})
	}
	if got := send("genuine", webhook.CommentUpdated); got != http.StatusNoContent {
		t.Fatalf("answered %d", got)
	}
	before := bytesOf(t, d.dir)
	for i := range 200 {
		if got := send(fmt.Sprint("forged", i), webhook.CommentUpdated); got != http.StatusNoContent {
			t.Fatalf("answered %d: the service would go on trying", got)
		}
	}
	if got := bytesOf(t, d.dir); got != before {
		t.Errorf("the inbox grew from %d to %d bytes", before, got)
	}
	answers := map[int]int{}
	for i := range 200 {
		answers[send(fmt.Sprint("forged", i), fmt.Sprint("topic", i))]++
	}
	if want := map[int]int{http.StatusNoContent: 7, http.StatusUnauthorized: 193}; !cmp.Equal(want, answers) {
		t.Errorf("under 200 topics it is answered %v, want %v", answers, want)
	}
	if got := bytesOf(t, d.dir); got > 9*before {
		t.Errorf("by topics the inbox grew from %d to %d bytes", before, got)
	}
	counts := d.receiver.Counts()
	if counts["repeated"] != 200 || counts["relabeled"] != 193 {
		t.Errorf("counted %v", counts)
	}
}

// TestTheSameWordsLaterAreAnotherEvent holds what is not a repetition: the same body
// under another topic, the next one an hour later, and all that differs in a byte.
func TestTheSameWordsLaterAreAnotherEvent(t *testing.T) {
	d := newDesk(t, webhook.Config{Secrets: []string{secret}}).open()
	for _, one := range []struct {
		after     time.Duration
		id, topic string
		body      string
	}{
		{0, "created", webhook.CommentCreated, `{"id":"c"}`},
		{0, "updated", webhook.CommentUpdated, `{"id":"c"}`},
		{0, "a space more", webhook.CommentUpdated, `{"id":"c"} `},
		{0, "again", webhook.CommentUpdated, `{"id":"c"}`},
		{59 * time.Minute, "after a while", webhook.CommentUpdated, `{"id":"c"}`},
		{time.Minute, "an hour later", webhook.CommentUpdated, `{"id":"c"}`},
		{time.Minute, "and again", webhook.CommentUpdated, `{"id":"c"}`},
	} {
		d.now = d.now.Add(one.after)
		if got := d.send(delivery{id: one.id, topic: one.topic, body: one.body}); got != http.StatusNoContent {
			t.Fatalf("%s is answered %d", one.id, got)
		}
	}
	if diff := cmp.Diff([]string{"created", "updated", "a space more", "an hour later"}, boundedHeader(t, d.dir)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

// TestTheJournalRemembersBodies over a restart, and over one that a kill caused.
func TestTheJournalRemembersBodies(t *testing.T) {
	d := newDesk(t, webhook.Config{Secrets: []string{secret}}).open()
	one := delivery{id: "e1", topic: "x", body: `{"n": 1}`}
	d.send(one)
	d.stop()
	again := newDesk(t, webhook.Config{Dir: d.dir, Secrets: []string{secret}}).open()
	one.id = "e2"
	if got := again.send(one); got != http.StatusNoContent {
		t.Fatalf("after a restart answered %d", got)
	}
	if diff := cmp.Diff([]string{"e1"}, boundedHeader(t, d.dir)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

// TestWhatTheDiskRefusedIsNews: an event whose line could not be written is not known,
// neither by its id nor by its body.
func TestWhatTheDiskRefusedIsNews(t *testing.T) {
	disk := &faultyDisk{}
	d := newDesk(t, webhook.Config{Secrets: []string{secret}, Disk: durable.Disk{Step: disk.step}}).open()
	disk.arm(1)
	one := eventOf("e1")
	if got := d.send(one); got != http.StatusServiceUnavailable {
		t.Fatalf("with a broken disk answered %d", got)
	}
	disk.arm(0)
	one.id = "e2"
	if got := d.send(one); got != http.StatusNoContent {
		t.Fatalf("answered %d", got)
	}
	if got := d.receiver.Counts(); got["stored"] != 2 || got["repeated"] != 0 { // with that of open
		t.Errorf("counted %v", got)
	}
}

// TestAFullInboxRefusesAndRecovers fills an inbox to its limit. What it refuses, the
// sender tries again until a night has made room: then everything that was acknowledged
// is in what the night took or in the inbox, once.
func TestAFullInboxRefusesAndRecovers(t *testing.T) {
	const limit = 40_000
	d := newDesk(t, webhook.Config{Secrets: []string{secret}, SegmentBytes: 1, MaxBody: 1000, MaxInbox: func(int64) int64 { return limit }}).open()
	var acknowledged []string
	one := func(n int) delivery {
		return delivery{id: fmt.Sprint("e", n), body: fmt.Sprintf(`{"n":%d,"notes":%q}`, n, strings.Repeat("x", 900))}
	}
	n := 0
	for ; ; n++ {
		status := d.send(one(n))
		if status == http.StatusServiceUnavailable {
			break
		}
		if status != http.StatusNoContent {
			t.Fatalf("answered %d", status)
		}
		acknowledged = append(acknowledged, one(n).id)
	}
	if got := bytesOf(t, d.dir); got > limit || got < limit-2000 {
		t.Errorf("the inbox is full with %d bytes, its limit is %d", got, limit)
	}
	state := d.receiver.Inbox()
	if state.Bytes != bytesOf(t, d.dir) || state.Limit != limit || !state.FullSince.Equal(d.now) {
		t.Errorf("the state is %+v", state)
	}
	resp, err := http.DefaultClient.Do(d.request(one(n)))
	must(t, err)
	must(t, resp.Body.Close())
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") != "300" {
		t.Errorf("answered %d, to try again after %q", resp.StatusCode, resp.Header.Get("Retry-After"))
	}
	if got := d.send(one(0)); got != http.StatusNoContent {
		t.Errorf("what is known is answered %d by a full inbox", got)
	}

	folder := filepath.Join(t.TempDir(), "webhooks")
	batch, err := webhook.Land(durable.Disk{}, d.dir, folder)
	must(t, err)
	must(t, batch.Empty())
	for d.send(one(n)) != http.StatusNoContent { // as the service does
	}
	if state := d.receiver.Inbox(); !state.FullSince.IsZero() || state.Bytes != bytesOf(t, d.dir) {
		t.Errorf("after the night the state is %+v", state)
	}
	taken := map[string]bool{}
	for _, dir := range []string{folder, d.dir} {
		for _, id := range boundedHeader(t, dir) {
			taken[id] = true
		}
	}
	for _, id := range append(acknowledged, one(n).id) {
		if !taken[id] {
			t.Errorf("%s was acknowledged and is lost", id)
		}
	}
}

// TestALimitThatIsLoweredLosesNothing: what the inbox has already stays, and it is full.
func TestALimitThatIsLoweredLosesNothing(t *testing.T) {
	d := newDesk(t, webhook.Config{Secrets: []string{secret}}).open()
	d.send(eventOf("e1"))
	d.stop()
	again := newDesk(t, webhook.Config{Dir: d.dir, Secrets: []string{secret}, MaxInbox: func(bytes int64) int64 { return bytes / 2 }}).open()
	if got := again.send(eventOf("e2")); got != http.StatusServiceUnavailable {
		t.Errorf("answered %d, want 503", got)
	}
	if diff := cmp.Diff([]string{"e1"}, boundedHeader(t, d.dir)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}
