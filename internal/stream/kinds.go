package stream

import "slices"

// Shown says that an object or list inside the records of a stream shows fields that
// another table describes.
type Shown struct {
	// At is its dotted path in the record; empty: the record itself.
	At string
	// Table describes it.
	Table string
	// Columns are those that it shows; nil: any.
	Columns []string
}

// Kind names the tables that describe the same kind of record as one of them, that
// one first: what is private in a column of one is private in those of the same
// name in the others.
func Kind(table string) []string {
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

// listingShows is what a listing shows: some columns of its outlet, flat or nested, and
// its disclaimer.
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
