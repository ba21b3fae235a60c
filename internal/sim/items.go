package sim

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
)

// Commission statuses. The spec does not list them. A paid commission is never refunded.
const (
	commissionPending  = "pending"
	commissionOnHold   = "on_hold_review"
	commissionApproved = "approved"
	commissionPaid     = "paid"
	commissionRefunded = "refunded"
)

// Salts of rolls. They differ from all other salts of orders and items.
const (
	commissionSalt = 21 + iota
	vendorSalt
	resellerSalt
)

// item is an order item: a paid line with its commission.
type item struct {
	n, order         uint32
	line             int // position of the line in the order
	created, updated int64
	commission       micros
	status           string // status of the commission
	commissionPaidAt int64  // Unix time, or 0 before the event, like the next two fields
	accountedAt      int64
	refundedAt       int64
	article          int64  // -1 if there is none
	campaign         uint32 // campaign of the article
	nextDay          int    // day of the next event; the constant never if there is none
}

type items struct {
	*world
	all        []item
	list       list       // GET /order-items
	unassigned [][]uint32 // items that still need an article, by profile; add-ons need none
}

func (s *items) newItem(r *rand.Rand, o *order, lineIndex int, at int64) uint32 {
	n := uint32(len(s.all))
	l := o.lines[lineIndex]
	commission := l.salePrice().perMille(100) + l.salePrice()/100_000*567 // 10.567 %
	// One order in 40, or in 12, has no commission.
	without := uint64(40)
	if s.opts.Realistic {
		commission, without = l.salePrice().perMille(100).cents(), 12
	}
	if oneIn(s.seed.roll(kindOrder, o.n, commissionSalt), without) {
		commission = 0
	}
	s.all = append(s.all, item{
		n: n, order: o.n, line: lineIndex, created: at, updated: at, article: -1,
		commission: commission, status: commissionPending, nextDay: s.drawDay(r, 2, 7),
	})
	if !l.addOn {
		s.unassigned[o.profile] = append(s.unassigned[o.profile], n)
	}
	return n
}

func (s *items) stepDay(r *rand.Rand) {
	for i := range s.all {
		if it := &s.all[i]; it.nextDay <= s.day {
			s.advanceItem(r, it)
		}
	}
}

// never is the day of an event that does not happen.
const never = math.MaxInt

func (s *items) advanceItem(r *rand.Rand, it *item) {
	at := s.drawLater(r, it.updated)
	it.updated = at
	it.nextDay = s.drawDay(r, 4, 12)
	switch it.status {
	case commissionPending, commissionOnHold:
		// Approve the commission, hold it once, or refund the sale.
		chance := r.IntN(20)
		isRefunded := chance == 0
		if s.opts.Realistic { // neither an item with an article, nor the first item of an order, to which the add-ons belong
			isRefunded = chance < 4 && it.article < 0 && it.line > 0
		}
		switch {
		case isRefunded:
			it.status, it.refundedAt, it.nextDay = commissionRefunded, at, never
			if s.opts.Realistic { // a refunded item gets no article
				waiting := &s.unassigned[s.orders.all[it.order].profile]
				*waiting = slices.DeleteFunc(*waiting, func(n uint32) bool { return n == it.n })
			}
		case chance <= 2 && it.status == commissionPending:
			it.status = commissionOnHold
		default:
			it.status = commissionApproved
		}
	case commissionApproved:
		it.status, it.commissionPaidAt = commissionPaid, at
	case commissionPaid:
		it.accountedAt, it.nextDay = at, never
	}
}

func (s *items) renderRow(e *enc, n uint32) {
	it := &s.all[n]
	o := &s.orders.all[it.order]
	l := o.lines[it.line]
	t := s.products.traitsOf(l.product)
	e.beginRecord(kindItem, n)
	if e.optional("referrer_id") {
		e.id("referrer_id", kindPerson, 300+n%4)
	}
	e.id("referrer_team_id", kindTeam, 0)
	e.id("product_id", kindProduct, l.product)
	it.writeCommission(e)
	it.writeCosts(e, l)
	e.times(it.created, it.updated)
	e.null("deleted_at")
	e.id("order_id", kindOrder, o.n)
	e.id("client_id", kindPerson, 100+o.profile)
	e.when("date_paid", o.paid)
	e.money("sale_price", l.salePrice())
	e.str("product_name", s.products.nameOf(l.product, t))
	e.money("product_price", l.list)
	e.str("product_type", e.words.productTypes[t.typeIndex].name)
	it.writeArticle(e, o.profile)
	if e.optional("client") { // the contact of the profile
		p := pick(e.words.people, e.seed.roll(kindPerson, 100+o.profile, 2))
		e.obj("client")
		e.str("first_name", p.first)
		e.str("last_name", p.last)
		e.end()
	}
	s.outlets.writeRef(e, t.outlet, false)
	e.endRecord()
}

func (it *item) writeCommission(e *enc) {
	e.money("commission_amount", it.commission)
	status, paidAt := it.status, it.commissionPaidAt
	if e.realistic && it.commission == 0 {
		status, paidAt = "NOT_APPLICABLE", 0
	}
	e.when("commission_date_paid", paidAt)
	e.status("commission_status", status)
	e.flag("is_accounting_completed", it.accountedAt != 0)
	e.flag("is_publisher_paid", it.accountedAt != 0)
	resellerPaidAt := int64(0)
	if it.isResold(e) {
		resellerPaidAt = it.commissionPaidAt
	}
	e.optFlag("is_reseller_paid", resellerPaidAt != 0)
	e.flag("refund_required", it.refundedAt != 0)
	e.flag("is_refunded", it.refundedAt != 0)
	e.when("refund_date", it.refundedAt)
	if it.refundedAt != 0 {
		e.optStr("refund_method", "credit_card")
		e.optStr("refund_reference", "re_"+strconv.Itoa(int(it.n)))
	}
	e.optWhen("accounting_completion_date", it.accountedAt)
	e.optWhen("publisher_paid_date", it.accountedAt)
	e.optWhen("reseller_paid_date", resellerPaidAt)
}

// Most items have a positive margin. A few vendors cost more than the sale price.
func (it *item) writeCosts(e *enc, l line) {
	roll := e.seed.roll(kindItem, it.n, vendorSalt)
	vendorPerMille := int64(420 + roll%200)
	if vendorPerMille%16 == 0 {
		vendorPerMille += 500
	}
	if e.realistic {
		e.null("internal_cost")
	} else {
		e.optMoney("internal_cost", l.salePrice().perMille(85))
	}
	if it.isResold(e) {
		e.optMoney("reseller_price", l.salePrice().perMille(120))
	} else if e.optional("reseller_price") {
		e.null("reseller_price")
	}
	switch {
	case e.realistic && oneIn(roll, 25):
		e.null("vendor_cost")
	case e.realistic:
		e.money("vendor_cost", l.salePrice().perMille(550+int64(roll%200)).cents())
	default:
		e.optMoney("vendor_cost", l.salePrice().perMille(vendorPerMille))
	}
	if it.accountedAt == 0 {
		return
	}
	e.optStr("vendor_invoice_id", "v-"+strconv.Itoa(int(it.n)))
	e.when("vendor_invoice_date", it.commissionPaidAt)
	e.when("vendor_paid_date", it.accountedAt)
	e.optStr("vendor_invoice_url", "https://billing.example.com/v/"+strconv.Itoa(int(it.n)))
}

// A realistic service does not tell partners about resellers.
func (it *item) isResold(e *enc) bool {
	return !e.realistic && oneIn(e.seed.roll(kindItem, it.n, resellerSalt), 5)
}

func (it *item) writeArticle(e *enc, profile uint32) {
	if it.article < 0 {
		e.null("article_id")
		if e.optional("article") {
			e.null("article")
		}
		return
	}
	article := uint32(it.article)
	e.id("article_id", kindArticle, article)
	e.obj("article")
	e.id("id", kindArticle, article)
	e.str("name", e.articleName(article, profile))
	e.obj("campaign")
	e.id("id", kindCampaign, it.campaign)
	e.str("name", e.campaignName(it.campaign, profile))
	e.id("profile_id", kindProfile, profile)
	e.end()
	writeWriter(e, article)
	e.end()
}

// renderProfileRow writes an order item in the form ProfileOrderItem of the spec.
func (s *items) renderProfileRow(e *enc, n uint32) {
	it := &s.all[n]
	o := &s.orders.all[it.order]
	l := o.lines[it.line]
	t := s.products.traitsOf(l.product)
	e.beginRecord(kindItem, n)
	e.str("name", s.products.nameOf(l.product, t))
	s.products.writeDescription(e, t)
	e.flag("is_add_on", l.addOn)
	e.id("profile_id", kindProfile, o.profile)
	e.str("type", e.words.productTypes[t.typeIndex].name)
	if it.article >= 0 {
		e.id("campaign_id", kindCampaign, it.campaign)
	} else {
		e.null("campaign_id")
	}
	e.id("product_id", kindProduct, l.product)
	writeDeliveryDays(e, t, 0)
	s.outlets.writeRef(e, t.outlet, false)
	s.products.writeIncludeList(e, t.roll)
	e.endRecord()
}

func (s *items) profileView(profile uint32) view {
	return s.list.viewOf(len(s.all), func(n uint32) bool { return s.orders.all[s.all[n].order].profile == profile }, s.renderProfileRow)
}

func (s *items) payOrder(r *rand.Rand, o *order, at int64) {
	at = s.list.nextCreatedAt(at)
	o.status, o.paid, o.updated = orderPaid, at, at
	var created []uint32
	for i := range o.lines {
		n := s.newItem(r, o, i, at)
		o.lines[i].item = int64(n)
		created = append(created, n)
	}
	// Items with the same created_at are listed by id.
	slices.SortFunc(created, func(a, b uint32) int { return cmp.Compare(s.seed.id(kindItem, b), s.seed.id(kindItem, a)) })
	for _, n := range created {
		s.list.add(n)
	}
}
