package trials_test

import (
	"fmt"
	"testing"
	"time"
)

// moment contains the data of the service when a night ran.
type moment struct {
	at   time.Time
	rows map[string][]cells
}

// checkHistory queries every table as of every night, and as of the last microsecond before
// the next one: valid_from is inclusive, valid_to is not.
func checkHistory(t *testing.T, h *house, ref *reference, nights []moment) {
	catalog := h.catalog()
	for n, held := range nights {
		for _, e := range ref.once() {
			t.Run(fmt.Sprintf("history/night %d/%s", n+1, e.table), func(t *testing.T) {
				check(t, e, held.rows, catalog, asOf(e.table, held.at))
				if n+1 < len(nights) {
					check(t, e, held.rows, catalog, asOf(e.table, nights[n+1].at.Add(-time.Microsecond)))
				}
				check(t, e, nil, catalog, asOf(e.table, nights[0].at.Add(-time.Microsecond)))
			})
		}
	}
}

func asOf(table string, at time.Time) string {
	return fmt.Sprintf("%s_at(TIMESTAMPTZ '%s+00')", table, at.UTC().Format(microseconds))
}

// checkSeries reads the Parquet files of every night, which later nights must not change.
func checkSeries(t *testing.T, h *house, ref *reference, nights []moment) {
	db := open(t, "")
	for n, held := range nights {
		for _, e := range ref.once() {
			t.Run(fmt.Sprintf("series/night %d/%s", n+1, e.table), func(t *testing.T) {
				day := "snapshot_date=" + held.at.Format(time.DateOnly)
				file := h.path("parquet", e.table, day, e.table+".parquet")
				check(t, e, held.rows, db, fmt.Sprintf("read_parquet('%s', hive_partitioning = false)", file))
			})
		}
	}
}
