package main

import (
	"slices"
	"time"

	"placementsync/internal/query"
	"placementsync/internal/warehouse"
)

// knownAs replaces each id that is not a snapshot of the catalog by its time in the
// ledger.
func knownAs(g *globals, all []query.Snapshot, names []string) ([]string, error) {
	wh, _, err := g.openWarehouse()
	if err != nil {
		return nil, err
	}
	known := slices.Clone(names)
	for i, name := range known {
		if !slices.ContainsFunc(all, func(s query.Snapshot) bool { return s.Run == name }) {
			known[i] = seenAs(wh, name)
		}
	}
	return known, nil
}

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
