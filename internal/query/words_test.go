package query_test

import (
	"bytes"
	"slices"
	"testing"

	"placementsync/internal/query"
)

func TestColumnsOfCharts(t *testing.T) {
	c := query.Chart{X: "day", Y: []string{"rises", "falls"}, By: []string{"currency"}}
	if got := c.Columns(); !slices.Equal(got, []string{"day", "rises", "falls", "currency"}) {
		t.Errorf("the chart has the columns %q, want those of x, y and by", got)
	}
}

func TestColumnsHaveHeadings(t *testing.T) {
	for column, want := range map[string]string{
		"p50_days": "Days, median", "p90_days_to_start": "Days to start, 90th percentile", "p25_percent": "P25, %", "p25_price": "Price, lower quartile",
		"p75_price": "Price, upper quartile", "article_name": "Article", "campaign_name": "Campaign", "group_name": "Group", "listing_name": "Listing",
		"product_name": "Product", "profile_name": "Profile", "status_name": "Status", "writer_name": "Writer",
		"outlet_name": "Outlet", "outlet_id": "Outlet ID", "website_url": "Website URL", "first_name": "First name", "name": "Name", "is_do_follow": "Do-follow",
		"paid_at": "Paid", "at": "At", "change_percent": "Change, %", "min_authority": "Minimum authority", "max_price": "Maximum price",
		"timezone": "Time zone", "": "",
	} {
		if got := query.LabelOf(column); got != want {
			t.Errorf("the heading of %q is %q, want %q", column, got, want)
		}
	}
	q, err := query.ParseText("own.sql", "-- heading: p50_days Days from payment to live, median\nSELECT 1 AS p50_days")
	if err != nil || q.LabelOf("p50_days") != "Days from payment to live, median" || q.LabelOf("p90_days") != "Days, 90th percentile" {
		t.Errorf("got the headings %q and %q, %v", q.LabelOf("p50_days"), q.LabelOf("p90_days"), err)
	}
	if _, err := query.ParseText("own.sql", "-- heading: p50_days\nSELECT 1 AS p50_days"); err == nil {
		t.Error("a heading without a text is accepted, want an error")
	}
}

func TestCodesInWords(t *testing.T) {
	for text, want := range map[string]string{
		"FULL_FEATURE": "Full feature", "on_hold_review": "On hold review", "do-follow": "Do follow", "SEO": "SEO", "UK": "UK", "TEST": "Test", "seo": "Seo",
		"LINKEDIN": "LinkedIn", "tiktok": "TikTok", "TWITTER_X": "Twitter/X", "YOUTUBE": "YouTube", "LINKEDIN; FULL_FEATURE, UK": "LinkedIn; Full feature, UK",
		"Already words": "Already words", "MixedCase": "MixedCase", "": "", "7": "7",
	} {
		if got := query.EnumWords(text); got != want {
			t.Errorf("EnumWords(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestTablesShowEnumerationsAsWords(t *testing.T) {
	var out bytes.Buffer
	w, err := query.NewWriter(query.Output{Format: query.Table, EnumWords: true}, &out, query.Screen{})
	if err != nil {
		t.Fatal(err)
	}
	db := open(t, "")
	q := query.Text("SELECT 'FULL_FEATURE' AS placement_type, 'FULL_FEATURE' AS code, NULL::VARCHAR AS status, 'TWITTER_X, on_hold' AS includes, 'DEDICATED_EMAIL' AS segment, " +
		"'WEBSITE' AS group_id, 'WEBSITE' AS group_name, 'u1' AS outlet_id, 'ACME' AS outlet_name")
	if _, err := db.Run(t.Context(), q, nil, w); err != nil {
		t.Fatal(err)
	}
	const want = "placement_type  code          status  includes            segment          group_id  group_name  outlet_id  outlet_name\n" +
		"Full feature    FULL_FEATURE  NULL    Twitter/X, On hold  Dedicated email  WEBSITE   Website     u1         ACME\n"
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for name, isEnum := range map[string]bool{"link_kind": true, "side": true, "trait": true, "included_placement": true, "waits_for": true, "figure": true,
		"pricing_tier": true, "types": false, "outlet_name": false} {
		if got := (query.Column{Name: name, Type: "VARCHAR"}).IsEnum(); got != isEnum {
			t.Errorf("the column %s has values of an enumeration: %t, want %t", name, got, isEnum)
		}
	}
	if (query.Column{Name: "status", Type: "VARCHAR[]"}).IsEnum() {
		t.Error("a list of statuses is a value of an enumeration, want only texts")
	}
}
