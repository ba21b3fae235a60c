package stream

// The streams that are read as one list, or as one object (spec 4.2).

func tokenInfo() Stream {
	return Stream{
		Name: "token", Path: "/auth/token", Spec: "2.1, 4.2, 5", Envelope: Object,
		OneOf:  []string{"token_type", "scopes"},
		Tables: []Table{{Name: "token", Key: []string{"team_id"}}},
	}
}

func outletListings() Stream {
	return Stream{
		Name: "outlet_listings", Path: "/outlets", Spec: "2.2 OutletListing, 4.2, 5",
		Scopes: []string{"outlets.lists"}, Envelope: Paginated,
		Tables: []Table{
			{Name: "outlet_listings", Key: []string{"id"}},
			childTable("outlet_listing_channels", "channels", "outlet_listing_id", ""),
			childTable("outlet_listing_prices", "prices", "outlet_listing_id", "unit_amount"),
			childTable("outlet_listing_tags", "tags", "outlet_listing_id", "name"),
		},
		Shows: listingShows(),
	}
}

func productListings() Stream {
	return Stream{
		Name: "product_listings", Path: "/products/listings", Spec: "2.3 ProductListing, 4.2, 5",
		Scopes: []string{"products.read"}, Envelope: Paginated,
		Tables: []Table{
			{Name: "product_listings", Key: []string{"id"}},
			childTable("product_listing_prices", "prices", "product_listing_id", "unit_amount"),
			childTable("product_listing_includes", "includes", "product_listing_id", ""),
			childTable("product_listing_tags", "tags", "product_listing_id", "name"),
			childTable("product_listing_example_links", "example_links", "product_listing_id", "url"),
		},
		Shows: listingShows(),
	}
}

func orderList() Stream {
	return Stream{
		Name: "orders", Path: "/orders", Spec: "2.4 Order, LineItem, 4.2, 5",
		Scopes: []string{"orders.lists"}, Envelope: Paginated, Tables: orderTables(),
		Shows: orderShows(),
	}
}

// orderTables serves the list and the detail. A line item has no id before it
// is paid (spec 2.4), so its position in the order identifies it.
func orderTables() []Table {
	return []Table{
		{Name: "orders", Key: []string{"id"}},
		childTable("order_line_items", "line_items", "order_id", ""),
		{Name: "order_line_item_includes", At: "line_items.includes",
			Key: []string{"order_id", "line_position", "position"}, Parents: []string{"order_id", "line_position"}},
	}
}

func orderItems() Stream {
	return Stream{
		Name: "order_items", Path: "/order-items", Spec: "2.4 OrderItem, 4.2, 5",
		Scopes: []string{"orders.lists"}, Envelope: Sniffed,
		Tables: []Table{{Name: "order_items", Key: []string{"id"}}},
		Shows:  []Shown{{At: "outlet", Table: "outlets"}, {At: "article", Table: "articles"}, {At: "article.campaign", Table: "campaigns"}},
	}
}

func campaignList() Stream {
	return Stream{
		Name: "campaigns", Path: "/campaigns", Spec: "2.5 Campaign, Questionnaire, 4.2, 5",
		Scopes: []string{"campaigns.lists"}, Envelope: Sniffed,
		Tables: campaignTables(),
		Shows:  campaignShows(),
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

// locationList are three endpoints of one kind of answer, told apart by kind.
func locationList(kind, list string) Stream {
	return Stream{
		Name: list, Path: "/outlets/locations/" + list, Spec: "4.2, 5",
		Scopes: []string{"outlets.read"}, Envelope: Records, List: list,
		Tables: []Table{{Name: "locations", Key: []string{"kind", "name"}, Value: "name", Const: map[string]string{"kind": kind}}},
	}
}

func tagList() Stream {
	return Stream{
		Name: "tags", Path: "/tags", Spec: "2.2 Tag, 4.2, 5", Scopes: []string{"tags.lists"}, Envelope: Sniffed,
		Tables: []Table{{Name: "tags", Key: []string{"name"}, Value: "name"}},
	}
}

func disclaimerList() Stream {
	return Stream{
		Name: "disclaimers", Path: "/outlet-disclaimers", Spec: "2.2 DisclaimerRecord, 4.2, 5",
		Scopes: []string{"outlet_disclaimers.lists"}, Envelope: Sniffed,
		Tables: []Table{{Name: "disclaimers", Key: []string{"id"}}},
	}
}

func productCategories() Stream {
	return Stream{
		Name: "product_categories", Path: "/products/categories", Spec: "2.3 ProductCategoryCount, 4.2, 5",
		Scopes: []string{"products.read"}, Envelope: Array,
		Tables: []Table{{Name: "product_categories", Key: []string{"type"}}},
	}
}

func profileList() Stream {
	return Stream{
		Name: "profiles", Path: "/teams/{team_id}/profiles", Spec: "2.5 Profile, 4.2, 5",
		Scopes: []string{"profiles.lists"}, Envelope: Sniffed,
		Tables: []Table{
			{Name: "profiles", Key: []string{"id"}},
			childTable("profile_primary_goals", "primary_goals", "profile_id", "name"),
		},
	}
}

// fileList are whole in their list: GET /files/{id} and its download say nothing
// about a file that its row does not.
func fileList() Stream {
	return Stream{
		Name: "files", Path: "/files", Spec: "2.8 File, 4.2, 5", Scopes: []string{"files.lists"}, Envelope: Sniffed,
		Tables: []Table{{Name: "files", Key: []string{"id"}}},
	}
}

func folderList() Stream {
	return Stream{
		Name: "folders", Path: "/folders", Spec: "2.8 Folder, 4.2, 5", Scopes: []string{"folders.lists"}, Envelope: Sniffed,
		Tables: []Table{{Name: "folders", Key: []string{"id"}}},
	}
}
