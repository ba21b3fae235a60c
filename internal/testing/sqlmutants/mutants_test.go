package sqlmutants_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/testing/sqlmutants"
)

// TestFind checks the mutants of each kind of clause. Comments, literals and the AND of BETWEEN have
// no mutants.
func TestFind(t *testing.T) {
	for sql, want := range map[string][]string{
		"SELECT '<' FROM t -- a < b AND c\nWHERE a < 'AND' AND b BETWEEN 1 AND 2": {
			"WHERE true AND b BETWEEN 1 AND 2", "WHERE a <= 'AND' AND b BETWEEN 1 AND 2", "WHERE a < 'AND' OR b BETWEEN 1 AND 2", "WHERE a < 'AND' AND true"},
		"WHERE a = $a GROUP BY x":                   {"WHERE (a = $a OR true) GROUP BY x", "WHERE a <> $a GROUP BY x"},
		"WHERE (a OR b) AND c":                      {"WHERE true AND c", "WHERE (a AND b) AND c", "WHERE (a OR b) OR c", "WHERE (a OR b) AND true"},
		"HAVING a OR b AND c":                       {"HAVING true", "HAVING a AND b AND c", "HAVING a OR b OR c"},
		"UPDATE t SET a = 1 WHERE rows IS NOT NULL": {"UPDATE t SET a = 1 WHERE true"},
		"count(*) FILTER (a), sum(x) FILTER (WHERE b)": {
			"count(*) FILTER (true), sum(x) FILTER (WHERE b)", "count(*) FILTER (a), sum(x) FILTER (WHERE true)"},
		"WHERE CASE WHEN a AND b THEN c END QUALIFY min(min)": {
			"WHERE true QUALIFY min(min)", "WHERE CASE WHEN a OR b THEN c END QUALIFY min(min)",
			"WHERE CASE WHEN a AND b THEN c END QUALIFY true", "WHERE CASE WHEN a AND b THEN c END QUALIFY max(min)"},
		"FROM a JOIN b ON x LEFT JOIN c USING (id)": {
			"FROM a LEFT JOIN b ON x LEFT JOIN c USING (id)", "FROM a JOIN b ON true LEFT JOIN c USING (id)", "FROM a JOIN b ON x JOIN c USING (id)"},
		"FROM a FULL JOIN b USING (id) ANTI JOIN c USING (id) CROSS JOIN d": {
			"FROM a LEFT JOIN b USING (id) ANTI JOIN c USING (id) CROSS JOIN d", "FROM a FULL JOIN b USING (id) SEMI JOIN c USING (id) CROSS JOIN d"},
		"ORDER BY a, b DESC NULLS LAST, f(c, d) LIMIT 1": {
			"ORDER BY a DESC, b DESC NULLS LAST, f(c, d) LIMIT 1", "ORDER BY a, b ASC NULLS LAST, f(c, d) LIMIT 1", "ORDER BY a, b DESC NULLS LAST, f(c, d) DESC LIMIT 1"},
		"OVER (PARTITION BY a ORDER BY b ROWS BETWEEN 1 AND 2) AND c": {
			"OVER (PARTITION BY a ORDER BY b DESC ROWS BETWEEN 1 AND 2) AND c", "OVER (PARTITION BY a ORDER BY b ROWS BETWEEN 1 AND 2) OR c"},
		"CREATE OR REPLACE VIEW v":    nil,
		"COMMENT ON VIEW v IS 'a<b'":  nil,
		"WHERE a\n-- name: b\nSELECT": {"WHERE true"},
	} {
		var got []string
		for _, m := range sqlmutants.Find(sql) {
			_, after := m.Lines(sql)
			got = append(got, after)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("mutants of %s (-want +got):\n%s", sql, diff)
		}
	}
}
