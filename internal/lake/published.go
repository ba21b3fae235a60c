package lake

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/apache/iceberg-go/table"
)

// publishedState is the published state of a table: its last night and the checksum of its rows.
// Both are stored as properties of the table, because a catalog may drop tags.
type publishedState struct {
	run string
	at  time.Time
	// content is the checksum of the rows. It is empty if another program changed the snapshot. The
	// next night then writes all rows again.
	content string
	// withoutFooter is true if release 1.0.0 wrote the snapshot. For a table of the schema main,
	// content is then the result of sumBeforeFooter.
	withoutFooter bool
	files         int
	rows          int64
	// onMain is true if the branch main, which readers see, is at the published snapshot. It is
	// false if another program replaced the snapshot.
	onMain bool
}

// readPublishedState reads the published state of a table. It is the zero value if the table was
// never published.
func readPublishedState(n tableName, t *table.Table) (publishedState, error) {
	properties := t.Metadata().Properties()
	s := publishedState{run: properties[runProperty]}
	if s.run == "" {
		return s, nil
	}
	at, err := time.Parse(time.RFC3339Nano, properties[timeProperty])
	if err != nil {
		return s, fmt.Errorf("read %s: its property %s is not a time: %w; another program changed the table: restore the property, or drop the table, which the next night publishes again",
			n, timeProperty, err)
	}
	s.at = at.UTC()
	main := strconv.FormatInt(mainOf(t.Metadata()), 10)
	s.onMain = cmp.Or(properties[snapshotProperty], main) == main // earlier programs did not write the property
	if snapshot := t.CurrentSnapshot(); snapshot != nil && snapshot.Summary != nil {
		summary := snapshot.Summary.Properties
		if s.onMain {
			s.content = properties[contentProperty]
			if s.content == "" { // release 1.0.0 wrote it only in the summary
				s.content, s.withoutFooter = summary[contentProperty], true
			}
		}
		s.files, _ = strconv.Atoi(summary["total-data-files"])
		s.rows, _ = strconv.ParseInt(summary["total-records"], 10, 64)
	}
	return s, nil
}

// readPublishedStates reads the published state of all tables.
func readPublishedStates(have tables) (map[tableName]publishedState, error) {
	all := map[tableName]publishedState{}
	for n, t := range have {
		s, err := readPublishedState(n, t)
		if err != nil {
			return nil, err
		}
		all[n] = s
	}
	return all, nil
}

// loadStates loads all tables and reads their published states.
func (l *Lake) loadStates(ctx context.Context) (tables, map[tableName]publishedState, error) {
	have, err := l.catalog.load(ctx)
	if err != nil {
		return nil, nil, err
	}
	all, err := readPublishedStates(have)
	return have, all, err
}

// newest returns the state of a table with the latest night.
func newest(all map[tableName]publishedState) publishedState {
	var last publishedState
	for _, s := range all {
		if s.at.After(last.at) {
			last = s
		}
	}
	return last
}
