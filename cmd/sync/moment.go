package main

import (
	"time"

	"placementsync/internal/warehouse"
)

// snapshotOfRun returns the time of the snapshot that readers saw after a run. It returns text
// unchanged if it is not a run id.
func snapshotOfRun(wh *warehouse.Warehouse, text string) string {
	runs, err := wh.Ledger.Runs()
	if err != nil {
		return text // some users may read snapshots but not the ledger
	}
	var current time.Time
	for _, r := range runs {
		if !r.SnapshotAt.IsZero() {
			current = r.SnapshotAt
		}
		if r.ID == text && !current.IsZero() {
			return current.UTC().Format(time.RFC3339Nano)
		}
	}
	return text
}
