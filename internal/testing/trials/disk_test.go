package trials_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTrialFullDiskKeepsTheLastSnapshot limits the disk in one run after the other, each at
// another point of the night. Each run must report it and keep the last snapshot; the run
// with enough room resumes the night.
func TestTrialFullDiskKeepsTheLastSnapshot(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	c := newTrial(t, 6, few()...)
	c.publishInPeace(t)
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
		c.requireDiskFull(t, job{Room: full.room}, full.at)
	}
	c.publishInPeace(t)
	requireTidy(t, c.dir)
}

// TestTrialDiskFullForAMomentEndsTheNight limits the disk while one detail lands. The night must
// not continue as after a failure of the service.
func TestTrialDiskFullForAMomentEndsTheNight(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	c := newTrial(t, 7, few()...)
	c.publishInPeace(t)
	c.requireDiskFull(t, job{Room: 1, Moment: 2}, "access landing")
	c.publishInPeace(t)
}

// requireDiskFull runs the night on a limited disk, and checks its error.
func (c *trial) requireDiskFull(t *testing.T, j job, at string) {
	t.Helper()
	p, published := c.attempt(t, j, 0, inPeace)
	var end nightEnd
	p.read(t, &end)
	if published || end.Code != 1 {
		t.Errorf("with a limit of %d bytes the run ended %s with %d, published: %t", j.Room, end.Outcome, end.Code, published)
	}
	for _, part := range []string{at, "the disk is full", "run again", "last snapshot"} {
		if !strings.Contains(end.Error, part) {
			t.Errorf("with a limit of %d bytes the error does not contain %q: %s", j.Room, part, end.Error)
		}
	}
}
