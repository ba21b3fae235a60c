package sim

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// teamEmail is the address of the partner's only team.
const teamEmail = "team@example.com"

type profile struct {
	n                             uint32
	created, updated, generatedAt int64
}

type profiles struct {
	*world
	all []profile
}

// newProfiles creates the profiles, which are older than the first simulated day.
func newProfiles(w *world) *profiles {
	s := &profiles{world: w}
	for n := range uint32(w.opts.Profiles) {
		created := w.birth + int64(n)*daySeconds + int64(w.seed.roll(kindProfile, n, 2)%daySeconds)
		s.all = append(s.all, profile{n: n, created: created, updated: created})
	}
	return s
}

func (s *profiles) stepDay(r *rand.Rand) {
	if len(s.all) == 0 || r.IntN(4) > 0 {
		return
	}
	p := &s.all[r.IntN(len(s.all))]
	p.generatedAt = s.drawSecond(r)
	p.updated = p.generatedAt
}

func (s *profiles) renderRow(e *enc, n uint32) {
	p := &s.all[n]
	e.beginRecord(kindProfile, n)
	e.str("name", e.words.profileName(n))
	e.optStr("legal_company_name", e.words.profileName(n)+" Holdings Ltd.")
	e.optStr("type", e.either(pick([]string{"company", "person", "nonprofit", "dao"}, e.roll), "company"))
	e.optStr("logo", "https://cdn.example.com/profiles/"+strconv.Itoa(int(n))+".svg")
	form := n % 4 // text, object, null or absent
	if e.realistic {
		form = 0
	}
	switch place := pick(e.words.cities, e.seed.roll(kindProfile, n, 3)); form {
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
	e.optStr("overview", e.either("Overview as of "+strconv.FormatInt(p.generatedAt, 10)+"\n\n- point \"one\"\n- point two",
		"A growing company with customers in twelve countries."))
	e.optStr("products_and_services", "Consulting; software — worldwide")
	e.optStr(e.either("drive_link", "google_drive_link"), "https://drive.example.com/d/"+strconv.Itoa(int(n)))
	e.optStr("writing_samples", "https://example.com/blog/1, https://example.com/blog/2")
	goals := []string{"Brand awareness", "SEO", "Fund-raising", "Hiring"}
	goals = goals[:e.seed.roll(kindProfile, n, 4)%4]
	if e.realistic { // an array literal of PostgreSQL
		e.str("primary_goals", "{"+strings.ToUpper(strings.NewReplacer(" ", "_", "-", "").Replace(strings.Join(goals, ",")))+"}")
	} else {
		writeGoals(e, n, goals)
	}
	e.optStr("website_url", e.either("https://client-"+strconv.Itoa(int(n))+".example.com", "https://www."+slug(e.words.profileName(n))+".example/"))
	e.id("team_id", kindTeam, 0)
	if e.optional("brand_tone_and_voice_id") {
		e.id("brand_tone_and_voice_id", kindPerson, 500+n)
	}
	e.when("last_generated_at", p.generatedAt)
	e.times(p.created, p.updated)
	e.null("deleted_at")
	e.endRecord()
}

func writeGoals(e *enc, n uint32, goals []string) {
	e.arr("primary_goals")
	for i := range goals {
		e.textOrObject(n%3 == 1, goals[i], func() {
			e.str("name", goals[i])
			e.num("priority", int64(i))
		})
	}
	e.close(']')
}

func (s *profiles) teamView(uint32) view {
	return view{numbers: countTo(len(s.all)), reversed: true, render: s.renderRow}
}
