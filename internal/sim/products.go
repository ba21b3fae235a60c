package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
)

// product is the state of a product. All other properties are derived from the seed and the number of
// the product, so that a million listings need little memory.
type product struct {
	created     int64
	updated     int64 // last change of the product's own row; changes of its outlet do not count
	changes     int   // number of changes of price and delivery time
	isWithdrawn bool
}

// traits are the constant properties of a product, derived from its roll and its number.
type traits struct {
	roll      uint64
	outlet    uint32
	channel   int // index in outlet.channels
	placement string
	typeIndex int    // index in productTypes
	offer     *offer // in a realistic world
}

// Salts of the random numbers of a product. enc.begin uses salt 1. The last two are the starts of ranges: the number
// of changes or of the day is added.
const (
	saltOfTraits       = 2
	saltOfPrice        = 3
	saltOfCreation     = 4
	saltOfDeletion     = 5
	saltOfPriceChanges = 1000
	saltOfDays         = 2000
)

// products contains all products that were ever on sale, and two lists of the products on sale.
type products struct {
	*world
	all            []product
	onSale         list // GET /products/listings
	outletListings list // GET /outlets
}

// newProducts creates products in the two years before the first simulated day. One in 64 has the
// same created_at as the previous product. The list is stored oldest first and served newest first. So products
// of the same time are stored in descending order of their ids, and served in ascending order.
func newProducts(w *world) *products {
	s := &products{world: w}
	count := w.opts.Listings
	span := s.dayStart(s.day) - s.birth
	for i := range count {
		created := s.birth + span*int64(i)/int64(count)
		if i > 0 && oneIn(s.seed.roll(kindProduct, uint32(i), saltOfCreation), 64) {
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
	return view{numbers: numbers, reversed: true, render: func(e *enc, n uint32) { s.renderProduct(e, n, !e.realistic) }}
}

func (s *products) renderListing(e *enc, n uint32) {
	t := s.traitsOf(n)
	e.beginRecord(kindProduct, n)
	s.writeHead(e, n, t)
	s.writeExampleLinks(e, n, t)
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
	counts := make([]int64, len(s.words.productTypes))
	for _, n := range s.onSale.numbers {
		counts[s.traitsOf(n).typeIndex]++
	}
	return view{
		numbers: countTo(len(counts)),
		render: func(e *enc, n uint32) {
			e.begin(kindProductType, n)
			e.str("type", e.words.productTypes[n].name)
			e.num("count", counts[n])
			e.end()
		},
	}
}

func (s *products) addProduct(created int64) uint32 {
	s.all = append(s.all, product{created: created, updated: created})
	return uint32(len(s.all) - 1)
}

func (s *products) withdrawProduct(n uint32) {
	s.all[n].isWithdrawn = true
	s.updateToday(n)
}

// updateToday sets the time of the last change. All changes of a product on a day have the same time.
func (s *products) updateToday(n uint32) {
	second := s.seed.roll(kindProduct, n, saltOfDays+uint64(s.day+s.opts.HistoryDays+1)) % daySeconds
	s.all[n].updated = max(s.dayStart(s.day)+int64(second), s.all[n].created)
}

func (s *products) isWithdrawn(n uint32) bool { return s.all[n].isWithdrawn }

// renderDetail writes the response of GET /products/{product_id}, also for withdrawn products.
func (s *products) renderDetail(e *enc, n uint32) { s.renderProduct(e, n, true) }

// renderProduct writes a product. The rows of GET /outlets/{id}/products, which the spec does not show, have no lists in a
// realistic world.
func (s *products) renderProduct(e *enc, n uint32, hasLists bool) {
	t := s.traitsOf(n)
	e.beginRecord(kindProduct, n)
	s.writeHead(e, n, t)
	e.flag("active", !s.isWithdrawn(n))
	if hasLists {
		s.writeExampleLinks(e, n, t)
	}
	e.optStr("image", "https://cdn.example.com/products/"+strconv.Itoa(int(n))+".webp")
	e.optStr("logo", "https://cdn.example.com/logos/"+strconv.Itoa(int(t.outlet))+".png")
	e.optStr("example_screenshot", "https://cdn.example.com/shots/"+strconv.Itoa(int(n))+".png")
	e.id("type_id", kindProductType, uint32(t.typeIndex))
	e.times(s.all[n].created, s.all[n].updated)
	if s.isWithdrawn(n) {
		e.when("deleted_at", s.all[n].updated)
	} else if oneIn(t.roll, 2) {
		e.null("deleted_at")
	}
	if hasLists {
		s.writePrices(e, n, t)
	}
	e.endRecord()
}

func (s *products) nameOf(n uint32, t traits) string {
	name := s.words.productTypes[t.typeIndex].label + " in " + s.outlets.all[t.outlet].name
	if t.offer != nil {
		return name + socialNames[s.outlets.all[t.outlet].channels[t.channel].channelType]
	}
	if round := n / uint32(len(s.outlets.all)); round > 0 {
		name += " #" + strconv.Itoa(int(round))
	}
	return name
}

func (s *products) writeHead(e *enc, n uint32, t traits) {
	e.str("name", s.nameOf(n, t))
	s.writeDescription(e, t)
	if e.optional("requirements") {
		e.raw("requirements", pick(s.words.requirements, mix(t.roll)))
	}
	writeDeliveryDays(e, t, s.all[n].changes)
	e.optFlag("is_featured", (t.roll>>50)%9 == 0)
}

func writeDeliveryDays(e *enc, t traits, changes int) {
	least := int64(1 + (t.roll>>12)%10)
	most := least + 2 + int64(changes%4)
	if e.realistic {
		most = t.promisedDays() + int64(changes%3)
		least = most / 2
	}
	e.optNum("min_delivery_days", least)
	e.optNum("max_delivery_days", most)
}

func (s *products) writeDescription(e *enc, t traits) {
	if !e.optional("description") {
		return
	}
	e.key("description")
	facts := mix(t.roll)
	count := 2 + (t.roll>>44)%4
	first := fmt.Sprintf("%s counted %d visits last month, %d %% of them by search; rate card %s. ",
		s.outlets.all[t.outlet].name, 900+facts%4_000_000, 11+(facts>>24)%80, strconv.FormatUint(facts>>32, 36))
	if e.realistic {
		first = fmt.Sprintf("%s has %d,000 readers a month. ", s.outlets.all[t.outlet].name, 20+facts%400)
		count = 2
	}
	e.b = appendString(e.b, first, false)
	e.b = e.b[:len(e.b)-1] // the sentences follow before the closing quote
	for i := range count {
		// A stride of 3 through ten sentences never repeats one.
		index := (t.roll >> 12) + 3*i
		e.b = append(e.b, s.words.sentences[index%uint64(len(s.words.sentences))]...)
	}
	e.b = append(e.b, '"', ',')
}

func (s *products) writeExampleLinks(e *enc, n uint32, t traits) {
	e.arr("example_links")
	if e.realistic {
		e.value(s.outlets.all[t.outlet].site + "stories/" + strconv.Itoa(int(n)))
		e.close(']')
		return
	}
	for i := range (t.roll >> 36) % 3 {
		link := fmt.Sprintf(`"https://www.example.com/articles/%d?utm_source=placement&utm_medium=example"`, n)
		if (t.roll>>39)%3 == 0 {
			link = fmt.Sprintf(`{"title":"Example \u2116 %d","url":%s}`, i+1, link)
		}
		e.b = append(append(e.b, link...), ',')
	}
	e.close(']')
}

// writePrices writes a standard and a pro price, and for half of the products a third price. One
// product in eight has prices in euros; a few have prices in dollars and in euros.
func (s *products) writePrices(e *enc, n uint32, t traits) {
	base := s.priceOf(n)
	if e.realistic {
		writeRealisticPrices(e, base, s.outlets.all[t.outlet].place.countryCode)
		return
	}
	currency := "USD"
	if (t.roll>>20)%8 == 0 {
		currency = "EUR"
	}
	e.arr("prices")
	writePrice(e, base, currency, "standard", t.roll)
	writePrice(e, base.perMille(900), currency, "pro", t.roll>>3)
	switch (t.roll >> 24) % 16 {
	case 0:
		writePrice(e, base.perMille(920), "EUR", "standard", t.roll>>6)
	case 1:
		writePrice(e, base.perMille(500), currency, "black_friday_2026", t.roll>>6)
	case 2, 3, 4, 5, 6, 7:
		writePrice(e, base.perMille(775), currency, "enterprise", t.roll>>6)
	}
	e.close(']')
}

func writePrice(e *enc, amount micros, currency, tier string, roll uint64) {
	e.b = append(e.b, '{')
	e.key("unit_amount")
	if (roll>>30)%10 == 0 {
		e.b = append(e.b, '"')
		e.b = append(appendDecimal(e.b, amount), '"')
	} else {
		e.b = appendMoney(e.b, amount)
	}
	e.b = append(e.b, ',')
	if (roll>>34)%40 > 0 {
		e.str("currency", currency)
	}
	if (roll>>41)%40 > 0 {
		e.str("pricing_tier", tier)
	} else {
		e.null("pricing_tier")
	}
	e.end()
}

// writeIncludes writes the field "includes" of a listing. One listing in eight lacks the field, and another one has null.
// In a realistic world, each listing has null or a list that is not empty.
func (s *products) writeIncludes(e *enc, roll uint64) {
	form := includeForm(roll)
	switch {
	case !e.realistic && form == 0:
		return
	case !e.realistic && form == 1:
		e.null("includes")
	case e.realistic && form != realisticIncludes:
		e.null("includes")
	default:
		s.writeIncludeList(e, roll)
	}
}

// realisticIncludes is the form of the products that include something in a realistic world.
const realisticIncludes = 4

// includeForm returns one of eight forms of the field "includes".
func includeForm(roll uint64) uint64 { return (roll >> 8) % 8 }

func (s *products) writeIncludeList(e *enc, roll uint64) {
	e.arr("includes")
	if e.realistic {
		if includeForm(roll) == realisticIncludes {
			e.b = append(e.b, `{"channel_type":"NEWSLETTER","placement_type":"MENTION"},`...)
		}
		e.close(']')
		return
	}
	for i := range (roll >> 8) % 4 {
		e.b = append(e.b, '{')
		if i == 0 {
			e.str("channel_type", "WEBSITE")
		} else {
			e.str("channel_type", "NEWSLETTER")
		}
		e.str("placement_type", pick(placementTypes, roll>>i))
		e.end()
	}
	e.close(']')
}

func (s *products) traitsOf(n uint32) traits {
	h := s.seed.roll(kindProduct, n, saltOfTraits)
	outlets := uint32(len(s.outlets.all))
	o := n % outlets
	if s.opts.Realistic {
		return s.realisticTraits(h, o, int(n/outlets))
	}
	return traits{
		roll: h, outlet: o, channel: int(n/outlets) % len(s.outlets.all[o].channels),
		placement: pick(placementTypes, h), typeIndex: int((h >> 40) % uint64(len(s.words.productTypes))),
	}
}

// isOutletListing reports whether a product is also in GET /outlets. The first product of each outlet is in this list,
// and every third product after it, so an outlet may occur several times. The answer does not hold for products
// that churn inserted: each of them is in one list only.
func (s *products) isOutletListing(n uint32) bool { return (n/uint32(len(s.outlets.all)))%3 == 0 }

// priceOf returns the current price of a product in the standard tier.
func (s *products) priceOf(n uint32) micros {
	if s.opts.Realistic {
		return s.realisticPrice(n)
	}
	h := s.seed.roll(kindProduct, n, saltOfPrice)
	base := 40 + 5*(h%400)
	if oneIn(h, 5) {
		base *= 10
	}
	variation := s.seed.roll(kindProduct, n, saltOfPriceChanges+uint64(s.all[n].changes))
	m := wholeUnits(int64(base)).perMille(900 + int64(variation%200))
	switch (variation >> 20) % 8 {
	case 0:
		return m + micros((variation>>30)%100_000)*10 // long decimals such as 239.86784
	case 1, 2:
		return m
	}
	return m.cents()
}
