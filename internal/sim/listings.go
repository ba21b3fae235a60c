package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// newProducts creates products in the two years before the first simulated day. One in 64 has the
// same created_at as the previous product. Products with the same created_at are sorted by id.
func newProducts(w *world) *products {
	s := &products{world: w}
	count := w.opts.Listings
	span := s.dayStart(s.day) - s.birth
	for i := range count {
		created := s.birth + span*int64(i)/int64(count)
		if i > 0 && oneIn(s.seed.roll(kindProduct, uint32(i), 4), 64) {
			created = s.all[i-1].created
		}
		s.addProduct(created)
	}
	s.onSale.numbers = countTo(count)
	slices.SortFunc(s.onSale.numbers, func(a, b uint32) int {
		if c := cmp.Compare(s.all[a].created, s.all[b].created); c != 0 {
			return c
		}
		return cmp.Compare(s.seed.id(kindProduct, b), s.seed.id(kindProduct, a))
	})
	for _, n := range s.onSale.numbers {
		if s.isOutletListing(n) {
			s.outletListings.numbers = append(s.outletListings.numbers, n)
		}
	}
	s.onSale.newestAt = s.dayStart(s.day)
	return s
}

func (s *products) stepDay(r *rand.Rand) {
	listedCount := len(s.onSale.numbers)
	if listedCount == 0 {
		return
	}
	changes := s.opts.ListingChange * float64(listedCount)
	for range roundByChance(r, changes*4/5) {
		n := s.drawOnSale(r)
		s.all[n].changes++
		s.updateToday(n)
	}
	// A changed outlet changes the rows of all its listings.
	listingsPerOutlet := max(1, float64(listedCount)/float64(len(s.outlets.all)))
	s.outlets.stepDay(r, roundByChance(r, changes/5/listingsPerOutlet))

	turnover := min(roundByChance(r, s.opts.ListingTurnover*float64(listedCount)), listedCount-1)
	for range turnover {
		s.withdrawProduct(s.drawOnSale(r))
	}
	s.onSale.numbers = slices.DeleteFunc(s.onSale.numbers, s.isWithdrawn)
	s.outletListings.numbers = slices.DeleteFunc(s.outletListings.numbers, s.isWithdrawn)
	for _, earliest := range s.drawSeconds(r, turnover) {
		n := s.addProduct(s.onSale.nextCreatedAt(earliest))
		s.onSale.add(n)
		if s.isOutletListing(n) {
			s.outletListings.add(n)
		}
	}
}

// drawOnSale returns a random product on sale, or any product if none is on sale.
func (s *products) drawOnSale(r *rand.Rand) uint32 {
	for {
		n := uint32(r.IntN(len(s.all)))
		if !s.isWithdrawn(n) || len(s.onSale.numbers) == 0 {
			return n
		}
	}
}

// outletProductView returns an outlet's products on sale. Product n belongs to outlet n modulo
// the number of outlets.
func (s *products) outletProductView(outlet uint32) view {
	var numbers []uint32
	for n := int(outlet); n < len(s.all); n += len(s.outlets.all) {
		if !s.isWithdrawn(uint32(n)) {
			numbers = append(numbers, uint32(n))
		}
	}
	return view{numbers: numbers, reversed: true, render: s.renderDetail}
}

func (s *products) renderListing(e *enc, n uint32) {
	t := s.traitsOf(n)
	e.beginRecord(kindProduct, n)
	s.writeHead(e, n, t)
	writeExampleLinks(e, n, t)
	e.when("created_at", s.all[n].created)
	o := &s.outlets.all[t.outlet]
	e.withRollOf(kindOutlet, t.outlet, func() {
		o.writeFields(e)
		o.writeIndexed(e)
	})
	o.channels[t.channel].writeListing(e)
	o.writeTags(e)
	e.str("placement_type", t.placement)
	s.writePrices(e, n, t)
	s.writeIncludes(e, t.roll)
	e.endRecord()
}

// renderOutletListing writes a row of GET /outlets. Its id is the id of a product.
func (s *products) renderOutletListing(e *enc, n uint32) {
	t := s.traitsOf(n)
	o := &s.outlets.all[t.outlet]
	e.beginRecord(kindProduct, n)
	s.writeHead(e, n, t)
	e.when("created_at", s.all[n].created)
	e.withRollOf(kindOutlet, t.outlet, func() { o.writeFields(e) })
	o.writeChannels(e)
	o.writeTags(e)
	s.writePrices(e, n, t)
	e.endRecord()
}

func (s *products) productTypeView(uint32) view {
	counts := make([]int64, len(productTypes))
	for _, n := range s.onSale.numbers {
		counts[s.traitsOf(n).typeIndex]++
	}
	return view{
		numbers: countTo(len(counts)),
		render: func(e *enc, n uint32) {
			e.begin(kindProductType, n)
			e.str("type", productTypes[n].name)
			e.num("count", counts[n])
			e.end()
		},
	}
}
