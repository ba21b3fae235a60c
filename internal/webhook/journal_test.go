package webhook_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/durable"
	"placementsync/internal/webhook"
)

// writeSegment writes an inbox of one segment. The segment contains the event that fixture.start sends, and
// n more events.
func writeSegment(t testing.TB, n int) (segment string, data []byte) {
	t.Helper()
	d := newFixture(t, webhook.Config{}).start()
	for i := range n {
		if got := d.send(delivery{id: fmt.Sprint("e", i), topic: "t", body: fmt.Sprintf(`{"n": %d}`, i)}); got != http.StatusNoContent {
			t.Fatalf("got status %d, want 204", got)
		}
	}
	d.stop()
	files := segmentsIn(t, d.dir)
	if len(files) != 1 {
		t.Fatalf("the inbox has the segments %v, want one", files)
	}
	data, err := os.ReadFile(files[0])
	must(t, err)
	return files[0], data
}

func segmentsIn(t testing.TB, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "2*"))
	must(t, err)
	return files
}

// TestTruncatedSegmentKeepsCompleteLines simulates a crash at every byte, after which a prefix of the
// file is on disk. All complete lines must be read.
func TestTruncatedSegmentKeepsCompleteLines(t *testing.T) {
	segment, data := writeSegment(t, 3)
	dir := filepath.Dir(segment)
	for cut := range len(data) + 1 {
		must(t, os.WriteFile(segment, data[:cut], 0o600))
		// storedIDs omits the first line, which fixture.start writes.
		want := max(0, bytes.Count(data[:cut], []byte("\n"))-1)
		if got := storedIDs(t, dir); len(got) != want {
			t.Fatalf("cut at %d of %d: got the events %v, want %d events", cut, len(data), got, want)
		}
	}
}

func TestReceiverStartsAfterTornSegment(t *testing.T) {
	segment, data := writeSegment(t, 2)
	dir := filepath.Dir(segment)
	// A killed process leaves an open segment with a torn line.
	must(t, os.Remove(segment))
	must(t, os.WriteFile(strings.TrimSuffix(segment, ".log")+".open", data[:len(data)-5], 0o600))
	d := newFixture(t, webhook.Config{Dir: dir}).start()
	for _, id := range []string{"e0", "e1", "e2"} {
		if got := d.send(newDelivery(id)); got != http.StatusNoContent {
			t.Fatalf("got status %d, want 204", got)
		}
	}
	if diff := cmp.Diff([]string{"e0", "e1", "e2"}, storedIDs(t, dir)); diff != "" {
		t.Errorf("stored ids (-want +got):\n%s", diff)
	}
}

func TestDamagedLineKeepsOtherLines(t *testing.T) {
	segment, data := writeSegment(t, 3)
	for at := range data {
		damaged := bytes.Clone(data)
		damaged[at] ^= 0x20
		must(t, os.WriteFile(segment, damaged, 0o600))
		// A changed newline damages two of the three lines.
		if got := len(storedIDs(t, filepath.Dir(segment))); got < 1 {
			t.Fatalf("with a changed bit in byte %d of %d, got %d events, want at least 1", at, len(data), got)
		}
	}
}

// TestEmptyInboxKeepsTheOpenSegment lands and empties an inbox several times. WaitingBytes must not count
// the published events in the open segment.
func TestEmptyInboxKeepsTheOpenSegment(t *testing.T) {
	d := newFixture(t, webhook.Config{SegmentBytes: 1}).start()
	for _, id := range []string{"a", "b"} {
		d.send(newDelivery(id))
	}
	folder := filepath.Join(t.TempDir(), "webhooks")
	batch, err := webhook.Land(durable.Disk{}, d.dir, folder)
	must(t, err)
	d.send(newDelivery("c"))
	if diff := cmp.Diff([]string{"a", "b"}, storedIDs(t, folder)); diff != "" {
		t.Errorf("landed ids (-want +got):\n%s", diff)
	}
	must(t, batch.EmptyInbox())
	if got := storedIDs(t, d.dir); !cmp.Equal(got, []string{"b", "c"}) {
		t.Errorf("the inbox has %v, want b, which was in the open segment, and c", got)
	}
	if waiting, total := waitingIn(t, d.dir); waiting*2 != total {
		t.Errorf("%d of %d bytes wait, want the half with c", waiting, total)
	}
	if batch, err = webhook.Land(durable.Disk{}, d.dir, folder); err != nil {
		t.Fatal(err)
	}
	must(t, batch.EmptyInbox())
	if diff := cmp.Diff([]string{"a", "b", "c"}, storedIDs(t, folder)); diff != "" {
		t.Errorf("ids landed the second time (-want +got):\n%s", diff)
	}
	if waiting, total := waitingIn(t, d.dir); waiting != 0 || total == 0 {
		t.Errorf("%d of %d bytes wait, want none: all events were published", waiting, total)
	}
	d.send(newDelivery("d"))
	if waiting, total := waitingIn(t, d.dir); waiting*2 != total {
		t.Errorf("%d of %d bytes wait, want the half with d", waiting, total)
	}
	if _, err = webhook.Land(durable.Disk{}, d.dir, folder); err != nil {
		t.Fatal(err)
	}
	if waiting, total := waitingIn(t, d.dir); waiting*2 != total {
		t.Errorf("%d of %d bytes wait after landing without a publish, want the half with d", waiting, total)
	}
}

func TestWaitingBytesOfAMissingInbox(t *testing.T) {
	if n, err := webhook.WaitingBytes(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %d bytes, %v, want fs.ErrNotExist", n, err)
	}
}

// waitingIn returns the waiting bytes of an inbox and the size of its segments.
func waitingIn(t *testing.T, dir string) (waiting, total int64) {
	t.Helper()
	waiting, err := webhook.WaitingBytes(dir)
	must(t, err)
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext == ".log" || ext == ".open" {
			info, err := e.Info()
			must(t, err)
			total += info.Size()
		}
	}
	return waiting, total
}

func TestLandWithoutInboxCreatesNoFolder(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "webhooks")
	batch, err := webhook.Land(durable.Disk{}, filepath.Join(dir, "none"), folder)
	must(t, err)
	must(t, batch.EmptyInbox())
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("got %v for the folder of the night, want an error that it does not exist", err)
	}
}

func TestOldSegmentIsSealed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "inbox")
	synctest.Test(t, func(t *testing.T) {
		d := newDirectReceiver(t, dir)
		if got := d.send("a"); got != http.StatusNoContent {
			t.Fatalf("got status %d, want 204", got)
		}
		time.Sleep(16 * time.Minute)
		synctest.Wait()
		if files := segmentsIn(t, dir); len(files) != 1 || filepath.Ext(files[0]) != ".log" {
			t.Errorf("the inbox has the segments %v, want one sealed segment", files)
		}
	})
}
