package damage_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
)

// TestTrialFullDiskKeepsTheLastSnapshot simulates a full disk by a limit for the size of files. Each
// limit makes the run fail at a different step. The error must name the cause, and the last snapshot
// must be kept. A run without a limit must resume the night.
func TestTrialFullDiskKeepsTheLastSnapshot(t *testing.T) {
	t.Parallel()
	c := newCrashTrial(t, 6, trials.FewStreams()...)
	c.publishUndisturbed(t)
	catalog, err := os.Stat(filepath.Join(c.dir, "catalog.duckdb"))
	testharness.Must(t, err)
	for _, limit := range []struct {
		step         string
		maxFileBytes int64
	}{
		{"state", 1},
		{"begin version", catalog.Size() / 2},
		{"publish version", catalog.Size() + 8<<10},
	} {
		c.requireDiskFull(t, trials.Job{MaxFileBytes: limit.maxFileBytes}, limit.step)
	}
	c.publishUndisturbed(t)
	trials.RequireNoTemporaryFiles(t, c.dir)
}

// requireDiskFull runs the night with a limited file size. The night must end with an error that
// names the step and the full disk.
func (c *crashTrial) requireDiskFull(t *testing.T, j trials.Job, step string) {
	t.Helper()
	p, published := c.tryJob(t, j, 0, waitForExit)
	var end trials.NightEnd
	p.ReadReport(t, &end)
	if published || end.ExitCode != 1 {
		t.Errorf("with a limit of %d bytes the run ended %s with exit code %d, published: %t, want exit code 1, published: false", j.MaxFileBytes,
			end.Outcome, end.ExitCode, published)
	}
	for _, part := range []string{step, "the disk is full", "repeat the command", "published snapshots and stored responses are kept"} {
		if !strings.Contains(end.Error, part) {
			t.Errorf("with a limit of %d bytes the error does not contain %q: %s", j.MaxFileBytes, part, end.Error)
		}
	}
}
