package stream

// The streams beyond the core, in the order of spec section 4.2.

func token() Stream {
	return Stream{
		Name: "token", Path: "/auth/token", Spec: "2.1, 4.2, 5", Envelope: Object,
		OneOf:  []string{"token_type", "scopes"},
		Tables: []Table{{Name: "token", Key: []string{"team_id"}}},
	}
}

// outletProducts has a record type that the spec does not show. It names a
// product, by product_id or by id.
func outletProducts() Stream {
	return Stream{
		Name: "outlet_products", Path: "/outlets/{id}/products", Spec: "4.2, 5",
		Scopes: []string{"outlets.read"}, Envelope: Sniffed, Param: "outlet_id", Rule: ByRow,
		Parents: outletRefs(),
		Tables:  []Table{{Name: "outlet_products", Key: []string{"outlet_id", "product_id"}, ID: "product_id"}},
	}
}

// locations are three endpoints of one kind of answer, told apart by kind.
func locations(kind, list string) Stream {
	return Stream{
		Name: list, Path: "/outlets/locations/" + list, Spec: "4.2, 5",
		Scopes: []string{"outlets.read"}, Envelope: Records, List: list,
		Tables: []Table{{Name: "locations", Key: []string{"kind", "name"}, Value: "name", Const: map[string]string{"kind": kind}}},
	}
}

func tags() Stream {
	return Stream{
		Name: "tags", Path: "/tags", Spec: "2.2 Tag, 4.2, 5", Scopes: []string{"tags.lists"}, Envelope: Sniffed,
		Tables: []Table{{Name: "tags", Key: []string{"name"}, Value: "name"}},
	}
}

func disclaimers() Stream {
	return Stream{
		Name: "disclaimers", Path: "/outlet-disclaimers", Spec: "2.2 DisclaimerRecord, 4.2, 5",
		Scopes: []string{"outlet_disclaimers.lists"}, Envelope: Sniffed,
		Tables: []Table{{Name: "disclaimers", Key: []string{"id"}}},
	}
}

// products are asked for by every id that a record names, so that a withdrawn
// product that was once sold is still described.
func products() Stream {
	return Stream{
		Name: "products", Path: "/products/{product_id}", Spec: "2.3 Product, 4.2, 5",
		Scopes: []string{"products.read"}, Envelope: Object, Param: "id", Rule: ByRow,
		Parents: []Ref{
			{Table: "product_listings", Column: "id", Vouches: true}, {Table: "outlet_listings", Column: "id", Vouches: true},
			{Table: "order_items", Column: "product_id"}, {Table: "order_line_items", Column: "product_id"},
			{Table: "articles", Column: "product_id"},
		},
		Tables: []Table{
			{Name: "products", Key: []string{"id"}},
			child("product_prices", "prices", "product_id", "unit_amount"),
			child("product_example_links", "example_links", "product_id", "url"),
		},
	}
}

func productCategories() Stream {
	return Stream{
		Name: "product_categories", Path: "/products/categories", Spec: "2.3 ProductCategoryCount, 4.2, 5",
		Scopes: []string{"products.read"}, Envelope: Array,
		Tables: []Table{{Name: "product_categories", Key: []string{"type"}}},
	}
}

func profiles() Stream {
	return Stream{
		Name: "profiles", Path: "/teams/{team_id}/profiles", Spec: "2.5 Profile, 4.2, 5",
		Scopes: []string{"profiles.lists"}, Envelope: Sniffed,
		Tables: []Table{
			{Name: "profiles", Key: []string{"id"}},
			child("profile_primary_goals", "primary_goals", "profile_id", "name"),
		},
	}
}

func profileOrders() Stream {
	return Stream{
		Name: "profile_orders", Path: "/profiles/{id}/orders", Spec: "2.4 Order, 4.2, 5",
		Scopes: []string{"orders.lists"}, Envelope: Sniffed, Parents: profileRefs(), Param: "profile_id",
		Rule: WhileLive, Life: AsProfile,
		Tables: []Table{{Name: "profile_orders", Key: []string{"profile_id", "order_id"}, ID: "order_id", Link: true}},
	}
}

func profileOrderItems() Stream {
	return Stream{
		Name: "profile_order_items", Path: "/profiles/{id}/order-items", Spec: "2.4 ProfileOrderItem, 4.2, 5",
		Scopes: []string{"orders.lists"}, Envelope: Array, Parents: profileRefs(), Param: "profile_id",
		Rule: WhileLive, Life: AsProfile,
		Tables: []Table{
			{Name: "profile_order_items", Key: []string{"id"}},
			child("profile_order_item_includes", "includes", "profile_order_item_id", ""),
		},
	}
}

func profileCampaigns() Stream {
	return Stream{
		Name: "profile_campaigns", Path: "/profiles/{id}/campaigns", Spec: "2.5 Campaign, 4.2, 5",
		Scopes: []string{"campaigns.lists"}, Envelope: Sniffed, Parents: profileRefs(), Param: "profile_id",
		Rule: WhileLive, Life: AsProfile,
		Tables: []Table{{Name: "profile_campaigns", Key: []string{"profile_id", "campaign_id"}, ID: "campaign_id", Link: true}},
	}
}

func profileRefs() []Ref { return []Ref{{Table: "profiles", Column: "id"}} }

func campaignDetails() Stream {
	return Stream{
		Name: "campaign_details", Path: "/campaigns/{id}", Spec: "2.5 Campaign, Questionnaire, 4.2, 5",
		Scopes: []string{"campaigns.read"}, Envelope: Object,
		Parents: []Ref{{Table: "campaigns", Column: "id", Vouches: true}}, Param: "id", Rule: ByRow, Life: AsCampaign,
		Over: "campaigns", Tables: campaignTables(),
	}
}

func statusCounts() Stream {
	return Stream{
		Name: "campaign_status_counts", Path: "/campaigns/{id}/articles/status-count", Spec: "2.6 ArticleStatusCount, 4.2, 5",
		Scopes: []string{"campaigns.read"}, Envelope: Raw,
		Parents: []Ref{{Table: "campaigns", Column: "id"}}, Param: "campaign_id", Rule: WhileLive, Life: AsCampaign,
		Witness: Ref{Table: "campaign_articles", Column: "campaign_id"},
		Tables:  []Table{{Name: "campaign_status_counts", Key: []string{"campaign_id", "id"}}},
	}
}

// articleComments nest one level deep (spec 2.6): replies are rows of the same
// table that name their comment.
func articleComments() Stream {
	return Stream{
		Name: "article_comments", Path: "/articles/{id}/comments", Spec: "2.6 Comment, 4.2, 5",
		Scopes: []string{"articles.read", "articles.lists"}, Envelope: Records,
		Parents: []Ref{{Table: "articles", Column: "id"}}, Param: "article_id", Rule: WhileLive, Life: AsArticle,
		Tables: []Table{
			{Name: "article_comments", Key: []string{"article_id", "id"}},
			{Name: "article_comments", At: "replies", Key: []string{"article_id", "id"}, Parents: []string{"article_id", "parent_comment_id"}},
		},
	}
}

// files are whole in their list: GET /files/{id} and its download say nothing
// about a file that its row does not.
func files() Stream {
	return Stream{
		Name: "files", Path: "/files", Spec: "2.8 File, 4.2, 5", Scopes: []string{"files.lists"}, Envelope: Sniffed,
		Tables: []Table{{Name: "files", Key: []string{"id"}}},
	}
}

func folders() Stream {
	return Stream{
		Name: "folders", Path: "/folders", Spec: "2.8 Folder, 4.2, 5", Scopes: []string{"folders.lists"}, Envelope: Sniffed,
		Tables: []Table{{Name: "folders", Key: []string{"id"}}},
	}
}
