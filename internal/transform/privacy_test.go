package transform_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/stream"
	"placementsync/internal/transform"
)

// renderProtected decodes a body with private columns and renders the result.
func renderProtected(t *testing.T, s stream.Stream, p transform.Privacy, body string) string {
	t.Helper()
	b := compile(t, s)
	if err := b.Protect(p); err != nil {
		t.Fatal(err)
	}
	d := b.NewDecoder()
	page, err := d.Decode([]byte(body), transform.Origin{})
	return render(t, d, page, err)
}

// leak is a body whose private values, and the member names in them, contain "s3cret". column is the private column.
type leak struct{ stream, column, body string }

// leaks returns bodies whose private values could become visible outside of their column.
func leaks() map[string]leak {
	return map[string]leak{
		"a text":                                {"orders", "orders.coupon", `[{"id":"o","coupon":"s3cret"}]`},
		"an object":                             {"orders", "orders.coupon", `[{"id":"o","coupon":{"value":"s3cret"}}]`},
		`an object with "name"`:                 {"orders", "orders.coupon", `[{"id":"o","coupon":{"name":"s3cret"}}]`},
		"a list":                                {"orders", "orders.coupon", `[{"id":"o","coupon":["s3cret"]}]`},
		"invalid UTF-8":                         {"orders", "orders.coupon", `[{"id":"o","coupon":"s3cret\ud800"}]`},
		"a record without an id":                {"orders", "orders.coupon", `[{"coupon":"s3cret"}]`},
		"beside a value of another type":        {"orders", "orders.coupon", `[{"id":"o","total":{"coupon":1},"coupon":"s3cret"},{"id":null,"total":"dear","coupon":["s3cret"]}]`},
		"a duplicate field":                     {"orders", "orders.coupon", `[{"id":"o","coupon":"s3cret 1","coupon":"s3cret 2"}]`},
		"a list beside the records":             {"orders", "orders.coupon", `{"records":[{"id":"o"}],"data":[{"coupon":"s3cret"}]}`},
		"a text in place of an object":          {"orders", "orders.team_name", `[{"id":"o","team":"s3cret"}]`},
		"a list in place of an object":          {"orders", "orders.team_name", `[{"id":"o","team":[{"name":"s3cret"}]}]`},
		"a list of texts in place of an object": {"orders", "orders.team_name", `[{"id":"o","team":["s3cret"]}]`},
		"another name in a list of objects":     {"orders", "orders.team_name", `[{"id":"o","team":[{"label":"s3cret"}]}]`},
		"the name of the outlet of an order":    {"order_items", "outlets.name", `[{"id":"i","outlet":{"name":"s3cret"}}]`},
		"deep in a list in place of an object":  {"order_items", "order_items.article_writer_last_name", `[{"id":"o","article":[{"writer":{"last_name":"s3cret"}}]}]`},
		"two values, flat and nested":           {"orders", "orders.team_name", `[{"id":"o","team_name":"s3cret 1","team":{"name":"s3cret 2"}}]`},
		"an item":                               {"outlets", "outlet_tags.name", `{"id":"o","tags":["s3cret",{"name":"s3cret"}]}`},
		"a text as item of a record without id": {"product_listings", "product_listing_tags.name", `[{"tags":["s3cret"]},{"id":"","tags":["s3cret",7,{"deep":["s3cret"]}]}]`},
		"an item of another type":               {"orders", "order_line_items.name", `[{"id":"o","line_items":["s3cret",{"name":"s3cret"}]}]`},
		"an item of a record without id":        {"orders", "order_line_items.name", `[{"line_items":[{"name":"s3cret"}]}]`},
		"an item of an item without id":         {"outlets", "outlet_channel_social_links.url", `{"id":"o","outlet_channels":[{"social_links":["s3cret"]}]}`},
		"a duplicate list of items":             {"orders", "order_line_items.name", `[{"id":"o","line_items":[{"name":"s3cret"}],"line_items":[]}]`},
		"another name":                          {"profiles", "profiles.drive_link", `[{"id":"p","google_drive_link":"s3cret"},{"google_drive_link":"s3cret"},{"id":"q","google_drive_link":["s3cret"]}]`},
		"another name in a campaign list":       {"campaigns", "profiles.drive_link", `[{"id":"c","profile":{"id":"p","google_drive_link":"s3cret"}}]`},
		"an order of a profile":                 {"profile_orders", "orders.coupon", `[{"id":null,"coupon":"s3cret"},{"id":"..","client":1,"coupon":{"a":"s3cret"}}]`},
		"an item of a profile's order":          {"profile_orders", "order_line_items.name", `[{"line_items":[{"name":"s3cret"},"s3cret"]}]`},
		"an order item of a profile":            {"profile_order_items", "order_items.outlet_name", `[{"outlet":{"name":"s3cret"}},{"id":"o","outlet":{"name":"s3cret"},"outlet_name":["s3cret"]}]`},
		"an article of a campaign":              {"campaign_articles", "articles.writer_last_name", `[{"id":"a","writer":{"last_name":"s3cret"}},{"writer":{"last_name":"s3cret"}}]`},
		"an article in a campaign list":         {"campaigns", "articles.live_url", `[{"id":"c","articles":[{"id":"a","live_url":"s3cret"}]},{"articles":{"live_url":"s3cret"}}]`},
		"a profile in a campaign list":          {"campaigns", "profiles.overview", `[{"id":"c","profile":{"id":"p","overview":"s3cret","more":1}}]`},
		"the outlet of an order item":           {"order_items", "outlets.description", `[{"id":"i","outlet":{"description":"s3cret","extra":{"description":1}}}]`},
		"the outlet of a listing":               {"outlet_listings", "outlets.website_url", `[{"id":"l","website_url":"s3cret"},{"website_url":"s3cret"}]`},
		"a product in a listing":                {"product_listings", "products.requirements", `[{"id":"l","requirements":{"a":"s3cret"}},{"requirements":"s3cret"}]`},
		`a list in "name"`:                      {"product_listings", "product_listings.disclaimer", `[{"id":"p","disclaimer":{"name":["s3cret"],"id":["s3cret"]}}]`},
		"guest_email in an object guest":        {"orders", "orders.guest_email", `[{"guest":{"email":"s3cret"}},{"id":"o","guest":{"email":["s3cret"]}},{"guest":"s3cret"}]`},
		"a member name with escapes":            {"orders", "orders.coupon", `[{"c\u006fupon":"s3cret"},{"id":"o","c\u006fupon":["s3cret"]}]`},
		"a copy":                                {"orders", "orders.coupon", `[{"id":"o","coupon":"s3cret"},{"id":"o","coupon":"s3cret","total":1}]`},
		"a reply":                               {"article_comments", "article_comments.author_email", `{"records":[{"id":"c","replies":[{"id":"r","author":{"email":"s3cret"}}]}]}`},
		"a reply to a reply":                    {"article_comments", "article_comments.author_email", `{"records":[{"id":"c","replies":[{"id":"r","replies":[{"id":"s","author":{"email":"s3cret"}}]}]}]}`},
		"an unlisted value":                     {"token", "token.token_type", `{"team_id":"t","token_type":"s3cret"}`},
		`"name" of a status count`:              {"campaign_status_counts", "campaign_status_counts.name", `{"draft":{"id":"d","name":"s3cret","count":1}}`},
		"an invalid status count":               {"campaign_status_counts", "campaign_status_counts.name", `{"draft":{"prefix":"d","name":"s3cret"}}`},
		"a member name in a private object":     {"orders", "orders.coupon", `[{"id":"o","coupon":{"name":"x","s3cret":1}}]`},
		"a repeated member in a private object": {"orders", "orders.coupon", `[{"id":"o","coupon":{"name":"x","s3cret":1,"s3cret":2}}]`},
		"a repeated member in a free form":      {"articles", "articles.support_agent", `{"id":"a","support_agent":{"s3cret":1,"s3cret":2}}`},
		"a repeated member in an item":          {"outlets", "outlet_channels.channel_url", `{"id":"o","outlet_channels":[{"id":"c","channel_url":{"name":"x","s3cret":1,"s3cret":2}}]}`},
		"a field of an unknown object":          {"campaigns", "profiles.legal_company_name", `[{"id":"c","profile":{"legal":{"company_name":"s3cret"}}}]`},
		"a text beside status counts":           {"campaign_status_counts", "campaign_status_counts.name", `{"draft":{"id":"d","count":1},"name":"s3cret"}`},
	}
}

func TestDroppedValuesDoNotAppear(t *testing.T) {
	for name, c := range leaks() {
		t.Run(name, func(t *testing.T) {
			got := renderProtected(t, streamNamed(t, c.stream), transform.Privacy{Drop: []string{c.column}}, c.body)
			if strings.Contains(got, "s3cret") {
				t.Errorf("the dropped value is in %s", got)
			}
			if _, column, _ := strings.Cut(c.column, "."); strings.Contains(got, "\n  "+column+" = ") {
				t.Errorf("a dropped column is not NULL in %s", got)
			}
		})
	}
}

// TestPrivateValueIsNoKeyOfAnItem reads an item without a key. A column of the record can replace the key, but not if
// the column is private.
func TestPrivateValueIsNoKeyOfAnItem(t *testing.T) {
	s := streamNamed(t, "things")
	s.Tables[1].Key, s.Tables[1].KeyFrom = []string{"name"}, []string{"owner", "label"}
	const body = `[{"id":"t","owner":"s3cret","label":"l","parts":[{}]}]`
	for _, p := range []transform.Privacy{{Drop: []string{"things.owner"}}, {Hash: []string{"things.owner"}, Key: []byte("k")}} {
		if got := renderProtected(t, s, p, body); strings.Contains(got, "s3cret") || !strings.Contains(got, "name = l\n") {
			t.Errorf("want the label as the key of the part, and no private value in %s", got)
		}
	}
}

// TestSecondPrivateValueIsNotKept reads two values of a hashed column.
func TestSecondPrivateValueIsNotKept(t *testing.T) {
	p := transform.Privacy{Hash: []string{"questionnaires.file_name"}, Key: []byte("k")}
	got := renderProtected(t, streamNamed(t, "campaigns"), p, `[{"id":"c","questionnaire":{"id":"q","file_name":"s3cret","file":7}}]`)
	if strings.Contains(got, "extra =") || !strings.Contains(got, "drift questionnaires file conflict x1") {
		t.Errorf("want the second value only as drift in %s", got)
	}
	got = renderProtected(t, streamNamed(t, "orders"), transform.Privacy{Drop: []string{"orders.team_name"}}, `[{"id":"o","team":[7]}]`)
	if !strings.Contains(got, `drift orders team unknown_field x1 "(withheld`) {
		t.Errorf("want the list in place of the team as drift in %s", got)
	}
}

// TestDroppedColumnsAreNotRenamed decodes records with a field whose name is similar to a column without values. A
// dropped column is always NULL, so that it says nothing about the field.
func TestDroppedColumnsAreNotRenamed(t *testing.T) {
	const column = "orders.coupon"
	var records []string
	for i := range 6 {
		records = append(records, fmt.Sprintf(`{"id":"%d","coupon_text":"x"}`, i))
	}
	const withCoupon = `,{"id":"7","coupon":"y","coupon_text":"x"}`
	for _, c := range []struct {
		private []string
		last    string
		isFound bool
	}{{nil, "", true}, {[]string{column}, "", false}, {nil, withCoupon, false}} {
		b := compile(t, streamNamed(t, "orders"))
		if err := b.Protect(transform.Privacy{Drop: c.private}); err != nil {
			t.Fatal(err)
		}
		d := b.NewDecoder()
		page, err := d.Decode([]byte("["+strings.Join(records, ",")+c.last+"]"), transform.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		renamed := transform.RenamedFields(page.Records, d.Findings().Drift, d.Flush(), c.private)
		if isFound := len(renamed) == 1 && renamed[0].Column == column; isFound != c.isFound {
			t.Errorf("with the private columns %q and the last record %q, the renamed fields are %+v, want %s: %t", c.private, c.last, renamed, column, c.isFound)
		}
	}
}

func TestOtherNamesInOtherStreamsArePrivate(t *testing.T) {
	p := transform.Privacy{Drop: []string{"orders.guest_payment_customer_id"}}
	for _, name := range []string{"orders", "order_details", "profile_orders"} {
		s := streamNamed(t, name)
		body := `{"id":[],"guest_stripe_customer_id":"s3cret"}`
		if s.Envelope != stream.Object {
			body = "[" + body + "]"
		}
		if got := renderProtected(t, s, p, body); strings.Contains(got, "s3cret") {
			t.Errorf("the dropped value of %s is in %s", name, got)
		}
	}
}

// TestConfiguredNamesOfTheSameKindArePrivate drops a column of articles that has another name only in the
// articles of a campaign.
func TestConfiguredNamesOfTheSameKindArePrivate(t *testing.T) {
	s := streamNamed(t, "campaign_articles")
	b, err := transform.Compile(s, stream.WithOtherNames(definitions(), map[string]string{"campaign_articles.live_url": "address"}))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Protect(transform.Privacy{Drop: []string{"articles.live_url"}}); err != nil {
		t.Fatal(err)
	}
	d := b.NewDecoder()
	page, err := d.Decode([]byte(`[{"id":[],"address":"s3cret"}]`), transform.Origin{})
	if got := render(t, d, page, err); strings.Contains(got, "s3cret") {
		t.Errorf("the dropped value is in %s", got)
	}
}

// TestHashedJSONIsDropped hashes a text column of articles, which is JSON in the articles of a campaign.
func TestHashedJSONIsDropped(t *testing.T) {
	defs := definitions()
	articles := defs["campaign_articles"]
	articles.Columns = slices.Clone(articles.Columns)
	i := slices.IndexFunc(articles.Columns, func(c stream.Column) bool { return c.Name == "live_url" })
	articles.Columns[i].Type = stream.JSON
	defs["campaign_articles"] = articles
	b, err := transform.Compile(streamNamed(t, "campaign_articles"), defs)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Protect(transform.Privacy{Hash: []string{"articles.live_url"}, Key: []byte("k")}); err != nil {
		t.Fatal(err)
	}
	d := b.NewDecoder()
	page, err := d.Decode([]byte(`[{"id":"a","live_url":"s3cret"}]`), transform.Origin{Param: "c"})
	if got := render(t, d, page, err); strings.Contains(got, "s3cret") || !strings.Contains(got, "id = a") {
		t.Errorf("want the article without the value in %s", got)
	}
}

// TestDroppedColumnIsNotHashed drops a column of the articles of a campaign, and hashes the column of the same kind.
func TestDroppedColumnIsNotHashed(t *testing.T) {
	p := transform.Privacy{Drop: []string{"campaign_articles.live_url"}, Hash: []string{"articles.live_url"}, Key: []byte("k")}
	if got := renderProtected(t, streamNamed(t, "campaign_articles"), p, `[{"id":"a","live_url":"s3cret"}]`); strings.Contains(got, "live_url") {
		t.Errorf("the dropped column has a value in %s", got)
	}
}

func TestHashedValuesDoNotAppear(t *testing.T) {
	for name, c := range leaks() {
		t.Run(name, func(t *testing.T) {
			got := renderProtected(t, streamNamed(t, c.stream), transform.Privacy{Hash: []string{c.column}, Key: []byte("k")}, c.body)
			if strings.Contains(got, "s3cret") {
				t.Errorf("the hashed value is in %s", got)
			}
		})
	}
}

func TestDerivedColumnsCanBeDropped(t *testing.T) {
	const channel = `{"id":"o","outlet_channels":[{"id":"c","do_follow_links_allowed":"5 links, s3cret","new":"s3cret"},` +
		`{"id":"d","do_follow_links_allowed":3,"do_follow":{"links_allowed":"s3cret"}}]}`
	p := transform.Privacy{Drop: []string{"outlet_channels.do_follow_links_raw", "outlet_channels.extra"}}
	got := renderProtected(t, streamNamed(t, "outlets"), p, channel)
	if strings.Contains(got, "s3cret") || strings.Contains(got, "_raw") || !strings.Contains(got, "do_follow_links_limit = 3") {
		t.Errorf("want the limit, and neither its raw text nor extra, in %s", got)
	}
	p = transform.Privacy{Drop: []string{"outlet_channels.do_follow_links_raw"}}
	got = renderProtected(t, streamNamed(t, "outlets"), p, strings.Replace(channel, `"new":"s3cret"`, `"new":1`, 1))
	if strings.Contains(got, "s3cret") || !strings.Contains(got, `extra = {"new":1}`) {
		t.Errorf("want extra without the second value of do_follow_links_allowed in %s", got)
	}
	got = renderProtected(t, streamNamed(t, "outlets"), p, `{"id":"o","outlet_channels":[{"do_follow_links_allowed":"s3cret"}]}`)
	if strings.Contains(got, "s3cret") || !strings.Contains(got, "reject outlet_channels") {
		t.Errorf("want a reject without the dropped value in %s", got)
	}
	got = renderProtected(t, streamNamed(t, "outlets"), transform.Privacy{Drop: []string{"outlet_channels.do_follow_links_allowed"}}, channel)
	if strings.Contains(got, "do_follow_links_allowed =") || strings.Contains(got, "do_follow_links_raw") {
		t.Errorf("the dropped field is in %s", got)
	}
}

// TestDroppedExtraIsNotInRejects rejects a record, because it has no id. Any of its fields may belong to extra.
func TestDroppedExtraIsNotInRejects(t *testing.T) {
	p := transform.Privacy{Drop: []string{"orders.extra"}}
	if got := renderProtected(t, streamNamed(t, "orders"), p, `[{"new":"s3cret"}]`); strings.Contains(got, "s3cret") {
		t.Errorf("the dropped value is in %s", got)
	}
}

func TestOtherColumnsOfAPrivateObjectAreKept(t *testing.T) {
	const body = `[{"id":"p","disclaimer":{"id":"d1","name":"s3cret","description":"Marked","note":"s3cret"},"new":1,"later":[2]}]`
	for _, p := range []transform.Privacy{
		{Drop: []string{"product_listings.disclaimer"}},
		{Hash: []string{"product_listings.disclaimer"}, Key: []byte("k")},
	} {
		got := renderProtected(t, streamNamed(t, "product_listings"), p, body)
		if strings.Contains(got, "s3cret") || strings.Contains(got, "note") {
			t.Errorf("a part of the private value is in %s", got)
		}
		for _, want := range []string{"disclaimer_id = d1", "disclaimer_description = Marked", `extra = {"later":[2],"new":1}`,
			`drift product_listings disclaimer unknown_field x1 "(withheld`, "drift product_listings new unknown_field x1 1",
			"drift product_listings later unknown_field x1 [2]"} {
			if !strings.Contains(got, want) {
				t.Errorf("want %s in %s", want, got)
			}
		}
	}
}

// TestListInAPrivateObjectHidesNothingElse reads a private object that contains a list. The fields of the other
// records are kept.
func TestListInAPrivateObjectHidesNothingElse(t *testing.T) {
	s := streamNamed(t, "things")
	s.Tables[1].At = "owner.parts"
	got := renderProtected(t, s, transform.Privacy{Drop: []string{"things.owner"}},
		`[{"id":"a","owner":{"name":"s3cret","parts":[{"name":"p","more":"s3cret"}]}},{"id":"b","new":1}]`)
	if strings.Contains(got, "s3cret") || !strings.Contains(got, "name = p") || !strings.Contains(got, `extra = {"new":1}`) {
		t.Errorf("want the part, the new field and no dropped value in %s", got)
	}
}

// TestPrivateValuesWithoutAColumnAreOnlyCounted reads private values that no column can store.
func TestPrivateValuesWithoutAColumnAreOnlyCounted(t *testing.T) {
	p := transform.Privacy{Drop: []string{"profiles.overview"}}
	got := renderProtected(t, streamNamed(t, "campaigns"), p, leaks()["a profile in a campaign list"].body)
	if !strings.Contains(got, `extra = {"profile":{"more":1}}`+"\n") || !strings.Contains(got, "drift campaigns profile.overview unknown_field x1 ") {
		t.Errorf("want the overview only as drift in %s", got)
	}
	got = renderProtected(t, streamNamed(t, "orders"), transform.Privacy{Drop: []string{"orders.coupon"}}, leaks()["an object"].body)
	if !strings.Contains(got, `reject orders key="o" parent="" column="coupon"`) {
		t.Errorf("want a reject, because the object is no text, in %s", got)
	}
	got = renderProtected(t, streamNamed(t, "orders"), transform.Privacy{Drop: []string{"orders.coupon"}}, `[{"id":"o","team":[7]}]`)
	if !strings.Contains(got, `extra = {"team":[7]}`) {
		t.Errorf("want the list in place of the team, which is not private, in %s", got)
	}
}

func TestRawValuesOfOtherTablesAreKept(t *testing.T) {
	other := renderProtected(t, streamNamed(t, "campaigns"), transform.Privacy{Drop: []string{"orders.coupon"}}, `[{"id":"c","profile":{"coupon":"seen"}}]`)
	if !strings.Contains(other, "seen") {
		t.Errorf("want the coupon of the profile, which is no order, in %s", other)
	}
	other = renderProtected(t, streamNamed(t, "product_listings"), transform.Privacy{Drop: []string{"outlets.name"}},
		`[{"id":"l","name":"seen","outlet":{"name":"s3cret"}}]`)
	if !strings.Contains(other, "name = seen") || strings.Contains(other, "s3cret") {
		t.Errorf("want the name of the listing, and not that of its outlet, in %s", other)
	}
	p := transform.Privacy{Drop: []string{"orders.client_secret"}}
	got := renderProtected(t, streamNamed(t, "orders"), p, `[{"id":"o","client_secret":"s3cret","line_items":[{"price":"dear"}]}]`)
	if strings.Contains(got, "s3cret") || !strings.Contains(got, `raw    "dear"`) {
		t.Errorf("want the line item's raw price in %s", got)
	}
}

func TestEqualValuesHaveEqualHashes(t *testing.T) {
	p := transform.Privacy{Hash: []string{"orders.guest_email"}, Key: []byte("k")}
	got := renderProtected(t, streamNamed(t, "orders"), p,
		`[{"id":"o","guest_email":"a@b"},{"id":"p","guest":{"email":"a@\u0062"}},{"id":"q","guest_email":""},{"id":"r","guest_email":"","guest":{"email":"a@b"}}]`)
	// Computed with: printf a@b | openssl dgst -sha256 -hmac k
	const want = "2307c9d8a720b996aee3b10119d6e349fc29c231016c75073ca7ce4ebbca7161"
	if strings.Contains(got, "a@b") || strings.Count(got, want) != 3 || strings.Count(got, `guest_email = ""`) != 1 {
		t.Errorf("want the hash three times, one empty text and no address, got %s", got)
	}
}

func TestDroppedValueDoesNotChangeRowHash(t *testing.T) {
	b := compile(t, streamNamed(t, "orders"))
	if err := b.Protect(transform.Privacy{Drop: []string{"orders.client_secret"}}); err != nil {
		t.Fatal(err)
	}
	d := b.NewDecoder()
	first := hashOf(t, d, "orders", `[{"id":"o","client_secret":"1"}]`)
	if second := hashOf(t, d, "orders", `[{"id":"o","client_secret":"2"}]`); first != second {
		t.Errorf("row_hash changed from %s to %s, although only the dropped value differs", first, second)
	}
}

func TestProtectErrors(t *testing.T) {
	key := []byte("k")
	for name, c := range map[string]struct {
		stream  string
		privacy transform.Privacy
		want    string
	}{
		"dropping a key of a list":    {"folders", transform.Privacy{Drop: []string{"folders.id"}}, "folders.id: it identifies records"},
		"dropping a key":              {"orders", transform.Privacy{Drop: []string{"orders.id"}}, "orders.id: it identifies records"},
		"dropping an id of a detail":  {"order_items", transform.Privacy{Drop: []string{"order_items.article_id"}}, "order_items.article_id: it identifies records"},
		"dropping the path parameter": {"campaign_articles", transform.Privacy{Drop: []string{"campaign_articles.campaign_id"}}, "it identifies records"},
		"dropping a parent key":       {"outlets", transform.Privacy{Drop: []string{"outlet_channels.outlet_id"}}, "it identifies records"},
		"hashing a key":               {"orders", transform.Privacy{Hash: []string{"orders.id"}, Key: key}, "it identifies records"},
		"hashing an id":               {"orders", transform.Privacy{Hash: []string{"orders.client_id"}, Key: key}, "tables are joined on it"},
		"hashing an amount":           {"orders", transform.Privacy{Hash: []string{"orders.total"}, Key: key}, "only texts can be hashed"},
		"hashing JSON":                {"orders", transform.Privacy{Hash: []string{"orders.extra"}, Key: key}, "only texts can be hashed"},
		"hashing JSON kept as text":   {"outlets", transform.Privacy{Hash: []string{"outlet_channels.do_follow_links_raw"}, Key: key}, "only texts can be hashed"},
		"hashing without a key":       {"orders", transform.Privacy{Hash: []string{"orders.email"}}, "PLACEMENTSYNC_HASH_KEY"},
	} {
		t.Run(name, func(t *testing.T) {
			err := compile(t, streamNamed(t, c.stream)).Protect(c.privacy)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestOnlyPrivatePartsAreWithheld checks that the other parts of a rejected record are kept
// unchanged.
func TestOnlyPrivatePartsAreWithheld(t *testing.T) {
	p := transform.Privacy{Drop: []string{"orders.client_secret", "order_line_items.name"}}
	for name, c := range map[string]struct{ stream, body, raw string }{
		"a record": {"orders", `[{"total": 1.50, "client_secret":"s3cret", "date_paid" :"soon","metadata":{"a":[1]}}]`,
			`{"total": 1.50, "client_secret":"(withheld)", "date_paid" :"soon","metadata":{"a":[1]}}`},
		"a record of a link table": {"profile_orders", `[{"client_secret":{"a":1},"status":"paid"}]`, `{"client_secret":"(withheld)","status":"paid"}`},
		"a bad date":               {"orders", `[{"id":"o","client_secret":"s3cret","date_paid":"soon"}]`, `"soon"`},
		"parts of items":           {"orders", `[{"line_items":[{"name":"s3cret","price":1},null],"total":1}]`, `{"line_items":[{"name":"(withheld)","price":1},null],"total":1}`},
		"not an object":            {"orders", `[7]`, `"(withheld)"`},
		"a bad price":              {"orders", `[{"id":"o","line_items":[{"name":"s3cret","price":"x"}]}]`, `"x"`},
	} {
		t.Run(name, func(t *testing.T) {
			got := renderProtected(t, streamNamed(t, c.stream), p, c.body)
			if !strings.Contains(got, "raw    "+c.raw+"\n") || strings.Contains(got, "s3cret") {
				t.Errorf("want the raw text %s in %s", c.raw, got)
			}
		})
	}
}
