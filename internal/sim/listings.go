package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// product is all that is remembered of a product; everything else is a
// function of the seed, its number and these. A listing thus costs 16 bytes:
// these 12 and 4 in the list's order.
type product struct {
	created   uint32 // seconds since the world's birth
	version   uint16 // how often the row changed
	changed   uint16 // day of the last change, counted from 1; 0 never
	withdrawn uint16 // day on which it left the lists; 0 still there
}

// traits are the fixed properties of a product, read off one roll.
type traits struct {
	roll      uint64
	outlet    uint32
	channel   int
	placement string
	kind      int
}

// traits reads them off the product's roll; nothing of it is stored.
func (w *world) traits(n uint32) traits {
	h := w.seed.roll(kindProduct, n, 2)
	outlets := uint32(len(w.outlets))
	o := n % outlets
	return traits{
		roll: h, outlet: o, channel: int(n/outlets) % len(w.outlets[o].channels),
		placement: pick(w.words.placements, h), kind: int(h >> 40 % uint64(len(w.words.types))),
	}
}

// heads tells whether a product stands on GET /outlets too: the first of each
// outlet and every third after it, so that an outlet may appear twice.
func (w *world) heads(n uint32) bool { return n/uint32(len(w.outlets))%3 == 0 }

// price is what a product costs at its present version in the standard tier.
func (w *world) price(n uint32) micros {
	h := w.seed.roll(kindProduct, n, 3)
	base := 40 + h%400*5
	if oneIn(h, 5) {
		base *= 10
	}
	drift := w.seed.roll(kindProduct, n, 1000+uint64(w.products[n].version))
	m := dollars(int64(base)).share(900 + int64(drift%200))
	switch drift >> 20 % 8 {
	case 0:
		return m + micros(drift>>30%100_000)*10 // long decimals such as 239.86784
	case 1, 2:
		return m
	}
	return m / 10_000 * 10_000 // whole cents
}

// newProduct makes the next product, created at or after an instant.
func (w *world) newProduct(wish int64) uint32 {
	n := uint32(len(w.products))
	w.products = append(w.products, product{created: uint32(w.listings.stamp(wish) - w.birth)})
	w.listings.add(n)
	if w.heads(n) {
		w.outletRows.add(n)
	}
	return n
}

// firstProducts makes the products that are older than the world's first day,
// spread over two years before it. One in 64 shares its second with the one
// before it; within such a pair the ids decide the order.
func (w *world) firstProducts(count int) {
	w.products = make([]product, 0, count+count/8)
	w.listings.order = make([]uint32, 0, count+count/8)
	span := w.dayStart(w.day) - w.birth
	for i := range count {
		w.products = append(w.products, product{created: uint32(span * int64(i) / int64(count))})
		if i > 0 && oneIn(w.seed.roll(kindProduct, uint32(i), 4), 64) {
			w.products[i].created = w.products[i-1].created
		}
	}
	for i := 0; i < count; {
		tied := []uint32{uint32(i)}
		for i++; i < count && w.products[i].created == w.products[i-1].created; i++ {
			tied = append(tied, uint32(i))
		}
		w.listings.addTied(tied, w.seed, kindProduct)
	}
	for _, n := range w.listings.order {
		if w.heads(n) {
			w.outletRows.order = append(w.outletRows.order, n)
		}
	}
	w.listings.newest = w.dayStart(w.day)
}

// stepListings moves prices, withdraws listings and brings new ones. A fifth
// of the changed rows are left to the authorities of the outlets behind them.
func (w *world) stepListings(r *rand.Rand) {
	onSale := len(w.listings.order)
	if onSale == 0 {
		return
	}
	changes := w.opts.ListingChange * float64(onSale)
	for range about(r, changes*4/5) {
		p := &w.products[w.onSale(r)]
		p.version++
		p.changed = w.dayNumber()
	}
	perOutlet := max(1, float64(onSale)/float64(len(w.outlets)))
	w.stepOutlets(r, about(r, changes/5/perOutlet))

	turnover := min(about(r, w.opts.ListingTurnover*float64(onSale)), onSale-1)
	w.withdraw(r, turnover)
	for _, wish := range w.moments(r, turnover) {
		w.newProduct(wish)
	}
}

// onSale draws a product that is listed; any product when none is.
func (w *world) onSale(r *rand.Rand) uint32 {
	for {
		n := uint32(r.IntN(len(w.products)))
		if w.products[n].withdrawn == 0 || len(w.listings.order) == 0 {
			return n
		}
	}
}

// withdraw ends the sale of so many listings and takes them off both lists in
// one pass each.
func (w *world) withdraw(r *rand.Rand, count int) {
	if count <= 0 {
		return
	}
	for range count {
		w.products[w.onSale(r)].withdrawn = w.dayNumber()
	}
	gone := func(n uint32) bool { return w.products[n].withdrawn != 0 }
	w.listings.order = slices.DeleteFunc(w.listings.order, gone)
	w.outletRows.order = slices.DeleteFunc(w.outletRows.order, gone)
}

// withdrawOne takes one product off both lists at once.
func (w *world) withdrawOne(n uint32) {
	w.products[n].withdrawn = w.dayNumber()
	w.listings.drop(n)
	w.outletRows.drop(n)
}

// productCreated is the instant in Unix seconds.
func (w *world) productCreated(n uint32) int64 { return w.birth + int64(w.products[n].created) }

// productUpdated moves with the product's own row, not with its outlet's.
func (w *world) productUpdated(n uint32) int64 {
	p := w.products[n]
	if day := max(p.changed, p.withdrawn); day > 0 {
		second := w.seed.roll(kindProduct, n, 2000+uint64(day)) % daySeconds
		return max(w.numberedDay(day)+int64(second), w.productCreated(n))
	}
	return w.productCreated(n)
}

// forgotten tells whether a withdrawn product answers 404 by now.
func (w *world) forgotten(n uint32) bool {
	return w.products[n].withdrawn != 0 && oneIn(w.seed.roll(kindProduct, n, 5), 8)
}

// productSort orders both lists of products by a field of sort_by.
func (w *world) productSort(field string) func(a, b uint32) int {
	switch field {
	case "created_at":
		return byKey(w.productCreated)
	case "price", "unit_amount":
		return byKey(w.price)
	case "outlet_name":
		return byKey(func(n uint32) string { return w.outlets[w.traits(n).outlet].name })
	case "domain_authority":
		return byKey(func(n uint32) int64 {
			t := w.traits(n)
			return w.outlets[t.outlet].channels[t.channel].authority
		})
	}
	return nil
}

// byKey compares two records by what a function says of each.
func byKey[K cmp.Ordered](key func(n uint32) K) func(a, b uint32) int {
	return func(a, b uint32) int { return cmp.Compare(key(a), key(b)) }
}

// listingMatch applies a filter of GET /products/listings.
func (w *world) listingMatch(n uint32, key string, values []string) bool {
	t := w.traits(n)
	c := &w.outlets[t.outlet].channels[t.channel]
	switch key {
	case "channel_types":
		return slices.Contains(values, c.kind)
	case "placement_types":
		return slices.Contains(values, t.placement)
	case "disclaimer_ids":
		return slices.Contains(values, w.seed.id(kindDisclaimer, uint32(c.disclaimer)))
	}
	return w.outletFilter(n, t.outlet, key, values)
}

// outletRowMatch applies a filter of GET /outlets: one channel of the outlet
// that fits is enough.
func (w *world) outletRowMatch(n uint32, key string, values []string) bool {
	o := n % uint32(len(w.outlets))
	anyChannel := func(fits func(c channel) bool) bool {
		return slices.ContainsFunc(w.outlets[o].channels, fits)
	}
	switch key {
	case "channel_types":
		return anyChannel(func(c channel) bool { return slices.Contains(values, c.kind) })
	case "placement_types":
		return anyChannel(func(c channel) bool { return slices.Contains(values, c.placement) })
	case "disclaimer_ids":
		return anyChannel(func(c channel) bool {
			return slices.Contains(values, w.seed.id(kindDisclaimer, uint32(c.disclaimer)))
		})
	}
	return w.outletFilter(n, o, key, values)
}

// outletFilter applies the filters that both lists of products share. A key
// that nobody knows filters nothing.
func (w *world) outletFilter(n, outlet uint32, key string, values []string) bool {
	o := &w.outlets[outlet]
	switch key {
	case "country":
		return slices.Contains(values, o.place.country)
	case "product_ids":
		return slices.Contains(values, w.seed.id(kindProduct, n))
	case "tags":
		return slices.ContainsFunc(o.tags, func(tag int) bool {
			return slices.Contains(values, tagNames()[tag])
		})
	}
	return true
}
