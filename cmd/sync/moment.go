package main

import (
	"time"

	"placementsync/internal/warehouse"
)

// snapshotAfter returns the time of the current snapshot after the ledger entry with an id.
// Any other text is returned unchanged.
func snapshotAfter(wh *warehouse.Warehouse, text string) string {
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
