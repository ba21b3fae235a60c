package sim

import (
	"math/rand/v2"
	"slices"
)

// listings contains the products on sale and the two lists with them.
type listings struct {
	calendar         *calendar
	seed             seed
	products         *products
	outlets          *outlets
	change, turnover float64 // shares of the listings per day
	onSale           list    // GET /products/listings
	outletRows       list    // GET /outlets
}

// newListings creates the products that are older than the first day, spread over two
// years. One in 64 has the same created_at as its predecessor; such pairs are sorted by id.
func newListings(products *products, opts Options) *listings {
	s := &listings{
		calendar: products.calendar, seed: products.seed, products: products, outlets: products.outlets,
		change: opts.ListingChange, turnover: opts.ListingTurnover,
	}
	count := opts.Listings
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
	return s
}

// stepDay changes prices, and withdraws and adds listings. A fifth of the changed rows
// change because of the authority of their outlets.
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
	for range turnover {
		s.products.withdrawProduct(s.drawOnSale(r))
	}
	s.onSale.order = slices.DeleteFunc(s.onSale.order, s.products.isWithdrawn)
	s.outletRows.order = slices.DeleteFunc(s.outletRows.order, s.products.isWithdrawn)
	for _, wish := range s.calendar.drawSeconds(r, turnover) {
		n := s.products.addProduct(s.onSale.stamp(wish))
		s.onSale.add(n)
		if s.products.isOutletRow(n) {
			s.outletRows.add(n)
		}
	}
}

// drawOnSale returns a random listed product, or any product if none is listed.
func (s *listings) drawOnSale(r *rand.Rand) uint32 {
	for {
		n := uint32(r.IntN(len(s.products.all)))
		if !s.products.isWithdrawn(n) || len(s.onSale.order) == 0 {
			return n
		}
	}
}

// removeProduct withdraws a product and deletes it from both lists.
func (s *listings) removeProduct(n uint32) {
	s.products.withdrawProduct(n)
	s.onSale.remove(n)
	s.outletRows.remove(n)
}

// viewOf returns one of the two lists. Filters by channel use the channels of channelsOf.
func (s *listings) viewOf(l *list, render func(e *enc, n uint32), channelsOf func(n uint32) []channel) view {
	ofChannels := func(value func(c channel) string) func(n uint32) []string {
		return func(n uint32) (values []string) {
			for _, c := range channelsOf(n) {
				values = append(values, value(c))
			}
			return values
		}
	}
	return view{
		order: l.order, toHead: true, kind: kindProduct, render: render, sortKeys: s.sortKeys(),
		filters: map[string]func(n uint32) []string{
			"channel_types":   ofChannels(func(c channel) string { return c.kind }),
			"placement_types": ofChannels(func(c channel) string { return c.placement }),
			"disclaimer_ids":  ofChannels(func(c channel) string { return s.seed.id(kindDisclaimer, uint32(c.disclaimer)) }),
			"country":         func(n uint32) []string { return []string{s.outletOf(n).place.country} },
			"product_ids":     func(n uint32) []string { return []string{s.seed.id(kindProduct, n)} },
			"tags": func(n uint32) (names []string) {
				for _, tag := range s.outletOf(n).tags {
					names = append(names, tagNames()[tag])
				}
				return names
			},
		},
	}
}

// outletOf returns the outlet of a product.
func (s *listings) outletOf(n uint32) *outlet { return &s.outlets.all[n%uint32(len(s.outlets.all))] }

// sortKeys returns comparisons by the fields of sort_by.
func (s *listings) sortKeys() map[string]func(a, b uint32) int {
	byPrice := byKey(s.products.priceOf)
	return map[string]func(a, b uint32) int{
		"created_at":  byKey(s.products.createdAt),
		"price":       byPrice,
		"unit_amount": byPrice,
		"outlet_name": byKey(func(n uint32) string { return s.outletOf(n).name }),
		"domain_authority": byKey(func(n uint32) int64 {
			return s.outletOf(n).channels[s.products.traitsOf(n).channel].authority
		}),
	}
}

// insertListing adds a product that is not in GET /outlets.
func (s *listings) insertListing(*rand.Rand) {
	s.onSale.add(s.products.addProduct(s.onSale.stamp(s.calendar.now().Unix())))
}

// insertOutletRow adds a product to GET /outlets only.
func (s *listings) insertOutletRow(*rand.Rand) {
	at := max(s.outletRows.stamp(s.calendar.now().Unix()), s.onSale.newest+1)
	s.outletRows.newest = at
	s.outletRows.add(s.products.addProduct(at))
}

// outletRowView returns GET /outlets. A row matches a filter if one of its channels does.
func (s *listings) outletRowView() view {
	return s.viewOf(&s.outletRows, s.renderOutletRow, func(n uint32) []channel { return s.outletOf(n).channels })
}

// listingView returns GET /products/listings. The channel of the listing must match a
// filter.
func (s *listings) listingView() view {
	return s.viewOf(&s.onSale, s.renderListing, func(n uint32) []channel {
		t := s.products.traitsOf(n)
		c := s.outlets.all[t.outlet].channels[t.channel]
		c.placement = t.placement
		return []channel{c}
	})
}

// outletProductView returns the products on sale of an outlet. Their numbers are the number
// of the outlet plus multiples of the number of outlets.
func (s *listings) outletProductView(outlet uint32) view {
	var order []uint32
	for n := int(outlet); n < len(s.products.all); n += len(s.outlets.all) {
		if !s.products.isWithdrawn(uint32(n)) {
			order = append(order, uint32(n))
		}
	}
	return view{order: order, toHead: true, kind: kindProduct, render: s.products.renderDetail, sortKeys: s.sortKeys()}
}

// renderListing writes an item of GET /products/listings.
func (s *listings) renderListing(e *enc, n uint32) {
	t := s.products.traitsOf(n)
	e.begin(kindProduct, n)
	e.escape = false // its texts are already escaped
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

// renderOutletRow writes an item of GET /outlets. Its id is the id of a product.
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

// categoryView returns the items of GET /products/categories.
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
