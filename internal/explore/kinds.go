package explore

import (
	_ "embed"

	"placementsync/internal/sqltext"
)

var (
	//go:embed sql/record.sql
	recordSQL sqltext.File
	//go:embed sql/catalog.sql
	catalogSQL sqltext.File
	//go:embed sql/table.sql
	tableSQL sqltext.File
	//go:embed sql/listing.sql
	listingSQL sqltext.File
	//go:embed sql/outlet.sql
	outletSQL sqltext.File
	//go:embed sql/order.sql
	orderSQL sqltext.File
	//go:embed sql/campaign.sql
	campaignSQL sqltext.File
	//go:embed sql/article.sql
	articleSQL sqltext.File
	//go:embed sql/profile.sql
	profileSQL sqltext.File
)

func recordKinds() []recordKind {
	return []recordKind{{name: "listing", label: "Listing", sql: listingSQL,
		tables: []fieldTable{
			{table: "product_listings", idColumn: "id", title: "Product listing"},
			{table: "outlet_listings", idColumn: "id", title: "Row in the outlet catalog"},
			{table: "products", idColumn: "id", title: "Product"},
		},
		sections: []section{
			{statement: "prices", title: "Prices", layout: asPrices,
				about: "History by tier and currency. Each currency has its own chart.",
				empty: "No prices."},
			{statement: "tags", title: "Tags", layout: asPeriods, empty: "No tags."},
			{statement: "includes", title: "Includes", layout: asPeriods, empty: "No includes."},
			{statement: "links", title: "Example links", layout: asPeriods, empty: "No example links."},
			{statement: "channels", title: "Channels and disclaimers",
				about: "From the outlet catalog."},
			{statement: "orders", title: "Orders",
				about: "Line items with this product, newest first. The service sends no currency for line items.",
				empty: "No orders."},
			{statement: "items", title: "Sold items",
				about: "With the catalog price at the time of the sale, the sale price and the commission. Margin is the sale price minus all costs; it is empty if the costs are not known.",
				empty: "No sold items."},
			{statement: "delivery", title: "Promised and actual delivery",
				about: "Days from the payment of the order to the first publication; a day has 24 hours. The promised days are the current maximum delivery time of the product.",
				empty: "No articles."},
			{statement: "beside", title: "Other listings of the outlet",
				about: "With the lowest price of all tiers, one row per currency."},
		}}, {name: "outlet", label: "Outlet", sql: outletSQL, aboutList: "By name.",
		tables: []fieldTable{{table: "outlets", idColumn: "id", title: "Outlet"}},
		sections: []section{
			{statement: "listings", title: "Listings",
				about: "Current listings with the lowest and highest price of all tiers, one row per currency.", empty: "No listings."},
			{statement: "tags", title: "Tags", layout: asPeriods, empty: "No tags."},
			{statement: "channels", title: "Channels", empty: "No channels."},
			{statement: "social", title: "Social links"},
			{statement: "products", title: "Products", empty: "No products."},
			{statement: "gone", title: "Former listings", about: "Listings that belonged to the outlet in an earlier snapshot."},
			{statement: "items", title: "Sold items",
				about: "Newest first. The service sends no currency for sold items.", empty: "No sold items."},
			{statement: "owed", title: "Open payables", about: "Unpaid commissions and shares for sold items. Sorted by the payment date of the order, oldest first."},
			{statement: "articles", title: "Articles", empty: "No articles."},
		}}, {name: "order", label: "Order", sql: orderSQL, aboutList: "Newest first. The service marks cancelled orders as deleted. The sum below the table includes cancelled orders. Filter by Deleted to leave them out. The service sends no currency for orders.",
		tables: []fieldTable{
			{table: "orders", idColumn: "id", title: "Order"},
			{table: "order_items", idColumn: "order_id", title: "Sold item", nameColumn: "product_name"},
		},
		sections: []section{
			{statement: "lines", title: "Line items",
				about: "The service sends no currency for line items.", empty: "No line items."},
			{statement: "items", title: "Sold items and commissions",
				about: "An order has sold items once it is paid. An item is \"past its promise\" if the promised time of delivery has passed and its article is not published yet. Margin is the sale price minus all costs; it is empty if the costs are not known.", empty: "No sold items: the order is not paid, or the service does not list them yet."},
			{statement: "owed", title: "Payables", about: "Open and paid commissions and shares of publishers and resellers."},
			{statement: "articles", title: "Articles", empty: "No articles."},
			{statement: "waiting", title: "Items without an article", about: "Paid items without an article. Refunded items are not included."},
		}}, {name: "campaign", label: "Campaign", sql: campaignSQL, aboutList: "Newest first. Spent is the sum for published or ended articles. Committed is the sum for articles in progress.",
		tables: []fieldTable{
			{table: "campaigns", idColumn: "id", title: "Campaign"},
			{table: "questionnaires", idColumn: "campaign_id", title: "Questionnaire", open: true},
		},
		sections: []section{
			{statement: "counts", title: "Articles by status", barColumn: "articles", about: "The counts come from the service.", empty: "No counts."},
			{statement: "articles", title: "Articles", empty: "No articles."},
			{statement: "items", title: "Items of the campaign"},
		}}, {name: "article", label: "Article", sql: articleSQL, aboutList: "The latest change of status first.",
		tables: []fieldTable{
			{table: "articles", idColumn: "id", title: "Article"},
			{table: "campaign_articles", idColumn: "id", title: "Row in the campaign"},
		},
		sections: []section{
			{statement: "statuses", title: "Status history", barColumn: "days_in_it",
				about: "A day has 24 hours. The days in the current status are counted up to the snapshot.", empty: "No statuses."},
			{statement: "announced", title: "Status changes from webhooks"},
			{statement: "comments", title: "Comments", layout: asComments, empty: "No comments."},
			{statement: "archived", title: "Edited and archived comments from webhooks"},
			{statement: "files", title: "Files", empty: "No files."},
			{statement: "items", title: "Order items", empty: "No order items."},
			{statement: "addons", title: "Add-ons and includes"},
		}}, {name: "profile", label: "Profile", sql: profileSQL, aboutList: "By name.",
		tables: []fieldTable{{table: "profiles", idColumn: "id", title: "Profile"}},
		sections: []section{
			{statement: "goals", title: "Goals", layout: asPeriods, empty: "No goals."},
			{statement: "campaigns", title: "Campaigns", empty: "No campaigns."},
			{statement: "orders", title: "Orders", about: "The service sends no currency for orders.", empty: "No orders."},
			{statement: "items", title: "Order items"},
			{statement: "articles", title: "Articles", empty: "No articles."},
		}}}
}
