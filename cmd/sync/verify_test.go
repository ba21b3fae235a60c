package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/repair"
)

// TestVerifyShowsHowToRestoreABackup checks that verify does not call data lost if a backup may contain
// it. It then proposes a restore into an empty folder.
func TestVerifyShowsHowToRestoreABackup(t *testing.T) {
	for kind, want := range map[repair.Kind]string{
		repair.RestoreBackup: "  repair   placementsync rebuild --from ADDRESS with an empty folder in warehouse.dir (restores the newest backup)\n",
		repair.NoRepair:      "  repair   none (lost data cannot be restored)\n",
	} {
		var report repair.Report
		report.Damage = []repair.Damage{{File: "a", Repair: repair.Step{Kind: kind}, Lost: true}}
		var out strings.Builder
		if err := showVerified(&out, report); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("got %q (%v), want %q in it", out.String(), err, want)
		}
	}
}

// TestVerifyShowsDamage compares the whole text of two verifications.
func TestVerifyShowsDamage(t *testing.T) {
	t.Parallel()
	for want, report := range map[string]repair.Report{
		`a\x1b: cut
  impact   a table
  repair   placementsync rebuild --series
b: missing
  impact   readers
  repair   placementsync rollback r1
run these commands in this order, then verify again: placementsync rebuild --series; placementsync rollback r1
note: an old file\x1b
damaged: all damage can be repaired (3 files, names and sizes; --read-data reads every byte, 1.235s)
`: {Files: 3, Bytes: 1, Took: 1234567 * time.Microsecond, Notes: []string{"an old file\x1b"}, Damage: []repair.Damage{
			{File: "a\x1b", Problem: "cut\nmore", Affected: "a table", Repair: repair.Step{Kind: repair.RebuildSeries}},
			{File: "b", Problem: "missing", Affected: "readers", Repair: repair.Step{Kind: repair.RollBack, Version: "r1"}}}},
		"intact (1 file, 2.0 KiB read, 0s)\n": {ReadData: true, Files: 1, Bytes: 2048},
	} {
		var out strings.Builder
		err := showVerified(&out, report)
		if diff := cmp.Diff(want, out.String()); diff != "" || err != nil {
			t.Errorf("verification (-want +got), %v:\n%s", err, diff)
		}
	}
}
