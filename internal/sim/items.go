package sim

import (
	"math/rand/v2"
	"slices"
	"strconv"
)

// Commission statuses; plain strings in the spec. A paid one stays paid.
const (
	commissionPending  = "pending"
	commissionOnHold   = "on_hold_review"
	commissionApproved = "approved"
	commissionPaid     = "paid"
	commissionRefunded = "refunded"
)

// What the rolls of an item and its order decide.
const (
	commissionRoll = 21 + iota
	vendorRoll
	resellerRoll
)

// item is an order item: a paid line and the commission it brings.
type item struct {
	n, order         uint32
	line             int // its position on the order
	created, updated int64
	commission       micros
	status           string
	commissionPaid   int64
	accounted        int64
	refunded         int64
	article          int64 // -1 until one is begun
	next             int   // day of the next event
	gone             bool
}

// newItem makes the item of one line of an order that was just paid.
func (w *world) newItem(r *rand.Rand, o *order, lineIndex int, at int64) uint32 {
	n := uint32(len(w.items))
	l := o.lines[lineIndex]
	w.items = append(w.items, item{
		n: n, order: o.n, line: lineIndex, created: at, updated: at, article: -1,
		commission: w.commission(o.n, l.sale()),
		status:     commissionPending, next: w.after(r, 2, 7),
	})
	p := &w.profiles[o.profile]
	p.items = append(p.items, n)
	if !l.addOn {
		p.unassigned = append(p.unassigned, n)
	}
	w.openItems = append(w.openItems, n)
	return n
}

// commission is 10.567 % of a sale; a few orders bring none.
func (w *world) commission(order uint32, sale micros) micros {
	if oneIn(w.seed.roll(kindOrder, order, commissionRoll), 40) {
		return 0
	}
	return sale.share(100) + sale/100_000*567
}

// stepItems lets commissions go on: pending, perhaps on hold, approved, paid,
// accounted; a few are refunded instead.
func (w *world) stepItems(r *rand.Rand) {
	w.openItems = slices.DeleteFunc(w.openItems, func(n uint32) bool {
		it := &w.items[n]
		return it.next <= w.day && !w.itemEvent(r, it)
	})
}

// itemEvent takes the next step; false after the last one.
func (w *world) itemEvent(r *rand.Rand, it *item) bool {
	at := max(w.moment(r), it.updated+1)
	it.updated = at
	it.next = w.after(r, 4, 12)
	switch it.status {
	case commissionPending, commissionOnHold:
		w.reviewCommission(r, it, at)
		return it.status != commissionRefunded
	case commissionApproved:
		it.status, it.commissionPaid = commissionPaid, at
		return true
	}
	it.accounted = at
	return false
}

// reviewCommission approves a commission, holds it once, or refunds the sale.
func (w *world) reviewCommission(r *rand.Rand, it *item, at int64) {
	switch chance := r.IntN(20); {
	case chance == 0:
		it.status, it.refunded = commissionRefunded, at
	case chance <= 2 && it.status == commissionPending:
		it.status = commissionOnHold
	default:
		it.status = commissionApproved
	}
}

// itemSort orders order items by a field of sort_by.
func (w *world) itemSort(field string) func(a, b uint32) int {
	switch field {
	case "created_at":
		return byKey(func(n uint32) int64 { return w.items[n].created })
	case "updated_at":
		return byKey(func(n uint32) int64 { return w.items[n].updated })
	case "commission_amount":
		return byKey(func(n uint32) micros { return w.items[n].commission })
	}
	return nil
}

// itemMatch applies a filter of GET /order-items.
func (w *world) itemMatch(n uint32, key string, values []string) bool {
	it := &w.items[n]
	switch key {
	case "commission_status":
		return slices.Contains(values, it.status)
	case "product_ids":
		product := w.orders[it.order].lines[it.line].product
		return slices.Contains(values, w.seed.id(kindProduct, product))
	}
	return true
}

// renderItem writes an item of GET /order-items.
func (w *world) renderItem(e *enc, n uint32) {
	it := &w.items[n]
	o := &w.orders[it.order]
	l := o.lines[it.line]
	t := w.traits(l.product)
	e.begin(kindItem, n)
	e.id("id", kindItem, n)
	if e.keep("referrer_id") {
		e.id("referrer_id", kindPerson, 300+n%4)
	}
	e.id("referrer_team_id", kindTeam, 0)
	e.id("product_id", kindProduct, l.product)
	w.commissionFields(e, it)
	w.vendorFields(e, it, l)
	e.when("created_at", it.created)
	e.when("updated_at", it.updated)
	e.null("deleted_at")
	e.id("order_id", kindOrder, o.n)
	e.id("client_id", kindPerson, 100+o.profile)
	e.when("date_paid", o.paid)
	e.money("sale_price", l.sale())
	e.key("product_name")
	w.productName(e, l.product, t)
	e.money("product_price", l.price)
	e.str("product_type", w.words.types[t.kind].name)
	w.itemArticle(e, it)
	w.itemClient(e, o)
	w.outletRef(e, t.outlet, false)
	e.unknown()
	e.end()
}

// commissionFields writes the fields that advance with the commission.
func (w *world) commissionFields(e *enc, it *item) {
	e.money("commission_amount", it.commission)
	e.when("commission_date_paid", it.commissionPaid)
	e.str("commission_status", it.status)
	e.flag("is_accounting_completed", it.accounted != 0)
	e.flag("is_publisher_paid", it.accounted != 0)
	resellerPaid := int64(0)
	if w.resold(it.n) {
		resellerPaid = it.commissionPaid
	}
	e.optFlag("is_reseller_paid", resellerPaid != 0)
	e.flag("refund_required", it.refunded != 0)
	e.flag("is_refunded", it.refunded != 0)
	e.when("refund_date", it.refunded)
	if it.refunded != 0 {
		e.optStr("refund_method", "credit_card")
		e.optStr("refund_reference", "re_"+strconv.Itoa(int(it.n)))
	}
	if e.keep("accounting_completion_date") {
		e.when("accounting_completion_date", it.accounted)
	}
	if e.keep("publisher_paid_date") {
		e.when("publisher_paid_date", it.accounted)
	}
	if e.keep("reseller_paid_date") {
		e.when("reseller_paid_date", resellerPaid)
	}
}

// vendorFields writes the costs, and the invoice once the books are closed.
// With the commission they leave a margin on most items; a few vendors ask
// more than the sale brings.
func (w *world) vendorFields(e *enc, it *item, l line) {
	vendor := int64(420 + w.seed.roll(kindItem, it.n, vendorRoll)%200)
	if vendor%16 == 0 {
		vendor += 500
	}
	e.optMoney("internal_cost", l.sale().share(85))
	if w.resold(it.n) {
		e.optMoney("reseller_price", l.sale().share(120))
	} else if e.keep("reseller_price") {
		e.null("reseller_price")
	}
	e.optMoney("vendor_cost", l.sale().share(vendor))
	if it.accounted == 0 {
		return
	}
	e.optStr("vendor_invoice_id", "v-"+strconv.Itoa(int(it.n)))
	e.when("vendor_invoice_date", it.commissionPaid)
	e.when("vendor_paid_date", it.accounted)
	e.optStr("vendor_invoice_url", "https://billing.example.com/v/"+strconv.Itoa(int(it.n)))
}

// resold tells whether a reseller has a share in the item.
func (w *world) resold(n uint32) bool { return oneIn(w.seed.roll(kindItem, n, resellerRoll), 5) }

// itemArticle writes the article that fulfils the item, if one was begun.
func (w *world) itemArticle(e *enc, it *item) {
	if it.article < 0 {
		e.null("article_id")
		if e.keep("article") {
			e.null("article")
		}
		return
	}
	a := &w.articles[it.article]
	c := &w.campaigns[a.campaign]
	e.id("article_id", kindArticle, a.n)
	e.obj("article")
	e.id("id", kindArticle, a.n)
	e.str("name", w.articleName(a))
	e.obj("campaign")
	e.id("id", kindCampaign, c.n)
	e.str("name", w.campaignName(c))
	e.id("profile_id", kindProfile, c.profile)
	e.end()
	w.writer(e, a)
	e.end()
}

// itemClient writes the block of the client, who is the profile's person.
func (w *world) itemClient(e *enc, o *order) {
	if !e.keep("client") {
		return
	}
	p := pick(people(), w.seed.roll(kindPerson, 100+o.profile, 2))
	e.obj("client")
	e.str("first_name", p.first)
	e.str("last_name", p.last)
	e.end()
}

// renderProfileItem writes an item of GET /profiles/{id}/order-items.
func (w *world) renderProfileItem(e *enc, n uint32) {
	it := &w.items[n]
	o := &w.orders[it.order]
	l := o.lines[it.line]
	t := w.traits(l.product)
	e.begin(kindItem, n)
	e.id("id", kindItem, n)
	e.key("name")
	w.productName(e, l.product, t)
	if e.keep("description") {
		e.key("description")
		w.productDescription(e, t)
	}
	e.flag("is_add_on", l.addOn)
	e.id("profile_id", kindProfile, o.profile)
	e.str("type", w.words.types[t.kind].name)
	if it.article >= 0 {
		e.id("campaign_id", kindCampaign, w.articles[it.article].campaign)
	} else {
		e.null("campaign_id")
	}
	e.id("product_id", kindProduct, l.product)
	minimum := int64(1 + t.roll>>12%10)
	e.optNum("min_delivery_days", minimum)
	e.optNum("max_delivery_days", minimum+2)
	w.outletRef(e, t.outlet, false)
	e.includeList(t.roll>>8%4, w.words.placements, t.roll)
	e.unknown()
	e.end()
}
