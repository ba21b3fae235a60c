package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"placementsync/internal/ledger"
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

func TestSummaryOfARebuild(t *testing.T) {
	for missing, want := range map[int]string{1: "not in the series: 1 snapshot of this period; ", 2: "not in the series: 2 snapshots of this period; "} {
		var out bytes.Buffer
		if err := showRebuilt(&globals{process: process{stdout: &out}}, repair.RebuildResult{Snapshots: 2, SnapshotsWithoutDay: missing}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("the summary does not contain %q:\n%s", want, &out)
		}
	}
}
