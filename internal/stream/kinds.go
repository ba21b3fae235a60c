package stream

import "slices"

// ForeignPart is a part of a stream's records that contains fields of another table.
type ForeignPart struct {
	// At is the dotted path of the part in the record. Empty means the record itself.
	At    string
	Table string // the other table
	// Columns are the columns of Table that the part can contain. Nil means all columns.
	Columns []string
}

// SameKind returns a table and the other tables with the same kind of record. A column that is
// private in one of these tables is private in all of them.
func SameKind(table string) []string {
	tables := []string{table}
	for _, group := range [][]string{
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
		if slices.Contains(group, table) {
			tables = append(tables, slices.DeleteFunc(group, func(t string) bool { return t == table })...)
		}
	}
	return tables
}

// A listing contains fields of its outlet, in the listing itself or in the object outlet.
func listingForeignParts() []ForeignPart {
	return []ForeignPart{
		{Table: "outlets", Columns: []string{"website_url", "logo", "country", "state", "city", "is_indexed"}},
		{At: "outlet", Table: "outlets"}, {At: "disclaimer", Table: "disclaimers"},
	}
}

func orderForeignParts() []ForeignPart {
	return []ForeignPart{{At: "line_items.outlet", Table: "outlets"}}
}

func campaignForeignParts() []ForeignPart {
	return []ForeignPart{
		{At: "profile", Table: "profiles"}, {At: "articles", Table: "articles"},
		{At: "articles.order_item", Table: "order_items"}, {At: "articles.order_item.outlet", Table: "outlets"},
	}
}
