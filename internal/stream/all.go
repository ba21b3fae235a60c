package stream

import "slices"

// All returns every stream of the catalog, lists before the details that
// their records name. A night whose time is over leaves the last ones unread, so
// that details stand in the order of their use: what is being worked on, what
// was bought, what is on offer.
func All() []Stream {
	return []Stream{
		tokenInfo(),
		outletListings(), productListings(), orderList(), orderItems(), campaignList(),
		locationList("country", "countries"), locationList("state", "states"), locationList("city", "cities"),
		tagList(), disclaimerList(), productCategories(), profileList(), fileList(), folderList(),
		campaignDetails(), campaignArticles(), statusCounts(), articleDetails(), articleComments(),
		orderDetails(), profileOrders(), profileOrderItems(), profileCampaigns(),
		outletDetails(), outletProducts(), productDetails(),
	}
}

// Known returns every source of records: the lists, the events, and the details
// that both name.
func Known() []Stream {
	all := All()
	first := slices.IndexFunc(all, Stream.IsDetail)
	return slices.Insert(all, first, Events()...)
}

// Events returns the streams whose records are webhook events (spec section 6).
// They have topics where other streams have a path: what is delivered waits in
// the inbox, and each night reads what came since the last. Their rows stay for
// good, since an event is never taken back.
func Events() []Stream { return []Stream{articleStatusEvents(), articleCommentEvents()} }

// childTable is a list inside a record: keyed by the enclosing row and the item's
// position, counted from 1.
func childTable(name, at, parent, value string) Table {
	return Table{Name: name, At: at, Key: []string{parent, "position"}, Parents: []string{parent}, Value: value}
}
