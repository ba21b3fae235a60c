package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Indexes of articleStatuses.
const (
	statusBriefing = iota
	statusBrief
	statusDraft
	statusRevision
	statusInfo
	statusPending
	statusPublished
)

// articleStatuses are the statuses in the usual order, with prefixes that the service is known to send.
var articleStatuses = []articleStatus{
	{prefix: "pending-content-brief", name: "Pending content brief", color: "#9aa0a6"},
	{prefix: "brief-ready-for-review", name: "Brief ready for review", color: "#1a73e8"},
	{prefix: "draft-ready-for-review", name: "Draft ready for review", color: "#fbbc04"},
	{prefix: "request-revision", name: "Revision requested", color: "#ea4335"},
	{prefix: "needs-info", name: "Needs <info>", color: "#34a853"},
	{prefix: "pending-publishing", name: "Pending publishing ⏳", color: "orange"},
	{prefix: "published", name: "Published"},
}

// articleStatus is a status of articles. The last three fields are those of a realistic world.
type articleStatus struct {
	prefix, name, color string
	isRequest           bool  // asks for a change, with a note
	days                int   // least number of days in this status
	next                []int // one of these follows, each with the same chance
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
		history: []statusStep{{status: statusBriefing, at: at}}, nextDay: s.drawDay(r, 1, 3),
		files: s.files.useNewest(int(n % 3)),
	})
	it := &s.items.all[itemNumber]
	it.article, it.campaign, it.updated = int64(n), c.n, max(at, it.updated+1)
	if s.opts.Realistic {
		s.assignAddOns(it)
	}
	return n
}

// lineOf returns the line of an order for which an article is written.
func (s *articles) lineOf(a *article) *line {
	it := &s.items.all[a.item]
	return &s.orders.all[it.order].lines[it.line]
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
	case s.opts.Realistic:
		next = s.drawNextStatus(r, a)
	case a.status() == statusRevision:
		next = statusDraft
	case a.status() == statusDraft && (len(a.history) > 6 || r.IntN(5) < 3):
		next = statusInfo
	}
	note := ""
	if next == statusRevision || s.words.articleStatuses[next].isRequest {
		note = pick(s.words.remarks, r.Uint64())
	}
	a.updated = s.drawLater(r, a.updated)
	a.history = append(a.history, statusStep{next, a.updated, note})
	least, spread := 1, 5
	if s.opts.Realistic {
		least, spread = s.words.articleStatuses[next].days, 3
	}
	a.nextDay = s.drawDay(r, least, spread)
}

// articleName depends only on the arguments, so a name never changes.
func (e *enc) articleName(n, profile uint32) string {
	h := e.seed.roll(kindArticle, n, 2)
	name := e.words.profileName(profile)
	if e.realistic {
		return strings.ReplaceAll(pick(headlines, h), "{client}", name)
	}
	return cmp.Or(e.words.oddName(h, 9), pick(e.words.topics, h)+" of "+name)
}

func writeWriter(e *enc, article uint32) {
	n := uint32(e.seed.roll(kindArticle, article, 3) % uint64(len(e.words.people)))
	e.obj("writer")
	e.id("id", kindPerson, n)
	e.str("first_name", e.words.people[n].first)
	e.strOrNull("last_name", e.words.people[n].last)
	e.end()
}

// renderDetail writes the response of GET /articles/{id}, whose status is an object.
func (s *articles) renderDetail(e *enc, n uint32) {
	a := &s.all[n]
	e.beginRecord(kindArticle, n)
	e.str("name", e.articleName(a.n, a.profile))
	s.writeLinks(e, a)
	e.id("campaign_id", kindCampaign, a.campaign)
	e.id("product_id", kindProduct, s.lineOf(a).product)
	e.id("profile_id", kindProfile, a.profile)
	e.when("updated_at", a.updated)
	writeWriter(e, n)
	form := n % 4 // text, object, null or absent
	if e.realistic {
		form = 1
	}
	switch p := pick(e.words.people, e.seed.roll(kindArticle, n, 4)); form {
	case 0:
		e.str("support_agent", fullName(p))
	case 1:
		e.obj("support_agent")
		e.id("id", kindPerson, uint32(slices.Index(e.words.people, p)))
		e.str("first_name", p.first)
		e.str("last_name", p.last)
		e.end()
	case 2:
		e.null("support_agent")
	}
	e.obj("status")
	status := e.words.articleStatuses[a.status()]
	e.str("name", status.name)
	e.str("prefix", status.prefix)
	e.strOrNull("color", status.color)
	e.end()
	e.arr("files")
	for _, f := range a.files {
		e.textOrObject(e.realistic || n%2 == 1, e.seed.id(kindFile, f), func() {
			e.id("id", kindFile, f)
			e.str("name", e.fileName(f))
			e.str("file_url", fileURL(e.seed, f))
		})
	}
	e.close(']')
	s.writeExpectedDate(e, a)
	e.endRecord()
}

// In a realistic world an article is expected when the longest delivery time since the payment has passed.
func (s *articles) writeExpectedDate(e *enc, a *article) {
	expected := a.created + 21*daySeconds
	if e.realistic {
		expected = s.promisedAt(a)
	}
	e.when("expected_completion_date", expected)
	e.optStr("expected_completion_date_title", e.either("Expected \"go-live\"", "Expected publication"))
}

// An edit after publishing changes the revision of the brief.
func (s *articles) writeLinks(e *enc, a *article) {
	slug := strconv.Itoa(int(a.n))
	e.str(e.either("brief_doc_url", "brief_google_doc_url"), "https://docs.example.com/brief/"+slug+"?rev="+strconv.Itoa(a.edits))
	draft := e.either("draft_doc_url", "draft_google_doc_url")
	if slices.ContainsFunc(a.history, func(step statusStep) bool { return step.status == statusDraft }) {
		e.str(draft, "https://docs.example.com/draft/"+slug)
	} else {
		e.null(draft)
	}
	s.writeLiveURL(e, a)
}

// An unpublished article has null or no live_url.
func (s *articles) writeLiveURL(e *enc, a *article) {
	if a.isPublished() {
		story := strconv.Itoa(int(a.n))
		site := s.outlets.all[s.products.traitsOf(s.lineOf(a).product).outlet].site
		e.str("live_url", e.either("https://live.example.com/a/"+story+"?utm=x&y=é", site+"stories/1"+story))
	} else if a.n%3 > 0 || e.realistic {
		e.null("live_url")
	}
}

// renderRow writes an article of GET /campaigns/{id}/articles, whose status is the list of all
// statuses so far, oldest first, or in a realistic world newest first.
func (s *articles) renderRow(e *enc, n uint32) {
	a := &s.all[n]
	e.beginRecord(kindArticle, n)
	e.str("name", e.articleName(a.n, a.profile))
	s.writeLinks(e, a)
	e.id("campaign_id", kindCampaign, a.campaign)
	e.id("order_item_id", kindItem, a.item)
	e.times(a.created, a.updated)
	e.null("deleted_at")
	e.optNum("total_images", int64(n%5))
	if e.realistic {
		s.writeExpectedDate(e, a)
	}
	writeWriter(e, n)
	e.arr("status")
	history := slices.Clone(a.history)
	if e.realistic {
		slices.Reverse(history)
	}
	for _, step := range history {
		status := e.words.articleStatuses[step.status]
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
	e.str("name", e.articleName(a.n, a.profile))
	e.id("campaign_id", kindCampaign, a.campaign)
	s.writeLiveURL(e, a)
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
		e.textOrObject(e.realistic || a.n%3 == 0, name, func() {
			e.id("id", kindItem, uint32(l.item))
			e.str("name", name)
		})
	}
	e.close(']')
	s.products.writeIncludes(e, t.roll)
	e.end()
}
