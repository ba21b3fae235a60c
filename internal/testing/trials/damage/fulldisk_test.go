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
		p, published := c.tryJob(t, func(j *trials.Job) { j.MaxFileBytes = limit.maxFileBytes })
		var end trials.NightEnd
		p.ReadReport(t, &end)
		if published || end.ExitCode != 1 {
			t.Errorf("with a limit of %d bytes the run ended %s with exit code %d, published: %t, want exit code 1, published: false", limit.maxFileBytes,
				end.Outcome, end.ExitCode, published)
		}
		for _, part := range []string{limit.step, "the disk is full", "repeat the command", "published snapshots and stored responses are kept"} {
			if !strings.Contains(end.Error, part) {
				t.Errorf("with a limit of %d bytes the error does not contain %q: %s", limit.maxFileBytes, part, end.Error)
			}
		}
	}
	c.publishUndisturbed(t)
	trials.RequireNoTemporaryFiles(t, c.dir)
}
