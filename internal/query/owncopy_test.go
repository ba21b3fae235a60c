package query_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"placementsync/internal/query"
)

const ownText = `-- title: The original
-- replacement: another
-- param: top COUNT 10 -- Number of rows.
-- param: since DATE? 2026-01-01 -- The first day.
-- param: name VARCHAR x -- A name.
-- param: city VARCHAR NULL -- A city.
-- param: state VARCHAR NULL -- A state.

-- A comment in the statement.
SELECT $top, $since, $name, $city, $state -- param: x
-- title: a comment of the statement


`

// TestCopiesAreSaved saves a copy of a query with another title and other defaults, and reads it again.
func TestCopiesAreSaved(t *testing.T) {
	dir := writeQueryFiles(t, map[string]string{"original.sql": ownText})
	library, err := query.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	original, err := library.Resolve("original")
	if err != nil {
		t.Fatal(err)
	}
	c := query.Copy{Name: "my_copy", Title: " Mine ",
		Values: map[string]string{"top": "3", "since": "NULL", "name": "it's one", "city": "Bonn", "state": "NULL"}}
	if err := library.SaveCopy(dir, original, c); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "my_copy.sql"))
	const want = `-- title: Mine
-- param: top COUNT 3 -- Number of rows.
-- param: since DATE? NULL -- The first day.
-- param: name VARCHAR 'it''s one' -- A name.
-- param: city VARCHAR? Bonn -- A city.
-- param: state VARCHAR NULL -- A state.

-- A comment in the statement.
SELECT $top, $since, $name, $city, $state -- param: x
-- title: a comment of the statement
`
	if err != nil || string(text) != want {
		t.Errorf("the copy is %q (%v), want %q", text, err, want)
	}
	again, err := query.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	saved, err := again.Resolve("my_copy")
	if p, _ := saved.Param("since"); err != nil || saved.Title != "Mine" || p.Default != "NULL" || !p.TakesNull() {
		t.Errorf("the copy is read as %+v (%v), want the title Mine and NULL as the default of since", saved, err)
	}
	for name, refused := range map[string]struct {
		change func(c *query.Copy)
		want   string
	}{
		"a name with a path":           {func(c *query.Copy) { c.Name = "../x" }, "is not a name of a query: use up to 100 letters"},
		"a long name":                  {func(c *query.Copy) { c.Name = strings.Repeat("x", 101) }, "is not a name of a query"},
		"an empty title":               {func(c *query.Copy) { c.Title = "  " }, "is not a title: use one line of up to 200 bytes"},
		"a title with two lines":       {func(c *query.Copy) { c.Title = "a\n-- param: x" }, "is not a title"},
		"a long title":                 {func(c *query.Copy) { c.Title = strings.Repeat("x", 201) }, "is not a title"},
		"the name of a built-in query": {func(c *query.Copy) { c.Name = strings.ToUpper(query.List()[0].Name) }, ""},
		"the name of an own query":     {func(c *query.Copy) { c.Name = "original" }, `a query is already named "original"`},
		"a file that exists":           {func(c *query.Copy) { c.Name = "my_copy" }, "my_copy.sql already exists: choose another name"},
		"a value of another type":      {func(c *query.Copy) { c.Values = map[string]string{"top": "many"} }, "my_other.sql"},
		"an unknown parameter":         {func(c *query.Copy) { c.Values = map[string]string{"nosuch": "x"} }, `"x" cannot be a default of the parameter "nosuch"`},
		"a value with a line":          {func(c *query.Copy) { c.Values = map[string]string{"top": "1\n2"} }, ""},
	} {
		c := query.Copy{Name: "my_other", Title: "Mine"}
		refused.change(&c)
		err := library.SaveCopy(dir, original, c)
		if !errors.As(err, new(*query.UsageError)) || !strings.Contains(err.Error(), refused.want) {
			t.Errorf("%s: got %v, want a UsageError with %q", name, err, refused.want)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "my_copy.sql")); err != nil || string(text) != want {
		t.Errorf("after refused copies the file is %q (%v), want it unchanged", text, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("the folder has %d files (%v), want the two queries", len(entries), err)
	}
}

// TestLateQueriesAreStopped runs a query that needs hours. The error must name the limit and what can be done.
func TestLateQueriesAreStopped(t *testing.T) {
	db, err := query.Open(t.Context(), createCatalog(t, "CREATE TABLE a (n INT)"), query.Options{Threads: 1, Timeout: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	_, err = db.Collect(t.Context(), query.Text("SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range % 7 = 3"), nil, 1)
	if late := (*query.TimeoutError)(nil); !errors.As(err, &late) || late.After != time.Nanosecond ||
		!strings.Contains(err.Error(), "the query was stopped after 1ns, the time limit: read less") {
		t.Errorf("got %v, want the time limit and a way to stay below it", err)
	}
}

func TestDaysOfARelativeDate(t *testing.T) {
	date, text := query.Param{Name: "since", Type: "DATE"}, query.Param{Name: "name", Type: "VARCHAR"}
	for value, want := range map[string]int{"snapshot-7d": 7, "snapshot-0d": 0, "snapshot-12345d": 12345} {
		if days, ok := date.RelativeDays(value); !ok || days != want {
			t.Errorf("%s is %d days before the snapshot (%t), want %d", value, days, ok, want)
		}
		if _, ok := text.RelativeDays(value); ok {
			t.Errorf("%s is relative for a text, want only for a date", value)
		}
	}
	for _, value := range []string{"2026-11-01", "snapshot", "snapshot-123456d", "snapshot--7d"} {
		if days, ok := date.RelativeDays(value); ok {
			t.Errorf("%s is %d days before the snapshot, want no relative date", value, days)
		}
	}
}
