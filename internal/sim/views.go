package sim

import "slices"

// What the list endpoints see of the world.

// Products stand on two lists, which filter by channels in two ways.
func (w *world) outletRowView() view {
	return view{
		order: w.outletRows.order, toHead: true, kind: kindProduct,
		render: w.renderOutletRow, sortKey: w.productSort, match: w.outletRowMatch,
	}
}

func (w *world) listingView() view {
	return view{
		order: w.listings.order, toHead: true, kind: kindProduct,
		render: w.renderListing, sortKey: w.productSort, match: w.listingMatch,
	}
}

// Orders on the list and below a profile are the same records.
func (w *world) orderView() view {
	return view{
		order: w.orderList.order, toHead: true, kind: kindOrder,
		render: w.renderOrder, sortKey: w.orderSort, match: w.orderMatch,
	}
}

// Order items are ordered by the payment that made them.
func (w *world) itemView() view {
	return view{
		order: w.itemList.order, toHead: true, kind: kindItem,
		render: w.renderItem, sortKey: w.itemSort, match: w.itemMatch,
	}
}

func (w *world) campaignView() view {
	return view{
		order: w.campaignList.order, toHead: true, kind: kindCampaign,
		render: w.renderCampaign, sortKey: w.campaignSort, match: w.campaignMatch,
	}
}

func (w *world) fileView() view {
	return view{
		order: w.fileList.order, toHead: true, kind: kindFile,
		render: w.renderFile, sortKey: w.fileSort, match: w.fileMatch,
	}
}

// Folders know no filter.
func (w *world) folderView() view {
	return view{
		order: w.folderList.order, toHead: true, kind: kindFolder,
		render: w.renderFolder, sortKey: w.folderSort,
	}
}

// Tags have no id; their order is fixed.
func (w *world) tagView() view {
	return view{order: sequence(len(tagNames())), render: func(e *enc, n uint32) {
		e.b = append(e.b, '{')
		e.str("name", tagNames()[n])
		e.end()
	}}
}

func (w *world) disclaimerView() view {
	return view{order: sequence(len(disclaimers())), kind: kindDisclaimer, render: func(e *enc, n uint32) {
		e.begin(kindDisclaimer, n)
		w.disclaimerFields(e, n)
		e.end()
	}}
}

// outletProducts are the products on sale of one outlet. Their numbers are
// congruent to the outlet's, so the others need not be looked at.
func (w *world) outletProducts(outlet uint32) view {
	var order []uint32
	for n := int(outlet); n < len(w.products); n += len(w.outlets) {
		if w.products[n].withdrawn == 0 {
			order = append(order, uint32(n))
		}
	}
	return view{order: order, toHead: true, kind: kindProduct, render: w.renderProduct, sortKey: w.productSort}
}

func (w *world) profileOrders(n uint32) view {
	order := listed(w.profiles[n].orders, func(n uint32) bool { return w.orders[n].gone })
	return w.orderView().with(order)
}

// The items of a profile are records of another form, ProfileOrderItem.
func (w *world) profileItems(n uint32) view {
	v := w.itemView()
	v.render = w.renderProfileItem
	return v.with(listed(w.profiles[n].items, func(n uint32) bool { return w.items[n].gone }))
}

func (w *world) profileCampaigns(n uint32) view {
	order := listed(w.profiles[n].campaigns, func(n uint32) bool { return w.campaigns[n].gone })
	return w.campaignView().with(order)
}

// The one team has all profiles.
func (w *world) teamProfiles(uint32) view {
	return view{order: sequence(len(w.profiles)), toHead: true, kind: kindProfile, render: w.renderProfile}
}

// Articles are listed by the day on which they were begun.
func (w *world) campaignArticles(n uint32) view {
	order := slices.Clone(w.campaigns[n].articles)
	return view{order: order, toHead: true, kind: kindArticle, render: w.renderArticleRow}
}

// What a path may name. Withdrawn products and cancelled orders still answer;
// what churn deleted does not.
func (w *world) hasTeam(n uint32) bool    { return n == 0 }
func (w *world) hasOutlet(n uint32) bool  { return int(n) < len(w.outlets) }
func (w *world) hasProfile(n uint32) bool { return int(n) < len(w.profiles) }
func (w *world) hasArticle(n uint32) bool { return int(n) < len(w.articles) }
func (w *world) hasProduct(n uint32) bool { return int(n) < len(w.products) && !w.forgotten(n) }
func (w *world) hasOrder(n uint32) bool   { return int(n) < len(w.orders) && !w.orders[n].gone }
func (w *world) hasFile(n uint32) bool    { return int(n) < len(w.files) && !w.files[n].gone }
func (w *world) hasCampaign(n uint32) bool {
	return int(n) < len(w.campaigns) && !w.campaigns[n].gone
}
