package sim

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// realisticWords are the texts of a realistic world.
var realisticWords = vocabulary{
	team:     "Fairline Media",
	keywords: "launch, expansion, funding", audience: "Founders and buyers", tone: "Friendly",
	objectives: "Explain what is new, with two quotes.",
	statuses: map[string]string{
		orderPending: "CREATED", orderOnHold: "CREATED", orderCancelled: "CREATED", orderPaid: "PAID", orderFulfilled: "FULFILLED",
		commissionPending: "PENDING", commissionOnHold: "ON_HOLD", commissionApproved: "APPROVED", commissionRefunded: "REFUNDED",
		campaignDraft: "DRAFT", campaignActive: "ACTIVE", campaignCompleted: "COMPLETED",
	},
	cities: []city{
		{"United States", "US", "New York", "New York"},
		{"United States", "US", "California", "San Francisco"},
		{"United States", "US", "Texas", "Austin"},
		{"United States", "US", "Illinois", "Chicago"},
		{"United States", "US", "Massachusetts", "Boston"},
		{"United Kingdom", "GB", "England", "London"},
		{"United Kingdom", "GB", "Scotland", "Edinburgh"},
		{"Germany", "DE", "Berlin", "Berlin"},
		{"Germany", "DE", "Hamburg", "Hamburg"},
		{"France", "FR", "Île-de-France", "Paris"},
		{"Netherlands", "NL", "North Holland", "Amsterdam"},
		{"Ireland", "IE", "Leinster", "Dublin"},
		{"Canada", "CA", "Ontario", "Toronto"},
		{"Australia", "AU", "New South Wales", "Sydney"},
		{"Singapore", "SG", "", "Singapore"},
		{"India", "IN", "Maharashtra", "Mumbai"},
	},
	// The tag with the index i belongs to beats[i]. The tags after these belong to no beat.
	tagNames: []string{
		"News", "Technology", "Business", "Health", "Finance", "Arts & Culture", "Startups",
		"Climate", "Sports", "Travel", "Law", "Cryptocurrency",
		"B2B", "Lifestyle", "Education", "Real Estate", "Artificial Intelligence", "Marketing",
	},
	disclaimers: []disclaimer{
		{"Sponsored", "Marked as sponsored content above the headline."},
		{"Partner Content", "Carries the line \"in partnership with\"."},
		{"Advertorial", "Labelled as an advertorial below the text."},
		{"None", "Published without a label."},
	},
	productTypes: []productType{
		{"Full Feature", "full-feature", "Full feature"},
		{"Press Release", "press-release", "Press release"},
		{"Listicle", "listicle", "Listicle entry"},
		{"Mention", "mention", "Brand mention"},
		{"Quote", "quote", "Expert quote"},
		{"Newsletter", "newsletter", "Newsletter mention"},
		{"Dedicated Newsletter", "dedicated-newsletter", "Dedicated newsletter"},
		{"Social Post", "social-post", "Sponsored post"},
		{"Social Mention", "social-mention", "Short mention"},
	},
	requirements: []string{
		`"No gambling, CBD or adult topics. Two links at most."`,
		`"Draft in English, 600 to 900 words, third person. The editor may change the headline."`,
		`"Founder quote, headshot and company boilerplate."`,
		`"Company must be older than one year."`,
	},
	sentences: []string{
		"Written by the editorial desk, with a permanent address and indexed by the major search engines. ",
		"The story stays online for at least twelve months and is shared once on social media. ",
		"Includes one round of revisions. ",
		"Turnaround starts when the brief is complete. ",
		"The desk keeps the right to decline topics that do not fit. ",
		"Links are placed in the body, never in the footer. ",
	},
	metadata: []string{`{"source":"partner-portal"}`},
	people: []person{
		{"Ana", "Marquez"}, {"Chidi", "Okafor"}, {"Clara", "Jensen"}, {"Daniel", "Weber"}, {"Eve", "O'Neil"},
		{"Hassan", "Rashid"}, {"Ivy", "Jones"}, {"Maya", "Patel"}, {"Sofia", "Rossi"}, {"Tom", "Fischer"},
	},
	companies: []string{
		"Northwind Robotics", "Blue Fjord Energy", "Kumo Analytics", "Harbor & Pine", "Tiny Giants", "Vela Health",
		"Solstice Foods", "Parallel Finance", "Quantum Lift", "Okami Games", "Alder Logistics", "Brightside Education",
	},
	topics: []string{
		"Product launch", "Series A", "Founder story", "Year in review", "Market report", "Hiring", "Expansion", "Award", "Partnership", "Opinion",
	},
	remarks: []string{
		"Please use the new logo.", "The second paragraph needs a source.", "Can we move publication to Monday?",
		"The quote should come earlier.", "Please shorten the headline.", "The link in the last paragraph does not work.",
	},
	// The usual order. The last four are rare.
	articleStatuses: []articleStatus{
		statusBriefing: {prefix: "pending-content-brief", name: "Pending content brief", color: "#9aa0a6", days: 1,
			next: []int{statusBrief, statusBrief, statusBrief, statusBrief, statusBrief, statusBrief, statusBrief, statusNeedsInfo, statusActionRequired}},
		statusBrief: {prefix: "brief-ready-for-review", name: "Brief ready for review", color: "#1a73e8", days: 2,
			next: []int{statusDraft, statusDraft, statusDraft, statusDraft, statusDraft, statusBriefUpdate}},
		statusDraft: {prefix: "draft-ready-for-review", name: "Draft ready for review", color: "#fbbc04", days: 1,
			next: []int{statusPublishing, statusPublishing, statusPublishing, statusRevision, statusDraftUpdate}},
		statusRevision:    {prefix: "request-revision", name: "Revision requested", color: "#ea4335", days: 1, isRequest: true, next: []int{statusDraft}},
		statusDraftUpdate: {prefix: "draft-update-requested", name: "Draft update requested", color: "#ea4335", days: 1, isRequest: true, next: []int{statusDraft}},
		statusPublishing: {prefix: "pending-publishing", name: "Pending publishing", color: "#34a853", days: 2,
			next: append(slices.Repeat([]int{statusPublished}, 40), statusRejected)},
		statusPublished:      {prefix: "published", name: "Published", color: "#188038"},
		statusActionRequired: {prefix: "action-required", name: "Action required", color: "#ea4335", days: 1, isRequest: true, next: []int{statusBriefing}},
		statusNeedsInfo:      {prefix: "needs-info", name: "Needs info", color: "#ea4335", days: 1, isRequest: true, next: []int{statusBriefing}},
		statusBriefUpdate:    {prefix: "brief-update-requested", name: "Brief update requested", color: "#ea4335", days: 1, isRequest: true, next: []int{statusBrief}},
		statusRejected:       {prefix: "rejected", name: "Rejected", color: "#a50e0e", days: 3, isRequest: true, next: []int{statusDraft}},
	},
}

// Indexes of articleStatuses in a realistic world. The indexes 0 to 3 and 6 are the same in both worlds:
// statusBriefing, statusBrief, statusDraft, statusRevision and statusPublished.
const (
	statusDraftUpdate    = 4
	statusPublishing     = 5
	statusActionRequired = 7
	statusNeedsInfo      = 8
	statusBriefUpdate    = 9
	statusRejected       = 10
)

// headlines are the names of articles.
var headlines = []string{
	"How {client} plans to grow next year", "{client} opens a second office", "Five questions for the founder of {client}",
	"{client} publishes its annual report", "What {client} learned from its first 1,000 customers", "{client} names a new chief executive",
	"Inside {client}: a day with the product team", "Why investors back {client}", "{client} wins an industry award",
	"The quiet rise of {client}", "{client} launches in three new countries", "{client} announces a new partnership",
}

// offer is a kind of product that outlets sell on a channel.
type offer struct {
	placement   string
	productType int
	perMille    int64 // price in thousandths of the price of a full feature
	days        int64 // promised delivery
}

var (
	websiteOffers = []offer{
		{"FULL_FEATURE", 0, 1000, 28}, {"PRESS_RELEASE", 1, 550, 24}, {"LISTICLE", 2, 700, 26}, {"MENTION", 3, 450, 26}, {"QUOTE", 4, 350, 26},
	}
	newsletterOffers = []offer{{"MENTION", 5, 300, 26}, {"FULL_FEATURE", 6, 600, 26}}
	socialOffers     = []offer{{"FULL_FEATURE", 7, 200, 24}, {"MENTION", 8, 120, 24}}
)

// socialNames end the names of products on social channels.
var socialNames = map[string]string{
	"LINKEDIN": " on LinkedIn", "INSTAGRAM": " on Instagram", "YOUTUBE": " on YouTube", "TWITTER_X": " on X", "TIKTOK": " on TikTok",
}

// slug returns the letters of a name in lower case.
func slug(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, strings.ToLower(name))
}

// newRealisticOutlet names an outlet by a beat and a masthead. Each pair is used once. Outlets after that, and half of
// the others, also carry the name of their place.
func (s *outlets) newRealisticOutlet(n uint32) outlet {
	// The draws use bits of two random numbers. Some draws share bits, which does not matter here.
	h, measures := s.seed.roll(kindOutlet, n, 2), s.seed.roll(kindOutlet, n, 5)
	var (
		createdAfter  = int64(h % (365 * daySeconds))
		isNamedByCity = oneIn(h, 2)
		doFollow      = (h>>16)%5 < 3 // three outlets in five
		disclaimer    = int((h >> 24) % uint64(len(s.words.disclaimers)))
		hasSecondTag  = (h>>40)%3 > 0 // two outlets in three
		secondTag     = len(beats) + int((h>>44)%uint64(len(s.words.tagNames)-len(beats)))

		authority    = int64(20 + (measures%73+(measures>>8)%73)/2) // the mean of two draws: most are in the middle of the range
		ratePerMille = 750 + int64((measures>>16)%600)
		ranking      = min(95, authority-5+int64((measures>>24)%15))
		firstOther   = int(min((measures>>32)%6, (measures>>40)%6)) // the smaller of two draws: the first channel types are more frequent
		channelCount = pick([]int{1, 1, 1, 2, 2, 3}, measures>>40)
	)
	o := outlet{n: n, place: pick(s.words.cities, s.seed.roll(kindOutlet, n, 3)), created: s.birth + createdAfter}
	o.updated = o.created
	pairs := uint64(len(beats) * len(mastheads))
	pair := (uint64(s.seed)%pairs + uint64(n)*55) % pairs // 55 and the number of pairs have no common factor
	beat := int(pair) % len(beats)
	o.name = beats[beat] + " " + mastheads[int(pair)/len(beats)]
	if isNamedByCity || uint64(n) >= pairs {
		o.name = o.place.name + " " + o.name
	}
	o.site = "https://www." + slug(o.name) + ".example/"
	o.tags = []int{beat}
	if hasSecondTag {
		o.tags = append(o.tags, secondTag)
	}
	// The price grows by 6 % with each point of authority.
	o.rate = wholeUnits(30)
	for range authority {
		o.rate = o.rate.perMille(1060)
	}
	o.rate = o.rate.perMille(ratePerMille)
	if doFollow {
		o.rate = o.rate.perMille(1200)
	}
	others := []string{"NEWSLETTER", "LINKEDIN", "INSTAGRAM", "YOUTUBE", "TWITTER_X", "TIKTOK"}
	for i := range channelCount {
		c := channel{
			n: n*maxChannels + uint32(i), channelType: "WEBSITE", placement: "FULL_FEATURE", authority: authority,
			ranking: ranking, doFollow: doFollow && i == 0, disclaimer: disclaimer,
		}
		if i > 0 {
			c.channelType, c.placement = others[(firstOther+i-1)%len(others)], "MENTION"
		}
		o.channels = append(o.channels, c)
	}
	return o
}

// realisticTraits returns the traits of a product. ordinal is the number of earlier products of the outlet. Product 0 of
// an outlet is the first offer of channel 0, product 1 the first offer of channel 1, and so on. After the last channel,
// the next products are the second offers of the channels.
func (s *products) realisticTraits(roll uint64, outlet uint32, ordinal int) traits {
	channels := s.outlets.all[outlet].channels
	t := traits{roll: roll, outlet: outlet, channel: ordinal % len(channels)}
	offers := socialOffers
	switch channels[t.channel].channelType {
	case "WEBSITE":
		offers = websiteOffers
	case "NEWSLETTER":
		offers = newsletterOffers
	}
	t.offer = &offers[ordinal/len(channels)%len(offers)]
	t.placement, t.typeIndex = t.offer.placement, t.offer.productType
	return t
}

// promisedDays returns the longest delivery time.
func (t traits) promisedDays() int64 { return t.offer.days + int64((t.roll>>12)%7) }

// The price depends on the authority of the outlet and on the offer. Changes keep it within an eighth of the first price.
func (s *products) realisticPrice(n uint32) micros {
	t := s.traitsOf(n)
	price := s.outlets.all[t.outlet].rate.perMille(t.offer.perMille).perMille(900 + int64((t.roll>>20)%200))
	if changes := s.all[n].changes; changes > 0 {
		price = price.perMille(920 + int64(s.seed.roll(kindProduct, n, saltOfPriceChanges+uint64(changes))%200))
	}
	return price.listPrice()
}

// listPrice rounds an amount to a multiple of 5, or of 25 from 1,000.
func (m micros) listPrice() micros {
	step := wholeUnits(5)
	if m >= wholeUnits(1000) {
		step = wholeUnits(25)
	}
	return max(step, (m+step/2)/step*step)
}

// proPerMille is the price of the pro tier in thousandths of the basic tier. The partner pays it.
const proPerMille = 900

// writeRealisticPrices writes the prices of both tiers in dollars and in the currency of the country.
func writeRealisticPrices(e *enc, base micros, countryCode string) {
	e.arr("prices")
	writeTiers(e, base, "usd")
	switch countryCode {
	case "GB":
		writeTiers(e, base.perMille(780).listPrice(), "gbp")
	case "DE", "FR", "NL", "IE":
		writeTiers(e, base.perMille(920).listPrice(), "eur")
	}
	e.close(']')
}

func writeTiers(e *enc, base micros, currency string) {
	for _, tier := range []struct {
		name   string
		amount micros
	}{{"basic", base}, {"pro", base.perMille(proPerMille)}} {
		e.b = append(e.b, '{')
		e.money("unit_amount", tier.amount)
		e.str("currency", currency)
		e.str("pricing_tier", tier.name)
		e.end()
	}
}

// drawNextStatus returns the status that follows. After many steps it is the usual one, so that every article is published.
func (s *articles) drawNextStatus(r *rand.Rand, a *article) int {
	next := s.words.articleStatuses[a.status()].next
	if len(a.history) > 12 {
		return next[0]
	}
	return next[r.IntN(len(next))]
}

// assignAddOns assigns the add-ons of an item to its article.
func (s *articles) assignAddOns(it *item) {
	for _, l := range s.orders.all[it.order].lines {
		if !l.addOn || l.linked != it.line {
			continue
		}
		addOn := &s.items.all[l.item]
		if addOn.refundedAt != 0 {
			continue
		}
		addOn.article, addOn.campaign = it.article, it.campaign
		addOn.updated = max(it.updated, addOn.updated+1)
	}
}

// moveToOtherProduct returns an add-on for the next product of the outlet of the main line. The add-on is not changed if
// the world is not realistic, or if the outlet has no later product on sale.
func (s *orders) moveToOtherProduct(main, addOn line) line {
	if !s.opts.Realistic {
		return addOn
	}
	other := main.product + uint32(len(s.outlets.all)) // see outletProductView
	if int(other) >= len(s.products.all) || s.products.isWithdrawn(other) {
		return addOn
	}
	addOn.product, addOn.list = other, s.products.priceOf(other)
	addOn.price = addOn.list.perMille(proPerMille)
	return addOn
}

// promisedAt returns when the longest delivery time of the item of an article ends.
func (s *articles) promisedAt(a *article) int64 {
	paidAt := s.orders.all[s.items.all[a.item].order].paid
	return paidAt + s.products.traitsOf(s.lineOf(a).product).promisedDays()*daySeconds
}
