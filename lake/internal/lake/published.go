package lake

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"
)

// publishedState describes the published rows of a table. The night and the checksum of the rows are
// stored as properties of the table, because a catalog may drop tags.
type publishedState struct {
	// run and at are the newest published night and the time of its warehouse snapshot.
	run string
	at  time.Time
	// checksum is the checksum of the rows. It is empty if another program changed the current
	// Iceberg snapshot, or if release 1.0.0 published the table. The next night then writes all rows again.
	checksum string
	files    int
	rows     int64
	// onMain is true if the branch main, which readers see, is at the published Iceberg snapshot. It is
	// false if another program changed the branch.
	onMain bool
}

// readPublishedStates reads the published states of tables. A table that was never published has the zero
// value.
func readPublishedStates(lakeTables tables) (map[tableName]publishedState, error) {
	states := map[tableName]publishedState{}
	for n, t := range lakeTables {
		properties := t.Metadata().Properties()
		s := publishedState{run: properties[runProperty]}
		if s.run == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339Nano, properties[timeProperty])
		if err != nil {
			return nil, fmt.Errorf("read %s: its property %s is not a time: %w; another program changed the table: restore the property, or drop the table and run \"placementsync lake publish --all\"",
				n, timeProperty, err)
		}
		s.at = at.UTC()
		snapshotID := strconv.FormatInt(currentSnapshotID(t.Metadata()), 10)
		s.onMain = cmp.Or(properties[snapshotProperty], snapshotID) == snapshotID // earlier releases did not write the property
		if s.onMain {
			s.checksum = properties[checksumProperty]
		}
		if snapshot := t.CurrentSnapshot(); snapshot != nil && snapshot.Summary != nil {
			summary := snapshot.Summary.Properties
			s.files, _ = strconv.Atoi(summary["total-data-files"])
			s.rows, _ = strconv.ParseInt(summary["total-records"], 10, 64)
		}
		states[n] = s
	}
	return states, nil
}

func (l *Lake) loadStates(ctx context.Context) (tables, map[tableName]publishedState, error) {
	lakeTables, err := l.catalog.load(ctx)
	if err != nil {
		return nil, nil, err
	}
	states, err := readPublishedStates(lakeTables)
	return lakeTables, states, err
}

// newestState returns the state of a table with the newest night.
func newestState(states map[tableName]publishedState) publishedState {
	var newest publishedState
	for _, s := range states {
		if s.at.After(newest.at) {
			newest = s
		}
	}
	return newest
}
