package stream_test

import (
	"cmp"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
)

// TestLiteralsAreValid checks the fields of the literals of all streams.
func TestLiteralsAreValid(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range stream.AllWithEvents() {
		t.Run(s.Name, func(t *testing.T) {
			hasParameter := strings.Contains(s.Path, "{")
			hasIDs := s.IsDetail() || strings.Contains(s.Path, "{team_id}")
			for problem, broken := range map[string]bool{
				"no name":                              s.Name == "",
				"the name is used twice":               seen[s.Name],
				"no path":                              !strings.HasPrefix(s.Path, "/") && !s.IsEvents(),
				"events with a path":                   s.Path != "" && s.IsEvents(),
				"no section of the spec":               s.Spec == "",
				"no table":                             len(s.Tables) == 0,
				"more than one path parameter":         strings.Count(s.Path, "{") > 1,
				"a path parameter without ids":         hasParameter && !hasIDs,
				"ids without a path parameter":         hasIDs && !hasParameter,
				"a detail without a column for its id": s.IsDetail() && s.Param == "",
				"a list with a rule for details":       !s.IsDetail() && s.Rule != stream.EveryNight,
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
// the details are requested. If a night runs out of time, it misses the last lists.
func TestParentsAreReadFirst(t *testing.T) {
	all := stream.AllWithEvents()
	wantFirst := strings.Fields("token outlet_listings product_listings orders order_items campaigns" +
		" countries states cities tags disclaimers product_categories profiles files folders" +
		" article_status_events article_comment_events campaign_details")
	if diff := gocmp.Diff(wantFirst, stream.Names(all)[:len(wantFirst)]); diff != "" {
		t.Errorf("the order of the lists and events (-want +got):\n%s", diff)
	}
	withoutEvents := slices.DeleteFunc(slices.Clone(all), stream.Stream.IsEvents)
	if diff := gocmp.Diff(stream.Names(withoutEvents), stream.Names(stream.All())); diff != "" {
		t.Errorf("the order without events (-want +got):\n%s", diff)
	}
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

// TestIDsOfDetails lists the columns whose ids are requested, in the order in which the details are read. Without a column,
// a night would miss the records that only this column names. If a night runs out of time, it misses the last details.
func TestIDsOfDetails(t *testing.T) {
	const outlets = " outlet_listings.outlet_id(outlet_products.product_id)" +
		" product_listings.outlet_id(outlet_products.product_id) order_items.outlet_id"
	want := []string{
		"campaign_details: campaigns.id", "campaign_articles: campaigns.id", "campaign_status_counts: campaigns.id",
		"articles: campaign_articles.id order_items.article_id",
		"article_comments: articles.id campaign_articles.id(without articles)",
		"order_details: orders.id order_items.order_id",
		"profile_orders: profiles.id", "profile_order_items: profiles.id", "profile_campaigns: profiles.id",
		"outlets:" + outlets, "outlet_products:" + outlets,
		"products: product_listings.id outlet_listings.id" +
			" order_items.product_id order_line_items.product_id articles.product_id",
	}
	isEvents := func(s stream.Stream) bool { return s.IsEvents() }
	withoutEvents := slices.DeleteFunc(stream.AllWithEvents(), isEvents)
	for name, all := range map[string][]stream.Stream{"All": stream.All(), "AllWithEvents": withoutEvents} {
		var got []string
		for _, s := range all {
			if !s.IsDetail() {
				continue
			}
			line := s.Name + ":"
			for _, ref := range s.IDColumns {
				line += " " + ref.Table + "." + ref.Column
				if ref.Lookup != "" {
					line += "(" + ref.Lookup + "." + ref.LookupKey + ")"
				}
				if ref.IfUnread != "" {
					line += "(without " + ref.IfUnread + ")"
				}
			}
			got = append(got, line)
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("ids of the details of %s (-want +got):\n%s", name, diff)
		}
	}
}

// TestKeysAreThoseOfTheSchema compares the key of each table with the columns that are never empty. The key of the
// enclosing row comes first in a child table, under the same names with a prefix. Otherwise rows would replace each other.
func TestKeysAreThoseOfTheSchema(t *testing.T) {
	for _, s := range stream.AllWithEvents() {
		for _, table := range s.Tables {
			sql, err := os.ReadFile("../../schema/" + table.Name + ".sql")
			harness.Must(t, err)
			d, err := stream.ParseDefinition(table.Name, string(sql))
			harness.Must(t, err)
			var want []string
			for _, c := range d.Columns {
				if c.NotNull {
					want = append(want, c.Name)
				}
			}
			if diff := gocmp.Diff(want, table.Key); diff != "" {
				t.Errorf("key of %s (-schema +stream):\n%s", table.Name, diff)
			}
			if table.At == "" {
				continue
			}
			enclosing := s.Tables[s.EnclosingTable(table)]
			isSame := func(parent, key string) bool { return strings.HasSuffix("_"+parent, "_"+key) }
			if !slices.EqualFunc(table.Parents, enclosing.Key, isSame) {
				t.Errorf("%s has the columns %v for the key of %s, %v", table.Name, table.Parents, enclosing.Name, enclosing.Key)
			}
		}
	}
}

// TestKnownValues compares the known values with the page of the service. A missing value would be reported as drift.
func TestKnownValues(t *testing.T) {
	page, err := os.ReadFile("../../docs/service.md")
	harness.Must(t, err)
	got := stream.Enums()
	for column, lines := range map[string]string{
		"channel_type":   "(?m)^(?:\\| channel type|Channel types can also be) .*$",
		"placement_type": "(?m)^\\| placement type .*$", "token_type": "(?m)^\\| token type .*$",
	} {
		text := strings.Join(regexp.MustCompile(lines).FindAllString(string(page), -1), "\n")
		text = regexp.MustCompile(`\([^)]*\)`).ReplaceAllString(text, "") // the older name of a channel
		var want []string
		for _, m := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(text, -1) {
			want = append(want, m[1])
		}
		if len(want) < 3 {
			t.Errorf("%s: found only the values %v on the page", column, want)
		}
		if diff := gocmp.Diff(want, got[column]); diff != "" {
			t.Errorf("values of %s (-page +stream):\n%s", column, diff)
		}
	}
}

// TestTablesOfStreams checks that every table of a stream is listed once, also one that two streams fill.
func TestTablesOfStreams(t *testing.T) {
	all := stream.AllWithEvents()
	var want, got []string
	for _, s := range all {
		for _, table := range s.Tables {
			want = append(want, table.Name)
		}
	}
	for _, table := range stream.Tables(all) {
		got = append(got, table.Name)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := gocmp.Diff(slices.Compact(want), got); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
	if got := stream.FilledBy(all, "orders"); !gocmp.Equal(got, []string{"orders", "order_details"}) {
		t.Errorf("orders is filled by %v, want orders and order_details", got)
	}
}

const pricesSchema = `-- Prices.
-- The prices of a listing. Key: id, total.
-- An item keeps its position between nights if these columns are equal: id, views, or else total.
CREATE TABLE prices (
    id    VARCHAR NOT NULL, -- field 1, references listings.id
    -- between columns
    views BIGINT, -- field 3, also seen, also looks
    total DECIMAL(18,6) -- field 2
);

COMMENT ON TABLE prices IS 'It''s prices.';
COMMENT ON COLUMN prices.id IS 'Id.';
COMMENT ON COLUMN prices.views IS 'Times seen.';
COMMENT ON COLUMN prices.total IS 'Sum.';
`

func TestParseDefinition(t *testing.T) {
	got, err := stream.ParseDefinition("prices.sql", pricesSchema)
	harness.Must(t, err)
	want := stream.Definition{Name: "prices", Comment: "It's prices.", Key: []string{"id", "total"}, ItemKeys: [][]string{{"id", "views"}, {"total"}},
		Columns: []stream.Column{
			{Name: "id", Type: stream.Text, NotNull: true, Comment: "Id.", FieldID: 1, References: stream.Reference{Table: "listings", Column: "id"}},
			{Name: "views", Type: stream.Int64, Comment: "Times seen.", FieldID: 3, OtherNames: []string{"seen", "looks"}},
			{Name: "total", Type: stream.Money, Comment: "Sum.", FieldID: 2},
		}}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("definition differs (-want +got):\n%s", diff)
	}
	got, err = stream.ParseDefinition("prices.sql", strings.Replace(pricesSchema, ", or else total", "", 1))
	if err != nil || !gocmp.Equal(got.ItemKeys, [][]string{{"id", "views"}}) {
		t.Errorf("items are identified by %q (%v), want id and views", got.ItemKeys, err)
	}
}

func TestParseDefinitionErrors(t *testing.T) {
	for name, c := range map[string]struct{ from, to, want string }{
		"an unsupported type":             {"BIGINT", "DOUBLE", `line 7: column "views" has type DOUBLE`},
		"a duplicate column":              {"total DECIMAL", "id    DECIMAL", `line 8: column "id" is defined twice`},
		"another name without a field id": {"-- field 3, also", "-- also", `line 7: unexpected text "    views BIGINT, -- also seen`},
		"a column without a field id":     {" -- field 1, references listings.id", "", `line 5: column "id" has no field id`},
		"a reserved field id":             {"field 2", "field 10001", `line 8: column "total" has no field id from 1 to 10000`},
		"two columns with one field id":   {"field 2", "field 1", `line 8: columns "id" and "total" have the same field id 1`},
		"a reference without a column":    {"listings.id", "listings", `line 5: unexpected text`},
		"a column without COMMENT ON":     {"COMMENT ON COLUMN prices.id IS 'Id.';\n", "", `column "id" has no COMMENT`},
		"a comment on an unknown column":  {"prices.views IS", "prices.clicks IS", `comment on column "clicks"`},
		"a comment on another table":      {"COLUMN prices.total", "COLUMN costs.total", `comment on table "costs"`},
		"other SQL":                       {"-- Prices.", "DROP TABLE prices;", `line 1: unexpected text "DROP TABLE prices;"`},
		"no table":                        {pricesSchema, "-- empty\n", "no CREATE TABLE"},
		"no comment on the table":         {"COMMENT ON TABLE prices IS 'It''s prices.';\n", "", "no COMMENT ON TABLE"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := stream.ParseDefinition("prices.sql", strings.Replace(pricesSchema, c.from, c.to, 1))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "prices.sql") {
				t.Errorf("got error %v, want it to name the file and %q", err, c.want)
			}
		})
	}
}

// TestStreamsFollowTheServicePage compares the streams with the table of endpoints in docs/service.md. Records of single
// files are not read, because the list of files contains their fields.
func TestStreamsFollowTheServicePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/service.md")
	harness.Must(t, err)
	type endpoint struct {
		Scopes   []string
		Envelope stream.Envelope
		List     string
		Sorts    bool
	}
	row := regexp.MustCompile("(?m)^\\| `GET (\\S+)` \\| (.*?) \\|(.*?)\\| (.*) \\|$")
	quoted := regexp.MustCompile("`([^`]*)`")
	_, table, _ := strings.Cut(string(page), "### 4.2")
	want := map[string]endpoint{}
	for _, m := range row.FindAllStringSubmatch(table, -1) {
		path, scopes, request, response := m[1], m[2], m[3], m[4]
		if strings.HasPrefix(path, "/files/") {
			continue
		}
		e := endpoint{Sorts: strings.Contains(request, "pages")}
		for _, scope := range quoted.FindAllStringSubmatch(scopes, -1) {
			e.Scopes = append(e.Scopes, scope[1])
		}
		switch {
		case strings.HasPrefix(response, "paginated"):
			e.Envelope = stream.Paginated
		case strings.HasPrefix(response, "bare array"):
			e.Envelope = stream.Array
		case strings.HasPrefix(response, "raw"):
			e.Envelope = stream.StatusCounts
		case strings.HasPrefix(response, "object with the list"):
			e.Envelope, e.List = stream.Records, quoted.FindStringSubmatch(response)[1]
		case strings.HasPrefix(response, "object"):
			e.Envelope = stream.Object
		}
		want[path] = e
	}
	got := map[string]endpoint{}
	for _, s := range stream.All() {
		e := endpoint{Scopes: s.Scopes, Envelope: s.Envelope, List: s.List, Sorts: s.Sorts}
		if s.Envelope == stream.Records {
			e.List = cmp.Or(s.List, "records")
		}
		got[s.Path] = e
	}
	if len(want) < 25 {
		t.Errorf("found only %d endpoints on the page", len(want))
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("streams and endpoints (-page +streams):\n%s", diff)
	}
	_, topics, _ := strings.Cut(string(page), "### 6.1 Topics")
	topics, _, _ = strings.Cut(topics, "###")
	var wantTopics, gotTopics []string
	for _, m := range quoted.FindAllStringSubmatch(topics, -1) {
		wantTopics = append(wantTopics, m[1])
	}
	for _, s := range stream.Events() {
		gotTopics = append(gotTopics, s.Topics...)
		if s.Envelope != stream.Object {
			t.Errorf("the body of an event of %s is not one record", s.Name)
		}
	}
	if diff := gocmp.Diff(wantTopics, gotTopics); diff != "" {
		t.Errorf("topics (-page +streams):\n%s", diff)
	}
}

// TestSameKind checks that private columns are private in every table with the same kind of record.
func TestSameKind(t *testing.T) {
	for table, want := range map[string][]string{
		"orders":                {"orders", "profile_orders"},
		"order_items":           {"order_items", "profile_order_items"},
		"campaigns":             {"campaigns", "profile_campaigns"},
		"articles":              {"articles", "campaign_articles"},
		"files":                 {"files", "article_files"},
		"products":              {"products", "product_listings", "outlet_listings", "outlet_products"},
		"product_prices":        {"product_prices", "product_listing_prices", "outlet_listing_prices"},
		"product_example_links": {"product_example_links", "product_listing_example_links"},
		"outlet_channels":       {"outlet_channels", "outlet_listing_channels"},
		"outlet_tags":           {"outlet_tags", "outlet_listing_tags", "product_listing_tags"},
		"tags":                  {"tags"},
	} {
		if got := stream.SameKind(table); !slices.Equal(got, want) {
			t.Errorf("SameKind(%s) = %v, want %v", table, got, want)
		}
	}
	for _, table := range stream.Tables(stream.All()) {
		for _, other := range stream.SameKind(table.Name) {
			if !slices.Contains(stream.SameKind(other), table.Name) {
				t.Errorf("%s has the same kind of record as %s, but not the other way round", table.Name, other)
			}
		}
	}
	want := []string{"product_listings", "products", "outlet_listings", "outlet_products"}
	if diff := gocmp.Diff(want, stream.SameKind("product_listings")); diff != "" {
		t.Errorf("the table itself is not first (-want +got):\n%s", diff)
	}
}

func TestEnclosingTable(t *testing.T) {
	for child, want := range map[string]string{
		"order_line_item_includes":    "order_line_items",
		"order_line_items":            "orders",
		"outlet_channel_social_links": "outlet_channels",
		"outlet_tags":                 "outlets",
		"orders":                      "orders",
	} {
		for _, s := range stream.All() {
			i := slices.IndexFunc(s.Tables, func(t stream.Table) bool { return t.Name == child })
			if i < 0 {
				continue
			}
			if got := s.Tables[s.EnclosingTable(s.Tables[i])].Name; got != want {
				t.Errorf("%s: rows of %s are in rows of %s, want %s", s.Name, child, got, want)
			}
		}
	}
	deep := stream.Stream{Tables: []stream.Table{{Name: "root"}, {Name: "inner", At: "a.b"}, {Name: "outer", At: "a"}, {Name: "rows", At: "a.b.c"}}}
	if got := deep.EnclosingTable(deep.Tables[3]); got != 1 {
		t.Errorf("rows at a.b.c are in rows of %s, want those at a.b", deep.Tables[got].Name)
	}
}

// TestFindsStreams finds the first stream, and no stream of another name.
func TestFindsStreams(t *testing.T) {
	all := stream.All()
	if s, ok := stream.Find(all, all[0].Name); !ok || s.Name != all[0].Name {
		t.Errorf("found %q (%t), want %q", s.Name, ok, all[0].Name)
	}
	if s, ok := stream.Find(all, "missing"); ok {
		t.Errorf("found %q under another name", s.Name)
	}
}

// TestPartsOfOtherTables lists the parts of records whose fields are private if they are private in another table. Without
// a part, a night would publish private values.
func TestPartsOfOtherTables(t *testing.T) {
	const campaign = " profile=profiles articles=articles articles.order_item=order_items articles.order_item.outlet=outlets"
	const listing = " =outlets(website_url logo country state city is_indexed) outlet=outlets disclaimer=disclaimers"
	want := map[string]string{
		"outlet_listings": listing, "product_listings": listing, "orders": " line_items.outlet=outlets", "order_details": " line_items.outlet=outlets",
		"order_items": " outlet=outlets article=articles article.campaign=campaigns",
		"campaigns":   campaign, "campaign_details": campaign, "profile_campaigns": campaign + " =campaigns questionnaire=questionnaires",
		"campaign_articles": " order_item.outlet=outlets order_item=order_items", "articles": " status=article_statuses",
		"profile_orders": " =orders line_items=order_line_items line_items.outlet=outlets", "profile_order_items": " outlet=outlets",
		"outlets":         " outlet_channels.disclaimer=disclaimers",
		"outlet_products": " prices=product_prices example_links=product_example_links outlet=outlets",
	}
	got := map[string]string{}
	for _, s := range stream.AllWithEvents() {
		for _, p := range s.ForeignParts {
			got[s.Name] += " " + p.At + "=" + p.Table
			if len(p.Columns) > 0 {
				got[s.Name] += "(" + strings.Join(p.Columns, " ") + ")"
			}
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("parts of other tables (-want +got):\n%s", diff)
	}
	kinds := map[string]string{}
	for _, s := range stream.Events() {
		kinds[s.Name] = s.SameKindAs
	}
	if diff := gocmp.Diff(map[string]string{"article_status_events": "articles", "article_comment_events": "article_comments"}, kinds); diff != "" {
		t.Errorf("tables with the private columns of events (-want +got):\n%s", diff)
	}
}

// TestFormsOfRecords lists fields of literals that only some streams and tables set, and that no decoded body shows.
// Without them, a night would reject records or take missing rows for deleted ones.
func TestFormsOfRecords(t *testing.T) {
	want := map[string]map[string]string{
		"Query":       {"order_details": "include_outlets_data=true"},
		"NonEmptyFor": {"campaign_status_counts": "campaign_articles.campaign_id"},
		"TablesWithDetailColumns": {
			"campaign_details": "campaigns questionnaires",
			"order_details":    "orders order_line_items order_line_item_includes",
		},
		"UnwrapText": {"token": "scopes", "orders": "metadata", "campaigns": "articles"},
	}
	got := map[string]map[string]string{"Query": {}, "NonEmptyFor": {}, "TablesWithDetailColumns": {}, "UnwrapText": {}}
	add := func(field, name, value string) {
		if value != "" {
			got[field][name] = value
		}
	}
	for _, s := range stream.AllWithEvents() {
		add("Query", s.Name, s.Query)
		add("NonEmptyFor", s.Name, strings.Trim(s.NonEmptyFor.Table+"."+s.NonEmptyFor.Column, "."))
		add("TablesWithDetailColumns", s.Name, strings.Join(s.TablesWithDetailColumns, " "))
		for _, table := range s.Tables {
			add("UnwrapText", table.Name, strings.Join(table.UnwrapText, " "))
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("fields of literals (-want +got):\n%s", diff)
	}
}

// TestWithOtherNames checks that a column gets a further name, and that the given definitions stay as they are.
func TestWithOtherNames(t *testing.T) {
	d, err := stream.ParseDefinition("prices.sql", pricesSchema)
	harness.Must(t, err)
	given := map[string]stream.Definition{"prices": d}
	got := stream.WithOtherNames(given, map[string]string{"prices.views": "links.views", "prices.total": "sum"})
	for column, want := range map[string][]string{"id": nil, "views": {"seen", "looks", "links.views"}, "total": {"sum"}} {
		if c, ok := got["prices"].Column(column); !ok || !slices.Equal(c.OtherNames, want) {
			t.Errorf("%s has the names %v, want %v", column, c.OtherNames, want)
		}
	}
	if c, _ := given["prices"].Column("total"); len(c.OtherNames) > 0 {
		t.Errorf("the given definition has the names %v", c.OtherNames)
	}
	again := stream.WithOtherNames(given, map[string]string{"prices.views": "a"})
	first, second := got["prices"].Columns[1].OtherNames, again["prices"].Columns[1].OtherNames
	if first[2] != "links.views" || second[2] != "a" {
		t.Errorf("two calls share the names of a column: %v and %v", first, second)
	}
}

func TestPathOfAColumn(t *testing.T) {
	for comment, want := range map[string]string{
		"Url. Spec 2.2 Outlet.website_url.": "website_url",
		"Name. Spec 2.4 Order.team.name.":   "team.name",
		"Url. Spec 2.2.":                    "",
		"Spec 2.2 Outlet.url":               "",
	} {
		if got := (stream.Column{Comment: comment}).Path(); got != want {
			t.Errorf("the path of %q is %q, want %q", comment, got, want)
		}
	}
}

// TestFormatsOfStoredFiles checks numbers that stored files contain: field ids of Parquet files, and hashes of rows. A
// change would make every stored row look changed.
func TestFormatsOfStoredFiles(t *testing.T) {
	ids := map[string]int{}
	for _, c := range slices.Concat(stream.SystemColumns(), stream.ClosedColumns()) {
		ids[c.Name+" "+string(c.Type)] = c.FieldID
		if !c.NotNull {
			t.Errorf("%s can be NULL", c.Name)
		}
	}
	want := map[string]int{"valid_from TIMESTAMPTZ": 10001, "row_hash UBIGINT": 10002, "valid_to TIMESTAMPTZ": 10003, "run_id VARCHAR": 10004}
	if diff := gocmp.Diff(want, ids); diff != "" {
		t.Errorf("field ids (-want +got):\n%s", diff)
	}
	for name, c := range map[string][2]uint64{
		"MixBits(1)":         {stream.MixBits(1), 0xb456bcfc34c2cb2c},
		"MixBits(1 << 40)":   {stream.MixBits(1 << 40), 0xe80f632ed2f232f6},
		"RowSum(2, 5)":       {stream.RowSum(2, 5), stream.MixBits(7)},
		"PositionHash(3)":    {stream.PositionHash(3), stream.MixBits(3 ^ 0x19874e1f93dd7c60)},
		"KeySum in order":    {stream.PageFacts{Records: 3, IDs: []uint64{1, 2}}.KeySum(), 3 + stream.MixBits(1) + stream.MixBits(2)},
		"KeySum in reverse":  {stream.PageFacts{Records: 3, IDs: []uint64{2, 1}}.KeySum(), 3 + stream.MixBits(1) + stream.MixBits(2)},
		"records without id": {uint64(stream.PageFacts{Records: 9, Copies: 2, IDs: []uint64{1, 2, 3}}.RecordsWithoutID()), 4},
	} {
		if c[0] != c[1] {
			t.Errorf("%s = %#x, want %#x", name, c[0], c[1])
		}
	}
}
