package trials_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFullDiskKeepsTheLastSnapshot takes the room away from one run after the
// other, each at another place of the night. Each says so and leaves the last
// snapshot as it was; the run that finds room again takes the night up.
func TestFullDiskKeepsTheLastSnapshot(t *testing.T) {
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
		c.starved(t, job{Room: full.room}, full.at)
	}
	c.publishInPeace(t)
	requireTidy(t, c.dir)
}

// TestDiskFullForAMomentEndsTheNight takes the room away while one detail lands.
// The night must not go on as if the service had failed.
func TestDiskFullForAMomentEndsTheNight(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	c := newTrial(t, 7, few()...)
	c.publishInPeace(t)
	c.starved(t, job{Room: 1, Moment: 2}, "access landing")
	c.publishInPeace(t)
}

// starved runs the night without room, and holds it to failing clearly.
func (c *trial) starved(t *testing.T, j job, at string) {
	t.Helper()
	p, published := c.attempt(t, j, 0, inPeace)
	var end ended
	p.read(t, &end)
	if published || end.Code != 1 {
		t.Errorf("with %d bytes of room the run ended %s with %d, published: %t", j.Room, end.Outcome, end.Code, published)
	}
	for _, part := range []string{at, "the disk is full", "run again", "last snapshot"} {
		if !strings.Contains(end.Error, part) {
			t.Errorf("with %d bytes of room the error does not say %q: %s", j.Room, part, end.Error)
		}
	}
}
