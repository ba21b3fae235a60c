package stream

import (
	"slices"
)

// All returns all lists and details. Each list is before the details that its records name.
// Details are in the order of importance: current work, purchases, offers. If a night runs
// out of time, the last details are not read.
func All() []Stream {
	return slices.Concat(mainLists(), referenceLists(), campaignDetails(), orderDetails(), offerDetails())
}

// AllWithEvents returns all sources of records: lists, events and details.
func AllWithEvents() []Stream {
	return slices.Concat(mainLists(), referenceLists(), Events(), campaignDetails(), orderDetails(), offerDetails())
}

// Names returns the names of streams.
func Names(all []Stream) []string {
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name
	}
	return names
}

// Events returns the streams whose records are webhook events (spec 6). Their rows are never removed.
func Events() []Stream {
	return []Stream{
		{
			Name: "article_status_events", Topics: []string{"article.status_changed"}, Spec: "6.1, 6.3", Envelope: Object,
			SameKindAs: "articles",
			Tables:     []Table{{Name: "article_status_events", Key: []string{"event_id"}}},
		},
		// In an event, unlike at the endpoint, the content of a comment is rich text, and the
		// comment does not name its article.
		{
			Name: "article_comment_events", Topics: []string{"comment.created", "comment.updated", "comment.archived"},
			Spec: "6.1, 6.3", Envelope: Object, SameKindAs: "article_comments",
			Tables: []Table{{Name: "article_comment_events", Key: []string{"event_id"}, ID: "comment_id"}},
		},
	}
}

// childTable returns the table of a list or object inside a record. Its key is the parent column
// and the position of the item, counted from 1. value is the column for items that are not objects.
func childTable(name, at, parent, value string) Table {
	return Table{Name: name, At: at, Key: []string{parent, "position"}, Parents: []string{parent}, Value: value}
}

// These streams are read as one list or one object (spec 4.2).

func mainLists() []Stream {
	return []Stream{
		{
			Name: "token", Path: "/auth/token", Spec: "2.1, 4.2, 5", Envelope: Object,
			RequireOne: []string{"token_type", "scopes"}, TeamColumn: "team_id",
			Tables: []Table{{Name: "token", Key: []string{"team_id"}, UnwrapText: []string{"scopes"}}},
		},
		{
			Name: "outlet_listings", Path: "/outlets", Spec: "2.2 OutletListing, 4.2, 5",
			Scopes: []string{"outlets.lists"}, Envelope: Paginated, Sorts: true,
			Tables: []Table{
				{Name: "outlet_listings", Key: []string{"id"}},
				childTable("outlet_listing_channels", "channels", "outlet_listing_id", ""),
				childTable("outlet_listing_prices", "prices", "outlet_listing_id", "unit_amount"),
				childTable("outlet_listing_tags", "tags", "outlet_listing_id", "name"),
			},
			ForeignParts: listingForeignParts(),
		},
		{
			Name: "product_listings", Path: "/products/listings", Spec: "2.3 ProductListing, 4.2, 5",
			Scopes: []string{"products.read"}, Envelope: Paginated, Sorts: true,
			Tables: []Table{
				{Name: "product_listings", Key: []string{"id"}},
				childTable("product_listing_prices", "prices", "product_listing_id", "unit_amount"),
				childTable("product_listing_includes", "includes", "product_listing_id", ""),
				childTable("product_listing_tags", "tags", "product_listing_id", "name"),
				childTable("product_listing_example_links", "example_links", "product_listing_id", "url"),
			},
			ForeignParts: listingForeignParts(),
		},
		{
			Name: "orders", Path: "/orders", Spec: "2.4 Order, LineItem, 4.2, 5",
			Scopes: []string{"orders.lists"}, Envelope: Paginated, Sorts: true, Tables: orderTables(),
			ForeignParts: orderForeignParts(),
		},
		{
			Name: "order_items", Path: "/order-items", Spec: "2.4 OrderItem, 4.2, 5",
			Scopes: []string{"orders.lists"}, Envelope: Sniffed, Sorts: true,
			Tables:       []Table{{Name: "order_items", Key: []string{"id"}}},
			ForeignParts: []ForeignPart{{At: "outlet", Table: "outlets"}, {At: "article", Table: "articles"}, {At: "article.campaign", Table: "campaigns"}},
		},
		{
			Name: "campaigns", Path: "/campaigns", Spec: "2.5 Campaign, Questionnaire, 4.2, 5",
			Scopes: []string{"campaigns.lists"}, Envelope: Sniffed, Sorts: true,
			Tables:       campaignTables(),
			ForeignParts: campaignForeignParts(),
		},
	}
}

func referenceLists() []Stream {
	return []Stream{
		locationList("country", "countries"), locationList("state", "states"), locationList("city", "cities"),
		{
			Name: "tags", Path: "/tags", Spec: "2.2 Tag, 4.2, 5", Scopes: []string{"tags.lists"}, Envelope: Sniffed,
			Tables: []Table{{Name: "tags", Key: []string{"name"}, Value: "name"}},
		},
		{
			Name: "disclaimers", Path: "/outlet-disclaimers", Spec: "2.2 DisclaimerRecord, 4.2, 5",
			Scopes: []string{"outlet_disclaimers.lists"}, Envelope: Sniffed,
			Tables: []Table{{Name: "disclaimers", Key: []string{"id"}}},
		},
		{
			Name: "product_categories", Path: "/products/categories", Spec: "2.3 ProductCategoryCount, 4.2, 5",
			Scopes: []string{"products.read"}, Envelope: Array,
			Tables: []Table{{Name: "product_categories", Key: []string{"type"}}},
		},
		{
			Name: "profiles", Path: "/teams/{team_id}/profiles", Spec: "2.5 Profile, 4.2, 5",
			Scopes: []string{"profiles.lists"}, Envelope: Sniffed,
			Tables: []Table{
				{Name: "profiles", Key: []string{"id"}},
				childTable("profile_primary_goals", "primary_goals", "profile_id", "name"),
			},
		},
		// GET /files/{id} and its download add no fields, so files have no details.
		{
			Name: "files", Path: "/files", Spec: "2.8 File, 4.2, 5", Scopes: []string{"files.lists"}, Envelope: Sniffed,
			Tables: []Table{{Name: "files", Key: []string{"id"}}},
		},
		{
			Name: "folders", Path: "/folders", Spec: "2.8 Folder, 4.2, 5", Scopes: []string{"folders.lists"}, Envelope: Sniffed,
			Tables: []Table{{Name: "folders", Key: []string{"id"}}},
		},
	}
}

// A line item has no id before it is paid (spec 2.4), so its position in the order identifies it.
func orderTables() []Table {
	return []Table{
		{Name: "orders", Key: []string{"id"}, UnwrapText: []string{"metadata"}},
		childTable("order_line_items", "line_items", "order_id", ""),
		{Name: "order_line_item_includes", At: "line_items.includes",
			Key: []string{"order_id", "line_position", "position"}, Parents: []string{"order_id", "line_position"}},
	}
}

// The key of a questionnaire without an id (spec 2.5) is the questionnaire_id of its campaign, or else the
// campaign's id.
func campaignTables() []Table {
	return []Table{
		{Name: "campaigns", Key: []string{"id"}, UnwrapText: []string{"articles"}},
		{Name: "questionnaires", At: "questionnaire", Key: []string{"id"}, Parents: []string{"campaign_id"}, KeyFrom: []string{"questionnaire_id", "id"}},
	}
}

// The three endpoints of locations fill the same table; the column kind distinguishes their rows.
func locationList(kind, list string) Stream {
	return Stream{
		Name: list, Path: "/outlets/locations/" + list, Spec: "4.2, 5",
		Scopes: []string{"outlets.read"}, Envelope: Records, List: list,
		Tables: []Table{{Name: "locations", Key: []string{"kind", "name"}, Value: "name", Const: map[string]string{"kind": kind}}},
	}
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
