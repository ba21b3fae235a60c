package sim

import (
	"math/rand/v2"
	"strconv"
)

// The partner's one team.
const (
	teamName  = "Partner & Söhne"
	teamEmail = "team@example.com"
)

// profile is a client for whom the partner buys.
type profile struct {
	n                           uint32
	created, updated, generated int64
	orders, items, campaigns    []uint32
	unassigned                  []uint32 // items that no article fulfils yet, oldest first
}

// newProfile makes a profile; all are older than the first simulated day.
func (w *world) newProfile(n uint32) profile {
	created := w.birth + int64(n)*daySeconds + int64(w.seed.roll(kindProfile, n, 2)%daySeconds)
	return profile{n: n, created: created, updated: created}
}

// profileName is a company's name, numbered when there are more than names.
func (w *world) profileName(n uint32) string {
	names := companies()
	name := names[int(n)%len(names)]
	if round := int(n) / len(names); round > 0 {
		name += " " + strconv.Itoa(round+1)
	}
	return name
}

// stepProfiles regenerates the overview of one profile every few days.
func (w *world) stepProfiles(r *rand.Rand) {
	if len(w.profiles) == 0 || r.IntN(4) > 0 {
		return
	}
	p := &w.profiles[r.IntN(len(w.profiles))]
	p.generated = w.moment(r)
	p.updated = p.generated
}

// renderProfile writes an item of GET /teams/{team_id}/profiles.
func (w *world) renderProfile(e *enc, n uint32) {
	p := &w.profiles[n]
	e.begin(kindProfile, n)
	e.id("id", kindProfile, n)
	e.str("name", w.profileName(n))
	e.optStr("legal_company_name", w.profileName(n)+" Holdings Ltd.")
	e.optStr("type", pick([]string{"company", "person", "nonprofit", "dao"}, e.record))
	e.optStr("logo", "https://cdn.example.com/profiles/"+strconv.Itoa(int(n))+".svg")
	w.profileLocation(e, n)
	e.optStr("overview", "Overview as of "+strconv.FormatInt(p.generated, 10)+"\n\n- point \"one\"\n- point two")
	e.optStr("products_and_services", "Consulting; software — worldwide")
	e.optStr("drive_link", "https://drive.example.com/d/"+strconv.Itoa(int(n)))
	e.optStr("writing_samples", "https://example.com/blog/1, https://example.com/blog/2")
	w.primaryGoals(e, n)
	e.optStr("website_url", "https://client-"+strconv.Itoa(int(n))+".example.com")
	e.id("team_id", kindTeam, 0)
	if e.keep("brand_tone_and_voice_id") {
		e.id("brand_tone_and_voice_id", kindPerson, 500+n)
	}
	e.when("last_generated_at", p.generated)
	e.when("created_at", p.created)
	e.when("updated_at", p.updated)
	e.null("deleted_at")
	e.unknown()
	e.end()
}

// profileLocation is a text, an object, null, or absent.
func (w *world) profileLocation(e *enc, n uint32) {
	place := pick(cities(), w.seed.roll(kindProfile, n, 3))
	switch n % 4 {
	case 0:
		e.str("location", place.name+", "+place.country)
	case 1:
		e.obj("location")
		e.str("name", place.name)
		e.str("country", place.country)
		e.end()
	case 2:
		e.null("location")
	}
}

// primaryGoals are texts or objects.
func (w *world) primaryGoals(e *enc, n uint32) {
	goals := []string{"Brand awareness", "SEO", "Fund-raising", "Hiring"}
	e.arr("primary_goals")
	for i := range w.seed.roll(kindProfile, n, 4) % 4 {
		if n%3 == 1 {
			e.b = append(e.b, '{')
			e.str("name", goals[i])
			e.num("priority", int64(i))
			e.end()
		} else {
			e.value(goals[i])
		}
	}
	e.close(']')
}

// profileRef writes the embedded reference to a profile.
func (w *world) profileRef(e *enc, n uint32) {
	e.obj("profile")
	e.id("id", kindProfile, n)
	e.str("name", w.profileName(n))
	e.str("logo", "https://cdn.example.com/profiles/"+strconv.Itoa(int(n))+".svg")
	e.end()
}

// listed copies the numbers of a profile's records that still exist, newest
// first.
func listed(numbers []uint32, gone func(n uint32) bool) []uint32 {
	var out []uint32
	for i := len(numbers) - 1; i >= 0; i-- {
		if !gone(numbers[i]) {
			out = append(out, numbers[i])
		}
	}
	return out
}
