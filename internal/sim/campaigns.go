package sim

import (
	"math/rand/v2"
	"slices"
	"strconv"
)

// Campaign statuses; plain strings in the spec.
const (
	campaignDraft     = "draft"
	campaignActive    = "active"
	campaignPaused    = "paused_by_client"
	campaignCompleted = "completed"
)

// campaignDays is how long a campaign takes new articles.
const campaignDays = 40

// campaign collects articles for a profile. Its updated_at moves with its own
// fields only: what happens to its articles leaves no trace there.
type campaign struct {
	n, profile       uint32
	status           string
	created, updated int64
	planned          int // articles it wants
	ends             int // day after which it begins no more
	file             int64
	articles         []uint32
	gone             bool
}

// newCampaign starts a campaign for some profile, at or after an instant. Three
// of four have a questionnaire, whose file is the latest upload.
func (w *world) newCampaign(r *rand.Rand, wish int64) uint32 {
	n := uint32(len(w.campaigns))
	c := campaign{
		n: n, profile: uint32(r.IntN(len(w.profiles))), status: campaignDraft,
		created: w.campaignList.stamp(wish), planned: 3 + r.IntN(6),
		ends: w.day + campaignDays, file: -1,
	}
	c.updated = c.created
	if len(w.fileList.order) > 0 && r.IntN(4) > 0 {
		file := w.fileList.order[len(w.fileList.order)-1]
		w.files[file].used = true
		c.file = int64(file)
	}
	w.campaigns = append(w.campaigns, c)
	w.campaignList.add(n)
	w.profiles[c.profile].campaigns = append(w.profiles[c.profile].campaigns, n)
	w.openCampaigns = append(w.openCampaigns, n)
	return n
}

// stepCampaigns starts the day's campaigns, gives open ones articles, and
// completes those whose articles are all published.
func (w *world) stepCampaigns(r *rand.Rand) {
	for _, wish := range w.moments(r, w.due(w.opts.Campaigns)-len(w.campaigns)) {
		w.newCampaign(r, wish)
	}
	w.openCampaigns = slices.DeleteFunc(w.openCampaigns, func(n uint32) bool {
		c := &w.campaigns[n]
		w.beginArticles(r, c)
		return w.campaignDone(r, c)
	})
}

// beginArticles assigns up to two waiting items of the profile a day.
func (w *world) beginArticles(r *rand.Rand, c *campaign) {
	p := &w.profiles[c.profile]
	for range 2 {
		if len(c.articles) >= c.planned || len(p.unassigned) == 0 || w.day > c.ends {
			return
		}
		w.newArticle(r, c, p.unassigned[0])
		p.unassigned = p.unassigned[1:]
		if c.status == campaignDraft {
			c.status, c.updated = campaignActive, w.touch(r, c.updated)
		}
	}
}

// touch is an instant of today, and later than the last one.
func (w *world) touch(r *rand.Rand, last int64) int64 { return max(w.moment(r), last+1) }

// campaignDone completes a campaign that begins no more articles once all are
// published. Until then it may be paused, which is a status of no list.
func (w *world) campaignDone(r *rand.Rand, c *campaign) bool {
	if w.day <= c.ends && len(c.articles) < c.planned {
		if c.status == campaignActive && r.IntN(60) == 0 {
			c.status, c.updated = campaignPaused, w.touch(r, c.updated)
		}
		return false
	}
	for _, n := range c.articles {
		if !w.articles[n].published() {
			return false
		}
	}
	c.status, c.updated = campaignCompleted, w.touch(r, c.updated)
	return true
}

// campaignName is a function of the numbers, so that a name never changes.
func (w *world) campaignName(c *campaign) string {
	h := w.seed.roll(kindCampaign, c.n, 2)
	if oneIn(h, 9) {
		return pick(oddNames(), mix(h))
	}
	return w.profileName(c.profile) + ": " + pick(topics(), h)
}

// campaignSort orders campaigns by a field of sort_by.
func (w *world) campaignSort(field string) func(a, b uint32) int {
	switch field {
	case "created_at":
		return byKey(func(n uint32) int64 { return w.campaigns[n].created })
	case "updated_at":
		return byKey(func(n uint32) int64 { return w.campaigns[n].updated })
	case "name":
		return byKey(func(n uint32) string { return w.campaignName(&w.campaigns[n]) })
	}
	return nil
}

// campaignMatch applies a filter of GET /campaigns.
func (w *world) campaignMatch(n uint32, key string, values []string) bool {
	c := &w.campaigns[n]
	switch key {
	case "status":
		return slices.Contains(values, c.status)
	case "profile_id":
		return slices.Contains(values, w.seed.id(kindProfile, c.profile))
	}
	return true
}

// renderCampaign writes an item of the lists: without the questionnaire.
func (w *world) renderCampaign(e *enc, n uint32) {
	c := &w.campaigns[n]
	e.begin(kindCampaign, n)
	w.campaignFields(e, c)
	if oneIn(e.record, 2) {
		e.null("questionnaire")
	}
	e.unknown()
	e.end()
}

// renderCampaignDetail writes GET /campaigns/{id}.
func (w *world) renderCampaignDetail(e *enc, n uint32) {
	c := &w.campaigns[n]
	e.begin(kindCampaign, n)
	w.campaignFields(e, c)
	w.questionnaire(e, c)
	e.unknown()
	e.end()
}

// campaignFields writes what the list and the detail have in common, which is
// all but the questionnaire.
func (w *world) campaignFields(e *enc, c *campaign) {
	e.id("id", kindCampaign, c.n)
	e.str("name", w.campaignName(c))
	e.optStr("description", "Campaign no. "+strconv.Itoa(int(c.n))+" — see \"brief\".\n"+pick(remarks(), e.record))
	e.optStr("reference", "CMP-"+strconv.Itoa(1000+int(c.n)))
	e.id("profile_id", kindProfile, c.profile)
	if c.n%5 == 0 {
		e.str("v1_campaign_id", strconv.Itoa(90_000+int(c.n)))
	} else {
		e.null("v1_campaign_id")
	}
	e.str("status", c.status)
	e.optStr("goals", "Reach & trust")
	if e.keep("target_date") {
		e.when("target_date", c.created+(campaignDays+20)*daySeconds)
	}
	e.optMoney("budget", dollars(int64(500+e.record%9000)))
	e.when("created_at", c.created)
	e.when("updated_at", c.updated)
	e.null("deleted_at")
	w.campaignBrief(e, c)
	e.num("total_articles", int64(len(c.articles)))
	w.profileRef(e, c.profile)
	e.arr("articles")
	for _, n := range c.articles {
		w.articleRef(e, &w.articles[n])
	}
	e.close(']')
}

// campaignBrief writes the texts that also stand on the questionnaire.
func (w *world) campaignBrief(e *enc, c *campaign) {
	e.optStr("keywords", "launch, café, ünïcode, \"exact phrase\"")
	e.optStr("objectives", "Explain what is new; ≥ 2 quotes")
	e.optStr("target_audience", "CTOs <b>and</b> founders")
	e.optStr("tone", "=friendly")
	e.optStr("writing_samples", "https://example.com/sample?x=1&y=2")
	if c.file < 0 {
		e.null("questionnaire_id")
		e.null("file_id")
		return
	}
	e.id("questionnaire_id", kindQuestionnaire, c.n)
	e.id("file_id", kindFile, uint32(c.file))
}

// questionnaire writes the block of the detail, or null.
func (w *world) questionnaire(e *enc, c *campaign) {
	if c.file < 0 {
		e.null("questionnaire")
		return
	}
	f := &w.files[c.file]
	e.obj("questionnaire")
	e.id("id", kindQuestionnaire, c.n)
	e.id("campaign_id", kindCampaign, c.n)
	w.questionnaireTexts(e)
	e.id("file_id", kindFile, f.n)
	e.str("file_name", w.fileName(f))
	e.num("file_size", f.size)
	e.str("file_url", w.fileURL(f))
	e.when("created_at", c.created)
	e.when("updated_at", c.created)
	e.null("deleted_at")
	e.end()
}

// questionnaireTexts repeats the campaign's texts, but fewer of them.
func (w *world) questionnaireTexts(e *enc) {
	e.str("objectives", "Explain what is new; ≥ 2 quotes")
	e.null("keywords")
	e.str("target_audience", "CTOs <b>and</b> founders")
	e.str("tone", "=friendly")
	e.null("writing_samples")
}

// statusCounts writes GET /campaigns/{id}/articles/status-count: a map by
// prefix, or an object that holds a list.
func (w *world) statusCounts(e *enc, n uint32) {
	c := &w.campaigns[n]
	counts := make([]int64, len(articleStatuses()))
	for _, a := range c.articles {
		counts[w.articles[a].status()]++
	}
	e.begin(kindCampaign, n)
	byPrefix := n%2 == 0
	if !byPrefix {
		e.num("total", int64(len(c.articles)))
		e.arr("statuses")
	}
	for i, s := range articleStatuses() {
		if byPrefix {
			e.obj(s.prefix)
		} else {
			e.b = append(e.b, '{')
		}
		e.str("name", s.name)
		e.str("prefix", s.prefix)
		e.id("id", kindStatus, uint32(i))
		e.num("count", counts[i])
		e.end()
	}
	if !byPrefix {
		e.close(']')
	}
	e.end()
}
