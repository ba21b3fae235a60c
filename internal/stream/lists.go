package stream

import "slices"

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
			Tables: []Table{{Name: "token", Key: []string{"team_id"}, NoText: []string{"scopes"}}},
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
		{Name: "orders", Key: []string{"id"}, NoText: []string{"metadata"}},
		childTable("order_line_items", "line_items", "order_id", ""),
		{Name: "order_line_item_includes", At: "line_items.includes",
			Key: []string{"order_id", "line_position", "position"}, Parents: []string{"order_id", "line_position"}},
	}
}

// The key of a questionnaire without an id (spec 2.5) is the questionnaire_id of its campaign, or else the
// campaign's id.
func campaignTables() []Table {
	return []Table{
		{Name: "campaigns", Key: []string{"id"}, NoText: []string{"articles"}},
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
