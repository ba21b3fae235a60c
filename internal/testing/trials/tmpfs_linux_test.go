package trials_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"placementsync/internal/testing/torture"
)

// TestTortureFullDisk runs a night on a separate disk, whose free space increases with each
// run. Each run without enough space must report the full disk and keep the published files;
// the last one resumes the night.
func TestTortureFullDisk(t *testing.T) {
	requireTorture(t)
	t.Parallel()
	c := newTrial(t, 8, few()...)
	d := mounted(t, c.dir)
	c.publishUndisturbed(t)
	failed := 0
	defer keep(t, time.Now(), func() torture.Trial {
		return torture.Trial{Name: "full disk", Fault: "a disk whose free space is increased step by step, until it is enough", Runs: failed,
			Outcome: "each run reports that the disk is full and keeps the last snapshot; the run with enough space resumes the night"}
	})
	for range 3 {
		published := false
		for room := uint64(0); !published; room = max(2*room, 64<<10) {
			d.leave(room)
			var p *child
			p, published = c.attempt(t, job{}, 0, waitForExit)
			var end nightEnd
			p.read(t, &end)
			if ok := end.Code == 0; ok != published || !ok && (end.Code != 1 || !strings.Contains(end.Error, "the disk is full")) {
				t.Errorf("with %d free bytes the run ended with %d, published: %t: %s", room, end.Code, published, end.Error)
			}
			if !published {
				failed++
			}
		}
	}
	d.leave(d.size)
	c.finish(t)
	t.Logf("%d runs found the disk full", failed)
}

// memory is an in-memory file system.
type memory struct {
	t    *testing.T
	dir  string
	size uint64
}

// mounted mounts a file system on a folder, which requires root.
func mounted(t *testing.T, dir string) memory {
	t.Helper()
	m := memory{t, dir, 256 << 20}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", m.size)); err != nil {
		t.Skipf("mount a separate disk: %v", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	return m
}

// leave fills the file system up to the given number of free bytes.
func (m memory) leave(room uint64) {
	m.t.Helper()
	var fs unix.Statfs_t
	must(m.t, unix.Statfs(m.dir, &fs))
	used := (fs.Blocks - fs.Bfree) * uint64(fs.Bsize)
	must(m.t, unix.Mount("tmpfs", m.dir, "tmpfs", unix.MS_REMOUNT, fmt.Sprintf("size=%d", used+room)))
}
