package sim

import (
	"math/rand/v2"
	"slices"
)

// Order statuses. The spec does not list them.
const (
	orderPending   = "pending_payment"
	orderOnHold    = "awaiting_po_approval"
	orderPaid      = "paid"
	orderFulfilled = "fulfilled"
	orderCancelled = "cancelled"
)

// order is an order of a profile. A paid order is never cancelled.
type order struct {
	n, profile                              uint32
	status                                  string
	created, updated, paid, deleted         int64 // Unix times, or 0 before the event
	subtotal, fee, discount, credits, total micros
	lines                                   []line
	nextDay                                 int  // day of the next event
	willBePaid                              bool // an order that will not be paid is cancelled
}

// line is a product in an order. Its order item exists once the order is paid.
type line struct {
	product  uint32
	quantity int64
	list     micros // price in the catalog
	price    micros
	addOn    bool
	linked   int   // line to which an add-on belongs, or -1
	item     int64 // order item, or -1 before the payment
}

func (l line) salePrice() micros { return l.price * micros(l.quantity) }

type orders struct {
	*world
	all  []order
	list list     // GET /orders
	open []uint32 // orders with a future event
}

// newOrder creates an order. Its created_at is at least earliest.
func (s *orders) newOrder(r *rand.Rand, earliest int64) uint32 {
	n := uint32(len(s.all))
	o := order{
		n: n, profile: uint32(r.IntN(len(s.profiles.all))), status: orderPending,
		created: s.list.nextCreatedAt(earliest), nextDay: s.drawDay(r, 0, 3), willBePaid: r.IntN(12) > 0,
	}
	if oneIn(s.seed.roll(kindOrder, n, 2), 9) {
		o.status = orderOnHold
	}
	if !o.willBePaid {
		o.nextDay = s.drawDay(r, 7, 7)
	}
	o.updated = o.created
	// One to four listed products, some as add-ons.
	for i := range 1 + r.IntN(4) {
		p := s.products.drawOnSale(r)
		list := s.products.priceOf(p)
		l := line{product: p, quantity: 1, list: list, price: list, linked: -1, item: -1}
		if s.opts.Realistic {
			l.price = list.perMille(proPerMille)
		} else if r.IntN(8) == 0 {
			l.quantity = 2
		}
		if i > 0 && r.IntN(4) == 0 {
			l.addOn, l.linked = true, 0
			l = s.moveToOtherProduct(o.lines[0], l)
		}
		o.lines = append(o.lines, l)
	}
	o.computeAmounts(s.opts.Realistic, s.seed.roll(kindOrder, n, 3))
	s.all = append(s.all, o)
	s.list.add(n)
	s.open = append(s.open, n)
	return n
}

// The total is exactly the subtotal and the fee, less the discount and the credits.
func (o *order) computeAmounts(inCents bool, roll uint64) {
	for _, l := range o.lines {
		o.subtotal += l.salePrice()
	}
	o.fee = o.subtotal.perMille(29) + wholeUnits(3)/10
	if inCents {
		o.fee = o.fee.cents()
	}
	if roll%5 == 0 {
		o.discount = o.subtotal.perMille(100)
	}
	if roll>>8%7 == 0 {
		o.credits = min(wholeUnits(25), o.subtotal.perMille(500))
	}
	o.total = o.subtotal + o.fee - o.discount - o.credits
}

func (s *orders) stepDay(r *rand.Rand) {
	if len(s.products.onSale.numbers) > 0 {
		for _, earliest := range s.drawSeconds(r, s.targetCount(s.opts.Orders)-len(s.all)) {
			s.newOrder(r, earliest)
		}
	}
	var due []uint32
	s.open = slices.DeleteFunc(s.open, func(n uint32) bool {
		if s.all[n].nextDay > s.day {
			return false
		}
		due = append(due, n)
		return true
	})
	for _, n := range due {
		o := &s.all[n]
		at := s.drawLater(r, o.updated)
		switch {
		case o.status == orderPaid && s.opts.Realistic && !s.isDelivered(o):
			o.nextDay = s.day + 1
			s.open = append(s.open, n)
		case o.status == orderPaid:
			o.status, o.updated = orderFulfilled, at
		case o.willBePaid:
			s.items.payOrder(r, o, at)
			o.nextDay = s.drawDay(r, 15, 30)
			s.open = append(s.open, n)
		default:
			o.status, o.updated, o.deleted = orderCancelled, at, at
		}
	}
}

// isDelivered reports whether each line of a paid order is refunded or has a published article.
func (s *orders) isDelivered(o *order) bool {
	return !slices.ContainsFunc(o.lines, func(l line) bool {
		it := &s.items.all[l.item]
		return it.refundedAt == 0 && (it.article < 0 || !s.articles.all[it.article].isPublished())
	})
}

// renderRow writes an order as in the lists: with a nested team. name and email are missing or null.
func (s *orders) renderRow(e *enc, n uint32) {
	o := &s.all[n]
	e.beginRecord(kindOrder, n)
	o.writeFields(e)
	e.obj("team")
	e.str("name", e.words.team)
	e.str("contact_email", teamEmail)
	e.end()
	if oneIn(e.roll, 2) {
		e.null("name")
		e.null("email")
	}
	s.writeLines(e, o, true)
	e.endRecord()
}

// renderDetail writes the response of GET /orders/{order_id}: with name and email at top level.
// team is missing or null.
func (s *orders) renderDetail(e *enc, n uint32) {
	o := &s.all[n]
	e.beginRecord(kindOrder, n)
	o.writeFields(e)
	if oneIn(e.roll, 2) {
		e.null("team")
	}
	e.str("name", e.words.team)
	e.str("email", teamEmail)
	s.writeLines(e, o, !e.fullOutlets)
	e.endRecord()
}

func (o *order) writeFields(e *enc) {
	e.id("profile_id", kindProfile, o.profile)
	e.id("client_id", kindPerson, 100+o.profile)
	if e.optional("checkout_by_id") {
		e.id("checkout_by_id", kindPerson, 200+o.n%5)
	}
	e.id("team_id", kindTeam, 0)
	e.money("total", o.total)
	e.money("subtotal", o.subtotal)
	e.money("processing_fee", o.fee)
	e.money("discount", o.discount)
	e.optMoney("credits_applied", o.credits)
	coupon := ""
	if o.discount > 0 {
		coupon = "WELCOME10"
	}
	short := e.seed.id(kindOrder, o.n)[:8]
	e.optStr("coupon", coupon)
	e.optStr("client_secret", "pi_"+short+"_secret_sim")
	e.when("date_paid", o.paid)
	e.status("status", o.status)
	e.optStr("reference_number", "R-"+short)
	e.optStr("external_reference_number", e.either("=1+1\" PO ", "PO-")+short)
	if o.paid != 0 { // an unpaid order has no invoice
		e.optStr("customer_invoice_id", "inv_"+short)
		e.optStr("customer_invoice_source", "billing")
		e.optWhen("customer_invoice_date", o.paid)
		e.optStr("customer_invoice_url", "https://billing.example.com/i/"+short)
	}
	isGuest := oneIn(e.seed.roll(kindOrder, o.n, 4), 6)
	e.flag("is_guest_order", isGuest)
	if isGuest {
		e.str("guest_email", "guest+"+short[:4]+"@example.com")
		e.optStr(e.either("guest_payment_customer_id", "guest_stripe_customer_id"), "cus_"+short[:6])
	}
	e.optStr("account_owner_email", "owner@example.com")
	if shape := pick(e.words.metadata, e.roll); !oneIn(e.roll>>5, 6) {
		e.raw("metadata", shape)
	}
	e.times(o.created, o.updated)
	if o.deleted != 0 || e.optional("deleted_at") {
		e.when("deleted_at", o.deleted)
	}
	e.optStr("checkout_link", "https://pay.example.com/c/"+short)
}

// writeLines writes the lines of an order. Lines of an unpaid order have neither id nor order_id. If lean is
// true, an outlet has only id and name.
func (s *orders) writeLines(e *enc, o *order, lean bool) {
	e.arr("line_items")
	for _, l := range o.lines {
		t := s.products.traitsOf(l.product)
		productType := e.words.productTypes[t.typeIndex]
		e.b = append(e.b, '{')
		if l.item >= 0 {
			e.id("id", kindItem, uint32(l.item))
			e.id("order_id", kindOrder, o.n)
		}
		e.id("product_id", kindProduct, l.product)
		e.num("quantity", l.quantity)
		e.money("price", l.price)
		e.flag("is_add_on", l.addOn)
		if l.linked >= 0 && o.lines[l.linked].item >= 0 {
			e.id("linked_order_line_item_id", kindItem, uint32(o.lines[l.linked].item))
		} else {
			e.null("linked_order_line_item_id")
		}
		e.str("name", s.products.nameOf(l.product, t))
		e.str("product_type_name", productType.name)
		e.id("type_id", kindProductType, uint32(t.typeIndex))
		e.str("product_type_prefix", productType.prefix)
		e.obj("outlet")
		s.outlets.writeRefFields(e, t.outlet, lean)
		if s.opts.HiddenDetail && !lean {
			e.num("revision", int64(s.outlets.all[t.outlet].edits)) // no list contains the revision
		}
		e.end()
		s.products.writeIncludes(e, t.roll)
		e.times(o.created, max(o.created, o.paid))
		e.null("deleted_at")
		e.end()
	}
	e.close(']')
}

// newSingleLineOrder creates an order with one line. The caller must call payOrder at once, because the
// order is not in s.open.
func (s *orders) newSingleLineOrder(r *rand.Rand, earliest int64) *order {
	o := &s.all[s.newOrder(r, earliest)]
	o.lines, o.subtotal = o.lines[:1], 0
	o.computeAmounts(s.opts.Realistic, s.seed.roll(kindOrder, o.n, 3))
	s.open = s.open[:len(s.open)-1]
	return o
}

func (s *orders) profileView(profile uint32) view {
	return s.list.viewOf(len(s.all), func(n uint32) bool { return s.all[n].profile == profile }, s.renderRow)
}
