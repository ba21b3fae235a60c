package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"placementsync/internal/testing/harness"
)

// TestVerifyOfReadOnlyWarehouse verifies a warehouse on a file system that is mounted read-only. Exit code 1 would
// mean that data is lost.
func TestVerifyOfReadOnlyWarehouse(t *testing.T) {
	t.Parallel()
	config := threeNights(t)
	dir := filepath.Join(filepath.Dir(config), "warehouse")
	const mountReadOnly = `mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"`
	run := func(args ...string) (code int, output string) {
		out, err := exec.CommandContext(t.Context(), "unshare", append([]string{"--mount", "sh", "-c", mountReadOnly, dir}, args...)...).CombinedOutput()
		if exitErr, ok := errors.AsType[*exec.ExitError](err); ok {
			return exitErr.ExitCode(), string(out)
		}
		harness.Must(t, err)
		return 0, string(out)
	}
	if code, output := run("true"); code != 0 {
		t.Skipf("this user cannot mount a folder read-only: %s", output)
	}
	harness.Must(t, os.Remove(filepath.Join(dir, "parquet/tags/snapshot_date=2026-11-02/tags.parquet")))
	for _, args := range [][]string{{"verify"}, {"verify", "--read-data"}} {
		code, output := run(append([]string{"placementsync", "--config", config}, args...)...)
		if code != 3 || !strings.Contains(output, "damaged: all damage can be repaired (") {
			t.Errorf("%v ended with %d, want 3 and the missing file:\n%s", args, code, output)
		}
	}
	if code, output := run("placementsync", "--config", config, "rollback"); code != 1 || !strings.Contains(output, "read-only file system; nothing in the warehouse was changed: check that the disk of") {
		t.Errorf("rollback ended with %d, want 1 and advice:\n%s", code, output)
	}
}
