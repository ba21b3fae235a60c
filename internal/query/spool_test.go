package query_test

import (
	"strings"
	"testing"

	"placementsync/internal/query"
)

// TestSpoolingDoesNotChangeResults runs statements whose results are spooled, that is written to a
// temporary table first, and statements whose results cannot be spooled.
func TestSpoolingDoesNotChangeResults(t *testing.T) {
	db := open(t, "")
	for name, c := range map[string]struct{ text, want string }{
		"after comments":            {"-- first\n/* and\nsecond */ SELECT 1 AS a; -- end", "a\n1\n"},
		"in brackets":               {"(SELECT 1 AS a)", "a\n1\n"},
		"equal names":               {"SELECT 1 AS a, 2 AS a", "a,a\n1,2\n"},
		"names that differ in case": {"SELECT 1 AS a, 2 AS \"A\"", "a,A\n1,2\n"},
		"untyped NULL":              {"SELECT NULL AS a", "a\n\n"},
		"FROM first":                {"FROM range(2) AS t(n)", "n\n0\n1\n"},
		"VALUES":                    {"VALUES (1), (2)", "col0\n1\n2\n"},
		"WITH":                      {"WITH x AS (SELECT 7 AS n) SELECT n FROM x", "n\n7\n"},
		"PIVOT":                     {"PIVOT (SELECT 1 AS k, 'a' AS c, 2 AS v) ON c IN ('a', 'b') USING sum(v)", "k,a,b\n1,2,\n"},
		"PIVOT without values":      {"PIVOT (FROM (VALUES ('a', 1), ('b', 2)) AS v(k, n)) ON k USING sum(n)", "a,b\n1,2\n"},
		"DESCRIBE as subquery":      {"SELECT column_name FROM (DESCRIBE SELECT 1 AS n)", "column_name\nn\n"},
		"ORDER BY":                  {"SELECT range AS n FROM range(3) ORDER BY n DESC", "n\n2\n1\n0\n"},
		"no rows":                   {"SELECT 1 AS a WHERE false", "a\n"},
		"aggregate":                 {"SELECT count(*) AS n FROM range(5)", "n\n5\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := runQuery(t, db, query.Text(c.text), nil, query.CSV, query.Screen{})
			if got = strings.ReplaceAll(got, "\r\n", "\n"); err != nil || got != c.want {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
	t.Run("DESCRIBE", func(t *testing.T) {
		got, err := runQuery(t, db, query.Text("DESCRIBE SELECT 1 AS n"), nil, query.CSV, query.Screen{})
		if err != nil || !strings.Contains(got, "n,INTEGER") {
			t.Errorf("got %q, %v, want the column n", got, err)
		}
	})
}

func TestErrorsQuoteTheOriginalText(t *testing.T) {
	db := open(t, "")
	_, err := runQuery(t, db, query.Text("SELECT CAST('x' || range AS INTEGER) AS n FROM range(3)"), nil, query.CSV, query.Screen{})
	if err == nil || strings.Contains(err.Error(), "CREATE") || !strings.Contains(err.Error(), "Could not convert") {
		t.Errorf("got %v, want the error of the original text", err)
	}
}
