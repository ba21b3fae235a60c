package main

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"placementsync/internal/cli"
	"placementsync/internal/ledger"
	"placementsync/internal/testing/harness"
)

// TestRollbackOnFullDisk checks that the error of a rollback on a full disk says what to do.
func TestRollbackOnFullDisk(t *testing.T) {
	t.Parallel()
	g := &globals{process: hostProcess(), Flags: cli.Flags{Config: threeNights(t)}}
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

// TestRunsWithoutASnapshot names a rollback where a snapshot is expected: it means the snapshot that readers then saw.
// If the ledger cannot be read, the completion proposes the kept versions.
func TestRunsWithoutASnapshot(t *testing.T) {
	t.Parallel()
	g := &globals{process: hostProcess(), Flags: cli.Flags{Config: threeNights(t), Quiet: true}}
	var out bytes.Buffer
	g.stdout, g.stderr = &out, io.Discard
	wh, _, err := g.openWarehouse()
	harness.Must(t, err)
	versions, err := wh.Versions.List()
	harness.Must(t, err)
	harness.Must(t, runRollback(g, nil))
	harness.Must(t, runRollback(g, versions[2:]))
	runs, err := wh.RunLog.Runs()
	harness.Must(t, err)
	rollbacks := []string{runs[len(runs)-2].ID, runs[len(runs)-1].ID}
	out.Reset()
	harness.Must(t, runQuery(t.Context(), g, queryOptions{asOf: rollbacks[0], output: outputOptions{format: "csv"}}, []string{"SELECT max(run_id) AS run FROM meta.runs"}))
	if want := "run\r\n" + versions[1] + "\r\n"; out.String() != want {
		t.Errorf("as of the rollback to %s the query printed %q, want %q", versions[1], &out, want)
	}
	harness.Must(t, runDiff(t.Context(), g, diffOptions{summary: true, output: outputOptions{format: "csv"}}, rollbacks))

	harness.Must(t, wh.RunLog.Record(ledger.Run{ID: "20261105T020000Z", Outcome: ledger.Failed}))
	if got, err := publishedRuns(wh); err != nil || !slices.Equal(got, versions) {
		t.Errorf("the completion proposes %v (%v), want %v without rollbacks and failed nights", got, err, versions)
	}
	harness.Must(t, os.Remove(wh.RunLog.Path()))
	harness.Must(t, os.Mkdir(wh.RunLog.Path(), 0o700))
	if got, err := publishedRuns(wh); err != nil || !slices.Equal(got, versions) {
		t.Errorf("without the ledger the completion proposes %v (%v), want %v", got, err, versions)
	}
}
