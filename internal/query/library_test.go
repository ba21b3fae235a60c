package query_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"placementsync/internal/query"
	"placementsync/internal/testing/harness"
)

// writeQueryFiles creates a folder with queries of the user, given by file name.
func writeQueryFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const listingsOfCountry = `-- subject: report
-- title: Listings of a country
-- grain: one row per listing
-- about: Listings with enough authority.
-- also: places, lands
-- chart: line x=day y=listings by=tier,currency
-- columns: first name id
-- heading: id The id
-- param: country VARCHAR DE -- where
-- values: SELECT country FROM product_listings
-- param: least COUNT 10 -- authority
-- param: name VARCHAR? 'The first' -- only this name
SELECT id FROM product_listings
WHERE country = $country AND domain_authority >= $least AND ($name IS NULL OR name = $name)
`

const threeListings = `
INSERT INTO product_listings (id, name, country, domain_authority) VALUES
	('a', 'The first', 'DE', 10), ('b', 'The second', 'DE', 20), ('c', 'The first', 'FR', 30);`

func TestLoadAddsOwnQueries(t *testing.T) {
	dir := writeQueryFiles(t, map[string]string{"listings_of.SQL": "\ufeff" + strings.ReplaceAll(listingsOfCountry, "\n", "\r\n"), "notes.txt": "no query"})
	all, err := query.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	listed := namesOf(all.List())
	if builtIn := query.List(); len(listed) != len(builtIn)+1 || !slices.IsSorted(listed) || !slices.Contains(listed, "listings_of") {
		t.Fatalf("got the queries %q, want the %d built-in ones and listings_of, by name", listed, len(builtIn))
	}
	for _, hidden := range []string{"report_headlines", "premium_by_channel"} { // a query of the report, and one with another name
		if _, ok := all.Find(hidden); !ok || slices.Contains(listed, hidden) {
			t.Errorf("%s is found: %t, and listed: %t, want found and not listed", hidden, ok, slices.Contains(listed, hidden))
		}
	}
	if q, ok := all.Find("best_value"); !ok || q.IsUserDefined() || q.Subject != "placements" {
		t.Errorf("best_value: got %+v, found %t, want the built-in query with the subject placements", q, ok)
	}
	q, err := all.Resolve("listings_of")
	if err != nil {
		t.Fatal(err)
	}
	want := query.Query{
		Name: "listings_of", File: filepath.Join(dir, "listings_of.SQL"), Subject: "report", Title: "Listings of a country",
		Grain: "one row per listing", About: "Listings with enough authority.", Also: "places, lands", SQL: q.SQL,
		Chart: &query.Chart{Kind: query.ChartLines, X: "day", Y: []string{"listings"}, By: []string{"tier", "currency"}},
		First: []string{"name", "id"}, Headings: map[string]string{"id": "The id"},
		Params: []query.Param{
			{Name: "country", Type: "VARCHAR", Default: "DE", About: "where", Values: "SELECT country FROM product_listings"},
			{Name: "least", Type: "COUNT", Default: "10", About: "authority"},
			{Name: "name", Type: "VARCHAR", Nullable: true, Default: "The first", About: "only this name"},
		},
	}
	if diff := cmp.Diff(want, q, cmpopts.IgnoreUnexported(query.Query{})); diff != "" || !q.IsUserDefined() {
		t.Errorf("the own query (-want +got):\n%s", diff)
	}
	db := open(t, threeListings)
	for values, want := range map[string]string{"": "a\n", "name=NULL": "a\nb\n", "country=FR": "c\n", "least=20 name=NULL": "b\n"} {
		given := map[string]string{}
		for _, assignment := range strings.Fields(values) {
			name, value, _ := strings.Cut(assignment, "=")
			given[name] = value
		}
		got, err := runQuery(t, db, q, given, query.CSV, query.Screen{})
		if got = strings.ReplaceAll(got, "\r\n", "\n"); err != nil || got != "id\n"+want {
			t.Errorf("%q: got %q, %v, want %q", values, got, err, want)
		}
	}
	if _, err := runQuery(t, db, q, map[string]string{"least": "many"}, query.CSV, query.Screen{}); err == nil || !strings.Contains(err.Error(), `query "listings_of": parameter "least": "many" is not a whole number from 0 on; parameter:`) {
		t.Errorf("a wrong type: got %v, want the error of the parameter", err)
	}
}

// TestLoadReportsAllMistakes checks the message of each mistake, and that the files without
// mistakes are loaded.
func TestLoadReportsAllMistakes(t *testing.T) {
	const good = "-- title: Good\nSELECT 1 AS n"
	dir := writeQueryFiles(t, map[string]string{
		"best_value.sql": good,
		"Good.sql":       good,
		"good.sql":       good,
		"columns.sql": "-- title: Columns\n-- columns: a b\n-- columns: first a\n-- columns: first b\n" +
			"-- heading: a\n-- heading: a A\n-- heading: a B\nSELECT 1",
		"charts.sql":      "-- title: Charts\n-- chart: pie x=a y=b\n-- chart: bar x=a y=b,c by=d\n-- chart: bar x=a y=b\n-- chart: bar x=a y=c\nSELECT 1",
		"my-query.sql":    good,
		"no_title.sql":    "SELECT 1 AS n",
		"not_text.sql":    "-- title: \xff",
		"parameters.sql":  "-- title: Parameters\n-- param: n NUMBER 1 -- count\n-- a remark\n-- param: n COUNT many -- count\n-- param: day DATE snapshot-7d -- a day\nSELECT $n, $day",
		"repeated.sql":    "-- title: One\n-- title: Two\n-- parm: x VARCHAR y -- z\n-- values: SELECT 1\nSELECT 1",
		"unused.sql":      "-- title: Unused\n-- param: top COUNT 3 -- rows\nSELECT $topmost",
		"twice.sql":       "-- title: Twice\n-- param: a COUNT 3 -- rows\n-- param: a COUNT 4 -- rows\n-- values: SELECT 1\n-- values: SELECT 2\nSELECT $a",
		"too_long.sql":    good + strings.Repeat(" ", 1<<20),
		".#hidden.sql":    "a lock file of an editor",
		"empty_title.sql": "-- title:\nSELECT 1",
	})
	if err := os.Mkdir(filepath.Join(dir, "folder.sql"), 0o700); err != nil {
		t.Fatal(err)
	}
	all, err := query.Load(dir)
	var faulty *query.FilesError
	if !errors.As(err, &faulty) {
		t.Fatalf("got %v, want a FilesError", err)
	}
	want := []string{
		"best_value.sql: has the name of the built-in queries/best_value.sql: rename it",
		`charts.sql:2: write a chart as KIND x=COLUMN y=COLUMN,... by=COLUMN,... with the kind bar, line or step, not "pie x=a y=b"; by is optional`,
		`charts.sql:3: a chart with several columns y cannot have by: "bar x=a y=b,c by=d"`,
		`charts.sql:5: a query has one chart`,
		`columns.sql:2: write the most important columns as first COLUMN COLUMN ..., once, not "a b"`,
		`columns.sql:4: write the most important columns as first COLUMN COLUMN ..., once, not "first b"`,
		`columns.sql:5: write a heading as COLUMN TEXT, once for each column, not "a"`,
		`columns.sql:7: write a heading as COLUMN TEXT, once for each column, not "a B"`,
		`empty_title.sql:1: the line "-- title: TEXT" may occur once and needs a text`,
		"folder.sql: is not a regular file",
		"good.sql: has the name of Good.sql: rename one of them",
		"my-query.sql: has an invalid name: use only letters, digits and _",
		"no_title.sql:1: needs a title: begin with -- title: TEXT",
		"not_text.sql: is not UTF-8: save it as UTF-8",
		`parameters.sql:2: write a parameter as NAME TYPE DEFAULT -- MEANING, not "n NUMBER 1 -- count"`,
		`parameters.sql:4: parameter "n": "many" is not a whole number from 0 on`,
		`repeated.sql:2: the line "-- title: TEXT" may occur once and needs a text`,
		`repeated.sql:3: unknown header line "parm": did you mean param?`,
		`repeated.sql:4: the line "-- values: SELECT ..." may occur once, below the "-- param:" line of its parameter`,
		"too_long.sql: is larger than 1048576 bytes",
		`twice.sql:3: parameter "a" is declared twice`,
		`twice.sql:5: the line "-- values: SELECT ..." may occur once, below the "-- param:" line of its parameter`,
		`unused.sql: declares parameter "top", but its SQL does not contain $top`,
	}
	got := strings.Split(strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), ""), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if q, ok := all.Find("Good"); !ok || q.Title != "Good" || q.Subject != "own" {
		t.Errorf("Good: got %+v, found %t, want the query of Good.sql", q, ok)
	}
	if q, ok := all.Find("best_value"); !ok || q.IsUserDefined() {
		t.Errorf("best_value: got %+v, found %t, want the built-in query", q, ok)
	}
	if _, err := query.Load(filepath.Join(dir, "nosuch")); !errors.As(err, &faulty) || !strings.Contains(err.Error(), "correct queries.dir") {
		t.Errorf("missing folder: got %v, want a FilesError with queries.dir", err)
	}
}

// TestOwnQueriesOnlyRead runs a query file of the user that does more than read. TestQueryOnlyReads has all such statements.
func TestOwnQueriesOnlyRead(t *testing.T) {
	all, err := query.Load(writeQueryFiles(t, map[string]string{"mine.sql": "-- title: Mine\nSELECT * FROM enable_logging()"}))
	if err != nil {
		t.Fatal(err)
	}
	q, err := all.Resolve("mine")
	if err != nil {
		t.Fatal(err)
	}
	got, err := runQuery(t, open(t, ""), q, nil, query.CSV, query.Screen{})
	if !errors.As(err, new(*query.RefusedError)) || !strings.Contains(err.Error(), "the SQL is refused: it calls a function") {
		t.Errorf("got %q, %v, want a RefusedError", got, err)
	}
}

func TestParseTextReadsParameters(t *testing.T) {
	q, err := query.ParseText("asked.sql", "-- param: least COUNT 20 -- authority\nSELECT $least AS least, typeof($least) AS of, $other AS other")
	if err != nil {
		t.Fatal(err)
	}
	db := open(t, "")
	got, err := runQuery(t, db, q, map[string]string{"other": "NULL"}, query.JSONL, query.Screen{})
	if want := `{"least":20,"of":"BIGINT","other":"NULL"}` + "\n"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if _, err := runQuery(t, db, q, nil, query.JSONL, query.Screen{}); err == nil || !strings.Contains(err.Error(), `parameter "other" has no value`) {
		t.Errorf("undeclared parameter without a value: got %v, want an error", err)
	}
	nullable, err := query.ParseText("asked.sql", "-- param: day DATE? REQUIRED -- a day\nSELECT $day AS day")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := runQuery(t, db, nullable, map[string]string{"day": "NULL"}, query.JSONL, query.Screen{}); err != nil || got != "{\"day\":null}\n" {
		t.Errorf("NULL for a required parameter that accepts NULL: got %q, %v, want NULL", got, err)
	}
	quoted, err := query.ParseText("asked.sql", "-- note: a comment\n\n-- param: name VARCHAR 'it''s one' -- name\nSELECT $name")
	if err != nil || quoted.Params[0].Default != "it's one" {
		t.Errorf("a quoted default: got %+v, %v, want it's one", quoted.Params, err)
	}
	var usage *query.UsageError
	if _, err := query.ParseText("asked.sql", "SELECT 1\n-- param: x\n"); err != nil {
		t.Errorf("a comment below the header: got %v, want no error", err)
	}
	if _, err := query.ParseText("asked.sql", "-- a comment\n-- param: x\nSELECT $x"); !errors.As(err, &usage) || !strings.HasPrefix(err.Error(), "asked.sql:2: write a parameter as") {
		t.Errorf("a wrong declaration: got %v, want a usage error with its line", err)
	}
}

func TestParamValues(t *testing.T) {
	db := open(t, threeListings)
	country := query.Param{Name: "country", Type: "VARCHAR", Values: "SELECT country FROM product_listings UNION ALL SELECT NULL"}
	for name, c := range map[string]struct {
		param query.Param
		limit int
		want  string // the values, and whether there are more
	}{
		"from a query":         {country, 5, "DE,FR false"},
		"as many as the limit": {country, 2, "DE,FR false"},
		"more than the limit":  {country, 1, "DE true"},
		"a choice":             {query.Param{Type: "buy|sell"}, 5, "buy,sell false"},
		"a boolean":            {query.Param{Type: "BOOLEAN"}, 5, "true,false false"},
		"any text":             {query.Param{Type: "VARCHAR"}, 5, " false"},
	} {
		values, hasMore, err := db.ParamValues(t.Context(), c.param, c.limit)
		got := fmt.Sprintf("%s %t", strings.Join(values, ","), hasMore)
		if err != nil || got != c.want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, c.want)
		}
	}
	for _, text := range []string{"DELETE FROM product_listings", "SELECT 1) AS one(value); DELETE FROM product_listings; SELECT (1"} {
		if values, _, err := db.ParamValues(t.Context(), query.Param{Name: "x", Values: text}, 5); err == nil {
			t.Errorf("%s: got %v, want an error", text, values)
		}
	}
}

func TestDescribeUnknownValues(t *testing.T) {
	db := open(t, threeListings)
	q := query.Query{Name: "places", Params: []query.Param{
		{Name: "country", Type: "VARCHAR", Default: "NULL", Values: "SELECT country FROM product_listings"},
		{Name: "city", Type: "VARCHAR", Default: "NULL", Values: "SELECT city FROM product_listings"},
		{Name: "number", Type: "VARCHAR", Default: "NULL", Values: "SELECT range::VARCHAR FROM range(100)"},
		{Name: "name", Type: "VARCHAR", Default: "NULL"},
	}}
	for given, want := range map[string]string{
		"DE":   "",
		"NULL": "",
		"de":   `parameter "country": the data has no value "de"; it has DE, FR (did you mean DE?)`,
		"Peru": `parameter "country": the data has no value "Peru"; it has DE, FR`,
	} {
		unknown, err := db.DescribeUnknownValues(t.Context(), q, map[string]string{"country": given, "name": "x"})
		if got := strings.Join(unknown, ""); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", given, got, err, want)
		}
	}
	for given, count := range map[string]int{"99": 0, "100": 1} { // the parameter "number" has more values than a message lists
		if unknown, err := db.DescribeUnknownValues(t.Context(), q, map[string]string{"number": given}); err != nil || len(unknown) != count {
			t.Errorf("%s: got %v, %v, want %d unknown values", given, unknown, err, count)
		}
	}
	unknown, err := db.DescribeUnknownValues(t.Context(), q, map[string]string{"city": "Bonn"})
	if err != nil || len(unknown) != 1 || unknown[0] != `parameter "city": the data has no value "Bonn"; it has no values at all` {
		t.Errorf("a column without values: got %v, %v, want Bonn unknown", unknown, err)
	}
}

func TestNamesAreResolvedByWords(t *testing.T) {
	db := open(t, threeListings)
	const acme, id = "Acme & Söhne GmbH", "4f1d5f0e-9b3c-4a1e-8f55-0c2f9d1b7a10"
	names := []string{acme, "Berlin Tech Observer", "Berlin Post", id}
	for i := range 80 {
		names = append(names, fmt.Sprintf("Outlet %02d", i), fmt.Sprintf("0f1d5f0e-9b3c-4a1e-8f55-0c2f9d1b7a%02d", i)) // the ids come first
	}
	q := query.Query{Name: "places", Params: []query.Param{{Name: "free", Type: "VARCHAR"}, {Name: "other", Type: "VARCHAR", Values: "SELECT 'acme'"},
		{Name: "name", Type: "VARCHAR", Values: "SELECT unnest(['" + strings.Join(names, "','") + "'])"}}}
	const known = "; it has Acme & Söhne GmbH, Berlin Post, Berlin Tech Observer, " +
		"Outlet 00, Outlet 01, Outlet 02, Outlet 03, Outlet 04, Outlet 05, Outlet 06 and others"
	for given, want := range map[string]struct{ resolved, note, unknown string }{
		acme:                     {acme, "", ""},
		id:                       {id, "", ""},
		"acme":                   {acme, `name: "acme" stands for "` + acme + `"`, ""},
		"Berlin Tech":            {"Berlin Tech Observer", `name: "Berlin Tech" stands for "Berlin Tech Observer"`, ""},
		"berlin":                 {"berlin", "", `parameter "name": the data has no value "berlin" (did you mean Berlin Post or Berlin Tech Observer?)`},
		"Berlin Teck":            {"Berlin Teck", "", `parameter "name": the data has no value "Berlin Teck" (did you mean Berlin Tech Observer?)`},
		"outlet":                 {"outlet", "", `parameter "name": the data has no value "outlet" (did you mean Outlet 00 or Outlet 01 or Outlet 02 or Outlet 03 or Outlet 04 or others?)`},
		"4f1d5f0e":               {"4f1d5f0e", "", `parameter "name": the data has no value "4f1d5f0e"` + known},
		"berlin post, outlet 07": {"berlin post, outlet 07", "", ""}, // each part exists
		"berlin post, nowhere":   {"berlin post, nowhere", "", `parameter "name": the data has no value "berlin post, nowhere"` + known},
	} {
		values := map[string]string{"name": given, "other": "acme", "free": "acme"}
		resolved, notes, err := db.ResolveNames(t.Context(), q, values)
		if err != nil {
			t.Fatal(err)
		}
		if values["name"] != given {
			t.Errorf("%s: the given values are changed to %q", given, values)
		}
		unknown, err := db.DescribeUnknownValues(t.Context(), q, resolved)
		if got := strings.Join(unknown, ""); err != nil || resolved["name"] != want.resolved || strings.Join(notes, "") != want.note || got != want.unknown {
			t.Errorf("%s: got %q, %q, %q, %v, want %q", given, resolved["name"], notes, got, err, want)
		}
	}
}

// TestNamesOfAMissingTable resolves a name in a snapshot of an earlier release. Running the query reports the table.
func TestNamesOfAMissingTable(t *testing.T) {
	q := query.Query{Name: "places", Params: []query.Param{{Name: "name", Type: "VARCHAR", Values: "SELECT name FROM nosuch"}}}
	resolved, notes, err := open(t, "").ResolveNames(t.Context(), q, map[string]string{"name": "acme"})
	if err != nil || resolved["name"] != "acme" || notes != nil {
		t.Errorf("got %v, %v, %v, want the name unchanged", resolved, notes, err)
	}
}

func TestResolve(t *testing.T) {
	harness.Slow(t)
	if q, err := query.Resolve(" price_by_segment\n"); err != nil || q.Name != "price_by_segment" || len(q.Params) == 0 {
		t.Errorf("a name: got %+v, %v, want the query price_by_segment with its parameters", q, err)
	}
	if q, err := query.Resolve("FROM orders"); err != nil || q.Name != "" || q.SQL != "FROM orders" {
		t.Errorf("SQL: got %+v, %v, want a query without a name that runs FROM orders", q, err)
	}
	for text, want := range map[string]string{
		" ":               "the query is empty",
		"prices":          "price_by_segment",
		"mar":             "did you mean margins?",
		"price_by_segmnt": "did you mean price_by_segment?",
		"Tier_Gap":        "did you mean tier_gaps?",
		"zzz":             `no query is named "zzz"; queries: article_cycle_time`,
		// Names of tables.
		"orders":         `no query is named "orders", but a table is: query it with SQL, as in placementsync query "FROM orders LIMIT 10"; placementsync schema orders explains its columns`,
		"payables":       `"FROM mart.payables LIMIT 10"; placementsync schema mart.payables explains its columns (did you mean payables_ageing or payables_open?)`,
		"history.orders": `"FROM history.orders LIMIT 10"; placementsync schema orders explains its columns`,
		"mart.snapshot":  `"FROM mart.snapshot LIMIT 10"`,
		"streams":        `"FROM meta.streams LIMIT 10"; placementsync schema meta.streams`,
		"history.nosuch": `no query is named "history.nosuch"; queries: `,
	} {
		if _, err := query.Resolve(text); !errors.As(err, new(*query.UsageError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want a usage error with %q", text, err, want)
		}
	}
}

// TestValidateUserFiles validates two good files and files with one mistake each, and compares the
// messages and their positions.
func TestValidateUserFiles(t *testing.T) {
	harness.Slow(t)
	dir := t.TempDir()
	files := map[string]string{
		"good":    "-- title: Good\n-- param: id VARCHAR NULL -- id\nFROM orders SELECT count(*) WHERE id = $id",
		"typo":    "-- title: Typo\nSELECT id\n  FORM orders WHERE id = 'ü'",
		"ends":    "-- title: Ends\nSELECT (1",
		"quote":   "-- title: Quote\nSELECT 'ü', 'x",
		"insert":  "-- title: Insert\nINSERT INTO orders VALUE (1)",
		"deletes": "-- title: Deletes\nDELETE FROM orders",
		"two":     "-- title: Two\nSELECT 1; SELECT 2",
		"pivot":   "-- title: Pivot\nPIVOT orders ON status USING count(*)",
		"column":  "-- title: Column\nSELECT\n  nosuch FROM orders",
		"values":  "-- title: Values\n-- param: id VARCHAR NULL -- id\n-- values: SELEC id FROM orders\nSELECT $id",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name+".sql"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := query.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	withoutCatalog := []string{
		`ends.sql: syntax error at end of input`,
		`insert.sql:2:20: syntax error at or near "VALUE"`,
		`quote.sql:2:12: unterminated quoted string at or near "'x"`,
		`two.sql: the SQL is refused: it contains several statements: run one at a time`,
		`typo.sql:3:8: syntax error at or near "orders"`,
		`values.sql: the values of parameter id:1:1: syntax error at or near "SELEC"`,
	}
	withCatalog := append(slices.Clone(withoutCatalog), `column.sql:3:3: Binder Error: Referenced column "nosuch" not found in FROM clause!`,
		`deletes.sql: the SQL is refused: it writes, but the catalog is open read-only`)
	slices.Sort(withCatalog)
	for name, c := range map[string]struct {
		db   *query.DB
		want []string
	}{"without a catalog": {nil, withoutCatalog}, "with a catalog": {openPoorNights(t), withCatalog}} {
		t.Run(name, func(t *testing.T) {
			faulty, ok := errors.AsType[*query.FilesError](l.ValidateUserFiles(t.Context(), c.db))
			if !ok {
				t.Fatal("ValidateUserFiles returned no FilesError, want one")
			}
			got := make([]string, len(faulty.Problems))
			for i, p := range faulty.Problems {
				got[i] = strings.TrimPrefix(p, dir+string(filepath.Separator))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// TestChecksOfThePreviousSnapshotAreValidated validates a check in a catalog without a previous snapshot, and in one that
// has it but not the table.
func TestChecksOfThePreviousSnapshotAreValidated(t *testing.T) {
	harness.Slow(t)
	checks, err := query.LoadChecks(writeQueryFiles(t, map[string]string{"mine.sql": "-- title: Mine\n-- severity: warn\nFROM before.nosuch"}))
	if err != nil {
		t.Fatal(err)
	}
	path := createNightsCatalog(t)
	withBefore, err := query.Open(t.Context(), path, query.Options{Threads: 1, Before: &query.Before{}})
	if err != nil {
		t.Fatal(err)
	}
	defer withBefore.Close()
	if err := checks.ValidateUserFiles(t.Context(), openAt(t, path)); err != nil {
		t.Errorf("without a previous snapshot: got %v, want no error", err)
	}
	const repeatedCheck = "-- title: Mine\n-- severity: warn\n-- each: table product_listings\nSELECT nosuch FROM {table}"
	repeated, err := query.LoadChecks(writeQueryFiles(t, map[string]string{"mine.sql": repeatedCheck}))
	if err != nil {
		t.Fatal(err)
	}
	if err := repeated.ValidateUserFiles(t.Context(), withBefore); err == nil || !strings.Contains(err.Error(), `column "nosuch" not found`) {
		t.Errorf("a check of a table: got %v, want that the column does not exist", err)
	}
	if err := checks.ValidateUserFiles(t.Context(), withBefore); err == nil || !strings.Contains(err.Error(), "nosuch does not exist") {
		t.Errorf("with a previous snapshot: got %v, want that the table does not exist", err)
	}
}
