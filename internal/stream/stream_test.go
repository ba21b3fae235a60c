package stream_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/stream"
)

// TestLiteralsAreValid checks the fields of the literals of all streams.
func TestLiteralsAreValid(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range stream.AllWithEvents() {
		t.Run(s.Name, func(t *testing.T) {
			for problem, broken := range map[string]bool{
				"the name is used twice":       seen[s.Name],
				"no path":                      !strings.HasPrefix(s.Path, "/") && !s.IsEvents(),
				"events with a path":           s.Path != "" && s.IsEvents(),
				"no section of the spec":       s.Spec == "",
				"no table":                     len(s.Tables) == 0,
				"more than one path parameter": strings.Count(s.Path, "{") > 1,
				"a parameter without id columns, or id columns without a parameter": strings.Contains(s.Path, "{") != (s.IsDetail() || strings.Contains(s.Path, "{team_id}")),
				"a detail without a column for its id":                              s.IsDetail() && s.Param == "",
				"a list with a rule for details":                                    !s.IsDetail() && s.Rule != stream.EveryNight,
			} {
				if broken {
					t.Error(problem)
				}
			}
			seen[s.Name] = true
			checkTables(t, s)
		})
	}
}

func checkTables(t *testing.T, s stream.Stream) {
	t.Helper()
	if len(s.Tables) > 0 && (s.Root().At != "" || len(s.Root().Parents) > 0) {
		t.Errorf("the first table, %s, does not have one row for each record", s.Root().Name)
	}
	for _, table := range s.Tables[1:] {
		if table.At == "" || len(table.Parents) == 0 {
			t.Errorf("child table %s lacks At or Parents", table.Name)
		}
	}
	for _, table := range s.Tables {
		if len(table.Key) == 0 {
			t.Errorf("table %s has no key", table.Name)
		}
	}
}

func TestLiteralsNameFilledTables(t *testing.T) {
	all := stream.All()
	for _, s := range all {
		for _, ref := range s.IDColumns {
			if len(stream.FilledBy(all, ref.Table)) == 0 {
				t.Errorf("%s takes ids from %s.%s, which no stream fills", s.Name, ref.Table, ref.Column)
			}
			if ref.ShowsChanges && s.Rule != stream.ByRow {
				t.Errorf("%s: %s shows changes, but the rule of the stream is not ByRow", s.Name, ref.Table)
			}
		}
		for _, part := range s.ForeignParts {
			if len(stream.FilledBy(all, part.Table)) == 0 {
				t.Errorf("%s: ForeignParts names %q of %s, which no stream fills", s.Name, part.At, part.Table)
			}
		}
		completed, ok := stream.Find(all, s.Completes)
		if s.Completes != "" && (!ok || completed.Root().Name != s.Root().Name) {
			t.Errorf("%s completes %q, which is not a stream of the same first table", s.Name, s.Completes)
		}
	}
}

// TestHasRowLists checks that a stream of details has lists if and only if several rows can have the requested id.
func TestHasRowLists(t *testing.T) {
	for _, s := range stream.AllWithEvents() {
		hasLists := s.IsDetail() && !slices.Equal(s.Root().Key, []string{s.Param})
		if s.HasRowLists() != hasLists {
			t.Errorf("%s: HasRowLists returned %t, but the key of its rows is %v and the requested id is %s", s.Name, s.HasRowLists(), s.Root().Key, s.Param)
		}
	}
}

// TestParentsAreReadFirst checks the order of AllWithEvents. The ids of details must be read before
// the details are requested.
func TestParentsAreReadFirst(t *testing.T) {
	all := stream.AllWithEvents()
	for i, s := range all {
		for _, ref := range s.IDColumns {
			for _, parentName := range stream.FilledBy(all, ref.Table) {
				parent := slices.IndexFunc(all, func(o stream.Stream) bool { return o.Name == parentName })
				if parent > i {
					t.Errorf("the details %s are before %s, want them after it, because it names their ids", s.Name, parentName)
				}
			}
		}
	}
}

func TestTablesHasNoDuplicates(t *testing.T) {
	var names []string
	for _, table := range stream.Tables(stream.All()) {
		names = append(names, table.Name)
	}
	sorted := slices.Sorted(slices.Values(names))
	if once := slices.Compact(slices.Clone(sorted)); !slices.Equal(once, sorted) {
		t.Errorf("a table is listed twice in %v", sorted)
	}
	if got := stream.FilledBy(stream.All(), "orders"); !cmp.Equal(got, []string{"orders", "order_details"}) {
		t.Errorf("orders is filled by %v, want orders and order_details", got)
	}
}

const pricesSchema = `-- Prices.
CREATE TABLE prices (
    id    VARCHAR NOT NULL, -- field 1, references listings.id
    -- between columns
    views BIGINT, -- field 3, untracked, also seen, also looks
    total DECIMAL(18,6) -- field 2
);

COMMENT ON TABLE prices IS 'It''s prices.';
COMMENT ON COLUMN prices.id IS 'Id.';
COMMENT ON COLUMN prices.views IS 'Times seen.';
COMMENT ON COLUMN prices.total IS 'Sum.';
`

func TestParseDefinition(t *testing.T) {
	got, err := stream.ParseDefinition("prices.sql", pricesSchema)
	if err != nil {
		t.Fatal(err)
	}
	want := stream.Definition{Name: "prices", Comment: "It's prices.", Columns: []stream.Column{
		{Name: "id", Type: stream.Text, NotNull: true, Comment: "Id.", FieldID: 1, References: stream.Reference{Table: "listings", Column: "id"}},
		{Name: "views", Type: stream.Int64, Comment: "Times seen.", FieldID: 3, Untracked: true, OtherNames: []string{"seen", "looks"}},
		{Name: "total", Type: stream.Money, Comment: "Sum.", FieldID: 2},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("definition differs (-want +got):\n%s", diff)
	}
}

func TestParseDefinitionErrors(t *testing.T) {
	for name, c := range map[string]struct{ from, to, want string }{
		"an unsupported type":            {"BIGINT", "DOUBLE", `line 5: column "views" has type DOUBLE`},
		"a duplicate column":             {"total DECIMAL", "id    DECIMAL", `line 6: column "id" is defined twice`},
		"untracked without a field id":   {"-- field 3, untracked", "-- untracked", `line 5: unexpected text "    views BIGINT, -- untracked, also seen`},
		"a column without a field id":    {" -- field 1, references listings.id", "", `line 3: column "id" has no field id`},
		"a reserved field id":            {"field 2", "field 10001", `line 6: column "total" has no field id from 1 to 10000`},
		"two columns with one field id":  {"field 2", "field 1", `line 6: columns "id" and "total" have the same field id 1`},
		"a reference without a column":   {"listings.id", "listings", `line 3: unexpected text`},
		"a column without COMMENT ON":    {"COMMENT ON COLUMN prices.id IS 'Id.';\n", "", `column "id" has no COMMENT`},
		"a comment on an unknown column": {"prices.views IS", "prices.clicks IS", `comment on column "clicks"`},
		"a comment on another table":     {"COLUMN prices.total", "COLUMN costs.total", `comment on table "costs"`},
		"other SQL":                      {"-- Prices.", "DROP TABLE prices;", `line 1: unexpected text "DROP TABLE prices;"`},
		"no table":                       {pricesSchema, "-- empty\n", "no CREATE TABLE"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := stream.ParseDefinition("prices.sql", strings.Replace(pricesSchema, c.from, c.to, 1))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "prices.sql") {
				t.Errorf("got error %v, want it to name the file and %q", err, c.want)
			}
		})
	}
}
