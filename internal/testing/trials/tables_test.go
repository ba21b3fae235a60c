package trials_test

// tableSpec specifies which rows a table must have for given responses of the service. Most
// specifications are written by hand from docs/service.md. They share no code with the streams and the decoder
// that they check. derivedTables returns the others.
//
// Each row comes from an item: a record, or an object or a value inside a record. A column is
// specified as "name" or as "name=source|source". Its value is the first non-empty source. Without
// a source, the value is the field of the same name; "writer.id" is short for
// "writer_id=writer.id". A source is a dotted path in the item, or
//
//	/path    a field of the record that contains the item
//	^path    a field of the object that contains the list of the item
//	#1 #2    the position in the outer or inner list, beginning with 1
//	?        the path parameter of the request
//	'text'   a constant
type tableSpec struct {
	table, key string
	// path is the endpoint, as in docs/service.md. detail is the endpoint of single records, whose values
	// take precedence over the values from path. query is the query of a request for a detail.
	path, detail, query string
	// ids are the columns whose values are the path parameters, as table.column. "team" means the
	// id of the team.
	ids string
	// list is the member that contains the records, in a response that is an object. "." means that
	// the object is the record. "*" means all objects with a count and a prefix, at any depth.
	list string
	// at is the dotted path from the record to the items. Empty means that the record is the item.
	at string
	// bare is the column with the value of items that are not objects.
	bare string
	// The columns, grouped by the type of their values and separated by spaces.
	text, integer, flag, money, instant, json string
	// linkLimit is the prefix of the four columns for do_follow_links_allowed. The field limits the
	// number of links.
	linkLimit string
	// replies is a list in an item. Its items are rows of the same table.
	replies string
	// keyOnly means that the table has no columns but its key. Another table contains the other
	// fields of the record.
	keyOnly bool
	// mayLack are columns that the table may lack, because an earlier release wrote it.
	mayLack []string
}

const (
	priceText   = "currency pricing_tier"
	includeText = "channel_type placement_type"
	fileText    = "id name file_key file_url mime_type team_id folder_id uploaded_by"
	timestamps  = "created_at updated_at deleted_at"
	productText = "name description requirements image logo example_screenshot type_id"
)

// tables returns the specifications of all tables. A table whose ids name columns of another table
// comes after that table.
func tables() []tableSpec {
	var all []tableSpec
	for _, group := range [][]tableSpec{listingTables(), orderTables(), campaignTables(), outletTables(), productTables(),
		profileTables(), smallTables()} {
		all = append(all, group...)
	}
	return append(all, derivedTables(all)...)
}

func listingTables() []tableSpec {
	const outlets, products = "/outlets", "/products/listings"
	return []tableSpec{
		{
			table: "outlet_listings", key: "id", path: outlets,
			text:    "id outlet_id name description requirements outlet_name website_url logo city state country",
			integer: "min_delivery_days max_delivery_days", flag: "is_featured", instant: "created_at",
		},
		{
			table: "outlet_listing_channels", key: "outlet_listing_id position", path: outlets, at: "channels",
			text:    "outlet_listing_id=/id channel_type placement_type disclaimer_name disclaimer_description",
			integer: "position=#1 domain_authority domain_ranking", flag: "is_do_follow",
		},
		{
			table: "outlet_listing_prices", key: "outlet_listing_id position", path: outlets, at: "prices", bare: "unit_amount",
			text: "outlet_listing_id=/id " + priceText, integer: "position=#1", money: "unit_amount",
		},
		{
			table: "outlet_listing_tags", key: "outlet_listing_id position", path: outlets, at: "tags", bare: "name",
			text: "outlet_listing_id=/id name", integer: "position=#1",
		},
		{
			table: "product_listings", key: "id", path: products,
			text: "id name description requirements outlet_id outlet_name website_url logo country state city channel_id " +
				"channel_type placement_type disclaimer disclaimer.id disclaimer.description",
			integer: "min_delivery_days max_delivery_days domain_authority domain_ranking",
			flag:    "is_featured is_indexed is_do_follow", instant: "created_at",
		},
		{
			table: "product_listing_prices", key: "product_listing_id position", path: products, at: "prices", bare: "unit_amount",
			text: "product_listing_id=/id " + priceText, integer: "position=#1", money: "unit_amount",
		},
		{
			table: "product_listing_includes", key: "product_listing_id position", path: products, at: "includes",
			text: "product_listing_id=/id " + includeText, integer: "position=#1",
		},
		{
			table: "product_listing_tags", key: "product_listing_id position", path: products, at: "tags", bare: "name",
			text: "product_listing_id=/id name", integer: "position=#1",
		},
		{
			table: "product_listing_example_links", key: "product_listing_id position", path: products, at: "example_links", bare: "url",
			text: "product_listing_id=/id url", integer: "position=#1",
		},
	}
}

func orderTables() []tableSpec {
	const list, detail, query, ids = "/orders", "/orders/{order_id}", "?include_outlets_data=true", "orders.id order_items.order_id"
	return []tableSpec{
		{
			table: "order_items", key: "id", path: "/order-items",
			text: "id referrer_id referrer_team_id product_id commission_status refund_method refund_reference vendor_invoice_id " +
				"vendor_invoice_url order_id client_id product_name product_type article_id=article_id|article.id article.name " +
				"article.campaign.id article.campaign.name article.campaign.profile_id article.writer.id " +
				"article.writer.first_name article.writer.last_name client.first_name client.last_name outlet.id outlet.name " +
				"outlet.logo outlet.website_url",
			flag:  "is_accounting_completed is_publisher_paid is_reseller_paid refund_required is_refunded",
			money: "commission_amount vendor_cost sale_price product_price internal_cost reseller_price",
			instant: "commission_date_paid refund_date vendor_invoice_date vendor_paid_date accounting_completion_date " +
				"publisher_paid_date reseller_paid_date date_paid " + timestamps,
		},
		{
			table: "orders", key: "id", path: list, detail: detail, query: query, ids: ids,
			text: "id profile_id client_id checkout_by_id team_id coupon client_secret status reference_number " +
				"external_reference_number customer_invoice_id customer_invoice_source customer_invoice_url guest_email " +
				"account_owner_email guest_payment_customer_id team.name team.contact_email name email checkout_link",
			flag: "is_guest_order", money: "total subtotal processing_fee discount credits_applied", json: "metadata",
			instant: "date_paid customer_invoice_date " + timestamps,
		},
		{
			table: "order_line_items", key: "order_id position", path: list, detail: detail, query: query, ids: ids, at: "line_items",
			text: "order_id=order_id|/id id product_id linked_order_line_item_id name product_type_name type_id " +
				"product_type_prefix outlet.id outlet.name outlet.logo outlet.website_url",
			integer: "position=#1 quantity", flag: "is_add_on", money: "price", instant: timestamps,
		},
		{
			table: "order_line_item_includes", key: "order_id line_position position", path: list, detail: detail, query: query,
			ids: ids, at: "line_items.includes",
			text: "order_id=/id " + includeText, integer: "line_position=#1 position=#2",
		},
	}
}

func campaignTables() []tableSpec {
	const list, articles, campaigns = "/campaigns", "/campaigns/{id}/articles", "campaigns.id"
	return []tableSpec{
		{
			table: "campaigns", key: "id", path: list, detail: "/campaigns/{id}", ids: campaigns,
			text: "id name description reference profile_id=profile_id|profile.id v1_campaign_id status goals questionnaire_id " +
				"keywords objectives target_audience tone writing_samples file_id profile.name profile.logo",
			integer: "total_articles", money: "budget", instant: "target_date " + timestamps, json: "articles",
		},
		{
			table: "questionnaires", key: "id", path: list, detail: "/campaigns/{id}", ids: campaigns, at: "questionnaire",
			text:    "id campaign_id=campaign_id|/id objectives keywords target_audience tone writing_samples file_id file_name file_url",
			instant: timestamps, integer: "file_size",
		},
		{
			table: "campaign_articles", key: "id", path: articles, ids: campaigns,
			text: "id name live_url brief_doc_url draft_doc_url campaign_id=campaign_id|? order_item_id writer.id writer.first_name " +
				"writer.last_name order_item.name order_item.outlet.id order_item.outlet.name order_item.outlet.logo " +
				"order_item.outlet.website_url expected_completion_date_title",
			integer: "total_images", instant: timestamps + " expected_completion_date",
		},
		{
			table: "article_statuses", key: "article_id position", path: articles, ids: campaigns, at: "status", bare: "name",
			text: "article_id=/id notes name prefix color", integer: "position=#1", instant: "effective_at",
		},
		{
			table: "campaign_article_addons", key: "article_id position", path: articles, ids: campaigns, at: "order_item.addons", bare: "name",
			text: "article_id=/id id name", integer: "position=#1",
		},
		{
			table: "campaign_article_includes", key: "article_id position", path: articles, ids: campaigns, at: "order_item.includes",
			text: "article_id=/id " + includeText, integer: "position=#1",
		},
		{
			table: "articles", key: "id", path: "/articles/{id}", ids: "campaign_articles.id order_items.article_id",
			text: "id name brief_doc_url draft_doc_url live_url campaign_id product_id profile_id writer.id writer.first_name " +
				"writer.last_name support_agent support_agent.id support_agent.first_name support_agent.last_name status.name status.prefix status.color expected_completion_date_title",
			instant: "updated_at expected_completion_date",
		},
		{
			table: "article_files", key: "article_id position", path: "/articles/{id}", at: "files", bare: "value",
			ids:  "campaign_articles.id order_items.article_id",
			text: "article_id=/id value " + fileText, integer: "position=#1 size", instant: timestamps,
		},
		{
			table: "campaign_status_counts", key: "campaign_id id", path: "/campaigns/{id}/articles/status-count", ids: campaigns,
			list: "*", text: "campaign_id=? id name prefix", integer: "count",
		},
		{
			table: "article_comments", key: "article_id id", path: "/articles/{id}/comments", replies: "replies",
			ids:  "campaign_articles.id order_items.article_id",
			text: "article_id=? id content author.name author.email parent_comment_id=parent_comment_id|^id", instant: "created_at updated_at",
		},
	}
}

func outletTables() []tableSpec {
	const path, ids = "/outlets/{outlet_id}", "outlet_listings.outlet_id product_listings.outlet_id order_items.outlet_id"
	return []tableSpec{
		{
			table: "outlets", key: "id", path: path, ids: ids, flag: "is_indexed", instant: "created_at updated_at",
			text: "id name description website_url logo country state city",
		},
		{
			table: "outlet_tags", key: "outlet_id position", path: path, ids: ids, at: "tags", bare: "name",
			text: "outlet_id=/id name", integer: "position=#1",
		},
		{
			table: "outlet_channels", key: "id", path: path, ids: ids, at: "outlet_channels",
			text: "id outlet_id=outlet_id|/id channel_type placement_type channel_handle channel_url disclaimer_name " +
				"disclaimer_description",
			integer: "domain_authority domain_ranking", flag: "is_do_follow", linkLimit: "do_follow_links_",
		},
		{
			table: "outlet_channel_social_links", key: "outlet_channel_id position", path: path, ids: ids,
			at: "outlet_channels.social_links", bare: "url", text: "outlet_channel_id=^id url", integer: "position=#2",
		},
		{
			table: "outlet_products", key: "outlet_id product_id", path: "/outlets/{id}/products", ids: "outlets.id",
			text: "outlet_id=? product_id=id " + productText, integer: "min_delivery_days max_delivery_days",
			flag: "is_featured active", instant: timestamps,
		},
	}
}

func productTables() []tableSpec {
	const path, ids = "/products/{product_id}", "outlet_listings.id product_listings.id order_items.product_id " +
		"order_line_items.product_id articles.product_id"
	return []tableSpec{
		{
			table: "products", key: "id", path: path, ids: ids, text: "id " + productText,
			integer: "min_delivery_days max_delivery_days", flag: "is_featured active", instant: timestamps,
		},
		{
			table: "product_prices", key: "product_id position", path: path, ids: ids, at: "prices", bare: "unit_amount",
			text: "product_id=/id " + priceText, integer: "position=#1", money: "unit_amount",
		},
		{
			table: "product_example_links", key: "product_id position", path: path, ids: ids, at: "example_links", bare: "url",
			text: "product_id=/id url", integer: "position=#1",
		},
		{table: "product_categories", key: "type", path: "/products/categories", text: "type", integer: "count"},
	}
}

func profileTables() []tableSpec {
	const profiles = "/teams/{team_id}/profiles"
	return []tableSpec{
		{
			table: "profiles", key: "id", path: profiles, ids: "team",
			text: "id name legal_company_name type logo location overview products_and_services drive_link writing_samples " +
				"website_url team_id brand_tone_and_voice_id",
			instant: "last_generated_at " + timestamps,
		},
		{
			table: "profile_primary_goals", key: "profile_id position", path: profiles, ids: "team", at: "primary_goals", bare: "name",
			text: "profile_id=/id name", integer: "position=#1",
		},
		{
			table: "profile_orders", key: "profile_id order_id", path: "/profiles/{id}/orders", ids: "profiles.id", keyOnly: true,
			text: "profile_id=? order_id=id",
		},
		{
			table: "profile_campaigns", key: "profile_id campaign_id", path: "/profiles/{id}/campaigns", ids: "profiles.id", keyOnly: true,
			text: "profile_id=? campaign_id=id",
		},
		{
			table: "profile_order_items", key: "id", path: "/profiles/{id}/order-items", ids: "profiles.id",
			text: "id name description profile_id=profile_id|? type campaign_id product_id outlet.id outlet.name outlet.logo " +
				"outlet.website_url",
			integer: "min_delivery_days max_delivery_days", flag: "is_add_on",
		},
		{
			table: "profile_order_item_includes", key: "profile_order_item_id position", path: "/profiles/{id}/order-items",
			ids: "profiles.id", at: "includes", text: "profile_order_item_id=/id " + includeText, integer: "position=#1",
		},
	}
}

func smallTables() []tableSpec {
	locations := func(kind, list string) tableSpec {
		return tableSpec{table: "locations", key: "kind name", path: "/outlets/locations/" + list, list: list, bare: "name",
			text: "kind='" + kind + "' name"}
	}
	return []tableSpec{
		locations("country", "countries"), locations("state", "states"), locations("city", "cities"),
		{table: "tags", key: "name", path: "/tags", bare: "name", text: "name"},
		{table: "disclaimers", key: "id", path: "/outlet-disclaimers", text: "id name description"},
		{table: "files", key: "id", path: "/files", text: fileText, integer: "size", instant: timestamps},
		{table: "folders", key: "id", path: "/folders", text: "id name team_id created_by", instant: timestamps},
		{
			table: "token", key: "team_id", path: "/auth/token", list: ".",
			text: "team_id source token_type", flag: "pro_pricing_enabled", json: "scopes",
		},
	}
}
