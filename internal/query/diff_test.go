package query_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/query"
	"placementsync/internal/testing/harness"
)

func TestChangesListEveryField(t *testing.T) {
	harness.Slow(t)
	db := openAt(t, createNightsCatalog(t))
	for name, c := range map[string]struct {
		names  []string
		tables []string
		want   string
	}{
		"the last two nights": {nil, nil, `{"table":"product_listing_prices","key":"a/1","kind":"changed","field":"extra","old":null,"new":{"x":1.10}}
{"table":"product_listing_prices","key":"a/1","kind":"changed","field":"unit_amount","old":9.500000,"new":123456789012.123456}
{"table":"product_listings","key":"b","kind":"gone","field":null,"old":{"id":"b","name":"gone"},"new":null}
{"table":"product_listings","key":"d","kind":"changed","field":"name","old":"other","new":"same"}
`},
		"over two nights, a reverted change is left out": {[]string{"2026-11-01", "2026-11-03"}, []string{"product_listings"},
			`{"table":"product_listings","key":"a","kind":"changed","field":"name","old":"old","new":"new \"name\""}
{"table":"product_listings","key":"b","kind":"gone","field":null,"old":{"id":"b","name":"gone"},"new":null}
{"table":"product_listings","key":"c","kind":"new","field":null,"old":null,"new":{"id":"c","name":"=c","created_at":"2026-11-01T12:00:00.500000Z"}}
`},
		"from a run to the newest snapshot": {[]string{"20261102T020000Z"}, []string{"*_listings"}, `{"table":"product_listings","key":"b","kind":"gone","field":null,"old":{"id":"b","name":"gone"},"new":null}
{"table":"product_listings","key":"d","kind":"changed","field":"name","old":"other","new":"same"}
`},
	} {
		t.Run(name, func(t *testing.T) {
			q, err := db.Changes(t.Context(), newDiff(t, db, c.tables, c.names...), true)
			if err != nil {
				t.Fatal(err)
			}
			got, err := runQuery(t, db, q, nil, query.JSONL, query.Screen{})
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("error %v; changes (-want +got):\n%s", err, diff)
			}
		})
	}
}

func newDiff(t *testing.T, db *query.DB, tables []string, names ...string) query.Diff {
	t.Helper()
	all, err := db.Snapshots(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	from, to, err := query.SnapshotsToCompare(all, names...)
	if err != nil {
		t.Fatal(err)
	}
	return query.Diff{From: from, To: to, Tables: tables}
}

// TestCountsOfChangesAreOfRecords counts the changes of a night in which one price has another amount and an unknown field.
// Two patterns match the table.
func TestCountsOfChangesAreOfRecords(t *testing.T) {
	db := openAt(t, createNightsCatalog(t))
	q, err := db.ChangeCounts(t.Context(), newDiff(t, db, []string{"product_listing_prices", "product_listing_pr*"}, "2026-11-02", "2026-11-03"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := runQuery(t, db, q, nil, query.CSV, query.Screen{})
	if want := "table,new,changed,gone,fields\r\nproduct_listing_prices,0,1,0,2\r\n"; err != nil || got != want {
		t.Errorf("got %q (%v), want one changed record with two fields: %q", got, err, want)
	}
}

// TestChangesInWords prints the changes (asJSON is false), the counts and the changed fields as tables. It compares only a
// few tables, because the query is long.
func TestChangesInWords(t *testing.T) {
	harness.Slow(t)
	db := openAt(t, fillCatalog(t, threeNights))
	tables := []string{"product_listings", "product_listing_prices"}
	firstNights := newDiff(t, db, tables, "2026-11-01", "2026-11-02")
	changes, err := db.Changes(t.Context(), firstNights, false)
	if err != nil {
		t.Fatal(err)
	}
	allChanges, err := db.Changes(t.Context(), newDiff(t, db, tables, "2026-11-01", "2026-11-03"), false)
	if err != nil {
		t.Fatal(err)
	}
	counts, err := db.ChangeCounts(t.Context(), firstNights)
	if err != nil {
		t.Fatal(err)
	}
	fieldsOfLastNights, err := db.ChangedFields(t.Context(), newDiff(t, db, tables))
	if err != nil {
		t.Fatal(err)
	}
	fieldsOfFirstNights, err := db.ChangedFields(t.Context(), firstNights)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, q := range []query.Query{changes, allChanges, counts, fieldsOfLastNights, fieldsOfFirstNights} {
		text, err := runQuery(t, db, q, nil, query.Table, query.Screen{})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, text)
	}
	want := []string{`changed_at            outlet  name        kind     what     old   new         table             key
2026-11-02T02:00:00Z  NULL    =c          new      listing  NULL  =c          product_listings  c
2026-11-02T02:00:00Z  NULL    new "name"  changed  name     old   new "name"  product_listings  a
2026-11-02T02:00:00Z  NULL    other       changed  name     same  other       product_listings  d
`, `changed_at            outlet  name        kind     what                 old   new              table                   key
2026-11-03T02:00:00Z  NULL    new "name"  changed  price USD            9.50  123456789012.12  product_listing_prices  a/1
2026-11-03T02:00:00Z  NULL    new "name"  changed  price USD: extra: x  NULL  1.1              product_listing_prices  a/1
2026-11-02T02:00:00Z  NULL    =c          new      listing              NULL  =c               product_listings        c
2026-11-03T02:00:00Z  NULL    gone        gone     listing              gone  NULL             product_listings        b
2026-11-02T02:00:00Z  NULL    new "name"  changed  name                 old   new "name"       product_listings        a
`, `table             new  changed  gone  fields
product_listings    1        2     0       2
`, `table                   field        changes  outlet  name        old    new
product_listing_prices  extra              1  NULL    new "name"  NULL   1.1
product_listing_prices  unit_amount        1  NULL    new "name"  9.50   123456789012.12
product_listings        name               1  NULL    same        other  same
`, `table             field  changes  outlet  name        old  new
product_listings  name         2  NULL    new "name"  old  new "name"
`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes of a night and of all nights, counts, fields of the last nights and fields of the first nights (-want +got):\n%s", diff)
	}
}

// TestChangesNameTheItemsOfLists compares nights in which the prices and tags of the listing s of the outlet One
// come in another order, and in which few of them change.
func TestChangesNameTheItemsOfLists(t *testing.T) {
	harness.Slow(t)
	const first, second = "'2026-11-01 02:00:00+00'", "'2026-11-02 02:00:00+00'"
	statements := strings.NewReplacer("FIRST", first, "SECOND", second).Replace(`
INSERT INTO meta.runs (run_id, snapshot_at, outcome) VALUES ('r1', FIRST, 'complete'), ('r2', SECOND, 'complete');
INSERT INTO main.outlets (id, name, valid_from) VALUES ('o', 'One', FIRST);
INSERT INTO main.product_listings (id, name, outlet_id, valid_from) VALUES ('s', 'Story', 'o', FIRST);
INSERT INTO past.product_listing_prices (product_listing_id, position, pricing_tier, currency, unit_amount, valid_from, valid_to, row_hash) VALUES
	('s', 1, 'base', 'EUR', 100, FIRST, SECOND, 1), ('s', 2, 'pro', 'EUR', 90, FIRST, SECOND, 2), ('s', 3, 'lite', 'EUR', 7, FIRST, SECOND, 3);
INSERT INTO main.product_listing_prices (product_listing_id, position, pricing_tier, currency, unit_amount, valid_from, row_hash) VALUES
	('s', 1, 'pro', 'EUR', 90, SECOND, 4), ('s', 2, 'base', 'EUR', 100, SECOND, 5), ('s', 3, 'lite', 'EUR', 7.5, SECOND, 6), ('s', 4, 'base', 'USD', 8, SECOND, 7);
INSERT INTO past.product_listing_tags (product_listing_id, position, name, valid_from, valid_to, row_hash) VALUES
	('s', 1, 'Law', FIRST, SECOND, 1), ('s', 2, 'Tech', FIRST, SECOND, 2);
INSERT INTO main.product_listing_tags (product_listing_id, position, name, valid_from, row_hash) VALUES ('s', 1, 'Tech', SECOND, 3), ('s', 3, 'Politics', SECOND, 4);
INSERT INTO main.orders (id, reference_number, valid_from, total, metadata, row_hash) VALUES ('x', 'R-1', SECOND, 10.004,
	'{"b": true, "c": {"d": 1}, "a": 1, "e~/f": 2, "g": [{"h": 2}], "i": 1}', 2);
INSERT INTO past.orders (id, reference_number, valid_from, valid_to, total, metadata, row_hash) VALUES ('x', 'R-1', FIRST, SECOND, 10.001,
	'{"a": 1, "b": false, "c": {}, "e~/f": 1, "g": [{"h": 1}], "i": null}', 1);
INSERT INTO main.order_line_items (order_id, position, name, outlet_id, quantity, valid_from, row_hash) VALUES ('x', 1, 'Story', 'o', 2, SECOND, 2);
INSERT INTO past.order_line_items (order_id, position, name, outlet_id, quantity, valid_from, valid_to, row_hash) VALUES ('x', 1, 'Story', 'o', 1, FIRST, SECOND, 1);
INSERT INTO main.token (team_id, scopes, valid_from, row_hash) VALUES ('t', '["a", "c"]', SECOND, 2);
INSERT INTO past.token (team_id, scopes, valid_from, valid_to, row_hash) VALUES ('t', '["b", "a"]', FIRST, SECOND, 1);
INSERT INTO main.profile_orders (profile_id, order_id, valid_from, row_hash) VALUES ('p', 'x', SECOND, 1);
INSERT INTO main.article_comments (article_id, id, content, author_name, valid_from, row_hash) VALUES ('a', 'k', 'Yes.', 'Ann', SECOND, 1);
INSERT INTO main.articles (id, name, valid_from) VALUES ('a', 'Launch', FIRST);
INSERT INTO past.articles (id, name, valid_from, valid_to) VALUES ('a', 'Draft', '2026-10-01 02:00:00+00', FIRST);
INSERT INTO main.outlet_tags (outlet_id, position, name, valid_from, row_hash) VALUES ('o', 1, 'News', SECOND, 1), ('z', 1, 'Other', SECOND, 1);
INSERT INTO main.article_statuses (article_id, position, name, notes, valid_from, row_hash)
	VALUES ('a', 1, 'Done', repeat('ab', 150), SECOND, 2);
INSERT INTO past.article_statuses (article_id, position, name, notes, valid_from, valid_to, row_hash)
	VALUES ('a', 1, 'Done', repeat('c', 300), FIRST, SECOND, 1);
INSERT INTO main.product_categories (type, valid_from) VALUES ('PRESS', SECOND);
INSERT INTO main.product_listing_includes (product_listing_id, position, channel_type, placement_type, valid_from, row_hash)
	VALUES ('s', 1, 'WEB', 'POST', SECOND, 1);
INSERT INTO main.locations (kind, name, valid_from) VALUES ('city', 'Bonn', SECOND);
INSERT INTO main.outlet_products (outlet_id, product_id, name, valid_from) VALUES ('o', 'p', 'Post', SECOND);
INSERT INTO main.outlet_channels (id, outlet_id, channel_type, placement_type, valid_from) VALUES ('c', 'o', 'WEB', 'POST', SECOND);
`)
	db := openAt(t, fillCatalog(t, statements))
	q, err := db.Changes(t.Context(), newDiff(t, db, nil), false)
	if err != nil {
		t.Fatal(err)
	}
	got, err := runQuery(t, db, q, nil, query.CSV, query.Screen{})
	if err != nil {
		t.Fatal(err)
	}
	got = strings.NewReplacer("\r\n", "\n", strings.Repeat("ab", 150), "LONG", strings.Repeat("c", 300), "OLD").Replace(got)
	want := `changed_at,outlet,name,kind,what,old,new,table,key
,,Launch,new,comment,,Yes.,article_comments,a/k
,,,changed,status Done: notes,OLD,LONG,article_statuses,a/1
,,Bonn,new,location,,Bonn,locations,city/Bonn
,One,R-1,changed,line item Story: quantity,1,2,order_line_items,x/1
,,R-1,changed,metadata: b,no,yes,orders,x
,,R-1,changed,metadata: c,0 members,1 member,orders,x
,,R-1,changed,metadata: e~/f,1,2,orders,x
,,R-1,changed,metadata: g,1 item,"1 item, changed",orders,x
,,R-1,changed,metadata: i,,1,orders,x
,,R-1,changed,total,10.001000,10.004000,orders,x
,One,WEB,new,channel,,"WEB, POST",outlet_channels,c
,One,Post,new,product,,Post,outlet_products,o/p
,One,,new,tag,,News,outlet_tags,o/1
,,,new,tag,,Other,outlet_tags,z/1
,,PRESS,new,category,,PRESS,product_categories,PRESS
,One,Story,new,included placement,,"WEB, POST",product_listing_includes,s/1
,One,Story,changed,"price lite, EUR",7.00,7.50,product_listing_prices,s/3
,One,Story,new,"price base, USD",,8.00,product_listing_prices,s/4
,One,Story,gone,tag,Law,,product_listing_tags,s/1
,One,Story,new,tag,,Politics,product_listing_tags,s/3
,,R-1,new,order,,R-1,profile_orders,p/x
,,,changed,scopes,b,c,token,t
`
	want = strings.ReplaceAll(want, "\n,", "\n2026-11-02T02:00:00Z,")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	someTables := []string{"orders", "article_statuses", "product_listing_tags", "outlet_tags"}
	fields, err := db.ChangedFields(t.Context(), newDiff(t, db, someTables))
	if err != nil {
		t.Fatal(err)
	}
	got, err = runQuery(t, db, fields, nil, query.CSV, query.Screen{})
	wantFields := "table,field,changes,outlet,name,old,new\r\norders,metadata,5,,R-1,no,yes\r\narticle_statuses,notes,1,,," +
		strings.Repeat("c", 200) + "," + strings.Repeat("ab", 100) + "\r\n"
	if err != nil || !strings.HasPrefix(got, wantFields) {
		t.Errorf("got the fields %s (%v), want the most frequent first, with short values: %s", got, err, wantFields)
	}
	ofOutlet := newDiff(t, db, someTables)
	ofOutlet.Outlet = "o"
	if q, err = db.Changes(t.Context(), ofOutlet, false); err != nil {
		t.Fatal(err)
	}
	q.SQL = "SELECT DISTINCT outlet FROM (" + q.SQL + ")"
	if got, err = runQuery(t, db, q, nil, query.CSV, query.Screen{}); err != nil || got != "outlet\r\nOne\r\n" {
		t.Errorf("the changes of the outlet One belong to %q (%v), want only this outlet", got, err)
	}
}

func TestIncomparableSnapshotsAreUsageErrors(t *testing.T) {
	db := openAt(t, createNightsCatalog(t))
	all, err := db.Snapshots(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := query.Diff{From: all[0], To: all[1], Tables: []string{"nosuch"}}
	if _, err := db.Changes(t.Context(), d, true); !errors.As(err, new(*query.UsageError)) {
		t.Errorf("unknown table: got %v, want a usage error", err)
	}
	_, err = open(t, "").Changes(t.Context(), query.Diff{From: all[0], To: all[1]}, true)
	if !errors.As(err, new(*query.UsageError)) || !strings.Contains(err.Error(), "lacks the functions that compare snapshots") {
		t.Errorf("a catalog without functions: got %v, want a usage error", err)
	}
	if _, _, err := query.SnapshotsToCompare(all[:1]); !errors.As(err, new(*query.UsageError)) {
		t.Errorf("one snapshot: got %v, want a usage error", err)
	}
	newest := all[len(all)-1]
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"2030-01-01"}, `"2030-01-01" is after the newest snapshot, ` + newest.String()},
		{[]string{"2026-11-01", "2026-11-04"}, `"2026-11-04" is after the newest snapshot, ` + newest.String()},
		{[]string{"2026-11-04T00:00:00Z"}, `"2026-11-04T00:00:00Z" is after the newest snapshot`},
		{[]string{"2026-11-03"}, "the snapshot " + newest.String() + " cannot be compared with itself"},
		{[]string{newest.Run}, "the snapshot " + newest.String() + " cannot be compared with itself"},
		{[]string{"2026-11-03", "2026-11-01"}, "compare an earlier snapshot with a later one"},
		{[]string{"2026-10-01"}, `"2026-10-01" is before the first snapshot`},
		{[]string{"2026-11-01", "nosuch"}, `"nosuch" is not a time`},
	} {
		_, _, err := query.SnapshotsToCompare(all, c.names...)
		if !errors.As(err, new(*query.UsageError)) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %s", c.names, err, c.want)
		}
	}
	for _, names := range [][]string{{"2026-11-01T02:00:00"}, {"2026-11-01T02:00"}, {"2026-11-01 02:00:00"}, {"2026-11-01 02:00"},
		{"2026-11-01 04:00:00+02:00"}, {"2026-11-01T03:00:00+01:00"}, {"2026-11-01", "2026-11-03T23:59:59Z"}, {"2026-11-01T02:00:00Z", "20261103T020000Z"},
		{"20261101T020000Z"}, {"2026-11-02 01:59", "2026-11-03 02:00"}} {
		from, to, err := query.SnapshotsToCompare(all, names...)
		if err != nil || from != all[0] || to != newest {
			t.Errorf("%v: got %v, %v, %v, want the first and the newest snapshot", names, from, to, err)
		}
	}
}

// TestChangesOfAnOutlet compares two nights of outlet o. The listing a and the products p, a and ol belong to the
// outlet: only its products name p, only its listing a names the product a, and only its outlet listing names ol. The
// tag t belongs to no outlet.
func TestChangesOfAnOutlet(t *testing.T) {
	harness.Slow(t)
	const statements = threeNights + `
UPDATE main.product_listings SET outlet_id = 'o' WHERE id = 'a';
UPDATE past.product_listings SET outlet_id = 'o' WHERE id = 'a';
INSERT INTO main.outlet_channels (id, outlet_id, valid_from) VALUES ('ch', 'o', '2026-11-02 02:00:00+00'), ('x', 'other', '2026-11-02 02:00:00+00');
INSERT INTO past.outlet_channels (id, outlet_id, valid_from, valid_to) VALUES ('gone', 'o', '2026-11-01 02:00:00+00', '2026-11-02 02:00:00+00');
INSERT INTO main.outlet_listings (id, outlet_id, name, valid_from) VALUES ('ol', 'o', 'Listing', '2026-11-02 02:00:00+00'), ('x', 'other', 'X', '2026-11-02 02:00:00+00'),
    ('y', 'shown', 'Y', '2026-11-02 02:00:00+00');
INSERT INTO main.outlet_products (outlet_id, product_id, valid_from) VALUES ('o', 'p', '2026-11-02 02:00:00+00'), ('other', 'x', '2026-11-02 02:00:00+00');
INSERT INTO main.outlets (id, valid_from) VALUES ('o', '2026-11-02 02:00:00+00'), ('other', '2026-11-02 02:00:00+00');
INSERT INTO main.products (id, name, valid_from) VALUES ('p', 'P', '2026-11-02 02:00:00+00'), ('x', 'X', '2026-11-02 02:00:00+00'),
    ('a', 'A', '2026-11-02 02:00:00+00'), ('ol', 'OL', '2026-11-02 02:00:00+00');
INSERT INTO main.outlet_tags (outlet_id, position, valid_from)
    VALUES ('o', 1, '2026-11-02 02:00:00+00'), ('other', 1, '2026-11-02 02:00:00+00');
INSERT INTO main.product_example_links (product_id, position, valid_from)
    VALUES ('p', 1, '2026-11-02 02:00:00+00'), ('x', 1, '2026-11-02 02:00:00+00');
INSERT INTO main.product_prices (product_id, position, valid_from)
    VALUES ('p', 1, '2026-11-02 02:00:00+00'), ('x', 1, '2026-11-02 02:00:00+00');
INSERT INTO main.outlet_listing_tags (outlet_listing_id, position, valid_from)
    VALUES ('ol', 1, '2026-11-02 02:00:00+00'), ('x', 1, '2026-11-02 02:00:00+00');
INSERT INTO main.product_listings (id, outlet_id, valid_from) VALUES ('l', 'listed', '2026-11-02 02:00:00+00');
INSERT INTO main.product_listing_tags (product_listing_id, position, valid_from)
    VALUES ('a', 1, '2026-11-02 02:00:00+00'), ('l', 1, '2026-11-02 02:00:00+00');
INSERT INTO main.tags (name, valid_from) VALUES ('t', '2026-11-02 02:00:00+00');`
	db := openAt(t, fillCatalog(t, statements))
	for _, c := range []struct {
		outlet string
		tables []string
		want   []string
	}{
		{"o", nil, []string{"outlet_channels ch", "outlet_channels gone", "outlet_listing_tags ol/1", "outlet_listings ol",
			"outlet_products o/p", "outlet_tags o/1", "outlets o", "product_example_links p/1", "product_listing_tags a/1",
			"product_listings a", "product_prices p/1", "products a", "products ol", "products p"}},
		{"listed", []string{"product_listing*", "outlets"}, []string{"product_listing_tags l/1", "product_listings l"}}, // an outlet that only a listing names
		{"shown", []string{"outlet_listings"}, []string{"outlet_listings y"}},                                           // only an outlet listing names it
		{"o", []string{"product*", "tags"}, []string{"product_example_links p/1", "product_listing_tags a/1", "product_listings a",
			"product_prices p/1", "products a", "products ol", "products p"}},
		{"other", []string{"outlets"}, []string{"outlets other"}},
	} {
		d := newDiff(t, db, c.tables, "2026-11-01", "2026-11-02")
		d.Outlet = c.outlet
		q, err := db.Changes(t.Context(), d, true)
		if err != nil {
			t.Fatal(err)
		}
		changes, err := db.Collect(t.Context(), q, nil, 99)
		var got []string
		for _, r := range changes.Rows {
			got = append(got, r.Values[0].Text+" "+r.Values[1].Text)
		}
		if diff := cmp.Diff(c.want, slices.Compact(got)); err != nil || diff != "" {
			t.Errorf("%s, %v: error %v; changed records (-want +got):\n%s", c.outlet, c.tables, err, diff)
		}
	}
	for want, d := range map[string]query.Diff{
		`no outlet has the id "nosuch"`:            {Outlet: "nosuch"},
		"no chosen table has records of an outlet": {Outlet: "o", Tables: []string{"tags", "orders"}},
	} {
		if _, err := db.Changes(t.Context(), d, true); !errors.As(err, new(*query.UsageError)) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
