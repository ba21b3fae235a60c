package main

import (
	"strings"
	"testing"

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
