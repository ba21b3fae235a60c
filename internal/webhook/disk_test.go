package webhook_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/durable"
	"placementsync/internal/webhook"
)

// faultyDisk counts the steps from its arming on; the one of a number fails.
type faultyDisk struct {
	mu    sync.Mutex
	armed bool
	fails int
	steps []string
}

func (d *faultyDisk) step(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.armed {
		return nil
	}
	d.steps = append(d.steps, name)
	if len(d.steps) == d.fails {
		return fmt.Errorf("strike at %s: %w", name, syscall.EIO)
	}
	return nil
}

func (d *faultyDisk) arm(fails int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.armed, d.fails, d.steps = fails > 0, fails, nil
}

// met tells the step that failed, empty when there were not as many.
func (d *faultyDisk) met() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.steps) < d.fails {
		return ""
	}
	return d.steps[d.fails-1]
}

// TestNothingAcknowledgedIsLostToAFailingDisk lets one step after the other fail
// while deliveries arrive. The sender tries again what is answered 503, as the
// service does: in the end the inbox has every event, and a night gets each.
func TestNothingAcknowledgedIsLostToAFailingDisk(t *testing.T) {
	want := []string{"a", "b", "c"}
	for fails := 1; ; fails++ {
		disk := &faultyDisk{}
		d := newDesk(t, webhook.Config{Secrets: []string{secret}, SegmentBytes: 1, Disk: durable.Disk{Step: disk.step}}).open()
		disk.arm(fails)
		refused := 0
		for _, id := range want {
			for answered := 0; answered != http.StatusNoContent; refused++ {
				if answered = d.send(eventOf(id)); answered != http.StatusNoContent && answered != http.StatusServiceUnavailable {
					t.Fatalf("answered %d", answered)
				}
			}
		}
		step := disk.met()
		disk.arm(0)
		d.stop()
		if got := slices.Compact(boundedHeader(t, d.dir)); !cmp.Equal(want, got) || refused > len(want)+1 {
			t.Errorf("%s failed: the inbox has %v after %d deliveries", step, got, refused)
		}
		if step == "" {
			return
		}
	}
}

// TestANightTakesAllThoughTheDiskFails lets one step after the other fail while
// a night lands the inbox and empties it: the next attempt lands all, and what
// has not landed is not removed.
func TestANightTakesAllThoughTheDiskFails(t *testing.T) {
	want := []string{"a", "b", "c"}
	for fails, met := 1, true; met; fails++ {
		d := newDesk(t, webhook.Config{Secrets: []string{secret}, SegmentBytes: 1}).open()
		for _, id := range want {
			d.send(eventOf(id))
		}
		disk := &faultyDisk{}
		disk.arm(fails)
		folder := filepath.Join(t.TempDir(), "webhooks")
		batch, err := webhook.Land(durable.Disk{Step: disk.step}, d.dir, folder)
		if err == nil {
			err = batch.Empty()
		}
		met = disk.met() != ""
		if err != nil {
			batch, err = webhook.Land(durable.Disk{}, d.dir, folder)
			must(t, err)
			must(t, batch.Empty())
		}
		if diff := cmp.Diff(want, boundedHeader(t, folder)); diff != "" {
			t.Errorf("%s failed: landed (-want +got):\n%s", disk.met(), diff)
		}
		d.stop()
	}
}

// TestASegmentThatCannotBeMadeSaysWhy: the error is the disk's alone.
func TestASegmentThatCannotBeMadeSaysWhy(t *testing.T) {
	_, err := webhook.BeginSegment(filepath.Join(t.TempDir(), "none"), time.Now())
	if !errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

// TestASegmentThatFailsToCloseKeepsItsName: its new name would say that all of it
// is on the disk.
func TestASegmentThatFailsToCloseKeepsItsName(t *testing.T) {
	dir := t.TempDir()
	s, err := webhook.BeginSegment(dir, time.Now())
	must(t, err)
	must(t, s.CloseFile())
	if err := s.Seal(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if open, _ := filepath.Glob(filepath.Join(dir, "*.open")); len(open) != 1 {
		t.Errorf("open segments: %v", open)
	}
}
