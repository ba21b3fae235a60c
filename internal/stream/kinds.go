package stream

import "slices"

// Shown says that an object or list inside the records of a stream shows what a
// table describes, though it may have no table here.
type Shown struct {
	// At is its dotted path in the record; empty: the record itself.
	At string
	// Table describes it.
	Table string
	// Columns are those that it shows, where it does not show all.
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

// ofOutlet are the columns of a listing that describe its outlet.
func ofOutlet() Shown {
	return Shown{Table: "outlets", Columns: []string{"website_url", "logo", "country", "state", "city", "is_indexed"}}
}

// Shows tells what else the records of the stream show beside what its tables take.
func (s Stream) Shows() []Shown {
	switch s.Name {
	case "outlet_listings", "product_listings":
		return []Shown{ofOutlet(), {At: "outlet", Table: "outlets"}, {At: "disclaimer", Table: "disclaimers"}}
	case "outlets":
		return []Shown{{At: "outlet_channels.disclaimer", Table: "disclaimers"}}
	case "orders", "order_details":
		return []Shown{{At: "line_items.outlet", Table: "outlets"}}
	case "order_items":
		return []Shown{{At: "outlet", Table: "outlets"}, {At: "article", Table: "articles"}, {At: "article.campaign", Table: "campaigns"}}
	case "profile_orders":
		return []Shown{{Table: "orders"}, {At: "line_items", Table: "order_line_items"}, {At: "line_items.outlet", Table: "outlets"}}
	case "profile_order_items":
		return []Shown{{At: "outlet", Table: "outlets"}}
	case "profile_campaigns":
		return append(ofCampaign(), Shown{Table: "campaigns"}, Shown{At: "questionnaire", Table: "questionnaires"})
	case "campaigns", "campaign_details":
		return ofCampaign()
	case "campaign_articles":
		return []Shown{{At: "order_item.outlet", Table: "outlets"}, {At: "order_item", Table: "order_items"}}
	case "articles":
		return []Shown{{At: "status", Table: "article_statuses"}}
	case "outlet_products":
		return []Shown{{At: "prices", Table: "product_prices"}, {At: "example_links", Table: "product_example_links"}, {At: "outlet", Table: "outlets"}}
	}
	return nil
}

func ofCampaign() []Shown {
	return []Shown{{At: "profile", Table: "profiles"}, {At: "articles", Table: "articles"},
		{At: "articles.order_item", Table: "order_items"}, {At: "articles.order_item.outlet", Table: "outlets"}}
}
