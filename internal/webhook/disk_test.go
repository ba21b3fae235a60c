package webhook_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/durable"
	"placementsync/internal/webhook"
)

// faultyDisk counts the steps after a call of failAtStep. The step with the number failAt fails.
type faultyDisk struct {
	mu     sync.Mutex
	armed  bool
	failAt int
	steps  []string
}

func (d *faultyDisk) step(name, _ string) error {
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
func (d *faultyDisk) failAtStep(failAt int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.armed, d.failAt, d.steps = failAt > 0, failAt, nil
}

// failedStep returns the name of the failed step, or "" if there were fewer steps.
func (d *faultyDisk) failedStep() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.steps) < d.failAt {
		return ""
	}
	return d.steps[d.failAt-1]
}

// TestFailingDiskKeepsAcknowledgedEvents makes each step fail once while deliveries arrive. The
// sender repeats a delivery after a status 503, as the service does. The inbox must then contain
// every event once.
func TestFailingDiskKeepsAcknowledgedEvents(t *testing.T) {
	want := []string{"a", "b", "c"}
	for failAt := 1; ; failAt++ {
		disk := &faultyDisk{}
		d := newFixture(t, webhook.Config{SegmentBytes: 1, Disk: durable.Disk{Step: disk.step}}).start()
		disk.failAtStep(failAt)
		sent := 0
		for _, id := range want {
			for status := 0; status != http.StatusNoContent; sent++ {
				if status = d.send(newDelivery(id)); status != http.StatusNoContent && status != http.StatusServiceUnavailable {
					t.Fatalf("got status %d, want 204 or 503", status)
				}
			}
		}
		step := disk.failedStep()
		disk.failAtStep(0)
		d.stop()
		if got := slices.Compact(storedIDs(t, d.dir)); !cmp.Equal(want, got) || sent > len(want)+1 {
			t.Errorf("%s failed: the inbox has %v after %d deliveries, want %v after at most %d", step, got, sent, want, len(want)+1)
		}
		if step == "" {
			return
		}
	}
}

// TestFailingDiskKeepsEventsForNextNight makes each step fail once while a night lands and empties
// the inbox. The inbox must keep the events that did not land, and the next attempt must land them.
func TestFailingDiskKeepsEventsForNextNight(t *testing.T) {
	want := []string{"a", "b", "c"}
	for failAt, hasFailed := 1, true; hasFailed; failAt++ {
		d := newFixture(t, webhook.Config{SegmentBytes: 1}).start()
		for _, id := range want {
			d.send(newDelivery(id))
		}
		disk := &faultyDisk{}
		disk.failAtStep(failAt)
		folder := filepath.Join(t.TempDir(), "webhooks")
		batch, err := webhook.Land(durable.Disk{Step: disk.step}, d.dir, folder)
		if err == nil {
			err = batch.EmptyInbox()
		}
		hasFailed = disk.failedStep() != ""
		if err != nil {
			batch, err = webhook.Land(durable.Disk{}, d.dir, folder)
			must(t, err)
			must(t, batch.EmptyInbox())
		}
		if diff := cmp.Diff(want, storedIDs(t, folder)); diff != "" {
			t.Errorf("%s failed: landed ids (-want +got):\n%s", disk.failedStep(), diff)
		}
		d.stop()
	}
}

// TestAcknowledgedEventsAreSynced records the steps before the first acknowledgement. The folder is synced too,
// because a power cut could remove the name of the file.
func TestAcknowledgedEventsAreSynced(t *testing.T) {
	disk := &faultyDisk{armed: true}
	d := newFixture(t, webhook.Config{Disk: durable.Disk{Step: disk.step}}).start()
	if status := d.send(newDelivery("a")); status != http.StatusNoContent {
		t.Fatalf("got status %d, want 204", status)
	}
	disk.mu.Lock()
	steps := slices.DeleteFunc(slices.Clone(disk.steps), func(step string) bool { return !strings.HasPrefix(step, "before ") })
	disk.mu.Unlock()
	d.stop()
	const segment = "20261120T020000.000000000Z.open"
	want := []string{"before fsync inbox", "before write " + segment, "before fsync " + segment, "before write " + segment, "before fsync " + segment}
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestNewSegmentReturnsTheErrorOfTheDisk(t *testing.T) {
	_, err := webhook.NewSegment(filepath.Join(t.TempDir(), "none"), time.Now())
	if !errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		t.Errorf("got %v, want fs.ErrNotExist only", err)
	}
}

// TestSegmentThatFailsToCloseIsNotSealed checks that the segment keeps the name of an open segment.
// A sealed name means that all lines are on disk.
func TestSegmentThatFailsToCloseIsNotSealed(t *testing.T) {
	dir := t.TempDir()
	s, err := webhook.NewSegment(dir, time.Now())
	must(t, err)
	must(t, s.CloseFile())
	if err := s.Seal(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("got %v, want fs.ErrClosed", err)
	}
	if open, _ := filepath.Glob(filepath.Join(dir, "*.open")); len(open) != 1 {
		t.Errorf("open segments are %v, want one", open)
	}
}
