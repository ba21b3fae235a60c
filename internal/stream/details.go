package stream

// These streams are requested once for each id that other records name (spec 4.2).

func campaignDetails() []Stream {
	return []Stream{
		{
			Name: "campaign_details", Path: "/campaigns/{id}", Spec: "2.5 Campaign, Questionnaire, 4.2, 5",
			Scopes: []string{"campaigns.read"}, Envelope: Object,
			IDColumns: []IDColumn{{Table: "campaigns", Column: "id", ShowsChanges: true}}, Param: "id", Rule: ByRow, LiveWith: LiveWithCampaign,
			Completes: "campaigns", TablesWithDetailColumns: []string{"campaigns", "questionnaires"}, Tables: campaignTables(),
			ForeignParts: campaignForeignParts(),
		},
		{
			Name: "campaign_articles", Path: "/campaigns/{id}/articles", Spec: "2.6 CampaignArticleRow, 4.2, 5",
			Scopes: []string{"campaigns.read"}, Envelope: Sniffed,
			IDColumns: []IDColumn{{Table: "campaigns", Column: "id"}}, Param: "campaign_id", Rule: WhileLive, LiveWith: LiveWithCampaign,
			Tables: []Table{
				{Name: "campaign_articles", Key: []string{"id"}},
				childTable("article_statuses", "status", "article_id", ""),
				childTable("campaign_article_addons", "order_item.addons", "article_id", "name"),
				childTable("campaign_article_includes", "order_item.includes", "article_id", ""),
			},
			ForeignParts: []ForeignPart{{At: "order_item.outlet", Table: "outlets"}, {At: "order_item", Table: "order_items"}},
		},
		{
			Name: "campaign_status_counts", Path: "/campaigns/{id}/articles/status-count", Spec: "2.6 ArticleStatusCount, 4.2, 5",
			Scopes: []string{"campaigns.read"}, Envelope: StatusCounts,
			IDColumns: []IDColumn{{Table: "campaigns", Column: "id"}}, Param: "campaign_id", Rule: WhileLive, LiveWith: LiveWithCampaign,
			NonEmptyFor: IDColumn{Table: "campaign_articles", Column: "campaign_id"},
			Tables:      []Table{{Name: "campaign_status_counts", Key: []string{"campaign_id", "id"}}},
		},
		{
			Name: "articles", Path: "/articles/{id}", Spec: "2.6 Article, 4.2, 5", Envelope: Object,
			IDColumns: []IDColumn{{Table: "campaign_articles", Column: "id"}, {Table: "order_items", Column: "article_id"}},
			Param:     "id", Rule: WhileLive, LiveWith: LiveWithArticle,
			Tables: []Table{
				{Name: "articles", Key: []string{"id"}, FreeForm: []string{"support_agent"}},
				childTable("article_files", "files", "article_id", "value"),
			},
			ForeignParts: []ForeignPart{{At: "status", Table: "article_statuses"}},
		},
		// Comments nest one level deep (spec 2.6). A reply is a row of the same table, with a
		// parent_comment_id.
		{
			Name: "article_comments", Path: "/articles/{id}/comments", Spec: "2.6 Comment, 4.2, 5",
			Scopes: []string{"articles.read", "articles.lists"}, Envelope: Records,
			IDColumns: []IDColumn{{Table: "articles", Column: "id"}, {Table: "campaign_articles", Column: "id", IfUnread: "articles"}},
			Param:     "article_id", Rule: WhileLive, LiveWith: LiveWithArticle,
			Tables: []Table{
				{Name: "article_comments", Key: []string{"article_id", "id"}},
				{Name: "article_comments", At: "replies", Key: []string{"article_id", "id"}, Parents: []string{"article_id", "parent_comment_id"}},
			},
		},
	}
}

func orderDetails() []Stream {
	return []Stream{
		{
			Name: "order_details", Path: "/orders/{order_id}", Query: "include_outlets_data=true",
			Spec: "2.4 Order, LineItem, 4.2, 5, 9", Scopes: []string{"orders.read"}, Envelope: Object,
			IDColumns: []IDColumn{{Table: "orders", Column: "id", ShowsChanges: true}, {Table: "order_items", Column: "order_id"}}, Param: "id", Rule: ByRow,
			Completes: "orders", TablesWithDetailColumns: []string{"orders", "order_line_items", "order_line_item_includes"}, Tables: orderTables(),
			ForeignParts: orderForeignParts(),
		},
		{
			Name: "profile_orders", Path: "/profiles/{id}/orders", Spec: "2.4 Order, 4.2, 5",
			Scopes: []string{"orders.lists"}, Envelope: Sniffed, IDColumns: profileIDColumns(), Param: "profile_id",
			Rule: WhileLive, LiveWith: LiveWithProfile,
			Tables:       []Table{{Name: "profile_orders", Key: []string{"profile_id", "order_id"}, ID: "order_id", Link: true}},
			ForeignParts: []ForeignPart{{Table: "orders"}, {At: "line_items", Table: "order_line_items"}, {At: "line_items.outlet", Table: "outlets"}},
		},
		{
			Name: "profile_order_items", Path: "/profiles/{id}/order-items", Spec: "2.4 ProfileOrderItem, 4.2, 5",
			Scopes: []string{"orders.lists"}, Envelope: Array, IDColumns: profileIDColumns(), Param: "profile_id",
			Rule: WhileLive, LiveWith: LiveWithProfile,
			Tables: []Table{
				{Name: "profile_order_items", Key: []string{"id"}},
				childTable("profile_order_item_includes", "includes", "profile_order_item_id", ""),
			},
			ForeignParts: []ForeignPart{{At: "outlet", Table: "outlets"}},
		},
		{
			Name: "profile_campaigns", Path: "/profiles/{id}/campaigns", Spec: "2.5 Campaign, 4.2, 5",
			Scopes: []string{"campaigns.lists"}, Envelope: Sniffed, IDColumns: profileIDColumns(), Param: "profile_id",
			Rule: WhileLive, LiveWith: LiveWithProfile,
			Tables:       []Table{{Name: "profile_campaigns", Key: []string{"profile_id", "campaign_id"}, ID: "campaign_id", Link: true}},
			ForeignParts: append(campaignForeignParts(), ForeignPart{Table: "campaigns"}, ForeignPart{At: "questionnaire", Table: "questionnaires"}),
		},
	}
}

func profileIDColumns() []IDColumn { return []IDColumn{{Table: "profiles", Column: "id"}} }

func offerDetails() []Stream {
	return []Stream{
		{
			Name: "outlets", Path: "/outlets/{outlet_id}", Spec: "2.2 Outlet, 4.2, 5",
			Scopes: []string{"outlets.read"}, Envelope: Object, Param: "id", Rule: ByRow,
			IDColumns: outletIDColumns(),
			Tables: []Table{
				{Name: "outlets", Key: []string{"id"}},
				childTable("outlet_tags", "tags", "outlet_id", "name"),
				{Name: "outlet_channels", At: "outlet_channels", Key: []string{"id"}, Parents: []string{"outlet_id"}},
				childTable("outlet_channel_social_links", "outlet_channels.social_links", "outlet_channel_id", "url"),
			},
			ForeignParts: []ForeignPart{{At: "outlet_channels.disclaimer", Table: "disclaimers"}},
		},
		// The spec does not show the records of this endpoint. They name a product by
		// product_id or by id.
		{
			Name: "outlet_products", Path: "/outlets/{id}/products", Spec: "4.2, 5",
			Scopes: []string{"outlets.read"}, Envelope: Sniffed, Param: "outlet_id", Rule: ByRow,
			IDColumns: outletIDColumns(),
			Tables:    []Table{{Name: "outlet_products", Key: []string{"outlet_id", "product_id"}, ID: "product_id"}},
			ForeignParts: []ForeignPart{
				{At: "prices", Table: "product_prices"}, {At: "example_links", Table: "product_example_links"}, {At: "outlet", Table: "outlets"},
			},
		},
		// Every product id that a record names is requested. The table products therefore also
		// contains withdrawn products of earlier orders.
		{
			Name: "products", Path: "/products/{product_id}", Spec: "2.3 Product, 4.2, 5",
			Scopes: []string{"products.read"}, Envelope: Object, Param: "id", Rule: ByRow,
			IDColumns: []IDColumn{
				{Table: "product_listings", Column: "id", ShowsChanges: true}, {Table: "outlet_listings", Column: "id", ShowsChanges: true},
				{Table: "order_items", Column: "product_id"}, {Table: "order_line_items", Column: "product_id"},
				{Table: "articles", Column: "product_id"},
			},
			Tables: []Table{
				{Name: "products", Key: []string{"id"}},
				childTable("product_prices", "prices", "product_id", "unit_amount"),
				childTable("product_example_links", "example_links", "product_id", "url"),
			},
		},
	}
}

// A changed listing can show a change of its outlet, because it contains fields of the outlet. A changed price cannot:
// outlets and outlet_products have no prices. An order item contains only the id and the name of its outlet. If a
// listing names no outlet, the outlet is looked up in outlet_products by the id of the listing, which is also the id of
// its product.
func outletIDColumns() []IDColumn {
	return []IDColumn{
		{
			Table: "outlet_listings", Column: "outlet_id", ShowsChanges: true, Unrelated: []string{"outlet_listing_prices"},
			Lookup: "outlet_products", LookupKey: "product_id",
		},
		{
			Table: "product_listings", Column: "outlet_id", ShowsChanges: true, Unrelated: []string{"product_listing_prices"},
			Lookup: "outlet_products", LookupKey: "product_id",
		},
		{Table: "order_items", Column: "outlet_id"},
	}
}
