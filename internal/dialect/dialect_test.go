package dialect_test

import (
	"cmp"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	gocmp "github.com/google/go-cmp/cmp"

	"placementsync/internal/dialect"
	"placementsync/internal/dictionary"
	"placementsync/internal/query"
	"placementsync/queries"
)

func lakeNames() dialect.LakeNames {
	return dialect.LakeNames{Catalog: "lake", Prefix: "placementsync"}
}

// minQueries is the minimum number of named queries of an engine.
const minQueries = 12

// TestEachFileIsViewOrQuery checks that each file has the name of a DuckDB view or query and begins with
// the title of that view or query.
func TestEachFileIsViewOrQuery(t *testing.T) {
	views := dictionary.MartViews()
	namedQueries := query.List()
	titles := map[string]string{}
	for _, v := range views {
		titles["mart/"+v.Name] = firstLine(v.SQL)
	}
	for _, q := range namedQueries {
		titles[q.Name] = "-- " + q.Title
	}
	all := sqlFiles(t)
	for _, name := range all {
		text, err := queries.Engines.ReadFile("engines/" + name + ".sql")
		if err != nil {
			t.Fatal(err)
		}
		if want := titles[name]; want == "" || firstLine(string(text)) != want {
			t.Errorf("%s begins with %q, want %q as in DuckDB", name, firstLine(string(text)), want)
		}
	}
	if n := len(all) - len(views); n < minQueries {
		t.Errorf("the engines have %d named queries, want at least %d", n, minQueries)
	}
}

// TestWordsAreExpanded checks that the SQL of an engine contains no template mark, no mark of a
// missing argument, and no word of the other engine.
func TestWordsAreExpanded(t *testing.T) {
	texts := map[string]string{}
	for _, e := range dialect.Engines() {
		views := e.Views(lakeNames())
		engineQueries := e.Queries(lakeNames())
		for _, v := range views {
			texts[e.Name] += v.Select
		}
		for _, q := range engineQueries {
			texts[e.Name] += q.SQL
		}
		for _, mark := range []string{"{{", "}}", "%!", "%[", "${", "<no value>"} {
			if i := strings.Index(texts[e.Name], mark); i >= 0 {
				t.Errorf("the SQL of %s contains %q: %s", e.Name, mark, texts[e.Name][max(0, i-80):min(len(texts[e.Name]), i+80)])
			}
		}
	}
	for engine, otherWords := range map[string][]string{
		"spark": {"VARCHAR", "array_agg", "cardinality", "ROW(", "UNNEST", "at_timezone", "to_unixtime", "date_trunc"},
		"trino": {"STRING", "collect_list", " size(", "struct(", "explode", "convert_timezone", "unix_micros", " div "},
	} {
		for _, word := range otherWords {
			if strings.Contains(texts[engine], word) {
				t.Errorf("the SQL of %s contains %q, a word of the other engine", engine, word)
			}
		}
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// sqlFiles lists the SQL files of the engines without their extension.
func sqlFiles(t *testing.T) (names []string) {
	t.Helper()
	err := fs.WalkDir(queries.Engines, "engines", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, strings.TrimSuffix(strings.TrimPrefix(name, "engines/"), ".sql"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// outputColumns returns the columns of the last SELECT of a query: the names after AS, and plain
// columns. A column ends at the end of a line, outside of parentheses and CASE.
func outputColumns(t *testing.T, sql string) (names []string) {
	t.Helper()
	start := strings.LastIndex(sql, "\nSELECT\n")
	if start < 0 {
		t.Fatalf("found no line \"SELECT\" in %s", sql)
	}
	list, _, ok := strings.Cut(sql[start+len("\nSELECT\n"):], "\nFROM ")
	if !ok {
		t.Fatalf("the last SELECT has no FROM in %s", sql)
	}
	depth, columnPattern := 0, regexp.MustCompile(`(\w+)\s*,?$`)
	for line := range strings.Lines(list) {
		line = strings.TrimRight(line, "\n")
		depth += strings.Count(line, "(") + strings.Count(line, "CASE") - strings.Count(line, ")") - strings.Count(line, "END")
		if depth > 0 || !strings.HasSuffix(line, ",") && !strings.HasSuffix(list, line+"\n") && !strings.HasSuffix(list, line) {
			continue
		}
		names = append(names, columnPattern.FindStringSubmatch(line)[1])
	}
	return names
}

func TestViewsHaveColumnsOfDuckDBViews(t *testing.T) {
	for _, e := range dialect.Engines() {
		views := e.Views(lakeNames())
		for _, v := range views {
			var want []string
			for _, c := range v.Columns {
				want = append(want, c.Name)
			}
			if diff := gocmp.Diff(want, outputColumns(t, v.Select)); diff != "" {
				t.Errorf("%s: columns of view %s (-want +got):\n%s", e.Name, v.Name, diff)
			}
		}
	}
}

// TestQueriesMatchDuckDB checks that each query has the columns and the parameters of the DuckDB query.
func TestQueriesMatchDuckDB(t *testing.T) {
	for _, e := range dialect.Engines() {
		engineQueries := e.Queries(lakeNames())
		for _, q := range engineQueries {
			if diff := gocmp.Diff(outputColumns(t, q.Query.SQL), outputColumns(t, q.SQL)); diff != "" {
				t.Errorf("%s: columns of query %s (-want +got):\n%s", e.Name, q.Name, diff)
			}
			checkParams(t, e.Name, q)
		}
	}
}

var (
	paramsBlockPattern  = regexp.MustCompile(`(?s)WITH params AS \(\n    SELECT\n(.*?)\n\)`)
	paramLinePattern    = regexp.MustCompile(`^ {8}CAST\((.+) AS ([A-Z]+(?:\(\d+, \d+\))?)\) AS "?(\w+)"?,?$`)
	relativeDatePattern = regexp.MustCompile(`^snapshot-(\d+)d$`)
)

func checkParams(t *testing.T, engine string, q dialect.Query) {
	t.Helper()
	textTypes := map[string]string{"spark": "STRING", "trino": "VARCHAR"}
	types := map[string]string{"COUNT": "BIGINT", "BIGINT": "BIGINT", "DATE": "DATE", "BOOLEAN": "BOOLEAN", "DECIMAL": "DECIMAL(18, 6)"}
	block := paramsBlockPattern.FindStringSubmatch(q.SQL)
	if len(q.Params) == 0 || block == nil {
		if len(q.Params) > 0 || strings.Contains(q.SQL, "params") {
			t.Errorf("%s: query %s has %d parameters in the header, but the params in its SQL are %q", engine, q.Name, len(q.Params), block)
		}
		return
	}
	lines := strings.Split(block[1], "\n")
	if len(lines) != len(q.Params) {
		t.Fatalf("%s: query %s has %d parameters in the header and %d in its SQL", engine, q.Name, len(q.Params), len(lines))
	}
	for i, p := range q.Params {
		m := paramLinePattern.FindStringSubmatch(lines[i])
		if m == nil || m[3] != p.Name {
			t.Errorf("%s: query %s: line %q is not CAST(default AS type) AS %s", engine, q.Name, lines[i], p.Name)
			continue
		}
		gotDefault, gotType := m[1], m[2]
		wantType, known := types[p.Type]
		if !known {
			wantType = textTypes[engine]
		}
		wantDefault := cmp.Or(p.Default, "NULL")
		if wantType == textTypes[engine] && wantDefault != "NULL" {
			wantDefault = "'" + wantDefault + "'"
		}
		days := relativeDatePattern.FindStringSubmatch(p.Default)
		isRelative := days != nil && strings.Contains(gotDefault, "snapshot_at") && slices.Contains(strings.FieldsFunc(gotDefault, func(r rune) bool { return !unicode.IsDigit(r) }), days[1])
		if gotType != wantType || gotDefault != wantDefault && !isRelative {
			t.Errorf("%s: query %s: parameter %s is %s of type %s, want %s of type %s", engine, q.Name, p.Name, gotDefault, gotType, p.Default, wantType)
		}
	}
}

func TestMarkersReplaceDefaults(t *testing.T) {
	for _, e := range dialect.Engines() {
		all := e.Queries(lakeNames())
		for _, q := range all {
			var names []string
			for _, p := range q.Params {
				names = append(names, p.Name)
			}
			marked := q.SQLWithMarkers(names...)
			for _, name := range names {
				marker := map[string]string{"spark": ":" + name, "trino": "?"}[e.Name]
				if !regexp.MustCompile(`(?m)^ {8}CAST\(` + regexp.QuoteMeta(marker) + ` AS .+\) AS "?` + name + `"?,?$`).MatchString(marked) {
					t.Errorf("%s: query %s has no marker for %s", e.Name, q.Name, name)
				}
			}
			if n := strings.Count(marked, "?"); e.Name == "trino" && n != len(names) {
				t.Errorf("query %s of trino has %d markers for %d parameters", q.Name, n, len(names))
			}
			if q.SQLWithMarkers() != q.SQL {
				t.Errorf("%s: SQLWithMarkers without names changed the query %s", e.Name, q.Name)
			}
		}
	}
}

// TestNamesAreFilledIn checks that all placeholders are replaced, that a catalog name with a hyphen is
// quoted, and that quotes in comments are escaped.
func TestNamesAreFilledIn(t *testing.T) {
	wants := map[string][]string{
		"spark": {"CREATE SCHEMA IF NOT EXISTS `My-Lake`.acme_mart", "FROM `My-Lake`.acme_current.article_statuses", `the profile\'s order items`},
		"trino": {`CREATE SCHEMA IF NOT EXISTS "My-Lake".acme_mart`, `FROM "My-Lake".acme_current.article_statuses`, `the profile''s order items`},
	}
	for _, e := range dialect.Engines() {
		statements := e.ViewStatements(dialect.LakeNames{Catalog: "My-Lake", Prefix: "acme"})
		text := strings.Join(statements, ";\n")
		for _, want := range wants[e.Name] {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in\n%s", e.Name, want, text)
			}
		}
		if strings.Contains(text, "${") {
			t.Errorf("%s: a placeholder is left in\n%s", e.Name, text)
		}
	}
	if _, err := dialect.Find("oracle"); err == nil || !strings.Contains(err.Error(), "spark, trino") {
		t.Errorf("unknown engine: got %v, want an error with the known engines", err)
	}
	if got := mustFind(t, "trino").Namespace(dialect.LakeNames{Prefix: "acme"}, "past"); got != "acme_past" {
		t.Errorf("without a catalog the namespace is %q, want acme_past", got)
	}
}

func mustFind(t *testing.T, name string) dialect.Engine {
	t.Helper()
	e, err := dialect.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestHeaderDescribesQuery(t *testing.T) {
	all := mustFind(t, "spark").Queries(lakeNames())
	i := slices.IndexFunc(all, func(q dialect.Query) bool { return q.Name == "price_changes" })
	for _, want := range []string{"-- price_changes: Price changes\n", "-- grain: one row per", "-- param: since DATE or NULL (default snapshot-7d): only"} {
		if !strings.Contains(all[i].Header(), want) {
			t.Errorf("%q is not in\n%s", want, all[i].Header())
		}
	}
}
