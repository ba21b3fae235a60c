package sim

import (
	"cmp"
	"math/rand/v2"
	"strconv"
	"strings"
)

type channel struct {
	n                  uint32
	channelType        string
	placement          string
	authority, ranking int64
	doFollow           bool
	disclaimer         int
}

type outlet struct {
	n                uint32
	name             string
	site             string
	rate             micros // price of a full feature, in a realistic world
	place            city
	tags             []int
	channels         []channel
	created, updated int64
	edits            int // changes that no list shows
}

type outlets struct {
	*world
	all []outlet
}

func newOutlets(w *world) *outlets {
	s := &outlets{world: w}
	for n := range w.opts.Outlets {
		s.all = append(s.all, s.newOutlet(uint32(n)))
	}
	return s
}

// maxChannels is the maximum number of channels of an outlet. Channel numbers depend on it.
const maxChannels = 4

func (s *outlets) newOutlet(n uint32) outlet {
	if s.opts.Realistic {
		return s.newRealisticOutlet(n)
	}
	h := s.seed.roll(kindOutlet, n, 2)
	o := outlet{
		n: n, place: pick(s.words.cities, s.seed.roll(kindOutlet, n, 3)),
		created: s.birth + int64(h%(365*daySeconds)),
	}
	// A generated name, or one with special characters.
	nameRoll := s.seed.roll(kindOutlet, n, 4)
	o.name = cmp.Or(s.words.oddName(nameRoll, 7), o.place.name+" "+pick(beats, mix(nameRoll))+" "+pick(mastheads, mix(nameRoll+1)))
	o.site = "https://outlet-" + strconv.Itoa(int(n)) + ".example.com/"
	if oneIn(h, 20) {
		o.place = city{}
	}
	for i := range h % 4 {
		o.tags = append(o.tags, int(s.seed.roll(kindOutlet, n, 10+i)%uint64(len(s.words.tagNames))))
	}
	for i := range 1 + h>>32%3 {
		number := n*maxChannels + uint32(i)
		channelRoll := s.seed.roll(kindChannel, number, 2)
		o.channels = append(o.channels, channel{
			n: number, channelType: pick(channelTypes, mix(channelRoll)), placement: pick(placementTypes, mix(channelRoll+1)),
			authority: int64(10 + channelRoll%85), ranking: int64(5 + channelRoll>>8%90), doFollow: channelRoll>>16%3 > 0,
			disclaimer: int(channelRoll >> 24 % uint64(len(s.words.disclaimers))),
		})
	}
	o.updated = o.created
	return o
}

// writeFields writes the fields that a listing copies from its outlet.
func (o *outlet) writeFields(e *enc) {
	e.id("outlet_id", kindOutlet, o.n)
	e.optStr("outlet_name", o.name)
	o.writeSite(e)
	o.writePlace(e)
}

func (o *outlet) writeChannels(e *enc) {
	e.arr("channels")
	for i := range o.channels {
		c := &o.channels[i]
		e.b = append(e.b, '{')
		e.str("channel_type", c.channelType)
		e.str("placement_type", c.placement)
		c.writeMeasures(e)
		c.writeFlatDisclaimer(e)
		e.end()
	}
	e.close(']')
}

// writeListing writes the fields that a listing copies from its channel.
func (c *channel) writeListing(e *enc) {
	e.id("channel_id", kindChannel, c.n)
	e.str("channel_type", c.channelType)
	c.writeMeasures(e)
	switch form := c.n % 5; { // null, the whole record or a text
	case e.realistic || form > 1:
		e.str("disclaimer", e.words.disclaimers[c.disclaimer].name)
	case form == 0:
		e.null("disclaimer")
	default:
		e.obj("disclaimer")
		writeDisclaimer(e, uint32(c.disclaimer))
		e.end()
	}
}

func (o *outlet) writeSite(e *enc) {
	e.optStr("website_url", o.site+e.either("?ref=a&b=<c>", ""))
	e.optStr("logo", "https://cdn.example.com/logos/"+strconv.Itoa(int(o.n))+".png")
}

func (o *outlet) writePlace(e *enc) {
	e.optStr("city", o.place.name)
	e.optStr("state", o.place.state)
	e.strOrNull("country", o.place.country)
}

func (o *outlet) writeIndexed(e *enc) { e.optFlag("is_indexed", o.n%5 != 0) }

func (o *outlet) writeTags(e *enc) {
	e.arr("tags")
	for i, tag := range o.tags {
		name := e.words.tagNames[tag]
		form := o.n % 4
		e.textOrObject(e.realistic || form == 1 || form == 2 && i%2 == 1, name, func() { e.str("name", name) })
	}
	e.close(']')
}

func (c *channel) writeMeasures(e *enc) {
	if e.realistic && c.channelType != "WEBSITE" { // the measures are those of a website
		e.null("is_do_follow")
		e.null("domain_authority")
		e.null("domain_ranking")
		return
	}
	if c.n%11 == 0 && !e.realistic {
		e.null("is_do_follow")
	} else {
		e.flag("is_do_follow", c.doFollow)
	}
	e.num("domain_authority", c.authority)
	e.num("domain_ranking", c.ranking)
}

func (c *channel) writeFlatDisclaimer(e *enc) {
	d := e.words.disclaimers[c.disclaimer]
	e.str("disclaimer_name", d.name)
	e.strOrNull("disclaimer_description", d.description)
}

func writeDisclaimer(e *enc, n uint32) {
	d := e.words.disclaimers[n]
	e.id("id", kindDisclaimer, n)
	e.str("name", d.name)
	e.strOrNull("description", d.description)
}

// If lean is true, the outlet has only id and name.
func (s *outlets) writeRef(e *enc, n uint32, lean bool) {
	e.obj("outlet")
	s.writeRefFields(e, n, lean)
	e.end()
}

func (s *outlets) writeRefFields(e *enc, n uint32, lean bool) {
	o := &s.all[n]
	e.id("id", kindOutlet, n)
	e.str("name", o.name)
	if !lean {
		e.withRollOf(kindOutlet, n, func() { o.writeSite(e) })
	}
}

func (s *outlets) renderDetail(e *enc, n uint32) {
	o := &s.all[n]
	e.beginRecord(kindOutlet, n)
	e.str("name", o.name)
	if e.optional("description") {
		e.str("description", e.either("About "+o.name+", revision "+strconv.Itoa(o.edits)+".\n<p>Est. 19"+strconv.Itoa(50+int(n%50))+"</p>",
			o.name+" has "+strconv.Itoa(5+int(n%50)+o.edits)+" writers."))
	}
	o.writeSite(e)
	o.writePlace(e)
	o.writeIndexed(e)
	o.writeTags(e)
	e.arr("outlet_channels")
	for i := range o.channels {
		o.channels[i].writeDetail(e, o)
	}
	e.close(']')
	e.times(o.created, o.updated)
	e.endRecord()
}

func (c *channel) writeDetail(e *enc, o *outlet) {
	e.b = append(e.b, '{')
	e.id("id", kindChannel, c.n)
	e.id("outlet_id", kindOutlet, o.n)
	e.str("channel_type", c.channelType)
	e.str("placement_type", c.placement)
	e.str("channel_handle", "@"+e.either("outlet"+strconv.Itoa(int(o.n)), slug(o.name)))
	page := strings.ToLower(c.channelType)
	if c.channelType == "WEBSITE" {
		page = e.either(page, "")
	}
	e.str("channel_url", o.site+page)
	e.arr("social_links")
	for i := range c.n % 3 {
		url := "https://social.example.com/" + strconv.Itoa(int(c.n)) + "/" + strconv.Itoa(int(i))
		e.textOrObject(c.n%2 == 1 && !e.realistic, url, func() {
			e.str("platform", "microblog")
			e.str("url", url)
		})
	}
	e.close(']')
	c.writeMeasures(e)
	// The spec calls this field boolean, but it can have any type, unless the world is realistic.
	shapes := []string{
		`true`, `false`, `null`, ``, `"Unlimited"`, `"5"`, `"2 links"`, `3`,
		`true`, `"unlimited"`, `"1 link"`, `"Up to 4"`,
	}
	if e.realistic {
		shapes = []string{strconv.FormatBool(c.doFollow)}
	}
	if shape := pick(shapes, e.seed.roll(kindChannel, c.n, 3)); shape != "" {
		e.raw("do_follow_links_allowed", shape)
	}
	c.writeFlatDisclaimer(e)
	e.end()
}

func (s *outlets) stepDay(r *rand.Rand, authorityChanges int) {
	for range authorityChanges {
		o := &s.all[r.IntN(len(s.all))]
		c := &o.channels[r.IntN(len(o.channels))]
		if s.opts.Realistic {
			c = &o.channels[0]
			c.authority = min(c.authority-1+r.Int64N(4), 95)
			c.ranking = min(c.ranking-1+r.Int64N(4), 95)
		} else {
			c.authority = (c.authority + 1 + r.Int64N(5)) % 100
			c.ranking = (c.ranking + r.Int64N(3)) % 100
		}
		o.updated = s.drawSecond(r)
	}
	for range roundByChance(r, s.opts.SilentChange*float64(len(s.all))) {
		o := &s.all[r.IntN(len(s.all))]
		o.edits++
		o.updated = s.drawSecond(r)
	}
}

// locationsOf returns the function that writes one of the three location lists: each distinct
// value once, as text or as an object with a name.
func (s *outlets) locationsOf(key string, field func(city) string) func(*enc, uint32) {
	return func(e *enc, _ uint32) {
		seen := map[string]bool{"": true}
		e.b = append(e.b, '{')
		e.arr(key)
		for i := range s.all {
			place := s.all[i].place
			name := field(place)
			if seen[name] {
				continue
			}
			seen[name] = true
			e.textOrObject(oneIn(s.seed.roll(kindOutlet, uint32(len(seen)), 7), 3) && !e.realistic, name, func() {
				e.str("name", name)
				e.str("country_code", place.countryCode)
			})
		}
		e.close(']')
		e.end()
	}
}

func (s *outlets) tagView(uint32) view {
	return view{numbers: countTo(len(s.words.tagNames)), render: func(e *enc, n uint32) {
		e.b = append(e.b, '{')
		e.str("name", e.words.tagNames[n])
		e.end()
	}}
}

func (s *outlets) disclaimerView(uint32) view {
	return view{numbers: countTo(len(s.words.disclaimers)), render: func(e *enc, n uint32) {
		e.begin(kindDisclaimer, n)
		writeDisclaimer(e, n)
		e.end()
	}}
}
