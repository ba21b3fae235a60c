package lake

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/apache/iceberg-go/table"
)

// shown is what a table of the lake shows: the night that it was published from last, and
// the checksum of its rows. Both are in the table itself, since a catalog may drop tags.
type shown struct {
	run string
	at  time.Time
	// content is empty when another program wrote the snapshot, so that the next night
	// replaces it. With oldContent release 1.0.0 recorded it: see sumBeforeFooter.
	content    string
	oldContent bool
	files      int
	rows       int64
	// onMain says that readers see the snapshot that the night was published as, and no
	// other that a program has put in its place.
	onMain bool
}

// readShown reads what a table shows; the zero value for one that was never published.
func readShown(n tableName, t *table.Table) (shown, error) {
	if t == nil {
		return shown{}, nil
	}
	properties := t.Metadata().Properties()
	s := shown{run: properties[runProperty]}
	if s.run == "" {
		return s, nil
	}
	at, err := time.Parse(time.RFC3339Nano, properties[timeProperty])
	if err != nil {
		return s, fmt.Errorf("read %s: its property %s is no time: %w: another program changed the table; restore it, or drop the table, and the next night publishes it anew",
			n, timeProperty, err)
	}
	s.at = at.UTC()
	main := strconv.FormatInt(mainOf(t.Metadata()), 10)
	s.onMain = cmp.Or(properties[snapshotProperty], main) == main // earlier programs did not write it
	if snapshot := t.CurrentSnapshot(); snapshot != nil && snapshot.Summary != nil {
		summary := snapshot.Summary.Properties
		s.content, s.oldContent = properties[contentProperty], false
		if s.content == "" || !s.onMain {
			s.content, s.oldContent = summary[contentProperty], true
		}
		s.files, _ = strconv.Atoi(summary["total-data-files"])
		s.rows, _ = strconv.ParseInt(summary["total-records"], 10, 64)
	}
	return s, nil
}

// readAllShown reads what all tables show.
func readAllShown(have tables) (map[tableName]shown, error) {
	all := map[tableName]shown{}
	for n, t := range have {
		s, err := readShown(n, t)
		if err != nil {
			return nil, err
		}
		all[n] = s
	}
	return all, nil
}

// newest is the latest night that any table shows.
func newest(all map[tableName]shown) shown {
	var last shown
	for _, s := range all {
		if s.at.After(last.at) {
			last = s
		}
	}
	return last
}
