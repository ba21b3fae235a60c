package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/repair"
)

// TestSummaryCounts checks that the summary of a published night counts rows of the snapshot.
// The summary of any other night must count records, and show carried streams as not read.
func TestSummaryCounts(t *testing.T) {
	streams := []ledger.Stream{{Stream: "orders", Grade: "exact", Rows: 1000}, {Stream: "files", Grade: "carried_forward", Reason: "why"}}
	for outcome, want := range map[ledger.Outcome]string{
		ledger.Complete:    `(?s)^stream +standing +rows .*\norders +proven +1000 .*\nfiles +carried `,
		ledger.Interrupted: `(?s)^stream +standing +records .*\norders +proven +1000 .*\nfiles +not read +0 .*nothing published; readers keep the last snapshot`,
		ledger.Failed:      `(?s)^stream +standing +records `,
	} {
		var out bytes.Buffer
		g := &globals{process: process{stdout: &out}}
		if err := showNight(g, pipeline.Result{Run: ledger.Run{ID: "r", Outcome: outcome, Streams: streams}}, false); err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(want).Match(out.Bytes()) {
			t.Errorf("%s: the summary does not match %s:\n%s", outcome, want, &out)
		}
	}
}

// TestSummaryOfChosenStreams checks that a failed night with --streams lists only the chosen streams.
func TestSummaryOfChosenStreams(t *testing.T) {
	var out bytes.Buffer
	run := ledger.Run{ID: "r", Outcome: ledger.Failed, Streams: []ledger.Stream{{Stream: "orders", Grade: "carried_forward", Reason: "refused"},
		{Stream: "files", Grade: "carried_forward", Reason: ledger.ReasonNotChosen}, {Stream: "tags", Grade: "carried_forward", Reason: ledger.ReasonNotChosen}}}
	if err := showNight(&globals{process: process{stdout: &out}}, pipeline.Result{Run: run}, false); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "orders") || strings.Contains(got, "files") || !strings.Contains(got, "\n2 streams not chosen\n") {
		t.Errorf("the summary must list orders and count the other two:\n%s", got)
	}
}

// TestSummaryOfADryRun checks that the summary of a partial dry run does not report a publish.
func TestSummaryOfADryRun(t *testing.T) {
	var out bytes.Buffer
	run := ledger.Run{ID: "r", Outcome: ledger.Partial, Streams: []ledger.Stream{{Stream: "files", Grade: "carried_forward", Reason: "why"}}}
	if err := showNight(&globals{process: process{stdout: &out}}, pipeline.Result{Run: run}, true); err != nil {
		t.Fatal(err)
	}
	if want := "run r: dry run, nothing published, partial: files is carried"; !strings.Contains(out.String(), want) {
		t.Errorf("the summary does not contain %q:\n%s", want, &out)
	}
}

// TestSummaryOfAnUnsyncedSwitch checks that the summary of a failed night reports the new snapshot if readers
// see it.
func TestSummaryOfAnUnsyncedSwitch(t *testing.T) {
	var out bytes.Buffer
	res := pipeline.Result{Run: ledger.Run{ID: "r", Outcome: ledger.Failed}, IsUnsynced: true}
	if err := showNight(&globals{process: process{stdout: &out}}, res, false); err != nil {
		t.Fatal(err)
	}
	if want := "run r: readers see the new snapshot"; !strings.Contains(out.String(), want) || strings.Contains(out.String(), "nothing published") {
		t.Errorf("the summary does not contain %q, or contains \"nothing published\":\n%s", want, &out)
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
