package query_test

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"placementsync/internal/query"
	"placementsync/internal/sqltext"
)

// FuzzFormats runs a query that returns one text. The text and the name of its column are fuzzed. CSV
// and JSON must parse to the same name and text. Tables and Markdown must not contain control
// characters.
func FuzzFormats(f *testing.F) {
	for _, text := range []string{"", "NULL", "plain", "a|b\n`c`", "\x1b[2J\x9b1m\u202e", "'; DROP TABLE t; --", "=1+1", `"," "`, "\r\n", "\u2028\u200d"} {
		f.Add("name", text)
		f.Add(text, "x")
	}
	db := open(f, "")
	f.Fuzz(func(t *testing.T, name, text string) {
		if name == "" || strings.ContainsRune(name, 0) || !utf8.ValidString(name) {
			return // not valid as a name in DuckDB
		}
		q := query.Text("SELECT $text AS " + sqltext.Quote(name))
		if !utf8.ValidString(text) {
			_, err := runQuery(t, db, q, map[string]string{"text": text}, query.CSV, query.Screen{})
			if _, isUsage := errors.AsType[*query.UsageError](err); !isUsage {
				t.Fatalf("%q: got %v, want a usage error", text, err)
			}
			return
		}
		writeAs := func(format query.Format, screen query.Screen) string {
			got, err := runQuery(t, db, q, map[string]string{"text": text}, format, screen)
			if err != nil {
				t.Fatalf("%s of %q named %q: %v", format, text, name, err)
			}
			return got
		}
		for _, screen := range []query.Screen{{}, {Terminal: true}, {Terminal: true, Width: 20}} {
			requireNoControls(t, writeAs(query.Table, screen))
		}
		requireNoControls(t, writeAs(query.Markdown, query.Screen{}))
		requireCSV(t, writeAs(query.CSV, query.Screen{}), name, text)
		requireJSON(t, writeAs(query.JSONL, query.Screen{}), name, text)
		rows := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(writeAs(query.JSON, query.Screen{})), "["), "]")
		requireJSON(t, rows, name, text)
	})
}

func requireNoControls(t *testing.T, output string) {
	t.Helper()
	for _, r := range output {
		isJoiner := r == '\u200c' || r == '\u200d'
		if r != '\n' && !isJoiner && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)) || !utf8.ValidString(output) {
			t.Fatalf("the output contains %U, want no control characters: %q", r, output)
		}
	}
}

func requireCSV(t *testing.T, written, name, text string) {
	t.Helper()
	records, err := csv.NewReader(strings.NewReader(written)).ReadAll()
	lineEnds := strings.NewReplacer("\r\n", "\n") // encoding/csv also replaces them
	if err != nil || len(records) != 2 || records[0][0] != lineEnds.Replace(name) || records[1][0] != lineEnds.Replace(text) {
		t.Fatalf("the text %q in a column named %q is written as %q, which parses to %q (%v), want the same name and text", text, name, written, records, err)
	}
}

func requireJSON(t *testing.T, written, name, text string) {
	t.Helper()
	var got map[string]string
	if err := json.Unmarshal([]byte(written), &got); err != nil || len(got) != 1 || got[name] != text {
		t.Fatalf("the text %q in a column named %q is written as %q, which parses to %q (%v), want the same name and text", text, name, written, got, err)
	}
}
