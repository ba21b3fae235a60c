package explore

func listingKind() recordKind {
	return recordKind{name: "listing", label: "Listing", sql: listingSQL,
		tables: []fieldTable{
			{table: "product_listings", key: "id", title: "Product listing"},
			{table: "outlet_listings", key: "id", title: "Row in the outlet catalog"},
			{table: "products", key: "id", title: "Product"},
		},
		sections: []section{
			{statement: "prices", title: "Prices", form: asPrices,
				about: "By tier and currency, from snapshot to snapshot. Amounts of different currencies never share an axis.",
				empty: "No price is known."},
			{statement: "tags", title: "Tags", form: asStays, empty: "No tags."},
			{statement: "includes", title: "Includes", form: asStays, empty: "Nothing is included."},
			{statement: "links", title: "Example links", form: asStays, empty: "No example links."},
			{statement: "channels", title: "Channels and disclaimers",
				about: "As the outlet catalog describes them."},
			{statement: "orders", title: "Ordered here",
				about: "Line items of orders that name this product, newest first. The service names no currency for them.",
				empty: "Never ordered."},
			{statement: "items", title: "Paid and earned here",
				about: "Sold items with their price in the catalog at that time, what was paid, and the commission. Margin is the sale price less all known costs.",
				empty: "No item was sold."},
			{statement: "delivery", title: "Promised and actual delivery",
				about: "Days are of 24 hours, from the payment of the order to the first publication; promised is the longest time that the product states now.",
				empty: "No article was ordered here."},
			{statement: "beside", title: "Other listings of the outlet",
				about: "With the lowest price of all tiers, a row per currency."},
		}}
}

func outletKind() recordKind {
	return recordKind{name: "outlet", label: "Outlet", sql: outletSQL,
		tables: []fieldTable{{table: "outlets", key: "id", title: "Outlet"}},
		sections: []section{
			{statement: "listings", title: "Listings",
				about: "On sale now, with the lowest and highest price of all tiers, a row per currency.", empty: "Nothing is on sale."},
			{statement: "tags", title: "Tags", form: asStays, empty: "No tags."},
			{statement: "channels", title: "Channels", empty: "No channels."},
			{statement: "social", title: "Social links"},
			{statement: "products", title: "Products", empty: "No products."},
			{statement: "gone", title: "No longer here", about: "Listings that the outlet had in an earlier snapshot."},
			{statement: "items", title: "Ordered here",
				about: "Sold items, newest first. The service names no currency for them.", empty: "Nothing was ordered."},
			{statement: "owed", title: "Owed", about: "Commissions and shares of sold items that are not settled, oldest first."},
			{statement: "articles", title: "Articles", empty: "No articles."},
		}}
}

func orderKind() recordKind {
	return recordKind{name: "order", label: "Order", sql: orderSQL,
		tables: []fieldTable{
			{table: "orders", key: "id", title: "Order"},
			{table: "order_items", key: "order_id", title: "Sold item", name: "product_name"},
		},
		sections: []section{
			{statement: "lines", title: "Line items",
				about: "As ordered. The service names no currency.", empty: "No line items."},
			{statement: "items", title: "Sold items and commissions",
				about: "Items exist once the order is paid. Margin is the sale price less all known costs.", empty: "No sold items: the order is not paid, or they are not listed yet."},
			{statement: "owed", title: "Owed and settled", about: "Commissions and the shares of publishers and resellers."},
			{statement: "articles", title: "Articles", empty: "No article has begun."},
			{statement: "waiting", title: "Waiting for an article", about: "Paid items without an article."},
		}}
}

func campaignKind() recordKind {
	return recordKind{name: "campaign", label: "Campaign", sql: campaignSQL,
		tables: []fieldTable{
			{table: "campaigns", key: "id", title: "Campaign"},
			{table: "questionnaires", key: "campaign_id", title: "Questionnaire", open: true},
		},
		sections: []section{
			{statement: "counts", title: "Articles by status", bars: "articles", about: "As the service counts them.", empty: "No counts."},
			{statement: "articles", title: "Articles", empty: "No articles."},
			{statement: "items", title: "Items of the campaign"},
		}}
}

func articleKind() recordKind {
	return recordKind{name: "article", label: "Article", sql: articleSQL,
		tables: []fieldTable{
			{table: "articles", key: "id", title: "Article"},
			{table: "campaign_articles", key: "id", title: "Row in the campaign"},
		},
		sections: []section{
			{statement: "statuses", title: "Way through the statuses", bars: "days_in_it",
				about: "Days are of 24 hours; those of the present status count up to the snapshot.", empty: "No status is known."},
			{statement: "announced", title: "Announced changes", about: "Status changes as webhooks announced them."},
			{statement: "comments", title: "Comments", form: asTalk, empty: "No comments."},
			{statement: "archived", title: "Changed and archived comments", about: "As webhooks announced them."},
			{statement: "files", title: "Files", empty: "No files."},
			{statement: "items", title: "Paid for by", empty: "No order item is known."},
			{statement: "addons", title: "Add-ons and what is included"},
		}}
}

func profileKind() recordKind {
	return recordKind{name: "profile", label: "Profile", sql: profileSQL,
		tables: []fieldTable{{table: "profiles", key: "id", title: "Profile"}},
		sections: []section{
			{statement: "goals", title: "Goals", form: asStays, empty: "No goals."},
			{statement: "campaigns", title: "Campaigns", empty: "No campaigns."},
			{statement: "orders", title: "Orders", about: "The service names no currency.", empty: "No orders."},
			{statement: "items", title: "Order items"},
			{statement: "articles", title: "Articles", empty: "No articles."},
		}}
}
