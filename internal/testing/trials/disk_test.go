package trials_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTrialFullDiskKeepsTheLastSnapshot fills the disk at a different step in each run. The
// error must name the cause, and the last snapshot must be kept. The run with enough space
// resumes the night.
func TestTrialFullDiskKeepsTheLastSnapshot(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	c := newCrashTrial(t, 6, fewStreams()...)
	c.publishUndisturbed(t)
	catalog, err := os.Stat(filepath.Join(c.dir, "catalog.duckdb"))
	must(t, err)
	for _, full := range []struct {
		at   string
		room int64
	}{
		{"state", 1},
		{"begin version", catalog.Size() / 2},
		{"publish version", catalog.Size() + 8<<10},
	} {
		c.requireDiskFull(t, job{MaxFileBytes: full.room}, full.at)
	}
	c.publishUndisturbed(t)
	requireNoTemporaryFiles(t, c.dir)
}

// TestTrialDiskFullDuringOneWriteEndsTheNight fills the disk while one detail is stored.
// Unlike after an error of the service, the night must stop.
func TestTrialDiskFullDuringOneWriteEndsTheNight(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	c := newCrashTrial(t, 7, fewStreams()...)
	c.publishUndisturbed(t)
	c.requireDiskFull(t, job{MaxFileBytes: 1, LimitedDetail: 2}, "access landing")
	c.publishUndisturbed(t)
}

// requireDiskFull runs the night on a limited disk, and checks its error.
func (c *crashTrial) requireDiskFull(t *testing.T, j job, at string) {
	t.Helper()
	p, published := c.attempt(t, j, 0, waitForExit)
	var end nightEnd
	p.readReport(t, &end)
	if published || end.Code != 1 {
		t.Errorf("with a limit of %d bytes the run ended %s with %d, published: %t, want 1 and no publish", j.MaxFileBytes, end.Outcome, end.Code, published)
	}
	for _, part := range []string{at, "the disk is full", "run again", "last snapshot"} {
		if !strings.Contains(end.Error, part) {
			t.Errorf("with a limit of %d bytes the error does not contain %q: %s", j.MaxFileBytes, part, end.Error)
		}
	}
}
