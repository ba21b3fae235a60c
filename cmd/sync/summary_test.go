package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/pipeline"
	"placementsync/internal/repair"
	"placementsync/internal/testing/harness"
)

// TestSummary checks that the summary of a published night counts rows of the snapshot. The summary of any other
// night must count records, show carried streams as not read, and list only the chosen streams.
func TestSummary(t *testing.T) {
	streams := []ledger.Stream{{Stream: "orders", Grade: "exact", Rows: 1000}, {Stream: "files", Grade: "carried_forward", Reason: "why"},
		{Stream: "tags", Grade: "carried_forward", Reason: ledger.ReasonNotChosen}, {Stream: "folders", Grade: "carried_forward", Reason: ledger.ReasonNotChosen}}
	for _, c := range []struct {
		outcome            ledger.Outcome
		dryRun, isUnsynced bool
		want, unwanted     string
	}{
		{ledger.Complete, false, false, `(?s)^stream +standing +rows .*\norders +proven +1000 .*\nfiles +carried .*\ntags +carried `, "not chosen\n"},
		{ledger.Interrupted, false, false, `(?s)^stream +standing +records .*\norders +proven +1000 .*\nfiles +not read +0 .*\n2 streams not chosen\n.*nothing published; readers keep the last snapshot`, "tags"},
		{ledger.Failed, false, false, `^stream +standing +records `, "tags"},
		{ledger.Failed, false, true, `\nrun r: readers see the new snapshot`, "nothing published"},
		{ledger.Partial, true, false, `\nrun r: dry run, nothing published, partial: files is carried`, "run r: published"},
	} {
		var out bytes.Buffer
		g := &globals{process: process{stdout: &out}}
		harness.Must(t, showNight(g, pipeline.Result{Run: ledger.Run{ID: "r", Outcome: c.outcome, Streams: streams}, IsUnsynced: c.isUnsynced}, c.dryRun))
		if got := out.String(); !regexp.MustCompile(c.want).MatchString(got) || strings.Contains(got, c.unwanted) {
			t.Errorf("%s, dry run %t: the summary does not match %s, or contains %q:\n%s", c.outcome, c.dryRun, c.want, c.unwanted, got)
		}
	}
}

// TestWholeSummary compares the summary of a night that was replayed, is published and has a check that warns.
func TestWholeSummary(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.November, 20, 2, 0, 0, 0, time.UTC)
	res := pipeline.Result{
		Run: ledger.Run{ID: "r", Kind: ledger.Replay, Outcome: ledger.Complete,
			StartedAt: at, EndedAt: at.Add(1500 * time.Millisecond),
			Rows: 1, New: 2, Changed: 3, Gone: 4, Requests: 5, Bytes: 2048, Retries: 6,
			Checks: []ledger.CheckResult{{Name: "prices", Outcome: ledger.CheckFailed, Rows: 7}},
			Streams: []ledger.Stream{{Stream: "orders", Grade: "exact", Rows: 10, Requests: 11, Passes: 12,
				Reason: "why\x1b\nmore", Unread: 13}}},
		Changes: []load.Change{{Table: "orders", After: 20, New: 21, Changed: 22, Gone: 23}, {Table: "tags", After: 5},
			{Table: "files", Gone: 1}},
	}
	const want = `
stream  standing  rows  requests  passes  why
orders  proven      10        11      12  why\x1b

table   rows  new  changed  gone
orders    20   21       22    23
files      0    0        0     1

run r: published
1 row, 2 new, 3 changed, 4 gone; 5 requests, 2.0 KiB, 6 retries, 1.5s
not read by the run that is replayed: 13 ids in 1 stream
check prices failed in 7 rows
`
	var out bytes.Buffer
	harness.Must(t, showNight(&globals{process: process{stdout: &out}}, res, false))
	if diff := cmp.Diff(want, "\n"+out.String()); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	res.Run.Outcome, res.Run.Held = ledger.Failed, true
	out.Reset()
	harness.Must(t, showNight(&globals{process: process{stdout: &out}}, res, false))
	const held = "run r: held by its checks, nothing published; readers keep the last snapshot\n"
	if !strings.Contains(out.String(), held) {
		t.Errorf("the summary of a held night does not contain %q:\n%s", held, &out)
	}
}

// TestSummaryOfARebuild compares the summaries of a rebuild from changes, and of one that compared days and lost data.
func TestSummaryOfARebuild(t *testing.T) {
	t.Parallel()
	first := time.Date(2026, time.November, 1, 2, 0, 0, 0, time.UTC)
	last := time.Date(2026, time.November, 20, 2, 30, 0, 0, time.UTC)
	for want, r := range map[string]repair.RebuildResult{
		`published r: current rows of 2026-11-20 02:30:00, history of 3 runs
`: {First: first, Last: last, HasMeta: true, RestoredRuns: 3, Snapshots: 9},
		`published r from 2 snapshots of 2026-11-01 to 2026-11-20
not in the series: 1 snapshot of this period; row versions that existed only between two kept days are missing in history
meta is empty: all files with its changes are damaged or missing; runs and grades before this rebuild are lost
lost: the snapshot of run r0, which was published last: the series has no complete day of it
not needed, and still damaged: a: b\x1b; placementsync rebuild --series restores it
skipped c: d; lost: e
the damaged files are in damaged/r of the warehouse
`: {First: first, Last: last, Snapshots: 2, SnapshotsWithoutDay: 1, LostRun: "r0",
			Unused:  []repair.Damage{{File: "a", Problem: "b\x1b", Affected: "x"}},
			Skipped: []repair.Damage{{File: "c", Problem: "d", Affected: "e"}}},
	} {
		r.Manifest.RunID = "r"
		var out bytes.Buffer
		harness.Must(t, showRebuilt(&globals{process: process{stdout: &out}}, r))
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("summary (-want +got):\n%s", diff)
		}
	}
}
