package main

import (
	"io"
	"strings"
	"syscall"
	"testing"

	"placementsync/internal/cli"
	"placementsync/internal/testing/harness"
)

// TestRollbackOnFullDisk checks that the error of a rollback on a full disk says what to do.
func TestRollbackOnFullDisk(t *testing.T) {
	t.Parallel()
	g := &globals{process: hostProcess(), Flags: cli.Flags{Config: demoOfThreeNights(t)}}
	g.stdout, g.stderr = io.Discard, io.Discard
	g.Step = func(string, string) error { return syscall.ENOSPC }
	const want = "the disk is full or the quota is used up: "
	err := runRollback(g, nil)
	if err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), ": free some space, or run placementsync prune, then repeat the command") {
		t.Errorf("the rollback ended with %v, want %q and a remedy", err, want)
	}
	g.Step = nil
	harness.Must(t, runRollback(g, nil))
}
