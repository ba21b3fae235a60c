package sim

import (
	"math/rand/v2"
	"slices"
	"strconv"
)

type articleStatus struct{ prefix, name, color string }

// The steps of an article, as positions in articleStatuses.
const (
	stepAssigned = iota
	stepBrief
	stepDraft
	stepRevision
	stepApproved
	stepPending
	stepPublished
)

// articleStatuses are the statuses in the order of an article's life. The
// spec names four of them by way of example.
func articleStatuses() []articleStatus {
	return []articleStatus{
		{"writer_assigned", "Writer assigned", "#9aa0a6"},
		{"brief_submitted", "Brief submitted", "#1a73e8"},
		{"draft_submitted", "Draft submitted", "#fbbc04"},
		{"revision_requested", "Revision requested", "#ea4335"},
		{"draft_approved", "Draft <approved>", "#34a853"},
		{"pending_publishing", "Pending publishing ⏳", "orange"},
		{"published", "Published", ""},
	}
}

// statusStep is one entry of an article's history. Entries are only added.
type statusStep struct {
	status int
	at     int64
	note   string
}

// article fulfils one order item within a campaign.
type article struct {
	n, campaign, item uint32
	created, updated  int64
	history           []statusStep
	next              int      // day of the next status
	edits             int      // silent changes after publishing
	files             []uint32 // attached when it was begun
	comments          []comment
	commentCount      uint32
}

// status is the position of the present one in articleStatuses.
func (a *article) status() int     { return a.history[len(a.history)-1].status }
func (a *article) published() bool { return a.status() == stepPublished }

// newArticle begins the article of an order item.
func (w *world) newArticle(r *rand.Rand, c *campaign, itemNumber uint32) {
	n := uint32(len(w.articles))
	at := w.touch(r, c.created)
	w.articles = append(w.articles, article{
		n: n, campaign: c.n, item: itemNumber, created: at, updated: at,
		history: []statusStep{{status: stepAssigned, at: at}}, next: w.after(r, 1, 3),
		files: w.attach(int(n % 3)),
	})
	it := &w.items[itemNumber]
	it.article, it.updated = int64(n), max(at, it.updated+1)
	c.articles = append(c.articles, n)
	w.openArticles = append(w.openArticles, n)
}

// attach takes the newest files into use, so that they are not deleted.
func (w *world) attach(count int) []uint32 {
	order := w.fileList.order
	taken := slices.Clone(order[len(order)-min(count, len(order)):])
	for _, n := range taken {
		w.files[n].used = true
	}
	return taken
}

// stepArticles moves articles on and lets people comment on them. Published
// ones are edited now and then, which shows on the article alone.
func (w *world) stepArticles(r *rand.Rand) {
	w.openArticles = slices.DeleteFunc(w.openArticles, func(n uint32) bool {
		a := &w.articles[n]
		w.discuss(r, a)
		if a.next <= w.day {
			w.advanceArticle(r, a)
		}
		if a.published() {
			w.published = append(w.published, n)
		}
		return a.published()
	})
	for range about(r, w.opts.SilentChange*float64(len(w.published))) {
		a := &w.articles[w.published[r.IntN(len(w.published))]]
		a.edits++
		a.updated = w.touch(r, a.updated)
	}
}

// advanceArticle moves an article on. Two drafts in five are sent back, but not
// for ever: every article is published in the end, since one that never is
// would keep its campaign alive for good.
func (w *world) advanceArticle(r *rand.Rand, a *article) {
	next := a.status() + 1
	switch {
	case a.status() == stepRevision:
		next = stepDraft
	case a.status() == stepDraft && (len(a.history) > 6 || r.IntN(5) < 3):
		next = stepApproved
	}
	note := ""
	if next == stepRevision {
		note = pick(remarks(), r.Uint64())
	}
	a.updated = w.touch(r, a.updated)
	a.history = append(a.history, statusStep{next, a.updated, note})
	a.next = w.after(r, 1, 5)
}

// articleName is a function of the numbers, so that a name never changes.
func (w *world) articleName(a *article) string {
	h := w.seed.roll(kindArticle, a.n, 2)
	if oneIn(h, 9) {
		return pick(oddNames(), mix(h))
	}
	return pick(topics(), h) + " of " + w.profileName(w.campaigns[a.campaign].profile)
}

// writer writes the block of the writer, who may have no last name.
func (w *world) writer(e *enc, a *article) {
	n := uint32(w.seed.roll(kindArticle, a.n, 3) % uint64(len(people())))
	e.obj("writer")
	e.id("id", kindPerson, n)
	e.str("first_name", people()[n].first)
	if last := people()[n].last; last == "" {
		e.null("last_name")
	} else {
		e.str("last_name", last)
	}
	e.end()
}

// renderArticle writes GET /articles/{id}: its status is one object.
func (w *world) renderArticle(e *enc, n uint32) {
	a := &w.articles[n]
	it := &w.items[a.item]
	e.begin(kindArticle, n)
	e.id("id", kindArticle, n)
	e.str("name", w.articleName(a))
	w.articleLinks(e, a)
	e.id("campaign_id", kindCampaign, a.campaign)
	e.id("product_id", kindProduct, w.orders[it.order].lines[it.line].product)
	e.id("profile_id", kindProfile, w.campaigns[a.campaign].profile)
	e.when("updated_at", a.updated)
	w.writer(e, a)
	w.supportAgent(e, n)
	w.statusObject(e, a)
	w.articleFiles(e, a)
	e.when("expected_completion_date", a.created+21*daySeconds)
	e.optStr("expected_completion_date_title", "Expected \"go-live\"")
	e.unknown()
	e.end()
}

// articleLinks writes the documents, which appear as the article moves on. The
// brief's revision is what a silent edit changes.
func (w *world) articleLinks(e *enc, a *article) {
	slug := strconv.Itoa(int(a.n))
	e.str("brief_doc_url", "https://docs.example.com/brief/"+slug+"?rev="+strconv.Itoa(a.edits))
	if a.status() >= stepDraft {
		e.str("draft_doc_url", "https://docs.example.com/draft/"+slug)
	} else {
		e.null("draft_doc_url")
	}
	w.liveURL(e, a)
}

// liveURL is null or absent until the article is published.
func (w *world) liveURL(e *enc, a *article) {
	if a.published() {
		e.str("live_url", "https://live.example.com/a/"+strconv.Itoa(int(a.n))+"?utm=x&y=é")
	} else if a.n%3 > 0 {
		e.null("live_url")
	}
}

// statusObject writes the present status as the article itself has it.
func (w *world) statusObject(e *enc, a *article) {
	e.obj("status")
	s := articleStatuses()[a.status()]
	e.str("name", s.name)
	e.str("prefix", s.prefix)
	if s.color == "" {
		e.null("color")
	} else {
		e.str("color", s.color)
	}
	e.end()
}

// supportAgent is a text, an object, null, or absent.
func (w *world) supportAgent(e *enc, n uint32) {
	p := pick(people(), w.seed.roll(kindArticle, n, 4))
	switch n % 4 {
	case 0:
		e.str("support_agent", fullName(p))
	case 1:
		e.obj("support_agent")
		e.id("id", kindPerson, uint32(slices.Index(people(), p)))
		e.str("first_name", p.first)
		e.str("last_name", p.last)
		e.end()
	case 2:
		e.null("support_agent")
	}
}

// articleFiles are file ids or file records.
func (w *world) articleFiles(e *enc, a *article) {
	e.arr("files")
	for _, n := range a.files {
		f := &w.files[n]
		if a.n%2 == 0 {
			e.value(w.seed.id(kindFile, n))
			continue
		}
		e.b = append(e.b, '{')
		e.id("id", kindFile, n)
		e.str("name", w.fileName(f))
		e.str("file_url", w.fileURL(f))
		e.end()
	}
	e.close(']')
}

// renderArticleRow writes an item of GET /campaigns/{id}/articles: its status
// is the list of all statuses so far, oldest first.
func (w *world) renderArticleRow(e *enc, n uint32) {
	a := &w.articles[n]
	e.begin(kindArticle, n)
	e.id("id", kindArticle, n)
	e.str("name", w.articleName(a))
	w.articleLinks(e, a)
	e.id("campaign_id", kindCampaign, a.campaign)
	e.id("order_item_id", kindItem, a.item)
	e.when("created_at", a.created)
	e.when("updated_at", a.updated)
	e.null("deleted_at")
	e.optNum("total_images", int64(n%5))
	w.writer(e, a)
	e.arr("status")
	for _, step := range a.history {
		w.historyEntry(e, step)
	}
	e.close(']')
	w.orderItemBlock(e, a)
	e.unknown()
	e.end()
}

// historyEntry writes one status of a row's list; a color is absent there where
// it is null on the article.
func (w *world) historyEntry(e *enc, step statusStep) {
	s := articleStatuses()[step.status]
	e.b = append(e.b, '{')
	e.when("effective_at", step.at)
	if step.note == "" {
		e.null("notes")
	} else {
		e.str("notes", step.note)
	}
	e.str("name", s.name)
	e.str("prefix", s.prefix)
	if s.color != "" {
		e.str("color", s.color)
	}
	e.end()
}

// articleRef writes the short form on a campaign. Only publishing changes it.
func (w *world) articleRef(e *enc, a *article) {
	e.b = append(e.b, '{')
	e.id("id", kindArticle, a.n)
	e.str("name", w.articleName(a))
	e.id("campaign_id", kindCampaign, a.campaign)
	w.liveURL(e, a)
	w.orderItemBlock(e, a)
	e.end()
}

// orderItemBlock writes the order item as articles carry it. Add-ons are the
// names of the order's other lines that hang on this one, or objects.
func (w *world) orderItemBlock(e *enc, a *article) {
	it := &w.items[a.item]
	o := &w.orders[it.order]
	product := o.lines[it.line].product
	t := w.traits(product)
	e.obj("order_item")
	e.key("name")
	w.productName(e, product, t)
	w.outletRef(e, t.outlet, a.n%2 == 0)
	e.arr("addons")
	for _, l := range o.lines {
		if !l.addOn || l.linked != it.line {
			continue
		}
		if a.n%3 == 0 {
			e.b = append(e.b, '{')
			e.id("id", kindItem, uint32(l.item))
			e.key("name")
			w.productName(e, l.product, w.traits(l.product))
			e.end()
		} else {
			w.productName(e, l.product, w.traits(l.product))
		}
	}
	e.close(']')
	w.includes(e, t.roll)
	e.end()
}
