package sim

import (
	"math/rand/v2"
	"slices"
	"strconv"
)

// Indexes of articleStatuses.
const (
	statusAssigned = iota
	statusBrief
	statusDraft
	statusRevision
	statusApproved
	statusPending
	statusPublished
)

// articleStatuses are the statuses in the usual order. The spec mentions four of them as
// examples, without their names.
var articleStatuses = []struct{ prefix, name, color string }{
	{"writer_assigned", "Writer assigned", "#9aa0a6"},
	{"brief_submitted", "Brief submitted", "#1a73e8"},
	{"draft_submitted", "Draft submitted", "#fbbc04"},
	{"revision_requested", "Revision requested", "#ea4335"},
	{"draft_approved", "Draft <approved>", "#34a853"},
	{"pending_publishing", "Pending publishing ⏳", "orange"},
	{"published", "Published", ""},
}

// statusStep is one step of an article's status history. Steps are never removed or changed.
type statusStep struct {
	status int
	at     int64
	note   string
}

type article struct {
	n, campaign, profile, item uint32
	created, updated           int64
	history                    []statusStep
	nextDay                    int      // day of the next status change
	edits                      int      // changes after publishing that no top-level list shows
	files                      []uint32 // attached files
	comments                   []comment
	newestComment              uint32 // number of the newest comment or reply
}

func (a *article) status() int       { return a.history[len(a.history)-1].status }
func (a *article) isPublished() bool { return a.status() == statusPublished }

type articles struct {
	*world
	all       []article
	published []uint32
}

func (s *articles) newArticle(r *rand.Rand, c *campaign, itemNumber uint32) uint32 {
	n := uint32(len(s.all))
	at := s.drawLater(r, c.created)
	s.all = append(s.all, article{
		n: n, campaign: c.n, profile: c.profile, item: itemNumber, created: at, updated: at,
		history: []statusStep{{status: statusAssigned, at: at}}, nextDay: s.drawDay(r, 1, 3),
		files: s.files.useNewest(int(n % 3)),
	})
	it := &s.items.all[itemNumber]
	it.article, it.campaign, it.updated = int64(n), c.n, max(at, it.updated+1)
	return n
}

func (s *articles) stepDay(r *rand.Rand) {
	for i := range s.all {
		a := &s.all[i]
		if a.isPublished() {
			continue
		}
		s.discussArticle(r, a)
		if a.nextDay <= s.day {
			s.advanceArticle(r, a)
		}
		if a.isPublished() {
			s.published = append(s.published, a.n)
		}
	}
	for range roundByChance(r, s.opts.SilentChange*float64(len(s.published))) {
		a := &s.all[s.published[r.IntN(len(s.published))]]
		a.edits++
		a.updated = s.drawLater(r, a.updated)
	}
}

// advanceArticle gives an article its next status. Two drafts in five are sent back. If the
// history has more than six steps, no draft is sent back, so that every article is published and its
// campaign can complete.
func (s *articles) advanceArticle(r *rand.Rand, a *article) {
	next := a.status() + 1
	switch {
	case a.status() == statusRevision:
		next = statusDraft
	case a.status() == statusDraft && (len(a.history) > 6 || r.IntN(5) < 3):
		next = statusApproved
	}
	note := ""
	if next == statusRevision {
		note = pick(remarks, r.Uint64())
	}
	a.updated = s.drawLater(r, a.updated)
	a.history = append(a.history, statusStep{next, a.updated, note})
	a.nextDay = s.drawDay(r, 1, 5)
}

// articleName depends only on the arguments, so a name never changes.
func articleName(s seed, n, profile uint32) string {
	h := s.roll(kindArticle, n, 2)
	if oneIn(h, 9) {
		return pick(oddNames, mix(h))
	}
	return pick(topics, h) + " of " + profileName(profile)
}

func writeWriter(e *enc, article uint32) {
	n := uint32(e.seed.roll(kindArticle, article, 3) % uint64(len(people)))
	e.obj("writer")
	e.id("id", kindPerson, n)
	e.str("first_name", people[n].first)
	e.strOrNull("last_name", people[n].last)
	e.end()
}

// renderDetail writes the response of GET /articles/{id}, whose status is an object.
func (s *articles) renderDetail(e *enc, n uint32) {
	a := &s.all[n]
	it := &s.items.all[a.item]
	e.beginRecord(kindArticle, n)
	e.str("name", articleName(e.seed, a.n, a.profile))
	a.writeLinks(e)
	e.id("campaign_id", kindCampaign, a.campaign)
	e.id("product_id", kindProduct, s.orders.all[it.order].lines[it.line].product)
	e.id("profile_id", kindProfile, a.profile)
	e.when("updated_at", a.updated)
	writeWriter(e, n)
	switch p := pick(people, e.seed.roll(kindArticle, n, 4)); n % 4 { // text, object, null or absent
	case 0:
		e.str("support_agent", fullName(p))
	case 1:
		e.obj("support_agent")
		e.id("id", kindPerson, uint32(slices.Index(people, p)))
		e.str("first_name", p.first)
		e.str("last_name", p.last)
		e.end()
	case 2:
		e.null("support_agent")
	}
	e.obj("status")
	status := articleStatuses[a.status()]
	e.str("name", status.name)
	e.str("prefix", status.prefix)
	e.strOrNull("color", status.color)
	e.end()
	e.arr("files")
	for _, f := range a.files {
		e.textOrObject(n%2 == 1, e.seed.id(kindFile, f), func() {
			e.id("id", kindFile, f)
			e.str("name", fileName(e.seed, f))
			e.str("file_url", fileURL(e.seed, f))
		})
	}
	e.close(']')
	e.when("expected_completion_date", a.created+21*daySeconds)
	e.optStr("expected_completion_date_title", "Expected \"go-live\"")
	e.endRecord()
}

// An edit after publishing changes the revision of the brief.
func (a *article) writeLinks(e *enc) {
	slug := strconv.Itoa(int(a.n))
	e.str("brief_doc_url", "https://docs.example.com/brief/"+slug+"?rev="+strconv.Itoa(a.edits))
	if a.status() >= statusDraft {
		e.str("draft_doc_url", "https://docs.example.com/draft/"+slug)
	} else {
		e.null("draft_doc_url")
	}
	a.writeLiveURL(e)
}

// An unpublished article has null or no live_url.
func (a *article) writeLiveURL(e *enc) {
	if a.isPublished() {
		e.str("live_url", "https://live.example.com/a/"+strconv.Itoa(int(a.n))+"?utm=x&y=é")
	} else if a.n%3 > 0 {
		e.null("live_url")
	}
}

// renderRow writes an article of GET /campaigns/{id}/articles, whose status is the list of all
// statuses so far, oldest first.
func (s *articles) renderRow(e *enc, n uint32) {
	a := &s.all[n]
	e.beginRecord(kindArticle, n)
	e.str("name", articleName(e.seed, a.n, a.profile))
	a.writeLinks(e)
	e.id("campaign_id", kindCampaign, a.campaign)
	e.id("order_item_id", kindItem, a.item)
	e.times(a.created, a.updated)
	e.null("deleted_at")
	e.optNum("total_images", int64(n%5))
	writeWriter(e, n)
	e.arr("status")
	for _, step := range a.history {
		status := articleStatuses[step.status]
		e.b = append(e.b, '{')
		e.when("effective_at", step.at)
		e.strOrNull("notes", step.note)
		e.str("name", status.name)
		e.str("prefix", status.prefix)
		if status.color != "" { // an empty color is omitted here, and null in GET /articles/{id}
			e.str("color", status.color)
		}
		e.end()
	}
	e.close(']')
	s.writeOrderItem(e, a)
	e.endRecord()
}

// writeRef writes the short form of an article, which changes only when the article is published.
func (s *articles) writeRef(e *enc, a *article) {
	e.b = append(e.b, '{')
	e.id("id", kindArticle, a.n)
	e.str("name", articleName(e.seed, a.n, a.profile))
	e.id("campaign_id", kindCampaign, a.campaign)
	a.writeLiveURL(e)
	s.writeOrderItem(e, a)
	e.end()
}

// Add-ons are the linked lines of the order, as names or as objects.
func (s *articles) writeOrderItem(e *enc, a *article) {
	it := &s.items.all[a.item]
	o := &s.orders.all[it.order]
	product := o.lines[it.line].product
	t := s.products.traitsOf(product)
	e.obj("order_item")
	e.str("name", s.products.nameOf(product, t))
	s.outlets.writeRef(e, t.outlet, a.n%2 == 0)
	e.arr("addons")
	for _, l := range o.lines {
		if !l.addOn || l.linked != it.line {
			continue
		}
		name := s.products.nameOf(l.product, s.products.traitsOf(l.product))
		e.textOrObject(a.n%3 == 0, name, func() {
			e.id("id", kindItem, uint32(l.item))
			e.str("name", name)
		})
	}
	e.close(']')
	s.products.writeIncludes(e, t.roll)
	e.end()
}
