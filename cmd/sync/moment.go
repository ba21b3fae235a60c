package main

import (
	"slices"
	"time"

	"placementsync/internal/query"
	"placementsync/internal/warehouse"
)

// knownAs replaces ids that no snapshot of the catalog has by what the ledger knows
// of them.
func knownAs(g *globals, all []query.Snapshot, names []string) ([]string, error) {
	cfg, err := g.loadWarehouse()
	if err != nil {
		return nil, err
	}
	wh, err := warehouse.Open(warehouseConfig(cfg))
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

// seenAs gives, of an id that the ledger knows, the time of the snapshot that readers
// saw when that entry was made; any other text stays as it is.
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
