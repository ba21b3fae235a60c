package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
)

// Campaign statuses. The spec does not list them.
const (
	campaignDraft     = "draft"
	campaignActive    = "active"
	campaignPaused    = "paused_by_client"
	campaignCompleted = "completed"
)

// campaignDays is the number of days for which a new campaign starts articles.
const campaignDays = 40

// campaign groups articles of a profile. Its updated_at changes only with its status.
type campaign struct {
	n, profile       uint32
	status           string
	created, updated int64
	plannedArticles  int
	lastStartDay     int   // the campaign starts no articles after this day
	file             int64 // file of the questionnaire, or -1
	articles         []uint32
}

type campaigns struct {
	*world
	all  []campaign
	list list // GET /campaigns
}

// newCampaign creates a campaign for a random profile. Its created_at is at least earliest.
func (s *campaigns) newCampaign(r *rand.Rand, earliest int64) {
	n := uint32(len(s.all))
	c := campaign{
		n: n, profile: uint32(r.IntN(len(s.profiles.all))), status: campaignDraft,
		created: s.list.nextCreatedAt(earliest), plannedArticles: 3 + r.IntN(6),
		lastStartDay: s.day + campaignDays, file: -1,
	}
	if s.opts.Realistic { // a campaign for the client with the most paid items
		for profile, waiting := range s.items.unassigned {
			if len(waiting) > len(s.items.unassigned[c.profile]) {
				c.profile = uint32(profile)
			}
		}
		c.plannedArticles += 7
	}
	c.updated = c.created
	if len(s.files.list.numbers) > 0 && r.IntN(4) > 0 {
		c.file = int64(s.files.useNewest(1)[0])
	}
	s.all = append(s.all, c)
	s.list.add(n)
}

func (s *campaigns) stepDay(r *rand.Rand) {
	for _, earliest := range s.drawSeconds(r, s.targetCount(s.opts.Campaigns)-len(s.all)) {
		s.newCampaign(r, earliest)
	}
	for i := range s.all {
		if c := &s.all[i]; c.status != campaignCompleted {
			s.startArticles(r, c)
			s.completeOrPause(r, c)
		}
	}
}

func (s *campaigns) startArticles(r *rand.Rand, c *campaign) {
	for range 2 {
		waiting := s.items.unassigned[c.profile]
		if len(c.articles) >= c.plannedArticles || len(waiting) == 0 || s.day > c.lastStartDay {
			return
		}
		s.items.unassigned[c.profile] = waiting[1:]
		c.articles = append(c.articles, s.articles.newArticle(r, c, waiting[0]))
		if c.status == campaignDraft {
			c.status, c.updated = campaignActive, s.drawLater(r, c.updated)
		}
	}
}

// completeOrPause completes a campaign if it starts no more articles and all its articles are
// published. While the campaign still starts articles, completeOrPause may pause it.
func (s *campaigns) completeOrPause(r *rand.Rand, c *campaign) {
	if s.day <= c.lastStartDay && len(c.articles) < c.plannedArticles {
		if c.status == campaignActive && !s.opts.Realistic && r.IntN(60) == 0 {
			c.status, c.updated = campaignPaused, s.drawLater(r, c.updated)
		}
		return
	}
	for _, n := range c.articles {
		if !s.articles.all[n].isPublished() {
			return
		}
	}
	c.status, c.updated = campaignCompleted, s.drawLater(r, c.updated)
}

func (e *enc) campaignName(n, profile uint32) string {
	h := e.seed.roll(kindCampaign, n, 2)
	return cmp.Or(e.words.oddName(h, 9), e.words.profileName(profile)+": "+pick(e.words.topics, h))
}

// renderRow writes a campaign of the lists, without the questionnaire.
func (s *campaigns) renderRow(e *enc, n uint32) {
	e.beginRecord(kindCampaign, n)
	s.writeFields(e, &s.all[n])
	if !s.opts.HiddenDetail {
		s.writeArticles(e, &s.all[n])
	}
	if oneIn(e.roll, 2) {
		e.null("questionnaire")
	}
	e.endRecord()
}

func (s *campaigns) renderDetail(e *enc, n uint32) {
	c := &s.all[n]
	e.beginRecord(kindCampaign, n)
	s.writeFields(e, c)
	s.writeArticles(e, c)
	if c.file < 0 {
		e.null("questionnaire")
	} else {
		f := &s.files.all[c.file]
		e.obj("questionnaire")
		e.id("id", kindQuestionnaire, n)
		e.id("campaign_id", kindCampaign, n)
		e.str("objectives", e.words.objectives)
		e.null("keywords")
		e.str("target_audience", e.words.audience)
		e.str("tone", e.words.tone)
		e.null("writing_samples")
		e.id("file_id", kindFile, f.n)
		e.str("file_name", e.fileName(f.n))
		e.num("file_size", f.size)
		e.str("file_url", fileURL(e.seed, f.n))
		e.times(c.created, c.created)
		e.null("deleted_at")
		e.end()
	}
	e.endRecord()
}

func (s *campaigns) writeFields(e *enc, c *campaign) {
	e.str("name", e.campaignName(c.n, c.profile))
	e.optStr("description", e.either("Campaign no. "+strconv.Itoa(int(c.n))+" — see \"brief\".\n"+pick(e.words.remarks, e.roll), e.words.objectives))
	e.optStr("reference", "CMP-"+strconv.Itoa(1000+int(c.n)))
	e.id("profile_id", kindProfile, c.profile)
	if c.n%5 == 0 {
		e.str("v1_campaign_id", strconv.Itoa(90_000+int(c.n)))
	} else {
		e.null("v1_campaign_id")
	}
	e.status("status", c.status)
	e.optStr("goals", "Reach & trust")
	e.optWhen("target_date", c.created+(campaignDays+20)*daySeconds)
	budget := int64(500 + e.roll%9000)
	if e.realistic {
		budget = int64(c.plannedArticles) * int64(800+e.roll%8*50)
	}
	e.optMoney("budget", wholeUnits(budget))
	e.times(c.created, c.updated)
	e.null("deleted_at")
	e.optStr("keywords", e.words.keywords)
	e.optStr("objectives", e.words.objectives)
	e.optStr("target_audience", e.words.audience)
	e.optStr("tone", e.words.tone)
	e.optStr("writing_samples", "https://example.com/sample?x=1&y=2")
	if c.file < 0 {
		e.null("questionnaire_id")
		e.null("file_id")
	} else {
		e.id("questionnaire_id", kindQuestionnaire, c.n)
		e.id("file_id", kindFile, uint32(c.file))
	}
	e.num("total_articles", int64(len(c.articles)))
	e.obj("profile")
	e.id("id", kindProfile, c.profile)
	e.str("name", e.words.profileName(c.profile))
	e.str("logo", "https://cdn.example.com/profiles/"+strconv.Itoa(int(c.profile))+".svg")
	e.end()
}

func (s *campaigns) writeArticles(e *enc, c *campaign) {
	e.arr("articles")
	for _, n := range c.articles {
		s.articles.writeRef(e, &s.articles.all[n])
	}
	e.close(']')
}

// The response of GET /campaigns/{id}/articles/status-count is a map by prefix, or an object with a list.
func (s *campaigns) renderStatusCounts(e *enc, n uint32) {
	c := &s.all[n]
	counts := make([]int64, len(s.words.articleStatuses))
	for _, a := range c.articles {
		counts[s.articles.all[a].status()]++
	}
	writeCount := func(i int) {
		e.str("name", s.words.articleStatuses[i].name)
		e.str("prefix", s.words.articleStatuses[i].prefix)
		e.id("id", kindStatus, uint32(i))
		e.num("count", counts[i])
		e.end()
	}
	writeList := func(name string) {
		e.arr(name)
		for i := range counts {
			e.b = append(e.b, '{')
			writeCount(i)
		}
		e.close(']')
	}
	e.begin(kindCampaign, n)
	switch {
	case e.realistic:
		writeList("records")
	case n%2 == 0:
		for i, status := range s.words.articleStatuses {
			e.obj(status.prefix)
			writeCount(i)
		}
	default:
		e.num("total", int64(len(c.articles)))
		writeList("statuses")
	}
	e.end()
}

func (s *campaigns) profileView(profile uint32) view {
	return s.list.viewOf(len(s.all), func(n uint32) bool { return s.all[n].profile == profile }, s.renderRow)
}

// articleView returns the articles of a campaign. The article that was started last is first.
func (s *campaigns) articleView(n uint32) view {
	return view{numbers: slices.Clone(s.all[n].articles), reversed: true, render: s.articles.renderRow}
}
