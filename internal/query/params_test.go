package query_test

import (
	"errors"
	"strings"
	"testing"

	"placementsync/internal/query"
)

// typedQuery returns a query with parameters of six types. The query of periodQuery has parameters of
// the other types.
func typedQuery() query.Query {
	return query.Query{
		Name: "typed",
		SQL: `SELECT typeof($text) AS text_type, $text AS text, typeof($n) AS n_type, $n AS n, $yes AS yes,
			typeof($day) AS day_type, $day AS day, $at AS "at", CAST($amount AS DECIMAL(18, 6)) AS amount`,
		Params: []query.Param{
			{Name: "text", Type: "VARCHAR", Default: "x", About: "a text"},
			{Name: "n", Type: "BIGINT", Default: "7", About: "a number"},
			{Name: "yes", Type: "BOOLEAN", Default: "true", About: "a switch"},
			{Name: "day", Type: "DATE", Default: "2026-02-28", About: "a day"},
			{Name: "at", Type: "TIMESTAMPTZ", Default: "2026-02-28", About: "a time"},
			{Name: "amount", Type: "DECIMAL", Default: "0.1", About: "an amount"},
		},
	}
}

func TestParametersKeepTheirTypes(t *testing.T) {
	db := open(t, "")
	cases := map[string]struct {
		values map[string]string
		want   string
	}{
		"defaults": {nil, `{"text_type":"VARCHAR","text":"x","n_type":"BIGINT","n":7,"yes":true,"day_type":"DATE","day":"2026-02-28","at":"2026-02-28T00:00:00Z","amount":0.100000}`},
		"given values": {
			map[string]string{"text": "'; DROP TABLE orders; --", "n": "-9223372036854775808", "yes": "no", "day": "2024-02-29", "at": "2026-03-29T03:30:00.000001+02:00", "amount": "-12.345678"},
			`{"text_type":"VARCHAR","text":"'; DROP TABLE orders; --","n_type":"BIGINT","n":-9223372036854775808,"yes":false,"day_type":"DATE","day":"2024-02-29","at":"2026-03-29T01:30:00.000001Z","amount":-12.345678}`,
		},
		"an empty text is a text": {
			map[string]string{"text": ""},
			`{"text_type":"VARCHAR","text":"","n_type":"BIGINT","n":7,"yes":true,"day_type":"DATE","day":"2026-02-28","at":"2026-02-28T00:00:00Z","amount":0.100000}`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := runQuery(t, db, typedQuery(), c.values, query.JSONL, query.Screen{})
			if err != nil || strings.TrimSpace(got) != c.want {
				t.Errorf("got %v\n%s\nwant\n%s", err, got, c.want)
			}
		})
	}
}

func TestWrongParametersAreUsageErrors(t *testing.T) {
	db := open(t, "")
	cases := map[string]struct {
		query  query.Query
		values map[string]string
		want   string
	}{
		"unknown parameter":             {typedQuery(), map[string]string{"txt": "x"}, `query "typed": unknown parameter "txt"; parameter`},
		"a parameter that is now a key": {typedQuery(), map[string]string{"ended": "rejected"}, `unknown parameter "ended"; set statuses.ended in the configuration instead`},
		"not a number":                  {typedQuery(), map[string]string{"n": "7.5"}, `parameter "n": "7.5" is not a whole number`},
		"number too big":                {typedQuery(), map[string]string{"n": "9223372036854775808"}, "is not a whole number"},
		"not a boolean":                 {typedQuery(), map[string]string{"yes": "1"}, `"1" is not true or false`},
		"not a date":                    {typedQuery(), map[string]string{"day": "2026-02-30"}, `"2026-02-30" is not a date`},
		"not a time":                    {typedQuery(), map[string]string{"at": "yesterday"}, `"yesterday" is not a time`},
		"not an amount":                 {typedQuery(), map[string]string{"amount": "1e3"}, `"1e3" is not a number`},
		"SQL with an unknown parameter": {query.Text("SELECT $a AS a"), map[string]string{"a": "1", "b": "2"}, `unknown parameter "b"; parameter:` + "\n  a VARCHAR"},
		"SQL without a value":           {query.Text("SELECT $a AS a"), nil, `parameter "a" has no value; parameter:` + "\n  a VARCHAR"},
		"SQL without parameters":        {query.Text("SELECT 1"), map[string]string{"a": "1"}, `unknown parameter "a"; the query has none`},
		"negative count":                {periodQuery(), map[string]string{"since": "2026-01-01", "top": "-1"}, `"-1" is not a whole number from 0 on`},
		"not a time zone":               {periodQuery(), map[string]string{"since": "2026-01-01", "timezone": "Mars/Olympus"}, `"Mars/Olympus" is not a time zone`},
		"an empty zone":                 {periodQuery(), map[string]string{"since": "2026-01-01", "timezone": ""}, `"" is not a time zone`},
		"the local zone":                {periodQuery(), map[string]string{"since": "2026-01-01", "timezone": "Local"}, `"Local" is not a time zone`},
		"not a relative day":            {periodQuery(), map[string]string{"since": "snapshot-x"}, `"snapshot-x" is not a date such as 2026-11-01 or snapshot-7d, or a month such as 2026-11`},
		"not a month":                   {periodQuery(), map[string]string{"since": "2026-13"}, `"2026-13" is not a date`},
		"count too big":                 {periodQuery(), map[string]string{"since": "2026-01-01", "top": "2147483648"}, `"2147483648" is not a whole number from 0 on`},
		"amount too big":                {typedQuery(), map[string]string{"amount": "1234567890123"}, "is not a number"},
		"not a choice":                  {periodQuery(), map[string]string{"since": "2026-01-01", "kind": "bye"}, `parameter "kind": "bye" is not buy or sell; parameter:`},
		"NULL for a time zone":          {periodQuery(), map[string]string{"since": "2026-01-01", "timezone": "NULL"}, `parameter "timezone" cannot be NULL`},
		"not UTF-8":                     {typedQuery(), map[string]string{"text": "\xff"}, "is not UTF-8"}, // would abort the process in DuckDB
		"several statements":            {query.Text("SELECT 1; SELECT $a"), map[string]string{"a": "1"}, "several statements cannot have parameters"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := runQuery(t, db, c.query, c.values, query.CSV, query.Screen{})
			var usage *query.UsageError
			if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want a usage error with %q", err, c.want)
			}
		})
	}
}

// periodQuery returns a query with parameters of the types DATE, TIMEZONE and COUNT, and of a choice.
func periodQuery() query.Query {
	return query.Query{
		Name: "period",
		SQL:  "SELECT $since AS since, $timezone AS timezone, $top AS top, $kind AS kind",
		Params: []query.Param{
			{Name: "since", Type: "DATE", Nullable: true, Default: "snapshot-7d", About: "first day"},
			{Name: "timezone", Type: "TIMEZONE", Default: "UTC", About: "zone of the days"},
			{Name: "top", Type: "COUNT", Default: "NULL", About: "rows"},
			{Name: "kind", Type: "buy|sell", Default: "NULL", About: "kind"},
		},
	}
}

func TestDateParameters(t *testing.T) {
	const view = "CREATE SCHEMA mart; CREATE VIEW mart.snapshot AS SELECT "
	for name, c := range map[string]struct {
		fixture string
		values  map[string]string
		want    string
	}{
		"relative default":    {view + "TIMESTAMPTZ '2026-03-03 00:30:00+01' AS snapshot_at", nil, `{"since":"2026-02-23","timezone":"UTC","top":null,"kind":null}`},
		"given relative date": {view + "TIMESTAMPTZ '2024-03-01 00:00:00+00' AS snapshot_at", map[string]string{"since": "snapshot-1d", "top": "0", "kind": "sell"}, `{"since":"2024-02-29","timezone":"UTC","top":0,"kind":"sell"}`},
		"without snapshots":   {view + "NULL::TIMESTAMPTZ AS snapshot_at", nil, `{"since":null,"timezone":"UTC","top":null,"kind":null}`},
		"explicit NULL":       {"", map[string]string{"since": "NULL", "top": "NULL"}, `{"since":null,"timezone":"UTC","top":null,"kind":null}`},
		"a month":             {"", map[string]string{"since": "2026-02"}, `{"since":"2026-02-01","timezone":"UTC","top":null,"kind":null}`},
		"an absolute date":    {"", map[string]string{"since": "2026-01-31", "timezone": "Asia/Tokyo"}, `{"since":"2026-01-31","timezone":"Asia/Tokyo","top":null,"kind":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := runQuery(t, open(t, c.fixture), periodQuery(), c.values, query.JSONL, query.Screen{})
			if err != nil || strings.TrimSpace(got) != c.want {
				t.Errorf("got %v\n%s\nwant\n%s", err, got, c.want)
			}
		})
	}
}

// TestSettingsAsValues checks that a parameter can name a setting. Without a configuration the time zone is
// UTC, and a query that needs a list of statuses is refused.
func TestSettingsAsValues(t *testing.T) {
	q := query.Query{Name: "q", SQL: "SELECT concat($z, ' ', $s) AS got", Params: []query.Param{
		{Name: "z", Type: "TIMEZONE", Default: "schedule.timezone", About: "zone"},
		{Name: "s", Type: "STATUSES", Default: "statuses.orders_ended", About: "statuses"}}}
	configured := query.Settings{"schedule.timezone": "Europe/Berlin", "statuses.orders_ended": "lost,Void", "statuses.campaigns_ended": ""}
	opened := map[bool]*query.DB{}
	for isConfigured, settings := range map[bool]query.Settings{true: configured, false: nil} {
		db, err := query.Open(t.Context(), createCatalog(t, ""), query.Options{MemoryLimit: "256MB", Threads: 1, Settings: settings})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		opened[isConfigured] = db
	}
	for name, c := range map[string]struct {
		settings      query.Settings
		values        map[string]string
		want, wantErr string
	}{
		"defaults":              {configured, nil, "Europe/Berlin lost,Void", ""},
		"other values":          {configured, map[string]string{"z": "Asia/Tokyo", "s": "x"}, "Asia/Tokyo x", ""},
		"names of settings":     {configured, map[string]string{"z": "schedule.timezone", "s": "statuses.campaigns_ended"}, "Europe/Berlin ", ""},
		"an unknown setting":    {configured, map[string]string{"s": "statuses.ended"}, "", `query "q": parameter "s": "statuses.ended" is not a list such as`},
		"no configuration":      {nil, map[string]string{"s": "x"}, "UTC x", ""},
		"no configured list":    {nil, nil, "", `query "q": parameter "s": there is no configuration that sets statuses.orders_ended`},
		"a setting of no list":  {configured, map[string]string{"z": "statuses.orders_ended"}, "", "is not a time zone"},
		"a zone as a status":    {configured, map[string]string{"s": "schedule.timezone"}, "Europe/Berlin schedule.timezone", ""},
		"statuses of no orders": {configured, map[string]string{"s": ""}, "Europe/Berlin ", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := opened[c.settings != nil].Collect(t.Context(), q, c.values, 1)
			if c.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantErr) {
					t.Errorf("got %v, want an error with %q", err, c.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if text := got.Rows[0].Get("got").Text; text != c.want {
				t.Errorf("got %q, want %q", text, c.want)
			}
		})
	}
}

func TestValuesNeverBecomeSQL(t *testing.T) {
	db := open(t, oneListing)
	q := query.Text("SELECT count(*) AS n FROM product_listings WHERE country = $c OR name = $c")
	for value, want := range map[string]string{
		"DE":                          "{\"n\":1}\n",
		"' OR '1'='1":                 "{\"n\":0}\n",
		"x'); DELETE FROM orders; --": "{\"n\":0}\n",
		"$c":                          "{\"n\":0}\n",
		"Robert'); DROP TABLE x; --":  "{\"n\":1}\n",
		"NULL":                        "{\"n\":0}\n",
	} {
		got, err := runQuery(t, db, q, map[string]string{"c": value}, query.JSONL, query.Screen{})
		if err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", value, got, err, want)
		}
	}
}

func TestFormatsAreParsed(t *testing.T) {
	for _, format := range query.Formats() {
		if got, err := query.ParseFormat(string(format)); err != nil || got != format {
			t.Errorf("the format %s is parsed as %s (%v)", format, got, err)
		}
	}
}

func TestUnknownFormatsAreUsageErrors(t *testing.T) {
	_, err := query.ParseFormat("xml")
	var usage *query.UsageError
	if !errors.As(err, &usage) || !strings.Contains(err.Error(), "table, vertical, csv, json, jsonl, markdown, parquet") {
		t.Errorf("got %v, want a usage error with the formats", err)
	}
	if _, err := query.NewWriter(query.Output{Format: query.Parquet}, nil, query.Screen{}); !errors.As(err, &usage) {
		t.Errorf("parquet without a file: got %v, want a usage error", err)
	}
}

func TestDescribeCut(t *testing.T) {
	q := query.Query{Params: []query.Param{{Name: "top", Type: "COUNT", Default: "50", About: "maximum number of rows"}}}
	const want = "There may be more rows: the parameter top is 50 (maximum number of rows)."
	for _, c := range []struct {
		values map[string]string
		rows   int64
		want   string
	}{
		{nil, 49, ""}, {nil, 50, want}, {nil, 51, want}, {map[string]string{"top": "NULL"}, 51, ""},
		{map[string]string{"top": "3"}, 3, "There may be more rows: the parameter top is 3 (maximum number of rows)."},
	} {
		if got := q.DescribeCut(c.values, c.rows); got != c.want {
			t.Errorf("%d rows with the parameters %v: got %q, want %q", c.rows, c.values, got, c.want)
		}
	}
	if got := (query.Query{}).DescribeCut(nil, 50); got != "" {
		t.Errorf("a query without the parameter top: got %q, want no text", got)
	}
}
