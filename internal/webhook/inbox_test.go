package webhook_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/durable"
	"placementsync/internal/testing/harness"
	"placementsync/internal/webhook"
)

// diskRecorder records the steps of a disk after a call of failAtStep. The step with the number failAt fails.
type diskRecorder struct {
	mu     sync.Mutex
	armed  bool
	failAt int
	steps  []string
}

func (d *diskRecorder) step(name, _ string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.armed {
		return nil
	}
	d.steps = append(d.steps, name)
	if len(d.steps) == d.failAt {
		return fmt.Errorf("injected fault at %s: %w", name, syscall.EIO)
	}
	return nil
}

// failAtStep makes the step with this number fail. 0 means that no step fails.
func (d *diskRecorder) failAtStep(failAt int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.armed, d.failAt, d.steps = true, failAt, nil
}

// failedStep returns the name of the failed step, or "" if there were fewer steps.
func (d *diskRecorder) failedStep() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.steps) < d.failAt {
		return ""
	}
	return d.steps[d.failAt-1]
}

// changes returns the recorded steps after each change.
func (d *diskRecorder) changes() (changes []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, step := range d.steps {
		if change, ok := strings.CutPrefix(step, "after "); ok {
			changes = append(changes, change)
		}
	}
	return changes
}

// The names of the events a and b, which arrive one nanosecond apart.
const (
	fileOfA = "20261120T020000.000000000Z-ca978112ca1bbdca.log"
	fileOfB = "20261120T020000.000000001Z-3e23e8160039594a.log"
)

// TestAcknowledgedEventIsASyncedFile checks the order of the changes before the acknowledgement. The file is synced
// before it gets its name, because a night may read it from then on. The folder is synced last, because a
// power cut could remove the name.
func TestAcknowledgedEventIsASyncedFile(t *testing.T) {
	disk := &diskRecorder{}
	disk.failAtStep(0)
	d := newFixture(t, webhook.Config{Disk: durable.Disk{Step: disk.step}}).start()
	if changes := disk.changes(); len(changes) == 0 || changes[0] != "fsync above inbox" {
		t.Errorf("the first receiver begins with the changes %q, want the sync of its new folder", changes)
	}
	// A killed process leaves a longer incomplete file.
	harness.Must(t, os.WriteFile(filepath.Join(d.dir, ".arriving"), bytes.Repeat([]byte("x"), 1000), 0o600))
	disk.failAtStep(0)
	if status := d.send(newDelivery("a")); status != http.StatusNoContent {
		t.Fatalf("got status %d, want 204", status)
	}
	want := []string{"write .arriving", "fsync .arriving", "rename " + fileOfA, "fsync beside " + fileOfA}
	if diff := cmp.Diff(want, disk.changes()); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	text, err := os.ReadFile(filepath.Join(d.dir, fileOfA))
	harness.Must(t, err)
	const wantText = `{"id":"a","received":"2026-11-20T02:00:00Z","body":"eyJhIjoxfQ==","sum":"c1e1899b"}` + "\n"
	if diff := cmp.Diff(wantText, string(text)); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
	d.now = d.now.Add(1)
	d.send(newDelivery("b")) // unlike a, it is not written over the file of a killed process
	for path, mode := range map[string]fs.FileMode{fileOfA: 0o600, fileOfB: 0o600, ".": 0o700, "lock": 0o600} {
		if info, err := os.Stat(filepath.Join(d.dir, path)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s has the mode %v (%v), want %v", path, info.Mode(), err, mode)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(d.dir, ".*")); len(left) > 0 {
		t.Errorf("temporary files remain: %v", left)
	}
}

// TestEventsAreInTheOrderOfReceipt includes a clock that is set back between two deliveries.
func TestEventsAreInTheOrderOfReceipt(t *testing.T) {
	d := newFixture(t, webhook.Config{}).start()
	start := d.now
	for _, id := range []string{"z", "a", "m"} {
		d.now = d.now.Add(time.Nanosecond)
		d.send(newDelivery(id))
	}
	d.now = start.Add(-time.Hour)
	d.send(newDelivery("set back"))
	if diff := cmp.Diff([]string{"set back", "z", "a", "m"}, storedIDs(t, d.dir)); diff != "" {
		t.Errorf("stored ids (-want +got):\n%s", diff)
	}
}

// TestFailingDiskKeepsAcknowledgedEvents makes each step fail once while deliveries arrive. The
// sender repeats a delivery after a status 503, as the service does, even under another id. The inbox must then
// contain every event once.
func TestFailingDiskKeepsAcknowledgedEvents(t *testing.T) {
	want := []string{"a", "b", "c"}
	for failAt := 1; ; failAt++ {
		disk := &diskRecorder{}
		d := newFixture(t, webhook.Config{Disk: durable.Disk{Step: disk.step}}).start()
		disk.failAtStep(failAt)
		sent := 0
		for _, id := range want {
			d.now = d.now.Add(time.Second)
			for status := 0; status != http.StatusNoContent; {
				status = d.send(newDelivery(id))
				sent++
				if status != http.StatusNoContent && status != http.StatusServiceUnavailable {
					t.Fatalf("got status %d, want 204 or 503", status)
				}
			}
		}
		step, counts := disk.failedStep(), d.receiver.Counts()
		d.stop()
		if got := storedIDs(t, d.dir); !cmp.Equal(want, got) || sent > len(want)+1 {
			t.Errorf("%s failed: the inbox has %v after %d deliveries, want %v after at most %d", step, got, sent, want, len(want)+1)
		}
		if counts[webhook.Stored] != 4 || counts[webhook.Replayed]+counts[webhook.Repeated] != 0 { // fixture.start sends one event
			t.Errorf("%s failed: counts are %v, want 4 stored and none replayed or repeated", step, counts)
		}
		if step == "" {
			return
		}
	}
}

// TestFailingDiskKeepsEventsForNextNight makes each step fail once while a night links and empties
// the inbox. The inbox must keep the events that were not linked, and the next attempt must link them.
func TestFailingDiskKeepsEventsForNextNight(t *testing.T) {
	want := []string{"a", "b", "c"}
	for failAt, hasFailed := 1, true; hasFailed; failAt++ {
		d := newFixture(t, webhook.Config{}).start()
		for _, id := range want {
			d.now = d.now.Add(time.Second)
			d.send(newDelivery(id))
		}
		disk := &diskRecorder{}
		disk.failAtStep(failAt)
		folder := filepath.Join(t.TempDir(), "webhooks")
		batch, err := webhook.LinkEvents(durable.Disk{Step: disk.step}, d.dir, folder)
		if err == nil {
			err = batch.EmptyInbox()
		}
		hasFailed = disk.failedStep() != ""
		wantErr := hasFailed
		// If a hard link cannot be made, the file is copied, and some of these failures are no errors.
		isLink := strings.Contains(disk.failedStep(), " link ")
		if !isLink && (err != nil) != wantErr {
			t.Errorf("%q failed: got the error %v, want an error of a failed step only", disk.failedStep(), err)
		}
		if err != nil {
			batch, err = webhook.LinkEvents(durable.Disk{}, d.dir, folder)
			harness.Must(t, err)
			harness.Must(t, batch.EmptyInbox())
		}
		if diff := cmp.Diff(want, storedIDs(t, folder)); diff != "" {
			t.Errorf("%s failed: linked ids (-want +got):\n%s", disk.failedStep(), diff)
		}
		if left := filesIn(t, d.dir); len(left) > 0 {
			t.Errorf("%s failed: the inbox has %v after the next attempt, want no events", disk.failedStep(), left)
		}
		d.stop()
	}
}

// TestNightLinksAndThenEmptiesTheInbox checks the order of the changes. The links are synced before the night goes on,
// because EmptyInbox removes the other names of the files. An event that arrives after LinkEvents stays in the inbox.
func TestNightLinksAndThenEmptiesTheInbox(t *testing.T) {
	d := newFixture(t, webhook.Config{})
	harness.Must(t, d.receiver.Open())
	d.send(newDelivery("a"))
	d.now = d.now.Add(1)
	d.send(newDelivery("b"))
	disk := &diskRecorder{}
	disk.failAtStep(0)
	folder := filepath.Join(t.TempDir(), "webhooks")
	batch, err := webhook.LinkEvents(durable.Disk{Step: disk.step}, d.dir, folder)
	harness.Must(t, err)
	want := []string{"fsync above webhooks", "link " + fileOfA, "rename " + fileOfA, "link " + fileOfB, "rename " + fileOfB, "fsync webhooks"}
	if diff := cmp.Diff(want, disk.changes()); diff != "" {
		t.Errorf("changes of LinkEvents (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder of the run has the mode %v (%v), want 0700", info.Mode(), err)
	}
	d.now = d.now.Add(1)
	d.send(newDelivery("c"))
	// A resumed run links the events again, and links only the new one.
	disk.failAtStep(0)
	resumed, err := webhook.LinkEvents(durable.Disk{Step: disk.step}, d.dir, folder)
	harness.Must(t, err)
	if got := disk.changes(); len(got) != 3 || !strings.HasPrefix(got[0], "link 20261120T020000.000000002Z") {
		t.Errorf("linked again with the changes %v, want only the new link", got)
	}
	disk.failAtStep(0)
	harness.Must(t, batch.EmptyInbox())
	if diff := cmp.Diff([]string{"removal " + fileOfA, "removal " + fileOfB}, disk.changes()); diff != "" {
		t.Errorf("changes of EmptyInbox (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"c"}, storedIDs(t, d.dir)); diff != "" {
		t.Errorf("ids in the inbox (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, storedIDs(t, folder)); diff != "" {
		t.Errorf("linked ids (-want +got):\n%s", diff)
	}
	harness.Must(t, batch.EmptyInbox()) // as after a kill
	harness.Must(t, resumed.EmptyInbox())
	harness.Must(t, d.receiver.Close())
}

func TestMissingInbox(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "webhooks")
	batch, err := webhook.LinkEvents(durable.Disk{}, filepath.Join(dir, "none"), folder)
	harness.Must(t, err)
	harness.Must(t, batch.EmptyInbox())
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v for the folder of the night, want an error that it does not exist", err)
	}
	if got := storedIDs(t, filepath.Join(dir, "none")); len(got) > 0 {
		t.Errorf("got the events %v, want none", got)
	}
	if state, err := newFixture(t, webhook.Config{Dir: filepath.Join(dir, "none")}).receiver.Inbox(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got the state %+v, %v, want fs.ErrNotExist", state, err)
	}
}

// TestUnreadableInbox replaces the folder of the inbox by a file, and an event by a folder.
func TestUnreadableInbox(t *testing.T) {
	file := filepath.Join(t.TempDir(), "inbox")
	harness.Must(t, os.WriteFile(file, nil, 0o600))
	if _, err := webhook.LinkEvents(durable.Disk{}, file, filepath.Join(t.TempDir(), "webhooks")); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("LinkEvents returned %v, want ENOTDIR", err)
	}
	if err := newFixture(t, webhook.Config{Dir: file}).receiver.Open(); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("Open returned %v, want ENOTDIR", err)
	}
	dir := t.TempDir()
	harness.Must(t, os.Mkdir(filepath.Join(dir, fileOfA), 0o700))
	for path, want := range map[string]error{dir: syscall.EISDIR, file: syscall.ENOTDIR} {
		if _, _, err := webhook.CountEvents(path); !errors.Is(err, want) {
			t.Errorf("CountEvents returned %v, want %v", err, want)
		}
	}
	d := newFixture(t, webhook.Config{Dir: dir})
	if err := d.receiver.Open(); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("Open returned %v, want EISDIR", err)
	}
	harness.Must(t, os.Remove(filepath.Join(dir, fileOfA)))
	d.start() // the failed Open has unlocked the inbox
}

// TestDamagedEventIsCounted cuts off and changes each byte of an event. The other event must be read.
func TestDamagedEventIsCounted(t *testing.T) {
	d := newFixture(t, webhook.Config{})
	harness.Must(t, d.receiver.Open())
	d.send(newDelivery("a"))
	d.now = d.now.Add(1)
	d.send(newDelivery("b"))
	d.stop()
	harness.Must(t, d.receiver.Close())
	path := filepath.Join(d.dir, fileOfA)
	text, err := os.ReadFile(path)
	harness.Must(t, err)
	check := func(name string, content []byte) {
		t.Helper()
		harness.Must(t, os.WriteFile(path, content, 0o600))
		events, damaged, err := webhook.CountEvents(d.dir)
		harness.Must(t, err)
		if ids := storedIDs(t, d.dir); !slices.Equal(ids, []string{"b"}) || events != 1 || damaged < 1 {
			t.Fatalf("%s: got the events %v, and counted %d events and %d damaged ones, want the event b and 1 damaged one", name, ids, events, damaged)
		}
	}
	for at := range text {
		check(fmt.Sprint("cut off at byte ", at), text[:at])
		changed := bytes.Clone(text)
		changed[at] ^= 0x20
		check(fmt.Sprint("changed byte ", at), changed)
	}
	// A receiver starts nevertheless, and does not know the damaged event.
	harness.Must(t, os.WriteFile(path, text[:10], 0o600))
	restarted := newFixture(t, webhook.Config{Dir: d.dir}).start()
	restarted.send(newDelivery("a"))
	if counts := restarted.receiver.Counts(); counts[webhook.Stored] != 2 {
		t.Errorf("counts are %v, want the event stored again", counts)
	}
}

// TestEventRemovedDuringReading removes an event while an earlier one is read, as a night of another process does.
func TestEventRemovedDuringReading(t *testing.T) {
	d := newFixture(t, webhook.Config{})
	harness.Must(t, d.receiver.Open())
	for _, id := range []string{"a", "b", "c"} {
		d.send(newDelivery(id))
		d.now = d.now.Add(1)
	}
	harness.Must(t, d.receiver.Close())
	var ids []string
	for e, err := range webhook.Read(d.dir) {
		harness.Must(t, err)
		ids = append(ids, e.ID)
		harness.Must(t, os.RemoveAll(filepath.Join(d.dir, fileOfB)))
	}
	if diff := cmp.Diff([]string{"a", "c"}, ids); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
}

// copyOldInbox copies the inbox of release 1.0.0 and a later inbox of a killed receiver. It contains closed files, an
// open file with an incomplete line, the hashes of published events, and the published part of a file.
func copyOldInbox(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "inbox")
	harness.Must(t, os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "oldinbox"))))
	return dir
}

func oldIDs() []string {
	return []string{"evt_3cfdfff391eddfc02ddc01ec", "evt_fffb9fc593293d72985c1440", "p2", "e1", "e2", "e3", "e4"}
}

// TestOldInboxIsReadOnce opens an inbox of an earlier release, and runs two nights.
func TestOldInboxIsReadOnce(t *testing.T) {
	d := newFixture(t, webhook.Config{Dir: copyOldInbox(t)}).start()
	d.now = time.Date(2026, 11, 20, 3, 10, 0, 0, time.UTC)
	for _, hook := range []struct {
		delivery
		want string
	}{
		{delivery{id: "e4", topic: "article.status_changed", body: `{"article_id":"e4"}`}, webhook.Replayed},
		{delivery{id: "e4 again", topic: "article.status_changed", body: `{"article_id":"e4"}`}, webhook.Repeated},
		{delivery{id: "evt_fffb9fc593293d72985c1440", body: `{"n":1}`}, webhook.Replayed},
		{delivery{id: "new", body: `{"n":1}`}, webhook.Stored},
	} {
		before := d.receiver.Counts()[hook.want]
		d.send(hook.delivery)
		if counts := d.receiver.Counts(); counts[hook.want] != before+1 {
			t.Errorf("id %s: counts are %v, want one more %s", hook.id, counts, hook.want)
		}
	}
	entries, err := os.ReadDir(d.dir)
	harness.Must(t, err)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".log") && e.Name() != "lock" {
			t.Errorf("the inbox contains %s, want only events and the lock", e.Name())
		}
	}
	if _, damaged, err := webhook.CountEvents(d.dir); err != nil || damaged > 0 {
		t.Errorf("%d events are damaged (%v), want none: the incomplete line was never acknowledged", damaged, err)
	}
	folder := filepath.Join(t.TempDir(), "webhooks")
	batch, err := webhook.LinkEvents(durable.Disk{}, d.dir, folder)
	harness.Must(t, err)
	harness.Must(t, batch.EmptyInbox())
	if diff := cmp.Diff(append(oldIDs(), "new"), storedIDs(t, folder)); diff != "" {
		t.Errorf("linked ids (-want +got):\n%s", diff)
	}
	if left := filesIn(t, d.dir); len(left) > 0 {
		t.Errorf("the inbox has %v after a night, want no events", left)
	}
}

// TestOldInboxWithoutReceiver runs a night before the first receiver of this release. A receiver of an earlier release
// may still append to the open file, so the file remains.
func TestOldInboxWithoutReceiver(t *testing.T) {
	dir := copyOldInbox(t)
	later := `{"id":"next","received":"2026-11-20T02:00:01Z","body":"e30=","sum":"f8c5caae"}` + "\n" // in a file after the open one
	harness.Must(t, os.WriteFile(filepath.Join(dir, "20261121T020001.000000000Z-0123456789abcdef.log"), []byte(later), 0o600))
	folder := filepath.Join(t.TempDir(), "webhooks")
	batch, err := webhook.LinkEvents(durable.Disk{}, dir, folder)
	harness.Must(t, err)
	harness.Must(t, batch.EmptyInbox())
	if diff := cmp.Diff(append(oldIDs(), "next"), storedIDs(t, folder)); diff != "" {
		t.Errorf("linked ids (-want +got):\n%s", diff)
	}
	left := filesIn(t, dir)
	if len(left) != 1 || filepath.Ext(left[0]) != ".open" {
		t.Fatalf("the inbox has %v after a night, want the open file", left)
	}
	for _, name := range []string{"20261104T020000.000000000Z", "20261120T030004.000000000Z"} {
		if _, err := os.Stat(filepath.Join(folder, name+".log")); err != nil {
			t.Errorf("earlier releases cannot read the linked file %s: %v", name, err)
		}
	}
	newFixture(t, webhook.Config{Dir: dir}).start().stop()
	if batch, err = webhook.LinkEvents(durable.Disk{}, dir, folder); err != nil {
		t.Fatal(err)
	}
	harness.Must(t, batch.EmptyInbox())
	if left := filesIn(t, dir); len(left) > 0 {
		t.Errorf("the inbox has %v after a receiver and a night, want no events", left)
	}
}

// TestTruncatedFileKeepsCompleteEvents cuts off a file of several events at each byte.
func TestTruncatedFileKeepsCompleteEvents(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join("testdata", "oldinbox", "20261104T020000.000000000Z.log"))
	harness.Must(t, err)
	for cut := range len(text) + 1 {
		harness.Must(t, os.WriteFile(filepath.Join(dir, "20261104T020000.000000000Z.log"), text[:cut], 0o600))
		events, damaged, err := webhook.CountEvents(dir)
		if want := bytes.Count(text[:cut], []byte("\n")); err != nil || events != want || damaged > 0 {
			t.Fatalf("cut at %d of %d: got %d events and %d damaged ones (%v), want %d events", cut, len(text), events, damaged, err, want)
		}
	}
}

// directReceiver is a receiver whose handler is called without a network, for tests with synctest.
type directReceiver struct{ *webhook.Receiver }

func newDirectReceiver(t *testing.T, dir string, disk durable.Disk) directReceiver {
	t.Helper()
	receiver := webhook.New(webhook.Config{Dir: dir, Disk: disk}, slog.New(slog.DiscardHandler), time.Now)
	harness.Must(t, receiver.Reload(policyOf(secret)))
	harness.Must(t, receiver.Open())
	return directReceiver{receiver}
}

// send returns the status and the text of the response.
func (r directReceiver) send(ctx context.Context, id string) string {
	hook := newDelivery(id)
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/hooks", strings.NewReader(hook.body))
	req.Header.Set("x-hook-event-id", id)
	req.Header.Set("x-hook-signature", sign(secret, hook.body))
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	return fmt.Sprint(w.Code)
}

// TestSlowDisk sends deliveries while a disk syncs the first one for a minute. Each other delivery must get 503 when
// it has waited for 5 seconds, or when its sender disconnects. Close must wait for the first one.
func TestSlowDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "inbox")
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		r := newDirectReceiver(t, dir, durable.Disk{Step: func(name, _ string) error {
			if name == "before fsync .arriving" {
				time.Sleep(time.Minute)
			}
			return nil
		}})
		var got []string
		var mu sync.Mutex
		var senders sync.WaitGroup
		send := func(ctx context.Context, id string) {
			senders.Go(func() {
				status := r.send(ctx, id)
				mu.Lock()
				defer mu.Unlock()
				got = append(got, fmt.Sprint(id, " ", status, " after ", time.Since(start)))
			})
			synctest.Wait()
		}
		send(t.Context(), "slow")
		send(t.Context(), "waiting")
		disconnected, disconnect := context.WithTimeout(t.Context(), time.Second)
		defer disconnect()
		send(disconnected, "disconnected")
		time.Sleep(10 * time.Second)
		harness.Must(t, r.Close())
		if took := time.Since(start); took < time.Minute {
			t.Errorf("Close returned after %v, want at least a minute", took)
		}
		senders.Wait()
		want := []string{"disconnected 503 after 1s", "waiting 503 after 5s", "slow 204 after 1m0s"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("responses (-want +got):\n%s", diff)
		}
		if state, err := r.Inbox(); err != nil || state.Events != 1 {
			t.Errorf("the inbox has %+v (%v), want the slow event", state, err)
		}
	})
}
