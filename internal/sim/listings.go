package sim

import (
	"math/rand/v2"
	"slices"
)

// listings holds which products are on sale, on the two lists that show them.
type listings struct {
	calendar         *calendar
	seed             seed
	products         *products
	outlets          *outlets
	change, turnover float64 // shares of the listings a day
	onSale           list    // GET /products/listings
	outletRows       list    // GET /outlets
}

// newListings makes the products of the past.
func newListings(products *products, opts Options) *listings {
	s := &listings{
		calendar: products.calendar, seed: products.seed, products: products, outlets: products.outlets,
		change: opts.ListingChange, turnover: opts.ListingTurnover,
	}
	s.addFirstProducts(opts.Listings)
	return s
}

// newProduct makes the next product, created at or after an instant.
func (s *listings) newProduct(wish int64) {
	n := s.products.addProduct(s.onSale.stamp(wish))
	s.onSale.add(n)
	if s.products.isOutletRow(n) {
		s.outletRows.add(n)
	}
}

// addFirstProducts makes the products that are older than the world's first day,
// spread over two years before it. One in 64 shares its second with the one
// before it; within such a pair the ids decide the order.
func (s *listings) addFirstProducts(count int) {
	all := make([]product, 0, count+count/8)
	s.onSale.order = make([]uint32, 0, count+count/8)
	span := s.calendar.dayStart(s.calendar.day) - s.calendar.birth
	for i := range count {
		all = append(all, product{created: uint32(span * int64(i) / int64(count))})
		if i > 0 && oneIn(s.seed.roll(kindProduct, uint32(i), 4), 64) {
			all[i].created = all[i-1].created
		}
	}
	for i := 0; i < count; {
		tied := []uint32{uint32(i)}
		for i++; i < count && all[i].created == all[i-1].created; i++ {
			tied = append(tied, uint32(i))
		}
		s.onSale.addTied(tied, s.seed, kindProduct)
	}
	s.products.all = all
	for _, n := range s.onSale.order {
		if s.products.isOutletRow(n) {
			s.outletRows.order = append(s.outletRows.order, n)
		}
	}
	s.onSale.newest = s.calendar.dayStart(s.calendar.day)
}

// stepDay moves prices, withdraws listings and brings new ones. A fifth
// of the changed rows are left to the authorities of the outlets behind them.
func (s *listings) stepDay(r *rand.Rand) {
	onSale := len(s.onSale.order)
	if onSale == 0 {
		return
	}
	changes := s.change * float64(onSale)
	for range roundByChance(r, changes*4/5) {
		s.products.changePrice(s.drawOnSale(r))
	}
	perOutlet := max(1, float64(onSale)/float64(len(s.outlets.all)))
	s.outlets.stepDay(r, roundByChance(r, changes/5/perOutlet))

	turnover := min(roundByChance(r, s.turnover*float64(onSale)), onSale-1)
	s.withdrawSome(r, turnover)
	for _, wish := range s.calendar.drawSeconds(r, turnover) {
		s.newProduct(wish)
	}
}

// drawOnSale draws a product that is listed; any product when none is.
func (s *listings) drawOnSale(r *rand.Rand) uint32 {
	for {
		n := uint32(r.IntN(len(s.products.all)))
		if !s.products.isWithdrawn(n) || len(s.onSale.order) == 0 {
			return n
		}
	}
}

// withdrawSome ends the sale of so many listings and removes them from both
// lists in one pass each.
func (s *listings) withdrawSome(r *rand.Rand, count int) {
	if count <= 0 {
		return
	}
	for range count {
		s.products.withdrawProduct(s.drawOnSale(r))
	}
	s.onSale.order = slices.DeleteFunc(s.onSale.order, s.products.isWithdrawn)
	s.outletRows.order = slices.DeleteFunc(s.outletRows.order, s.products.isWithdrawn)
}

// removeProduct withdraws one product and removes it from both lists.
func (s *listings) removeProduct(n uint32) {
	s.products.withdrawProduct(n)
	s.onSale.remove(n)
	s.outletRows.remove(n)
}

// sortKey orders both lists of products by a field of sort_by.
func (s *listings) sortKey(field string) func(a, b uint32) int {
	switch field {
	case "created_at":
		return byKey(s.products.createdAt)
	case "price", "unit_amount":
		return byKey(s.products.priceOf)
	case "outlet_name":
		return byKey(func(n uint32) string { return s.outlets.all[s.products.traitsOf(n).outlet].name })
	case "domain_authority":
		return byKey(func(n uint32) int64 {
			t := s.products.traitsOf(n)
			return s.outlets.all[t.outlet].channels[t.channel].authority
		})
	}
	return nil
}

// matchListing applies a filter of GET /products/listings.
func (s *listings) matchListing(n uint32, key string, values []string) bool {
	t := s.products.traitsOf(n)
	c := &s.outlets.all[t.outlet].channels[t.channel]
	switch key {
	case "channel_types":
		return slices.Contains(values, c.kind)
	case "placement_types":
		return slices.Contains(values, t.placement)
	case "disclaimer_ids":
		return slices.Contains(values, s.seed.id(kindDisclaimer, uint32(c.disclaimer)))
	}
	return s.matchOutlet(n, t.outlet, key, values)
}

// matchOutletRow applies a filter of GET /outlets: one channel of the outlet
// that fits is enough.
func (s *listings) matchOutletRow(n uint32, key string, values []string) bool {
	o := n % uint32(len(s.outlets.all))
	anyChannel := func(fits func(c channel) bool) bool {
		return slices.ContainsFunc(s.outlets.all[o].channels, fits)
	}
	switch key {
	case "channel_types":
		return anyChannel(func(c channel) bool { return slices.Contains(values, c.kind) })
	case "placement_types":
		return anyChannel(func(c channel) bool { return slices.Contains(values, c.placement) })
	case "disclaimer_ids":
		return anyChannel(func(c channel) bool {
			return slices.Contains(values, s.seed.id(kindDisclaimer, uint32(c.disclaimer)))
		})
	}
	return s.matchOutlet(n, o, key, values)
}

// matchOutlet applies the filters that both lists of products share. A key
// that is not known filters nothing.
func (s *listings) matchOutlet(n, outlet uint32, key string, values []string) bool {
	o := &s.outlets.all[outlet]
	switch key {
	case "country":
		return slices.Contains(values, o.place.country)
	case "product_ids":
		return slices.Contains(values, s.seed.id(kindProduct, n))
	case "tags":
		return slices.ContainsFunc(o.tags, func(tag int) bool {
			return slices.Contains(values, tagNames()[tag])
		})
	}
	return true
}

// insertListing lists one more product, which is no outlet row.
func (s *listings) insertListing(*rand.Rand) {
	s.onSale.add(s.products.addProduct(s.onSale.stamp(s.calendar.now().Unix())))
}

// insertOutletRow lists one more product on GET /outlets alone.
func (s *listings) insertOutletRow(*rand.Rand) {
	at := max(s.outletRows.stamp(s.calendar.now().Unix()), s.onSale.newest+1)
	s.outletRows.newest = at
	s.outletRows.add(s.products.addProduct(at))
}

// outletRowView and listingView show the two lists, which filter by channels in
// two ways.
func (s *listings) outletRowView() view {
	return s.outletRows.view(kindProduct, s.renderOutletRow, s.sortKey, s.matchOutletRow)
}

func (s *listings) listingView() view {
	return s.onSale.view(kindProduct, s.renderListing, s.sortKey, s.matchListing)
}

// outletProductView are the products on sale of one outlet. Their numbers are
// congruent to the outlet's, so the others need not be looked at.
func (s *listings) outletProductView(outlet uint32) view {
	var order []uint32
	for n := int(outlet); n < len(s.products.all); n += len(s.outlets.all) {
		if !s.products.isWithdrawn(uint32(n)) {
			order = append(order, uint32(n))
		}
	}
	return view{order: order, toHead: true, kind: kindProduct, render: s.products.renderDetail, sortKey: s.sortKey}
}

// renderListing writes an item of GET /products/listings.
func (s *listings) renderListing(e *enc, n uint32) {
	t := s.products.traitsOf(n)
	e.begin(kindProduct, n)
	e.escape = false // its texts are rendered ahead
	s.products.writeHead(e, n, t)
	writeExampleLinks(e, n, t)
	e.when("created_at", s.products.createdAt(n))
	e.fragment(s.outlets.all[t.outlet].channels[t.channel].listing)
	e.word("placement_type", t.placement)
	s.products.writePrices(e, n, t)
	s.products.writeIncludes(e, t.roll)
	e.writeUnknown()
	e.end()
}

// renderOutletRow writes an item of GET /outlets, whose id is a product's.
func (s *listings) renderOutletRow(e *enc, n uint32) {
	t := s.products.traitsOf(n)
	o := &s.outlets.all[t.outlet]
	e.begin(kindProduct, n)
	e.escape = false
	s.products.writeHead(e, n, t)
	e.when("created_at", s.products.createdAt(n))
	e.fragment(o.listing)
	e.fragment(o.summaries)
	e.fragment(o.tagList)
	s.products.writePrices(e, n, t)
	e.writeUnknown()
	e.end()
}

// categoryView counts the items of GET /products/categories.
func (s *listings) categoryView() view {
	counts := make([]int64, len(s.products.words.types))
	for _, n := range s.onSale.order {
		counts[s.products.traitsOf(n).kind]++
	}
	return view{
		order: countTo(len(counts)),
		render: func(e *enc, n uint32) {
			e.begin(kindProductType, n)
			e.word("type", s.products.words.types[n].name)
			e.num("count", counts[n])
			e.end()
		},
	}
}
