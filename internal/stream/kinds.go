package stream

import "slices"

// Shown describes an object or list inside the records of a stream that has fields of
// another table.
type Shown struct {
	// At is its dotted path in the record. Empty means the record itself.
	At string
	// Table is the table with these fields.
	Table string
	// Columns are the columns that it contains. Nil means any.
	Columns []string
}

// SameKind returns a table and the other tables with the same kind of record. A private column
// of one table is private in all.
func SameKind(table string) []string {
	kind := []string{table}
	for _, same := range [][]string{
		{"orders", "profile_orders"},
		{"order_items", "profile_order_items"},
		{"campaigns", "profile_campaigns"},
		{"articles", "campaign_articles"},
		{"article_files", "files"},
		{"products", "product_listings", "outlet_listings", "outlet_products"},
		{"product_prices", "product_listing_prices", "outlet_listing_prices"},
		{"product_example_links", "product_listing_example_links"},
		{"outlet_channels", "outlet_listing_channels"},
		{"outlet_tags", "outlet_listing_tags", "product_listing_tags"},
	} {
		if slices.Contains(same, table) {
			kind = append(kind, slices.DeleteFunc(same, func(t string) bool { return t == table })...)
		}
	}
	return kind
}

// listingShows returns the other tables' fields in a listing: some columns of its outlet,
// flat or nested, and its disclaimer.
func listingShows() []Shown {
	return []Shown{
		{Table: "outlets", Columns: []string{"website_url", "logo", "country", "state", "city", "is_indexed"}},
		{At: "outlet", Table: "outlets"}, {At: "disclaimer", Table: "disclaimers"},
	}
}

func orderShows() []Shown { return []Shown{{At: "line_items.outlet", Table: "outlets"}} }

func campaignShows() []Shown {
	return []Shown{
		{At: "profile", Table: "profiles"}, {At: "articles", Table: "articles"},
		{At: "articles.order_item", Table: "order_items"}, {At: "articles.order_item.outlet", Table: "outlets"},
	}
}
