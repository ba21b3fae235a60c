package damage_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/torture"
	"placementsync/internal/testing/trials"
)

// TestTortureFullDisk runs three nights on a separate disk. Each run of a night has more free space
// than the run before. A run without enough space must report the full disk and keep the published
// files. The first run with enough space must resume the night.
func TestTortureFullDisk(t *testing.T) {
	trials.RequireTorture(t)
	t.Parallel()
	c := newCrashTrial(t, 8, trials.FewStreams()...)
	d := mountTmpfs(t, c.dir)
	c.publishUndisturbed(t)
	failedRuns := 0
	defer trials.RecordTrial(t, time.Now(), func() torture.Trial {
		return torture.Trial{Name: "full disk", Procedure: "a disk whose free space is increased step by step, until it is enough", Runs: failedRuns,
			Outcome: "each run reports that the disk is full and keeps the last snapshot; the run with enough space resumes the night"}
	})
	for range 3 {
		published := false
		for free := uint64(0); !published; free = max(2*free, 64<<10) {
			d.setFree(free)
			var p *trials.Child
			p, published = c.tryJob(t, trials.Job{})
			var end trials.NightEnd
			p.ReadReport(t, &end)
			if isComplete := end.ExitCode == 0; isComplete != published || !isComplete && (end.ExitCode != 1 || !strings.Contains(end.Error, "the disk is full")) {
				t.Errorf("%d free bytes: the run ended with exit code %d, published: %t; want 0 and published, or 1 and the error \"the disk is full\": %s", free,
					end.ExitCode, published, end.Error)
			}
			if !published {
				failedRuns++
			}
		}
	}
	d.setFree(d.size)
	c.finish(t)
	t.Logf("%d runs ended because the disk was full", failedRuns)
}

// tmpfs is a mounted in-memory file system.
type tmpfs struct {
	t    *testing.T
	dir  string
	size uint64
}

// mountTmpfs mounts a file system on a folder. It skips the test if the process is not allowed to
// mount one.
func mountTmpfs(t *testing.T, dir string) tmpfs {
	t.Helper()
	m := tmpfs{t, dir, 256 << 20}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", m.size)); err != nil {
		t.Skipf("mount a separate disk: %v", err)
	}
	t.Cleanup(func() { testharness.Must(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	return m
}

// setFree resizes the file system so that the given number of bytes is free.
func (m tmpfs) setFree(free uint64) {
	m.t.Helper()
	var fs unix.Statfs_t
	testharness.Must(m.t, unix.Statfs(m.dir, &fs))
	used := (fs.Blocks - fs.Bfree) * uint64(fs.Bsize)
	testharness.Must(m.t, unix.Mount("tmpfs", m.dir, "tmpfs", unix.MS_REMOUNT, fmt.Sprintf("size=%d", used+free)))
}
