package watch_test

import (
	"strings"
	"testing"

	"placementsync/internal/query"
	catalogs "placementsync/internal/testing/fixture"
	"placementsync/internal/testing/harness"
	"placementsync/internal/watch"
)

// TestCheckedWatches checks watches without running their queries. The query of the last one would run for hours.
func TestCheckedWatches(t *testing.T) {
	db, err := query.Open(t.Context(), catalogs.NewEmptyCatalog(t).Fill(t, ""), query.Options{Threads: 1})
	harness.Must(t, err)
	defer func() { harness.Must(t, db.Close()) }()
	for name, c := range map[string]struct {
		sql, key, want string
	}{
		"existing columns":       {"SELECT id, total FROM orders", "id", ""},
		"an unknown key":         {"SELECT id FROM orders", "nr", `the query returns no column "nr" for key: use one of id`},
		"an unknown table":       {"SELECT id FROM nothing_of_ours", "id", "nothing_of_ours"},
		"a query without a plan": {"PIVOT (SELECT id, status FROM orders) ON status USING count(*)", "id", ""},
		"a statement that lasts": {"SELECT count(*) AS id FROM range(1000000) a, range(1000000) b WHERE a.range * b.range % 7 = 3", "id", ""},
	} {
		err := watch.Check(t.Context(), db, query.Text(c.sql), watch.Watch{Name: "bills", Key: []string{c.key}})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
