package main

import (
	"time"

	"placementsync/internal/warehouse"
)

// seenAs returns, for an id of the ledger, the time of the snapshot that readers saw
// after that entry. Any other text is returned unchanged.
func seenAs(wh *warehouse.Warehouse, text string) string {
	runs, err := wh.Ledger.Runs()
	if err != nil {
		return text // the ledger is not open to everybody who may read snapshots
	}
	var seen time.Time
	for _, r := range runs {
		if !r.SnapshotAt.IsZero() {
			seen = r.SnapshotAt
		}
		if r.ID == text && !seen.IsZero() {
			return seen.UTC().Format(time.RFC3339Nano)
		}
	}
	return text
}
