package sim

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// channel is one way in which an outlet publishes.
type channel struct {
	n                  uint32
	kind, placement    string
	authority, ranking int64
	doFollow           bool
	disclaimer         int
	// listing is what the channel's product listings copy from it and from its
	// outlet: one piece, because the pieces of a thousand outlets are not in
	// the processor's cache.
	listing string
}

// outlet is a publication. Its number is fixed, its authority is not.
type outlet struct {
	n                uint32
	name             string
	place            city
	tags             []int
	channels         []channel
	created, updated int64
	edits            int // changes that only the detail shows

	// Parts that a million listings copy, rendered when the outlet changes.
	listing, summaries, tagList string
	indexed, nameText           string
}

// maxChannels is the most that one outlet has; channel numbers build on it.
const maxChannels = 4

// newOutlet makes an outlet. One in twenty does not say where it is.
func (w *world) newOutlet(n uint32) outlet {
	h := w.seed.roll(kindOutlet, n, 2)
	o := outlet{
		n: n, name: w.outletName(n), place: pick(cities(), w.seed.roll(kindOutlet, n, 3)),
		created: w.birth + int64(h%(365*daySeconds)),
	}
	if oneIn(h, 20) {
		o.place = city{}
	}
	for i := range h % 4 {
		o.tags = append(o.tags, int(w.seed.roll(kindOutlet, n, 10+i)%uint64(len(tagNames()))))
	}
	for i := range 1 + h>>32%3 {
		o.channels = append(o.channels, w.newChannel(n*maxChannels+uint32(i)))
	}
	o.updated = o.created
	w.renderOutletParts(&o)
	return o
}

// outletName is a made-up masthead, or one of the names that break things.
func (w *world) outletName(n uint32) string {
	h := w.seed.roll(kindOutlet, n, 4)
	if odd := oddNames(); oneIn(h, 7) {
		return pick(odd, mix(h))
	}
	place := pick(cities(), w.seed.roll(kindOutlet, n, 3))
	return place.name + " " + pick(beats(), mix(h)) + " " + pick(mastheads(), mix(h+1))
}

// newChannel makes a channel as it is before any authority changes.
func (w *world) newChannel(n uint32) channel {
	h := w.seed.roll(kindChannel, n, 2)
	return channel{
		n: n, kind: pick(channelTypes(), mix(h)), placement: pick(placementTypes(), mix(h+1)),
		authority: int64(10 + h%85), ranking: int64(5 + h>>8%90), doFollow: h>>16%3 > 0,
		disclaimer: int(h >> 24 % uint64(len(disclaimers()))),
	}
}

// renderOutletParts writes the parts of an outlet that its listings copy.
func (w *world) renderOutletParts(o *outlet) {
	e := &enc{s: w.seed, record: w.seed.roll(kindOutlet, o.n, 1)}
	quoted := string(appendString(nil, o.name, false))
	o.nameText = quoted[1 : len(quoted)-1]
	o.listing = e.part(func() {
		e.id("outlet_id", kindOutlet, o.n)
		e.optStr("outlet_name", o.name)
		w.outletSite(e, o)
		w.outletPlace(e, o)
	})
	o.indexed = e.part(func() { e.optFlag("is_indexed", o.n%5 != 0) })
	o.tagList = e.part(func() { w.outletTags(e, o) })
	o.summaries = e.part(func() { w.channelSummaries(e, o) })
	for i := range o.channels {
		c := &o.channels[i]
		c.listing = e.part(func() {
			e.fragment(o.listing)
			e.fragment(o.indexed)
			w.channelListing(e, c)
			e.fragment(o.tagList)
		})
	}
}

// part renders into a string of its own.
func (e *enc) part(write func()) string {
	e.b = e.b[:0]
	write()
	return string(e.b)
}

// outletSite writes what every form of an outlet shows of its site.
func (w *world) outletSite(e *enc, o *outlet) {
	e.optStr("website_url", "https://outlet-"+strconv.Itoa(int(o.n))+".example.com/?ref=a&b=<c>")
	e.optStr("logo", "https://cdn.example.com/logos/"+strconv.Itoa(int(o.n))+".png")
}

// outletPlace writes where the outlet is.
func (w *world) outletPlace(e *enc, o *outlet) {
	e.optStr("city", o.place.name)
	e.optStr("state", o.place.state)
	// No chance here: the filter by country must agree with what is shown.
	if o.place.country == "" {
		e.null("country")
	} else {
		e.str("country", o.place.country)
	}
}

// outletTags writes the tags as strings, as objects, or as both in one list.
func (w *world) outletTags(e *enc, o *outlet) {
	e.arr("tags")
	for i, tag := range o.tags {
		name := tagNames()[tag]
		if form := o.n % 4; form == 1 || form == 2 && i%2 == 1 {
			e.b = append(e.b, '{')
			e.str("name", name)
			e.end()
		} else {
			e.value(name)
		}
	}
	e.close(']')
}

// channelSummaries writes the channels as GET /outlets shows them.
func (w *world) channelSummaries(e *enc, o *outlet) {
	e.arr("channels")
	for i := range o.channels {
		c := &o.channels[i]
		e.b = append(e.b, '{')
		e.str("channel_type", c.kind)
		e.str("placement_type", c.placement)
		w.channelMeasures(e, c)
		w.channelDisclaimer(e, c)
		e.end()
	}
	e.close(']')
}

// channelMeasures writes what changes when an outlet gains or loses authority.
func (w *world) channelMeasures(e *enc, c *channel) {
	if c.n%11 == 0 {
		e.null("is_do_follow")
	} else {
		e.flag("is_do_follow", c.doFollow)
	}
	e.num("domain_authority", c.authority)
	e.num("domain_ranking", c.ranking)
}

// channelDisclaimer writes the disclaimer as a channel's two flat fields.
func (w *world) channelDisclaimer(e *enc, c *channel) {
	d := disclaimers()[c.disclaimer]
	e.str("disclaimer_name", d.name)
	if d.description == "" {
		e.null("disclaimer_description")
	} else {
		e.str("disclaimer_description", d.description)
	}
}

// channelListing writes a channel's part of a product listing; the disclaimer
// is a text there, or the whole record.
func (w *world) channelListing(e *enc, c *channel) {
	e.id("channel_id", kindChannel, c.n)
	e.str("channel_type", c.kind)
	w.channelMeasures(e, c)
	switch c.n % 5 {
	case 0:
		e.null("disclaimer")
	case 1:
		e.obj("disclaimer")
		w.disclaimerFields(e, uint32(c.disclaimer))
		e.end()
	default:
		e.str("disclaimer", disclaimers()[c.disclaimer].name)
	}
}

// disclaimerFields writes the fields of a disclaimer record.
func (w *world) disclaimerFields(e *enc, n uint32) {
	d := disclaimers()[n]
	e.id("id", kindDisclaimer, n)
	e.str("name", d.name)
	if d.description == "" {
		e.null("description")
	} else {
		e.str("description", d.description)
	}
}

// outletRef writes the embedded reference to an outlet; lean is id and name.
func (w *world) outletRef(e *enc, n uint32, lean bool) {
	o := &w.outlets[n]
	e.obj("outlet")
	e.id("id", kindOutlet, n)
	e.str("name", o.name)
	if !lean {
		outer := e.record
		e.record = w.seed.roll(kindOutlet, n, 1)
		w.outletSite(e, o)
		e.record = outer
	}
	e.end()
}

// renderOutlet writes GET /outlets/{outlet_id}.
func (w *world) renderOutlet(e *enc, n uint32) {
	o := &w.outlets[n]
	e.begin(kindOutlet, n)
	e.id("id", kindOutlet, n)
	e.str("name", o.name)
	if e.keep("description") {
		e.str("description", "About "+o.name+", revision "+strconv.Itoa(o.edits)+".\n<p>Est. 19"+strconv.Itoa(50+int(n%50))+"</p>")
	}
	w.outletSite(e, o)
	w.outletPlace(e, o)
	e.fragment(o.indexed)
	e.fragment(o.tagList)
	e.arr("outlet_channels")
	for i := range o.channels {
		w.outletChannel(e, o, &o.channels[i])
	}
	e.close(']')
	e.when("created_at", o.created)
	e.when("updated_at", o.updated)
	e.unknown()
	e.end()
}

// outletChannel writes a channel as the outlet's detail shows it.
func (w *world) outletChannel(e *enc, o *outlet, c *channel) {
	e.b = append(e.b, '{')
	e.id("id", kindChannel, c.n)
	e.id("outlet_id", kindOutlet, o.n)
	e.str("channel_type", c.kind)
	e.str("placement_type", c.placement)
	e.str("channel_handle", "@outlet"+strconv.Itoa(int(o.n)))
	e.str("channel_url", "https://outlet-"+strconv.Itoa(int(o.n))+".example.com/"+strings.ToLower(c.kind))
	w.socialLinks(e, c)
	w.channelMeasures(e, c)
	w.doFollowLinks(e, c)
	w.channelDisclaimer(e, c)
	e.end()
}

// socialLinks are texts or objects.
func (w *world) socialLinks(e *enc, c *channel) {
	e.arr("social_links")
	for i := range c.n % 3 {
		url := "https://social.example.com/" + strconv.Itoa(int(c.n)) + "/" + strconv.Itoa(int(i))
		if c.n%2 == 0 {
			e.value(url)
			continue
		}
		e.b = append(e.b, '{')
		e.str("platform", "microblog")
		e.str("url", url)
		e.end()
	}
	e.close(']')
}

// doFollowLinks writes the field that is described as boolean and is anything.
func (w *world) doFollowLinks(e *enc, c *channel) {
	shapes := [...]string{
		`true`, `false`, `null`, ``, `"Unlimited"`, `"5"`, `"2 links"`, `3`,
		`true`, `"unlimited"`, `"1 link"`, `"Up to 4"`,
	}
	if shape := pick(shapes[:], w.seed.roll(kindChannel, c.n, 3)); shape != "" {
		e.raw("do_follow_links_allowed", shape)
	}
}

// stepOutlets changes authorities, and details that no list shows.
func (w *world) stepOutlets(r *rand.Rand, authorities int) {
	for range authorities {
		o := &w.outlets[r.IntN(len(w.outlets))]
		c := &o.channels[r.IntN(len(o.channels))]
		c.authority = (c.authority + 1 + r.Int64N(5)) % 100
		c.ranking = (c.ranking + r.Int64N(3)) % 100
		o.updated = w.moment(r)
		w.renderOutletParts(o)
	}
	for range about(r, w.opts.SilentChange*float64(len(w.outlets))) {
		o := &w.outlets[r.IntN(len(w.outlets))]
		o.edits++
		o.updated = w.moment(r)
	}
}

// locations writes one of the three location lists: each distinct value once,
// as text or as an object with a name.
func (w *world) locations(e *enc, key string, of func(city) string) {
	seen := map[string]bool{"": true}
	e.b = append(e.b, '{')
	e.arr(key)
	for i := range w.outlets {
		place := w.outlets[i].place
		name := of(place)
		if seen[name] {
			continue
		}
		seen[name] = true
		if oneIn(w.seed.roll(kindOutlet, uint32(len(seen)), 7), 3) {
			e.b = append(e.b, '{')
			e.str("name", name)
			e.str("country_code", place.code)
			e.end()
		} else {
			e.value(name)
		}
	}
	e.close(']')
	e.end()
}
