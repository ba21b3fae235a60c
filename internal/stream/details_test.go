package stream_test

import (
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"placementsync/internal/stream"
)

// TestRulesOfDetails checks the rule by which details are requested again, and the record with which they are live.
func TestRulesOfDetails(t *testing.T) {
	byRow := []string{"campaign_details", "order_details", "outlets", "outlet_products", "products"}
	for _, s := range stream.All() {
		if !s.IsDetail() {
			continue
		}
		wantRule, wantLive := stream.WhileLive, stream.LiveWith(0)
		if slices.Contains(byRow, s.Name) {
			wantRule = stream.ByRow
		}
		for prefix, live := range map[string]stream.LiveWith{
			"/campaigns/": stream.LiveWithCampaign, "/articles/": stream.LiveWithArticle, "/profiles/": stream.LiveWithProfile,
		} {
			if strings.HasPrefix(s.Path, prefix) {
				wantLive = live
			}
		}
		if s.Rule != wantRule || s.LiveWith != wantLive {
			t.Errorf("%s has the rule %d and is live with %d, want %d and %d", s.Name, s.Rule, s.LiveWith, wantRule, wantLive)
		}
	}
}

// TestRowsThatShowChanges checks which rows show that a detail has changed: rows of tables with the same kind of record
// as the detail, and rows whose records contain fields of the detail beside their own. A missing ShowsChanges leaves old
// details in the tables, and a wrong one requests all details in every night.
func TestRowsThatShowChanges(t *testing.T) {
	containsFieldsOf := func(table, detail string) bool {
		for _, name := range stream.FilledBy(stream.All(), table) {
			s, _ := stream.Find(stream.All(), name)
			isBeside := func(p stream.ForeignPart) bool { return p.At == "" && p.Table == detail }
			if slices.ContainsFunc(s.ForeignParts, isBeside) {
				return true
			}
		}
		return false
	}
	for _, s := range stream.All() {
		if s.Rule != stream.ByRow {
			continue
		}
		detail := s.Root().Name
		for _, ref := range s.IDColumns {
			want := slices.Contains(stream.SameKind(detail), ref.Table) || containsFieldsOf(ref.Table, detail)
			if ref.ShowsChanges != want {
				t.Errorf("%s: rows of %s show changes: %t, want %t", s.Name, ref.Table, ref.ShowsChanges, want)
			}
		}
	}
}

// TestPricesOfListingsAreUnrelated checks that an outlet and its products are not requested again if only a price of a
// listing changed. The keys are the requested details and the table with their ids.
func TestPricesOfListingsAreUnrelated(t *testing.T) {
	got := map[string][]string{}
	for _, s := range stream.All() {
		for _, ref := range s.IDColumns {
			if len(ref.Unrelated) > 0 {
				got[s.Name+" by "+ref.Table] = ref.Unrelated
			}
		}
	}
	want := map[string][]string{
		"outlets by outlet_listings":          {"outlet_listing_prices"},
		"outlets by product_listings":         {"product_listing_prices"},
		"outlet_products by outlet_listings":  {"outlet_listing_prices"},
		"outlet_products by product_listings": {"product_listing_prices"},
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("tables whose changes are ignored (-want +got):\n%s", diff)
	}
}

func TestShowsRecord(t *testing.T) {
	for _, c := range []struct {
		column stream.IDColumn
		want   bool
	}{
		{stream.IDColumn{Table: "orders", Column: "id"}, true},
		{stream.IDColumn{Table: "outlet_listings", Column: "outlet_id", ShowsChanges: true}, true},
		{stream.IDColumn{Table: "order_items", Column: "order_id"}, false},
	} {
		if c.column.ShowsRecord() != c.want {
			t.Errorf("%s.%s shows the record: %t, want %t", c.column.Table, c.column.Column, c.column.ShowsRecord(), c.want)
		}
	}
}

func TestIsDetailID(t *testing.T) {
	for column, want := range map[string]bool{"orders.id": true, "order_items.article_id": true, "orders.name": false, "tags.id": false} {
		table, name, _ := strings.Cut(column, ".")
		if got := stream.IsDetailID(table, name); got != want {
			t.Errorf("%s names details: %t, want %t", column, got, want)
		}
	}
}
