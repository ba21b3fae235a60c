package query_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	_ "github.com/apache/arrow-go/v18/arrow/extensions" // registers extension types, as in the program
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"placementsync/internal/query"
)

// TestFormats runs the query of each archive in testdata and compares its result in all formats
// of the archive. CRLF is compared as LF.
func TestFormats(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("Glob found %d archives in testdata (%v), want some", len(archives), err)
	}
	db := open(t, "")
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			checkArchive(t, db, path)
		})
	}
}

func checkArchive(t *testing.T, db *query.DB, path string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var q query.Query
	for _, file := range archive.Files {
		if file.Name == "query.sql" {
			q = query.Text(string(file.Data))
			continue
		}
		t.Run(file.Name, func(t *testing.T) {
			format, screen := formatAndScreen(file.Name)
			got, err := runQuery(t, db, q, nil, format, screen)
			if err != nil {
				t.Fatal(err)
			}
			got = strings.ReplaceAll(got, "\r\n", "\n")
			if diff := cmp.Diff(string(file.Data), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", format, diff)
			}
			collected := strings.ReplaceAll(writeCollected(t, db, q, format, screen), "\r\n", "\n")
			if diff := cmp.Diff(string(file.Data), collected); diff != "" {
				t.Errorf("%s of a collected result (-want +got):\n%s", format, diff)
			}
		})
	}
}

// writeCollected collects a result and then writes it.
func writeCollected(t *testing.T, db *query.DB, q query.Query, format query.Format, screen query.Screen) string {
	t.Helper()
	r, err := db.Collect(t.Context(), q, nil, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	w, err := query.NewWriter(query.Output{Format: format}, &text, screen)
	if err != nil {
		t.Fatal(err)
	}
	err = w.Begin(r.Columns)
	for _, record := range r.Rows {
		err = errors.Join(err, w.Row(record.Values))
	}
	if err := errors.Join(err, w.End()); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// formatAndScreen returns the format and the screen for a file in an archive.
func formatAndScreen(name string) (query.Format, query.Screen) {
	switch name {
	case "terminal":
		return query.Table, query.Screen{Terminal: true}
	case "narrow":
		return query.Table, query.Screen{Terminal: true, Width: 60}
	case "short":
		return query.Table, query.Screen{Terminal: true, Rows: 2}
	case "short-pipe":
		return query.Table, query.Screen{Rows: 2}
	}
	return query.Format(name), query.Screen{}
}

func TestFormatOfAFile(t *testing.T) {
	for file, want := range map[string]query.Format{"a.txt": query.Table, "a.MD": query.Markdown, "dir.csv/a.json": query.JSON, "a.jsonl": query.JSONL,
		"a.csv": query.CSV, "a.parquet": query.Parquet, "a.xlsx": query.Excel} {
		if got, err := query.FormatOf(file); err != nil || got != want {
			t.Errorf("the format of %s is %q (%v), want %q", file, got, err, want)
		}
	}
	for _, file := range []string{"a", "a.table", "a.vertical", "a.xls", ".csv/a"} {
		if got, err := query.FormatOf(file); !errors.As(err, new(*query.UsageError)) {
			t.Errorf("the format of %s is %q (%v), want a UsageError", file, got, err)
		}
	}
}

func TestCSVRecordsEndWithCRLF(t *testing.T) {
	db := open(t, "")
	for want, bom := range map[string]bool{"a\r\n1\r\n": false, "\ufeffa\r\n1\r\n": true} {
		var got strings.Builder
		w, err := query.NewWriter(query.Output{Format: query.CSV, BOM: bom}, &got, query.Screen{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Run(t.Context(), query.Text("SELECT 1 AS a"), nil, w); err != nil || got.String() != want {
			t.Errorf("got %q, %v, want %q", got.String(), err, want)
		}
	}
}

// TestNarrowTerminalShowsFirstColumns checks that texts are cut before columns are hidden, that the
// columns at the beginning of Screen.First are hidden last, and that no line is wider than the
// terminal.
func TestNarrowTerminalShowsFirstColumns(t *testing.T) {
	t.Parallel()
	db := open(t, "")
	q := query.Text(`SELECT 'product_listings' AS "table", 'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa' AS "key", 'changed' AS kind,
		'domain_authority' AS field, repeat('old text ', 9) AS "old", repeat('new text ', 9) AS "new"`)
	for width, want := range map[int][]string{
		120: {"table", "key", "kind", "field", "old", "new"},
		80:  {"table", "key", "kind", "field", "old", "new"},
		60:  {"table", "field", "old", "new", "--vertical"},
		45:  {"table", "field", "new", "hidden: key, kind, old"},
		30:  {"table"},
	} {
		text, err := runQuery(t, db, q, nil, query.Table, query.Screen{Terminal: true, Width: width, First: []string{"table", "field", "new", "old", "key", "kind"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("width %d: the table lacks %q:\n%s", width, part, text)
			}
		}
		for line := range strings.SplitSeq(text, "\n") {
			if n := utf8.RuneCountInString(line); n > width {
				t.Errorf("width %d: a line has %d characters, want at most the width:\n%s", width, n, text)
			}
		}
	}
}

// TestNarrowTerminalShowsTierAndPrice prints a listing with one price in each of three tiers. Numbers must
// not be cut, and the table must name the hidden columns. If the tier and the price do not fit, each
// column is printed on its own line.
func TestNarrowTerminalShowsTierAndPrice(t *testing.T) {
	t.Parallel()
	q := query.Text(`SELECT 1::BIGINT AS rank, tier AS pricing_tier, 'USD' AS currency, price, 5::BIGINT AS domain_authority, true AS is_do_follow,
		'Q&A interview in Toronto Daily Insider' AS listing_name, 'Canada' AS country, 'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa' AS listing_id
		FROM (VALUES ('enterprise', 104.86::DECIMAL(18, 2)), ('standard', 121.77), ('pro', 135.30)) AS t(tier, price)`)
	for width, want := range map[int][]string{
		60: {"enterprise", "standard", "pro", "104.86", "121.77", "135.30", "hidden: rank, domain_authority, is_do_follow,"},
		45: {"pricing_tier     | enterprise", "price            | 104.86", "-[ row 3 ]", "domain_authority | 5", "3 rows"},
	} {
		text, err := runQuery(t, open(t, ""), q, nil, query.Table, query.Screen{Terminal: true, Width: width})
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range want {
			if !strings.Contains(strings.ReplaceAll(text, "\n", " "), part) {
				t.Errorf("width %d: the table lacks %q:\n%s", width, part, text)
			}
		}
	}
	text, err := runQuery(t, open(t, ""), q, nil, query.Table, query.Screen{Terminal: true, Width: 45, Rows: 2})
	if err != nil || !strings.HasSuffix(text, "\n2 of 3 rows shown; --format csv shows all\n") {
		t.Errorf("got error %v and this result, want a note that a row is left out:\n%s", err, text)
	}
	wideNumber := query.Text("SELECT 'a long name of a row' AS name, 123456789012345678901234567890123456::HUGEINT AS n, 'text' AS a, 'text' AS b, 'text' AS c")
	text, err = runQuery(t, open(t, ""), wideNumber, nil, query.Table, query.Screen{Terminal: true, Width: 60})
	if err != nil || !strings.Contains(text, "123456789012345678901234567890123456") {
		t.Errorf("got error %v and this table, want all digits of the number:\n%s", err, text)
	}
}

// TestNarrowTerminalShowsTextAndAmount prints columns of which none identifies a row. The first text and the amount
// must not be hidden.
func TestNarrowTerminalShowsTextAndAmount(t *testing.T) {
	t.Parallel()
	ordinaryColumns := query.Text("SELECT i AS n, 'same' AS label, i * 1.5 AS amount, true AS flag, 'x' AS other FROM range(2) AS t(i)")
	text, err := runQuery(t, open(t, ""), ordinaryColumns, nil, query.Table, query.Screen{Terminal: true, Width: 30})
	if err != nil || !strings.Contains(text, "label") || !strings.Contains(text, "1.5") {
		t.Errorf("got error %v and this table, want the first text and the amount of each row:\n%s", err, text)
	}
}

func TestWrapLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"one two three", 0, "one two three"},
		{"one two three", 13, "one two three"},
		{"one two three", 12, "one two\nthree"},
		{"one two three", 7, "one two\nthree"},
		{"one\nabcdefgh i", 5, "one\nabcde\nfgh i"},
		{"", 5, ""},
	} {
		if got := query.WrapLines(c.text, c.width); got != c.want {
			t.Errorf("WrapLines(%q, %d) = %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

// TestUnsupportedTypesMustBeCast checks that values of unsupported types, also nested ones, cause
// usage errors, and can be written as VARCHAR.
func TestUnsupportedTypesMustBeCast(t *testing.T) {
	t.Parallel()
	db := open(t, "")
	for value, typ := range map[string]string{
		"'0010110'::BIT":                  "BIT",
		"'01:02:03-05:30'::TIMETZ":        "TIMETZ",
		"'12'::BIGNUM":                    "BIGNUM",
		"12::UHUGEINT":                    "UHUGEINT",
		"union_value(n := 5)":             "UNION(n INTEGER)",
		"['1'::BIT]":                      "BIT[]",
		"{'a': [12::UHUGEINT]}":           "STRUCT(a UHUGEINT[])",
		"MAP {'a': 1::HUGEINT}":           "MAP(VARCHAR, FIXED_SIZE_BINARY[16])",
		"[MAP {'a': uuid()}]":             "MAP(VARCHAR, FIXED_SIZE_BINARY[16])[]",
		"{'a': union_value(n := uuid())}": "STRUCT(a UNION(n UUID))",
	} {
		_, err := runQuery(t, db, query.Text("SELECT 1 AS a, "+value+" AS x"), nil, query.JSON, query.Screen{})
		var usage *query.UsageError
		want := `column "x" has the type ` + typ + `, which no format supports: cast it, as in CAST("x" AS VARCHAR)`
		if !errors.As(err, &usage) || usage.Problem != want {
			t.Errorf("%s: got %v, want %s", value, err, want)
		}
		if _, err := runQuery(t, db, query.Text("SELECT 1 AS a, CAST("+value+" AS VARCHAR) AS x"), nil, query.JSON, query.Screen{}); err != nil {
			t.Errorf("%s cast to VARCHAR: got %v, want no error", value, err)
		}
	}
}
