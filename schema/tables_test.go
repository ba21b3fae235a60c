package schema_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"placementsync/internal/stream"
	"placementsync/schema"
)

// smallTables has a table with a child, a table of meta and a view.
func smallTables() schema.Tables {
	return schema.Tables{
		{Schema: "main", Table: "orders", About: "One row for each order. More text.", Key: []string{"id"}, Streams: []string{"GET /orders"},
			Columns: []schema.Column{
				{Name: "id", Type: "VARCHAR", About: "Id | of the order. More.", Source: "Spec 2.4"},
				{Name: "profile_id", Type: "VARCHAR", Nullable: true, About: "Profile.", References: "profiles.id"},
				{Name: "valid_from", Type: "TIMESTAMPTZ", About: "Time."},
			}},
		{Schema: "main", Table: "order_items", About: "Items.", Key: []string{"order_id", "position"}, Columns: []schema.Column{
			{Name: "order_id", Type: "VARCHAR", About: "Order, see orders.id.", References: "orders.id"},
		}},
		{Schema: "main", Table: "profiles", About: "Profiles.", Key: []string{"id"}},
		{Schema: "main", Table: "tags", About: "Tags.", Key: []string{"name"},
			Columns: []schema.Column{{Name: "profile", Type: "VARCHAR", About: "P.", References: "profiles.id"}}},
		{Schema: "mart", Table: "payables", About: "Open orders.", Grain: "one row for each order", Reads: []string{"orders", "profiles"}},
		{Schema: "meta", Table: "runs", About: "Runs | nights.", Key: []string{"run_id"}, Columns: []schema.Column{
			{Name: "base", Type: "VARCHAR", About: "Base.", References: "meta.runs.run_id"}, {Name: "lost", Type: "VARCHAR", About: "L.", References: "meta.none.id"},
		}},
	}
}

func TestTextsOfTables(t *testing.T) {
	t.Parallel()
	all := smallTables()
	const footer = "\n\"placementsync schema TABLE\" explains one table with its columns, \"placementsync schema --all\" explains all tables\n"
	if got, want := all[:2].List(0), "orders       One row for each order\norder_items  Items\n"+footer; got != want {
		t.Errorf("got the list\n%s\nwant\n%s", got, want)
	}
	if got, want := all[:2].List(len("order_items  Items")), "orders       One …\norder_items  Items\n"+footer; got != want {
		t.Errorf("got the short list\n%s\nwant\n%s", got, want)
	}
	umlaut := schema.Tables{{Schema: "main", Table: "sizes", About: "Größe."}}
	if got, want := umlaut.List(len("sizes  Gr..e")), "sizes  Größe\n"+footer; got != want {
		t.Errorf("got the list\n%s\nwant\n%s", got, want)
	}
	if got, want := all[4:].MarkdownList(), "| table | about |\n|---|---|\n| `mart.payables` | Open orders |\n| `meta.runs` | Runs \\| nights |\n"; got != want {
		t.Errorf("got the Markdown list\n%s\nwant\n%s", got, want)
	}
	wantText := "orders\n  One row for each order. More text.\n  key: id\n  from: GET /orders\n" +
		"    id          VARCHAR      Id | of the order. More. Spec 2.4.\n    profile_id  VARCHAR      Profile.\n    valid_from  TIMESTAMPTZ  Time.\n\n" +
		"mart.payables\n  Open orders.\n  grain: one row for each order\n  from: orders, profiles\n\n" +
		"meta.runs\n  Runs | nights.\n  key: run_id\n  from: the program itself\n    base  VARCHAR  Base.\n    lost  VARCHAR  L.\n\n"
	if diff := gocmp.Diff(wantText, schema.Tables{all[0], all[4], all[5]}.Text()); diff != "" {
		t.Errorf("the text (-want +got):\n%s", diff)
	}
	page := schema.Tables{all[0], all[1], all[4]}.Markdown()
	const wantEnd = "\n## orders\n\nOne row for each order. Key: `id`.\n\n| column | type | meaning |\n|---|---|---|\n| `id` | VARCHAR | Id \\| of the order |\n| `profile_id` | VARCHAR | Profile: profiles.id |\n" +
		"\n## order_items\n\nItems. Key: `order_id`, `position`.\n\n| column | type | meaning |\n|---|---|---|\n| `order_id` | VARCHAR | Order, see orders.id |\n" +
		"\n## mart.payables\n\nOpen orders. Grain: one row for each order.\n\n| column | type | meaning |\n|---|---|---|\n"
	var parts []string // the texts between the tables of columns
	for part := range strings.SplitSeq(strings.TrimSuffix(page, wantEnd), "\n\n") {
		parts = append(parts, part[:min(12, len(part))])
	}
	if diff := gocmp.Diff([]string{"# Tables", "For readers ", "Every table ", "| column | t", "`past` conta", "| column | t", "`history` co"}, parts); diff != "" {
		t.Errorf("the parts of the page before the tables (-want +got):\n%s", diff)
	}
	if !strings.HasSuffix(page, wantEnd) {
		t.Errorf("got the page\n%s\nwant the end\n%s", page, wantEnd)
	}
	for _, c := range slices.Concat(stream.SystemColumns(), stream.ClosedColumns()) {
		if strings.Count(page, "| `"+c.Name+"` |") != 1 {
			t.Errorf("the page does not show %s once", c.Name)
		}
	}
}

func TestSelectTables(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		patterns []string
		want     []string
		problem  string
	}{
		{[]string{"ORDERS", "mart.pay*"}, []string{"orders", "mart.payables"}, ""},
		{[]string{"order_item?"}, []string{"order_items"}, ""},
		{[]string{"meta.runs", "orders"}, []string{"orders", "meta.runs"}, ""},
		{[]string{"orders", "meta"}, nil, `no table is named meta: did you mean 'meta.*'? "placementsync schema" lists all tables`},
		{[]string{"payables"}, nil, `no table is named payables: did you mean mart.payables? "placementsync schema" lists all tables`},
		{[]string{"mart.orders"}, nil, `no table is named mart.orders: did you mean orders? "placementsync schema" lists all tables`},
		{[]string{"Ordrs"}, nil, `no table is named ordrs: did you mean orders? "placementsync schema" lists all tables`},
		{[]string{"xyzzyxyzzy"}, nil, `no table is named xyzzyxyzzy: "placementsync schema" lists all tables`},
		{[]string{"main"}, nil, `no table is named main: "placementsync schema" lists all tables`},
		{[]string{"[a"}, nil, `no table is named [a: "placementsync schema" lists all tables`},
	} {
		got, err := schema.Select(c.patterns)
		var names []string
		for _, table := range got {
			names = append(names, table.Name())
		}
		if !slices.Equal(names, c.want) {
			t.Errorf("%q: got %v, want %v", c.patterns, names, c.want)
		}
		problem := ""
		if unknown, isUnknown := errors.AsType[*schema.UnknownTableError](err); isUnknown {
			problem = unknown.Error()
		}
		if problem != c.problem {
			t.Errorf("%q: got %v, want %q", c.patterns, err, c.problem)
		}
	}
	if got, err := schema.Select(nil); err != nil || len(got) != len(schema.All()) {
		t.Errorf("without patterns: got %d tables (%v), want all", len(got), err)
	}
}

// TestRelationsAndDiagrams checks the lines of the diagrams. A table of another subject is drawn in each diagram that
// refers to it, and the diagrams of shared tables and of meta are the last.
func TestRelationsAndDiagrams(t *testing.T) {
	t.Parallel()
	all := smallTables()
	wantRelations := []schema.Relation{
		{From: "orders", Column: "profile_id", To: "profiles", ToColumn: "id"}, {From: "order_items", Column: "order_id", To: "orders", ToColumn: "id"},
		{From: "tags", Column: "profile", To: "profiles", ToColumn: "id"}, {From: "meta.runs", Column: "base", To: "meta.runs", ToColumn: "run_id"},
	}
	if diff := gocmp.Diff(wantRelations, all.Relations()); diff != "" {
		t.Errorf("relations (-want +got):\n%s", diff)
	}
	var got []string
	for _, d := range (schema.Tables{all[5], all[3], all[0], all[1], all[2], all[4]}).Diagrams() {
		line := fmt.Sprintf("%s with %d relations:", d.Subject, len(d.Relations))
		for _, table := range d.Tables {
			line += " " + table.Name()
		}
		got = append(got, line)
	}
	if want := []string{"orders with 2 relations: orders order_items profiles", "shared with 1 relations: tags profiles", "meta with 1 relations: meta.runs"}; !slices.Equal(got, want) {
		t.Errorf("got the diagrams %q, want %q", got, want)
	}
}

func TestMacrosAndPastTables(t *testing.T) {
	t.Parallel()
	all := smallTables()
	var names []string
	for _, m := range all.Macros() {
		names = append(names, m.Name+"("+strings.Join(m.Arguments, ", ")+")")
	}
	const fromTo = "(from_time, to_time)"
	want := []string{"changes" + fromTo, "order_items_at(at_time)", "order_items_changes" + fromTo, "orders_at(at_time)", "orders_changes" + fromTo,
		"profiles_at(at_time)", "profiles_changes" + fromTo, "tags_at(at_time)", "tags_changes" + fromTo}
	if diff := gocmp.Diff(want, names); diff != "" {
		t.Errorf("macros (-want +got):\n%s", diff)
	}
	if at, changes := all.Macros()[1].About, all.Macros()[2].About; at != "The rows of order_items at the given time." || changes != "The changes of order_items between two times." {
		t.Errorf("the macros of order_items are described as %q and %q", at, changes)
	}
	orders, err := schema.Select([]string{"orders"})
	if err != nil {
		t.Fatal(err)
	}
	for name, table := range map[string]schema.Table{"past.orders": orders[0].InPast(), "history.orders": orders[0].InHistory()} {
		var columns []string
		for _, c := range table.Columns {
			columns = append(columns, c.Name)
		}
		isPast := name == "past.orders"
		for column, isWanted := range map[string]bool{"id": true, "valid_from": true, "valid_to": true, "row_hash": isPast, "run_id": isPast} {
			if slices.Contains(columns, column) != isWanted {
				t.Errorf("%s has the columns %v: %s is among them %t, want %t", table.Name(), columns, column, !isWanted, isWanted)
			}
		}
		if table.Name() != name || !strings.HasSuffix(table.About, orders[0].About) || table.About == orders[0].About {
			t.Errorf("got %s (%s), want %s", table.Name(), table.About, name)
		}
	}
	if n := len(orders[0].Columns); orders[0].Columns[n-1].Name != "row_hash" || orders[0].Name() != "orders" {
		t.Errorf("the table was changed: its last column is %s", orders[0].Columns[n-1].Name)
	}
}

// TestDescriptionsOfColumns checks what a description takes from a schema file.
func TestDescriptionsOfColumns(t *testing.T) {
	t.Parallel()
	all := schema.All()
	find := func(table, column string) schema.Column {
		t.Helper()
		for _, candidate := range all {
			for _, c := range candidate.Columns {
				if candidate.Name() == table && c.Name == column {
					return c
				}
			}
		}
		t.Fatalf("%s.%s is not described", table, column)
		return schema.Column{}
	}
	if c := find("orders", "id"); c.Nullable || c.Type != "VARCHAR" || !strings.HasPrefix(c.Source, "Spec 2.4") || strings.Contains(c.About, "Spec") {
		t.Errorf("orders.id is %+v, want a key with its section of the spec", c)
	}
	if c := find("profiles", "drive_link"); !strings.Contains(c.About, "Also sent as google_drive_link.") || !c.Nullable {
		t.Errorf("profiles.drive_link is %+v, want its other name", c)
	}
	if c := find("order_items", "outlet_id"); c.References != "outlets.id" {
		t.Errorf("order_items.outlet_id references %q, want outlets.id", c.References)
	}
	if c := find("meta.streams", "run_id"); c.References != "meta.runs.run_id" {
		t.Errorf("meta.streams.run_id references %q, want meta.runs.run_id", c.References)
	}
	orders := all[slices.IndexFunc(all, func(table schema.Table) bool { return table.Name() == "orders" })]
	if want := []string{"GET /orders", "GET /orders/{order_id}"}; !slices.Equal(orders.Sources(), want) || !slices.Equal(orders.Key, []string{"id"}) {
		t.Errorf("orders is filled by %v with the key %v, want %v and id", orders.Sources(), orders.Key, want)
	}
	for name, about := range map[string]string{"tags": "Tags", "meta.deletions": "Records that were deleted", "orders": "Orders"} {
		i := slices.IndexFunc(all, func(table schema.Table) bool { return table.Name() == name })
		if !strings.HasPrefix(all[i].About, about) {
			t.Errorf("%s is described as %q, want %q", name, all[i].About, about)
		}
	}
	var views []string
	for _, table := range all {
		if table.Schema == "mart" {
			views = append(views, table.Table)
		}
	}
	if !slices.IsSorted(views) {
		t.Errorf("the views are %v, want them by name", views)
	}
	wantSnapshot := schema.Table{Schema: "mart", Table: "snapshot", Grain: "one row", Reads: []string{"meta.runs"},
		About: "The newest snapshot, always one row. Queries use its time as the current time, so their results do not depend on when they run.",
		Columns: []schema.Column{{Name: "run_id", Type: "VARCHAR", Nullable: true, About: "Run that published the snapshot: meta.runs.run_id."},
			{Name: "snapshot_at", Type: "TIMESTAMPTZ", Nullable: true, About: "Time of the snapshot, UTC; NULL before the first snapshot."}}}
	snapshot := all[slices.IndexFunc(all, func(table schema.Table) bool { return table.Name() == "mart.snapshot" })]
	if diff := gocmp.Diff(wantSnapshot, snapshot); diff != "" {
		t.Errorf("the view mart.snapshot (-want +got):\n%s", diff)
	}
	events := all[slices.IndexFunc(all, func(table schema.Table) bool { return table.Name() == "article_comment_events" })]
	if want := []string{"comment.created", "comment.updated", "comment.archived"}; !slices.Equal(events.Sources(), want) {
		t.Errorf("the events are %v, want %v", events.Sources(), want)
	}
}
