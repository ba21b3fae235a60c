package trials_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"placementsync/internal/testing/torture"
)

// TestTortureFullDisk runs a night on a separate disk with more and more room. Each run
// without enough room reports it and leaves the published files unchanged; the last one
// resumes the night.
func TestTortureFullDisk(t *testing.T) {
	requireTorture(t)
	t.Parallel()
	c := newTrial(t, 8, few()...)
	d := mounted(t, c.dir)
	c.publishInPeace(t)
	failed := 0
	defer keep(t, time.Now(), func() torture.Trial {
		return torture.Trial{Name: "full disk", Fault: "a disk of its own with more and more room, until it is enough", Runs: failed,
			Outcome: "each says that the disk is full and leaves the last snapshot; the run that finds room takes the night up"}
	})
	for range 3 {
		published := false
		for room := uint64(0); !published; room = max(2*room, 64<<10) {
			d.leave(room)
			var p *child
			p, published = c.attempt(t, job{}, 0, inPeace)
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
		t.Skipf("mount a disk of its own: %v", err)
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
