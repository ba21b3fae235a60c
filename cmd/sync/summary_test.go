package main

import (
	"bytes"
	"regexp"
	"testing"

	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
)

// TestSummaryCounts: rows of the snapshot where one was published, and records
// that were read where none was, so that nothing is carried either.
func TestSummaryCounts(t *testing.T) {
	streams := []ledger.Stream{{Stream: "orders", Grade: "exact", Rows: 1000}, {Stream: "files", Grade: "carried_forward", Reason: "why"}}
	for outcome, want := range map[ledger.Outcome]string{
		ledger.Complete:    `(?s)^stream +rows are +rows .*\norders +proven +1000 .*\nfiles +carried `,
		ledger.Interrupted: `(?s)^stream +records are +records .*\norders +proven +1000 .*\nfiles +not read +0 .*nothing published, the last snapshot stays`,
		ledger.Failed:      `(?s)^stream +records are +records `,
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
