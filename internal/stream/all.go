package stream

// All returns every stream of the catalogue, lists before the details that
// their records name. A night whose time is over leaves the last ones unread, so
// that details stand in the order of their use: what is being worked on, what
// was bought, what is on offer.
func All() []Stream {
	return []Stream{
		token(),
		outletListings(), productListings(), orders(), orderItems(), campaigns(),
		locations("country", "countries"), locations("state", "states"), locations("city", "cities"),
		tags(), disclaimers(), productCategories(), profiles(), files(), folders(),
		campaignDetails(), campaignArticles(), statusCounts(), articles(), articleComments(),
		orderDetails(), profileOrders(), profileOrderItems(), profileCampaigns(),
		outlets(), outletProducts(), products(),
	}
}

func outletListings() Stream {
	return Stream{
		Name: "outlet_listings", Path: "/outlets", Spec: "2.2 OutletListing, 4.2, 5",
		Scopes: []string{"outlets.lists"}, Envelope: Paginated,
		Tables: []Table{
			{Name: "outlet_listings", Key: []string{"id"}},
			child("outlet_listing_channels", "channels", "outlet_listing_id", ""),
			child("outlet_listing_prices", "prices", "outlet_listing_id", "unit_amount"),
			child("outlet_listing_tags", "tags", "outlet_listing_id", "name"),
		},
	}
}

func outlets() Stream {
	return Stream{
		Name: "outlets", Path: "/outlets/{outlet_id}", Spec: "2.2 Outlet, 4.2, 5",
		Scopes: []string{"outlets.read"}, Envelope: Object, Param: "id", Rule: ByRow,
		Parents: outletRefs(),
		Tables: []Table{
			{Name: "outlets", Key: []string{"id"}},
			child("outlet_tags", "tags", "outlet_id", "name"),
			{Name: "outlet_channels", At: "outlet_channels", Key: []string{"id"}, Parents: []string{"outlet_id"}},
			child("outlet_channel_social_links", "outlet_channels.social_links", "outlet_channel_id", "url"),
		},
	}
}

// outletRefs are the records that name an outlet. An outlet's own fields show
// in its listings; an order item names it and shows its name only. A listing that
// names no outlet belongs to the one that sold the product when it was last read.
func outletRefs() []Ref {
	return []Ref{
		{Table: "outlet_listings", Column: "outlet_id", Vouches: true, Known: "outlet_products", KnownKey: "product_id"},
		{Table: "product_listings", Column: "outlet_id", Vouches: true, Known: "outlet_products", KnownKey: "product_id"},
		{Table: "order_items", Column: "outlet_id"},
	}
}

func productListings() Stream {
	return Stream{
		Name: "product_listings", Path: "/products/listings", Spec: "2.3 ProductListing, 4.2, 5",
		Scopes: []string{"products.read"}, Envelope: Paginated,
		Tables: []Table{
			{Name: "product_listings", Key: []string{"id"}},
			child("product_listing_prices", "prices", "product_listing_id", "unit_amount"),
			child("product_listing_includes", "includes", "product_listing_id", ""),
			child("product_listing_tags", "tags", "product_listing_id", "name"),
			child("product_listing_example_links", "example_links", "product_listing_id", "url"),
		},
	}
}

func orders() Stream {
	return Stream{
		Name: "orders", Path: "/orders", Spec: "2.4 Order, LineItem, 4.2, 5",
		Scopes: []string{"orders.lists"}, Envelope: Paginated, Tables: orderTables(),
	}
}

func orderDetails() Stream {
	return Stream{
		Name: "order_details", Path: "/orders/{order_id}", Query: "include_outlets_data=true",
		Spec: "2.4 Order, LineItem, 4.2, 5, 9", Scopes: []string{"orders.read"}, Envelope: Object,
		Parents: []Ref{{Table: "orders", Column: "id", Vouches: true}, {Table: "order_items", Column: "order_id"}}, Param: "id", Rule: ByRow,
		Over: "orders", Tables: orderTables(),
	}
}

// orderTables serves the list and the detail. A line item has no id before it
// is paid (spec 2.4), so its position in the order identifies it.
func orderTables() []Table {
	return []Table{
		{Name: "orders", Key: []string{"id"}},
		child("order_line_items", "line_items", "order_id", ""),
		{Name: "order_line_item_includes", At: "line_items.includes",
			Key: []string{"order_id", "line_position", "position"}, Parents: []string{"order_id", "line_position"}},
	}
}

func orderItems() Stream {
	return Stream{
		Name: "order_items", Path: "/order-items", Spec: "2.4 OrderItem, 4.2, 5",
		Scopes: []string{"orders.lists"}, Envelope: Sniffed,
		Tables: []Table{{Name: "order_items", Key: []string{"id"}}},
	}
}

func campaigns() Stream {
	return Stream{
		Name: "campaigns", Path: "/campaigns", Spec: "2.5 Campaign, Questionnaire, 4.2, 5",
		Scopes: []string{"campaigns.lists"}, Envelope: Sniffed,
		Tables: campaignTables(),
	}
}

// campaignTables serves the list and the detail. A questionnaire may have no id
// (spec 2.5): its campaign names it, or stands for it.
func campaignTables() []Table {
	return []Table{
		{Name: "campaigns", Key: []string{"id"}},
		{Name: "questionnaires", At: "questionnaire", Key: []string{"id"}, Parents: []string{"campaign_id"}, Named: []string{"questionnaire_id", "id"}},
	}
}

func campaignArticles() Stream {
	return Stream{
		Name: "campaign_articles", Path: "/campaigns/{id}/articles", Spec: "2.6 CampaignArticleRow, 4.2, 5",
		Scopes: []string{"campaigns.read"}, Envelope: Sniffed,
		Parents: []Ref{{Table: "campaigns", Column: "id"}}, Param: "campaign_id", Rule: WhileLive, Life: AsCampaign,
		Tables: []Table{
			{Name: "campaign_articles", Key: []string{"id"}},
			child("article_statuses", "status", "article_id", ""),
			child("campaign_article_addons", "order_item.addons", "article_id", "name"),
			child("campaign_article_includes", "order_item.includes", "article_id", ""),
		},
	}
}

func articles() Stream {
	return Stream{
		Name: "articles", Path: "/articles/{id}", Spec: "2.6 Article, 4.2, 5", Envelope: Object,
		Parents: []Ref{{Table: "campaign_articles", Column: "id"}, {Table: "order_items", Column: "article_id"}},
		Param:   "id", Rule: WhileLive, Life: AsArticle,
		Tables: []Table{
			{Name: "articles", Key: []string{"id"}, Unshown: []string{"support_agent"}},
			child("article_files", "files", "article_id", "value"),
		},
	}
}

// child is a list inside a record: keyed by the enclosing row and the item's
// position, counted from 1.
func child(name, at, parent, value string) Table {
	return Table{Name: name, At: at, Key: []string{parent, "position"}, Parents: []string{parent}, Value: value}
}
