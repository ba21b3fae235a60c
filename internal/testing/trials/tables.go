package trials

// TableSpec specifies which rows a table must have for given responses of the service. The specifications are written
// by hand from docs/service.md. They share no code with the streams and the decoder that they check.
//
// Each row comes from an item: a record, or an object or a value inside a record. A column is specified as "name" or
// as "name=source|source". Its value is the first non-empty source. Without a source, the value is the field of the
// same name; "writer.id" is short for "writer_id=writer.id". A source is a dotted path in the item, or
//
//	/path    a field of the record that contains the item
//	^path    a field of the object that contains the list of the item
//	#1 #2    the position in the outer or inner list, beginning with 1
//	?        the path parameter of the request
//	'text'   a constant
type TableSpec struct {
	Table, Key string
	// path is the endpoint, as in docs/service.md. detail is the endpoint of single records, whose values
	// take precedence over the values from path. query is the query of a request for a detail.
	path, detail, query string
	// IDs are the columns whose values are the path parameters, as table.column. "team" means the id of the team.
	IDs string
	// list is the member that contains the records, in a response that is an object. "." means that
	// the object is the record. "*" means all objects with a count and a prefix, at any depth.
	list string
	// At is the dotted path from the record to the items. Empty means that the record is the item.
	At string
	// bare is the column with the value of items that are not objects.
	bare string
	// The columns, grouped by the type of their values and separated by spaces.
	Text, integer, flag, money, instant, json string
	// rawText is a column with the JSON that the service sent for a field, also of null.
	rawText string
	// replies is a list in an item. Its items are rows of the same table.
	replies string
	// keyOnly means that the table has no columns but its key. Another table contains the other fields of the record.
	keyOnly bool
	// MayLack are columns that the table may lack, because an earlier release wrote it.
	MayLack []string
}

const (
	priceText   = "currency pricing_tier"
	includeText = "channel_type placement_type"
	FileText    = "id name file_key file_url mime_type team_id folder_id uploaded_by"
	Timestamps  = "created_at updated_at deleted_at"
	productText = "name description requirements image logo example_screenshot type_id"
)

// tables returns the specifications of all tables. A table whose IDs name columns of another table
// comes after that table.
func tables() []TableSpec {
	var all []TableSpec
	for _, group := range [][]TableSpec{listingTables(), orderTables(), campaignTables(), outletTables(), productTables(),
		profileTables(), smallTables()} {
		all = append(all, group...)
	}
	return all
}

func listingTables() []TableSpec {
	const outlets, products = "/outlets", "/products/listings"
	return []TableSpec{
		{
			Table: "outlet_listings", Key: "id", path: outlets,
			Text:    "id outlet_id name description requirements outlet_name website_url logo city state country",
			integer: "min_delivery_days max_delivery_days", flag: "is_featured", instant: "created_at",
		},
		{
			Table: "outlet_listing_channels", Key: "outlet_listing_id position", path: outlets, At: "channels",
			Text:    "outlet_listing_id=/id channel_type placement_type disclaimer_name disclaimer_description",
			integer: "position=#1 domain_authority domain_ranking", flag: "is_do_follow",
		},
		{
			Table: "outlet_listing_prices", Key: "outlet_listing_id position", path: outlets, At: "prices", bare: "unit_amount",
			Text: "outlet_listing_id=/id " + priceText, integer: "position=#1", money: "unit_amount",
		},
		{
			Table: "outlet_listing_tags", Key: "outlet_listing_id position", path: outlets, At: "tags", bare: "name",
			Text: "outlet_listing_id=/id name", integer: "position=#1",
		},
		{
			Table: "product_listings", Key: "id", path: products,
			Text: "id name description requirements outlet_id outlet_name website_url logo country state city channel_id " +
				"channel_type placement_type disclaimer disclaimer.id disclaimer.description",
			integer: "min_delivery_days max_delivery_days domain_authority domain_ranking",
			flag:    "is_featured is_indexed is_do_follow", instant: "created_at",
		},
		{
			Table: "product_listing_prices", Key: "product_listing_id position", path: products, At: "prices", bare: "unit_amount",
			Text: "product_listing_id=/id " + priceText, integer: "position=#1", money: "unit_amount",
		},
		{
			Table: "product_listing_includes", Key: "product_listing_id position", path: products, At: "includes",
			Text: "product_listing_id=/id " + includeText, integer: "position=#1",
		},
		{
			Table: "product_listing_tags", Key: "product_listing_id position", path: products, At: "tags", bare: "name",
			Text: "product_listing_id=/id name", integer: "position=#1",
		},
		{
			Table: "product_listing_example_links", Key: "product_listing_id position", path: products, At: "example_links", bare: "url",
			Text: "product_listing_id=/id url", integer: "position=#1",
		},
	}
}

func orderTables() []TableSpec {
	const list, detail, query, ids = "/orders", "/orders/{order_id}", "?include_outlets_data=true", "orders.id order_items.order_id"
	return []TableSpec{
		{
			Table: "order_items", Key: "id", path: "/order-items",
			Text: "id referrer_id referrer_team_id product_id commission_status refund_method refund_reference vendor_invoice_id " +
				"vendor_invoice_url order_id client_id product_name product_type article_id=article_id|article.id article.name " +
				"article.campaign.id article.campaign.name article.campaign.profile_id article.writer.id " +
				"article.writer.first_name article.writer.last_name client.first_name client.last_name outlet.id outlet.name " +
				"outlet.logo outlet.website_url",
			flag:  "is_accounting_completed is_publisher_paid is_reseller_paid refund_required is_refunded",
			money: "commission_amount vendor_cost sale_price product_price internal_cost reseller_price",
			instant: "commission_date_paid refund_date vendor_invoice_date vendor_paid_date accounting_completion_date " +
				"publisher_paid_date reseller_paid_date date_paid " + Timestamps,
		},
		{
			Table: "orders", Key: "id", path: list, detail: detail, query: query, IDs: ids,
			Text: "id profile_id client_id checkout_by_id team_id coupon client_secret status reference_number " +
				"external_reference_number customer_invoice_id customer_invoice_source customer_invoice_url guest_email " +
				"account_owner_email guest_payment_customer_id team.name team.contact_email name email checkout_link",
			flag: "is_guest_order", money: "total subtotal processing_fee discount credits_applied", json: "metadata",
			instant: "date_paid customer_invoice_date " + Timestamps,
		},
		{
			Table: "order_line_items", Key: "order_id position", path: list, detail: detail, query: query, IDs: ids, At: "line_items",
			Text: "order_id=order_id|/id id product_id linked_order_line_item_id name product_type_name type_id " +
				"product_type_prefix outlet.id outlet.name outlet.logo outlet.website_url",
			integer: "position=#1 quantity", flag: "is_add_on", money: "price", instant: Timestamps,
		},
		{
			Table: "order_line_item_includes", Key: "order_id line_position position", path: list, detail: detail, query: query,
			IDs: ids, At: "line_items.includes",
			Text: "order_id=/id " + includeText, integer: "line_position=#1 position=#2",
		},
	}
}

func campaignTables() []TableSpec {
	const list, articles, campaigns = "/campaigns", "/campaigns/{id}/articles", "campaigns.id"
	return []TableSpec{
		{
			Table: "campaigns", Key: "id", path: list, detail: "/campaigns/{id}", IDs: campaigns,
			Text: "id name description reference profile_id=profile_id|profile.id v1_campaign_id status goals questionnaire_id " +
				"keywords objectives target_audience tone writing_samples file_id profile.name profile.logo",
			integer: "total_articles", money: "budget", instant: "target_date " + Timestamps, json: "articles",
		},
		{
			Table: "questionnaires", Key: "id", path: list, detail: "/campaigns/{id}", IDs: campaigns, At: "questionnaire",
			Text:    "id campaign_id=campaign_id|/id objectives keywords target_audience tone writing_samples file_id file_name file_url",
			instant: Timestamps, integer: "file_size",
		},
		{
			Table: "campaign_articles", Key: "id", path: articles, IDs: campaigns,
			Text: "id name live_url brief_doc_url draft_doc_url campaign_id=campaign_id|? order_item_id writer.id writer.first_name " +
				"writer.last_name order_item.name order_item.outlet.id order_item.outlet.name order_item.outlet.logo " +
				"order_item.outlet.website_url expected_completion_date_title",
			integer: "total_images", instant: Timestamps + " expected_completion_date",
		},
		{
			Table: "article_statuses", Key: "article_id position", path: articles, IDs: campaigns, At: "status", bare: "name",
			Text: "article_id=/id notes name prefix color", integer: "position=#1", instant: "effective_at",
		},
		{
			Table: "campaign_article_addons", Key: "article_id position", path: articles, IDs: campaigns, At: "order_item.addons", bare: "name",
			Text: "article_id=/id id name", integer: "position=#1",
		},
		{
			Table: "campaign_article_includes", Key: "article_id position", path: articles, IDs: campaigns, At: "order_item.includes",
			Text: "article_id=/id " + includeText, integer: "position=#1",
		},
		{
			Table: "articles", Key: "id", path: "/articles/{id}", IDs: "campaign_articles.id order_items.article_id",
			Text: "id name brief_doc_url draft_doc_url live_url campaign_id product_id profile_id writer.id writer.first_name " +
				"writer.last_name support_agent support_agent.id support_agent.first_name support_agent.last_name status.name " +
				"status.prefix status.color expected_completion_date_title",
			instant: "updated_at expected_completion_date",
		},
		{
			Table: "article_files", Key: "article_id position", path: "/articles/{id}", At: "files", bare: "value",
			IDs:  "campaign_articles.id order_items.article_id",
			Text: "article_id=/id value " + FileText, integer: "position=#1 size", instant: Timestamps,
		},
		{
			Table: "campaign_status_counts", Key: "campaign_id id", path: "/campaigns/{id}/articles/status-count", IDs: campaigns,
			list: "*", Text: "campaign_id=? id name prefix", integer: "count",
		},
		{
			Table: "article_comments", Key: "article_id id", path: "/articles/{id}/comments", replies: "replies",
			IDs:  "campaign_articles.id order_items.article_id",
			Text: "article_id=? id content author.name author.email parent_comment_id=parent_comment_id|^id", instant: "created_at updated_at",
		},
	}
}

func outletTables() []TableSpec {
	const path, ids = "/outlets/{outlet_id}", "outlet_listings.outlet_id product_listings.outlet_id order_items.outlet_id"
	return []TableSpec{
		{
			Table: "outlets", Key: "id", path: path, IDs: ids, flag: "is_indexed", instant: "created_at updated_at",
			Text: "id name description website_url logo country state city",
		},
		{
			Table: "outlet_tags", Key: "outlet_id position", path: path, IDs: ids, At: "tags", bare: "name",
			Text: "outlet_id=/id name", integer: "position=#1",
		},
		{
			Table: "outlet_channels", Key: "id", path: path, IDs: ids, At: "outlet_channels",
			Text: "id outlet_id=outlet_id|/id channel_type placement_type channel_handle channel_url disclaimer_name " +
				"disclaimer_description",
			integer: "domain_authority domain_ranking", flag: "is_do_follow", rawText: "do_follow_links_raw=do_follow_links_allowed",
		},
		{
			Table: "outlet_channel_social_links", Key: "outlet_channel_id position", path: path, IDs: ids,
			At: "outlet_channels.social_links", bare: "url", Text: "outlet_channel_id=^id url", integer: "position=#2",
		},
		{
			Table: "outlet_products", Key: "outlet_id product_id", path: "/outlets/{id}/products", IDs: "outlets.id",
			Text: "outlet_id=? product_id=id " + productText, integer: "min_delivery_days max_delivery_days",
			flag: "is_featured active", instant: Timestamps,
		},
	}
}

func productTables() []TableSpec {
	const path, ids = "/products/{product_id}", "outlet_listings.id product_listings.id order_items.product_id " +
		"order_line_items.product_id articles.product_id"
	return []TableSpec{
		{
			Table: "products", Key: "id", path: path, IDs: ids, Text: "id " + productText,
			integer: "min_delivery_days max_delivery_days", flag: "is_featured active", instant: Timestamps,
		},
		{
			Table: "product_prices", Key: "product_id position", path: path, IDs: ids, At: "prices", bare: "unit_amount",
			Text: "product_id=/id " + priceText, integer: "position=#1", money: "unit_amount",
		},
		{
			Table: "product_example_links", Key: "product_id position", path: path, IDs: ids, At: "example_links", bare: "url",
			Text: "product_id=/id url", integer: "position=#1",
		},
		{Table: "product_categories", Key: "type", path: "/products/categories", Text: "type", integer: "count"},
	}
}

func profileTables() []TableSpec {
	const profiles = "/teams/{team_id}/profiles"
	return []TableSpec{
		{
			Table: "profiles", Key: "id", path: profiles, IDs: "team",
			Text: "id name legal_company_name type logo location overview products_and_services drive_link writing_samples " +
				"website_url team_id brand_tone_and_voice_id",
			instant: "last_generated_at " + Timestamps,
		},
		{
			Table: "profile_primary_goals", Key: "profile_id position", path: profiles, IDs: "team", At: "primary_goals", bare: "name",
			Text: "profile_id=/id name", integer: "position=#1",
		},
		{
			Table: "profile_orders", Key: "profile_id order_id", path: "/profiles/{id}/orders", IDs: "profiles.id", keyOnly: true,
			Text: "profile_id=? order_id=id",
		},
		{
			Table: "profile_campaigns", Key: "profile_id campaign_id", path: "/profiles/{id}/campaigns", IDs: "profiles.id", keyOnly: true,
			Text: "profile_id=? campaign_id=id",
		},
		{
			Table: "profile_order_items", Key: "id", path: "/profiles/{id}/order-items", IDs: "profiles.id",
			Text: "id name description profile_id=profile_id|? type campaign_id product_id outlet.id outlet.name outlet.logo " +
				"outlet.website_url",
			integer: "min_delivery_days max_delivery_days", flag: "is_add_on",
		},
		{
			Table: "profile_order_item_includes", Key: "profile_order_item_id position", path: "/profiles/{id}/order-items",
			IDs: "profiles.id", At: "includes", Text: "profile_order_item_id=/id " + includeText, integer: "position=#1",
		},
	}
}

func smallTables() []TableSpec {
	locations := func(kind, list string) TableSpec {
		return TableSpec{Table: "locations", Key: "kind name", path: "/outlets/locations/" + list, list: list, bare: "name",
			Text: "kind='" + kind + "' name"}
	}
	return []TableSpec{
		locations("country", "countries"), locations("state", "states"), locations("city", "cities"),
		{Table: "tags", Key: "name", path: "/tags", bare: "name", Text: "name"},
		{Table: "disclaimers", Key: "id", path: "/outlet-disclaimers", Text: "id name description"},
		{Table: "files", Key: "id", path: "/files", Text: FileText, integer: "size", instant: Timestamps},
		{Table: "folders", Key: "id", path: "/folders", Text: "id name team_id created_by", instant: Timestamps},
		{
			Table: "token", Key: "team_id", path: "/auth/token", list: ".",
			Text: "team_id source token_type", flag: "pro_pricing_enabled", json: "scopes",
		},
	}
}
