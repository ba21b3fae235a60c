package sim

import (
	"math/rand/v2"
	"slices"
)

// Order statuses. The spec gives them as plain strings without a list.
const (
	orderPending   = "pending_payment"
	orderOnHold    = "awaiting_po_approval"
	orderPaid      = "paid"
	orderFulfilled = "fulfilled"
	orderCancelled = "cancelled"
)

// order is a checkout for a profile. Once paid it stays paid.
type order struct {
	n, profile                              uint32
	status                                  string
	created, updated, paid, deleted         int64
	subtotal, fee, discount, credits, total micros
	lines                                   []line
	next                                    int  // day of the next event
	pays                                    bool // whether that event is the payment
	gone                                    bool // deleted from the list by churn
}

// line is a product on an order. Its item exists once the order is paid.
type line struct {
	product  uint32
	quantity int64
	price    micros
	addOn    bool
	linked   int // line it is an add-on to; -1 none
	item     int64
}

// sale is what the line costs the client.
func (l line) sale() micros { return l.price * micros(l.quantity) }

// newOrder makes the next order at or after an instant.
func (w *world) newOrder(r *rand.Rand, wish int64) uint32 {
	n := uint32(len(w.orders))
	o := order{
		n: n, profile: uint32(r.IntN(len(w.profiles))), status: orderPending,
		created: w.orderList.stamp(wish), next: w.after(r, 0, 3), pays: r.IntN(12) > 0,
	}
	if oneIn(w.seed.roll(kindOrder, n, 2), 9) {
		o.status = orderOnHold
	}
	if !o.pays {
		o.next = w.after(r, 7, 7)
	}
	o.updated = o.created
	w.addLines(r, &o)
	o.settle(w.seed.roll(kindOrder, n, 3))
	w.orders = append(w.orders, o)
	w.orderList.add(n)
	w.profiles[o.profile].orders = append(w.profiles[o.profile].orders, n)
	w.openOrders = append(w.openOrders, n)
	return n
}

// addLines buys one to four products that are on sale, some as add-ons.
func (w *world) addLines(r *rand.Rand, o *order) {
	for i := range 1 + r.IntN(4) {
		p := w.onSale(r)
		l := line{product: p, quantity: 1, price: w.price(p), linked: -1, item: -1}
		if r.IntN(8) == 0 {
			l.quantity = 2
		}
		if i > 0 && r.IntN(4) == 0 {
			l.addOn, l.linked = true, 0
		}
		o.lines = append(o.lines, l)
	}
}

// settle computes the amounts, so that they agree to the last digit.
func (o *order) settle(roll uint64) {
	for _, l := range o.lines {
		o.subtotal += l.sale()
	}
	o.fee = o.subtotal.share(29) + dollars(3)/10
	if roll%5 == 0 {
		o.discount = o.subtotal.share(100)
	}
	if roll>>8%7 == 0 {
		o.credits = min(dollars(25), o.subtotal.share(500))
	}
	o.total = o.subtotal + o.fee - o.discount - o.credits
}

// stepOrders makes the day's orders and lets the open ones go on: a payment,
// a fulfilment, or the end of one that nobody paid.
func (w *world) stepOrders(r *rand.Rand) {
	if len(w.listings.order) > 0 {
		for _, wish := range w.moments(r, w.due(w.opts.Orders)-len(w.orders)) {
			w.newOrder(r, wish)
		}
	}
	var today []uint32
	w.openOrders = slices.DeleteFunc(w.openOrders, func(n uint32) bool {
		if w.orders[n].next > w.day {
			return false
		}
		today = append(today, n)
		return true
	})
	for _, n := range today {
		w.orderEvent(r, &w.orders[n])
	}
}

// orderEvent takes the next step of an order's life.
func (w *world) orderEvent(r *rand.Rand, o *order) {
	at := max(w.moment(r), o.updated+1)
	switch {
	case o.status == orderPaid:
		o.status, o.updated = orderFulfilled, at
	case o.pays:
		w.payOrder(r, o, at)
		o.next = w.after(r, 15, 30)
		w.openOrders = append(w.openOrders, o.n)
	default:
		o.status, o.updated, o.deleted = orderCancelled, at, at
	}
}

// payOrder makes the order items, which share the instant of the payment.
func (w *world) payOrder(r *rand.Rand, o *order, at int64) {
	at = w.itemList.stamp(at)
	o.status, o.paid, o.updated = orderPaid, at, at
	var made []uint32
	for i := range o.lines {
		n := w.newItem(r, o, i, at)
		o.lines[i].item = int64(n)
		made = append(made, n)
	}
	w.itemList.addTied(made, w.seed, kindItem)
}

// orderSort orders orders by a field of sort_by.
func (w *world) orderSort(field string) func(a, b uint32) int {
	switch field {
	case "created_at":
		return byKey(func(n uint32) int64 { return w.orders[n].created })
	case "updated_at":
		return byKey(func(n uint32) int64 { return w.orders[n].updated })
	case "total":
		return byKey(func(n uint32) micros { return w.orders[n].total })
	}
	return nil
}

// orderMatch applies a filter of GET /orders.
func (w *world) orderMatch(n uint32, key string, values []string) bool {
	o := &w.orders[n]
	switch key {
	case "status":
		return slices.Contains(values, o.status)
	case "profile_id":
		return slices.Contains(values, w.seed.id(kindProfile, o.profile))
	case "product_ids":
		return slices.ContainsFunc(o.lines, func(l line) bool {
			return slices.Contains(values, w.seed.id(kindProduct, l.product))
		})
	}
	return true
}

// renderOrder writes an order as the lists show it: team nested, name and
// email empty.
func (w *world) renderOrder(e *enc, n uint32) {
	o := &w.orders[n]
	e.begin(kindOrder, n)
	w.orderFields(e, o)
	e.obj("team")
	e.str("name", teamName)
	e.str("contact_email", teamEmail)
	e.end()
	if oneIn(e.record, 2) {
		e.null("name")
		e.null("email")
	}
	w.lineItems(e, o, true)
	e.unknown()
	e.end()
}

// renderOrderDetail writes GET /orders/{order_id}: name and email at top
// level, team empty.
func (w *world) renderOrderDetail(e *enc, n uint32, outlets bool) {
	o := &w.orders[n]
	e.begin(kindOrder, n)
	w.orderFields(e, o)
	if oneIn(e.record, 2) {
		e.null("team")
	}
	e.str("name", teamName)
	e.str("email", teamEmail)
	w.lineItems(e, o, !outlets)
	e.unknown()
	e.end()
}

// orderFields writes what the list and the detail have in common.
func (w *world) orderFields(e *enc, o *order) {
	e.id("id", kindOrder, o.n)
	e.id("profile_id", kindProfile, o.profile)
	e.id("client_id", kindPerson, 100+o.profile)
	if e.keep("checkout_by_id") {
		e.id("checkout_by_id", kindPerson, 200+o.n%5)
	}
	e.id("team_id", kindTeam, 0)
	e.money("total", o.total)
	e.money("subtotal", o.subtotal)
	e.money("processing_fee", o.fee)
	e.money("discount", o.discount)
	e.optMoney("credits_applied", o.credits)
	w.orderPayment(e, o)
	w.orderGuest(e, o)
	if shape := pick(metadataShapes(), e.record); !oneIn(e.record>>5, 6) {
		e.raw("metadata", shape)
	}
	e.when("created_at", o.created)
	e.when("updated_at", o.updated)
	if o.deleted != 0 || e.keep("deleted_at") {
		e.when("deleted_at", o.deleted)
	}
	e.optStr("checkout_link", "https://pay.example.com/c/"+w.seed.id(kindOrder, o.n)[:8])
}

// orderPayment writes status and payment; an unpaid order has no invoice.
func (w *world) orderPayment(e *enc, o *order) {
	coupon := ""
	if o.discount > 0 {
		coupon = "WELCOME10"
	}
	short := w.seed.id(kindOrder, o.n)[:8]
	e.optStr("coupon", coupon)
	e.optStr("client_secret", "pi_"+short+"_secret_sim")
	e.when("date_paid", o.paid)
	e.str("status", o.status)
	e.optStr("reference_number", "R-"+short)
	e.optStr("external_reference_number", "=1+1\" PO "+short)
	if o.paid == 0 {
		return
	}
	e.optStr("customer_invoice_id", "inv_"+short)
	e.optStr("customer_invoice_source", "billing")
	if e.keep("customer_invoice_date") {
		e.when("customer_invoice_date", o.paid)
	}
	e.optStr("customer_invoice_url", "https://billing.example.com/i/"+short)
}

// orderGuest writes who ordered when it was no account of the team.
func (w *world) orderGuest(e *enc, o *order) {
	guest := oneIn(w.seed.roll(kindOrder, o.n, 4), 6)
	e.flag("is_guest_order", guest)
	if guest {
		e.str("guest_email", "guest+"+w.seed.id(kindOrder, o.n)[:4]+"@example.com")
		e.optStr("guest_payment_customer_id", "cus_"+w.seed.id(kindOrder, o.n)[:6])
	}
	e.optStr("account_owner_email", "owner@example.com")
}

// lineItems writes the lines of an order.
func (w *world) lineItems(e *enc, o *order, lean bool) {
	e.arr("line_items")
	for i := range o.lines {
		w.lineItem(e, o, &o.lines[i], lean)
	}
	e.close(']')
}

// lineItem writes one line. Without a payment it has neither id nor order_id.
func (w *world) lineItem(e *enc, o *order, l *line, lean bool) {
	t := w.traits(l.product)
	kind := w.words.types[t.kind]
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
	e.key("name")
	w.productName(e, l.product, t)
	e.str("product_type_name", kind.name)
	e.id("type_id", kindProductType, uint32(t.kind))
	e.str("product_type_prefix", kind.prefix)
	w.outletRef(e, t.outlet, lean)
	w.includes(e, t.roll)
	e.when("created_at", o.created)
	e.when("updated_at", max(o.created, o.paid))
	e.null("deleted_at")
	e.end()
}
