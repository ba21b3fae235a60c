package trials_test

import (
	"fmt"
	"testing"
	"time"
)

// nightData contains the expected rows of all tables at the time of a night.
type nightData struct {
	at   time.Time
	rows map[string][]textRow
}

// checkHistory compares every table with its expected rows at the time of every night, and in the
// last microsecond before the next night. valid_from is inclusive and valid_to exclusive, so both
// times have the same rows. Before the first night, a table must be empty.
func checkHistory(t *testing.T, h *harness, ref *reference, nights []nightData) {
	catalog := h.catalog()
	for n, night := range nights {
		for _, spec := range ref.uniqueTables() {
			t.Run(fmt.Sprintf("history/night %d/%s", n+1, spec.table), func(t *testing.T) {
				checkTable(t, spec, night.rows, catalog, rowsAsOf(spec.table, night.at))
				if n+1 < len(nights) {
					checkTable(t, spec, night.rows, catalog, rowsAsOf(spec.table, nights[n+1].at.Add(-time.Microsecond)))
				}
				checkTable(t, spec, nil, catalog, rowsAsOf(spec.table, nights[0].at.Add(-time.Microsecond)))
			})
		}
	}
}

func rowsAsOf(table string, at time.Time) string {
	return fmt.Sprintf("%s_at(TIMESTAMPTZ '%s+00')", table, at.UTC().Format(microsecondLayout))
}

// checkSeries compares the Parquet files of every night with the expected rows. Later nights must
// not change these files.
func checkSeries(t *testing.T, h *harness, ref *reference, nights []nightData) {
	db := open(t, "")
	for n, night := range nights {
		for _, spec := range ref.uniqueTables() {
			t.Run(fmt.Sprintf("series/night %d/%s", n+1, spec.table), func(t *testing.T) {
				day := "snapshot_date=" + night.at.Format(time.DateOnly)
				file := h.path("parquet", spec.table, day, spec.table+".parquet")
				checkTable(t, spec, night.rows, db, fmt.Sprintf("read_parquet('%s', hive_partitioning = false)", file))
			})
		}
	}
}
