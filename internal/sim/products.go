package sim

import "strconv"

// words are the vocabulary that rendering listings reads all the time.
type words struct {
	placements, sentences, requirements []string
	types                               []productType
}

// newWords lays the vocabulary out once, because a page reads it a thousand
// times.
func newWords() words {
	return words{placementTypes(), sentences(), requirements(), productTypes()}
}

// renderListing writes an item of GET /products/listings.
func (w *world) renderListing(e *enc, n uint32) {
	t := w.traits(n)
	e.begin(kindProduct, n)
	e.escape = false // its texts are rendered ahead
	w.productHead(e, n, t)
	w.exampleLinks(e, n, t)
	e.when("created_at", w.productCreated(n))
	e.fragment(w.outlets[t.outlet].channels[t.channel].listing)
	e.word("placement_type", t.placement)
	w.prices(e, n, t)
	w.includes(e, t.roll)
	e.unknown()
	e.end()
}

// renderOutletRow writes an item of GET /outlets, whose id is a product's.
func (w *world) renderOutletRow(e *enc, n uint32) {
	t := w.traits(n)
	o := &w.outlets[t.outlet]
	e.begin(kindProduct, n)
	e.escape = false
	w.productHead(e, n, t)
	e.when("created_at", w.productCreated(n))
	e.fragment(o.listing)
	e.fragment(o.summaries)
	e.fragment(o.tagList)
	w.prices(e, n, t)
	e.unknown()
	e.end()
}

// renderProduct writes GET /products/{product_id}, also of a withdrawn one.
func (w *world) renderProduct(e *enc, n uint32) {
	t, p := w.traits(n), w.products[n]
	e.begin(kindProduct, n)
	e.escape = false
	w.productHead(e, n, t)
	e.flag("active", p.withdrawn == 0)
	w.exampleLinks(e, n, t)
	e.optStr("image", "https://cdn.example.com/products/"+strconv.Itoa(int(n))+".webp")
	e.optStr("logo", "https://cdn.example.com/logos/"+strconv.Itoa(int(t.outlet))+".png")
	e.optStr("example_screenshot", "https://cdn.example.com/shots/"+strconv.Itoa(int(n))+".png")
	e.id("type_id", kindProductType, uint32(t.kind))
	e.when("created_at", w.productCreated(n))
	e.when("updated_at", w.productUpdated(n))
	if p.withdrawn != 0 {
		e.when("deleted_at", w.productUpdated(n))
	} else if oneIn(t.roll, 2) {
		e.null("deleted_at")
	}
	w.prices(e, n, t)
	e.unknown()
	e.end()
}

// productName appends the name as JSON text: the type and the outlet's name.
func (w *world) productName(e *enc, n uint32, t traits) {
	e.b = append(e.b, '"')
	e.b = append(e.b, w.words.types[t.kind].label...)
	e.b = append(e.b, " in "...)
	e.b = append(e.b, w.outlets[t.outlet].nameText...)
	if round := n / uint32(len(w.outlets)); round > 0 {
		e.b = append(e.b, " #"...)
		e.b = strconv.AppendUint(e.b, uint64(round), 10)
	}
	e.b = append(e.b, '"', ',')
}

// productHead writes what every form of a product begins with.
func (w *world) productHead(e *enc, n uint32, t traits) {
	e.id("id", kindProduct, n)
	e.key("name")
	w.productName(e, n, t)
	if e.keep("description") {
		e.key("description")
		w.productDescription(e, t)
	}
	if e.keep("requirements") {
		e.raw("requirements", pick(w.words.requirements, mix(t.roll)))
	}
	minimum := int64(1 + t.roll>>12%10)
	e.optNum("min_delivery_days", minimum)
	e.optNum("max_delivery_days", minimum+2+int64(w.products[n].version%4))
	e.optFlag("is_featured", t.roll>>50%9 == 0)
}

// productDescription appends what is said of the placement, which no other one
// shares, and then two to five sentences out of the desk's stock.
func (w *world) productDescription(e *enc, t traits) {
	facts, sentences := mix(t.roll), uint64(len(w.words.sentences))
	e.b = append(e.b, '"')
	e.b = append(e.b, w.outlets[t.outlet].nameText...)
	e.b = append(e.b, " counted "...)
	e.b = strconv.AppendUint(e.b, 900+facts%4_000_000, 10)
	e.b = append(e.b, " visits last month, "...)
	e.b = strconv.AppendUint(e.b, 11+facts>>24%80, 10)
	e.b = append(e.b, " % of them by search; rate card "...)
	e.b = strconv.AppendUint(e.b, facts>>32, 36)
	e.b = append(e.b, ". "...)
	for i := range 2 + t.roll>>44%4 {
		// A stride of 3 through ten sentences repeats none.
		e.b = append(e.b, w.words.sentences[(t.roll>>12+3*i)%sentences]...)
	}
	e.b = append(e.b, '"', ',')
}

// exampleLinks are texts or objects.
func (w *world) exampleLinks(e *enc, n uint32, t traits) {
	e.arr("example_links")
	for i := range t.roll >> 36 % 3 {
		objects := t.roll>>39%3 == 0
		if objects {
			e.b = append(e.b, `{"title":"Example \u2116 `...)
			e.b = strconv.AppendUint(e.b, i+1, 10)
			e.b = append(e.b, `","url":`...)
		}
		e.b = append(e.b, `"https://www.example.com/articles/`...)
		e.b = strconv.AppendUint(e.b, uint64(n), 10)
		e.b = append(e.b, `?utm_source=placement&utm_medium=example"`...)
		if objects {
			e.b = append(e.b, '}')
		}
		e.b = append(e.b, ',')
	}
	e.close(']')
}

// prices writes two or three tiers; a tenth of them in euros as well.
func (w *world) prices(e *enc, n uint32, t traits) {
	base := w.price(n)
	currency := "USD"
	if t.roll>>20%8 == 0 {
		currency = "EUR"
	}
	e.arr("prices")
	w.tier(e, base, currency, "standard", t.roll)
	w.tier(e, base.share(900), currency, "pro", t.roll>>3)
	switch t.roll >> 24 % 16 {
	case 0:
		w.tier(e, base.share(920), "EUR", "standard", t.roll>>6)
	case 1:
		w.tier(e, base.share(500), currency, "black_friday_2026", t.roll>>6)
	case 2, 3, 4, 5, 6, 7:
		w.tier(e, base.share(775), currency, "enterprise", t.roll>>6)
	}
	e.close(']')
}

// tier writes one price. Its amount is a number, or the same as text; its
// currency and its tier may be missing.
func (w *world) tier(e *enc, amount micros, currency, tier string, roll uint64) {
	e.b = append(e.b, '{')
	e.key("unit_amount")
	if roll>>30%10 == 0 {
		e.b = append(e.b, '"')
		e.b = append(appendDecimal(e.b, amount), '"')
	} else {
		e.b = appendMoney(e.b, amount)
	}
	e.b = append(e.b, ',')
	if roll>>34%40 > 0 {
		e.word("currency", currency)
	}
	if roll>>41%40 > 0 {
		e.word("pricing_tier", tier)
	} else {
		e.null("pricing_tier")
	}
	e.end()
}

// includes writes what comes with a product: a list, an empty one, null, or
// nothing at all.
func (w *world) includes(e *enc, roll uint64) {
	switch roll >> 8 % 8 {
	case 0:
		return
	case 1:
		e.null("includes")
		return
	}
	e.includeList(roll>>8%4, w.words.placements, roll)
}

// includeList writes so many items of what comes with a product.
func (e *enc) includeList(count uint64, placements []string, roll uint64) {
	e.arr("includes")
	for i := range count {
		e.b = append(e.b, '{')
		if i == 0 {
			e.word("channel_type", "WEBSITE")
		} else {
			e.word("channel_type", "NEWSLETTER")
		}
		e.word("placement_type", pick(placements, roll>>i))
		e.end()
	}
	e.close(']')
}

// categories writes the items of GET /products/categories.
func (w *world) categories() view {
	counts := make([]int64, len(w.words.types))
	for _, n := range w.listings.order {
		counts[w.traits(n).kind]++
	}
	return view{
		order: sequence(len(counts)),
		render: func(e *enc, n uint32) {
			e.begin(kindProductType, n)
			e.word("type", w.words.types[n].name)
			e.num("count", counts[n])
			e.end()
		},
	}
}

// sequence is 0, 1, 2 and so on.
func sequence(count int) []uint32 {
	out := make([]uint32, count)
	for i := range out {
		out[i] = uint32(i)
	}
	return out
}
