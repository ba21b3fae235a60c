package sim

import (
	"math/rand/v2"
	"slices"
	"time"
)

const daySeconds = 24 * 60 * 60

// birthYears is how long before its first simulated day the oldest records of
// the world were made.
const birthYears = 2

// world is everything that the service holds on one simulated day.
type world struct {
	opts  Options
	seed  seed
	words words
	day   int   // 0 is the first day that is served; negative is the past
	birth int64 // Unix seconds; nothing is older

	// Records by number. Nothing is ever taken out, so that a number stays
	// valid for whatever still names it.
	outlets   []outlet
	products  []product
	profiles  []profile
	orders    []order
	items     []item
	campaigns []campaign
	articles  []article
	files     []file
	folders   []folder

	// What the top-level list endpoints show of them.
	outletRows, listings, orderList, itemList, campaignList, fileList, folderList list

	// Records with something still to come, so that a day costs what happens
	// on it and not what ever happened.
	openOrders, openItems, openCampaigns, openArticles []uint32
	published                                          []uint32 // articles
}

// newWorld lives through the days before day 0.
func newWorld(opts Options) *world {
	w := &world{opts: opts, seed: seed(opts.Seed), words: newWords(), day: -opts.HistoryDays}
	w.birth = w.dayStart(w.day) - birthYears*365*daySeconds
	for n := range opts.Outlets {
		w.outlets = append(w.outlets, w.newOutlet(uint32(n)))
	}
	w.firstProducts(opts.Listings)
	for n := range opts.Profiles {
		w.profiles = append(w.profiles, w.newProfile(uint32(n)))
	}
	for n := range opts.Folders {
		w.newFolder(w.birth + int64(n)*daySeconds)
	}
	for w.day < 0 {
		w.step()
	}
	if opts.Order == Unordered {
		for i, l := range w.lists() {
			l.scatter(w.seed.rng(i, kindRoute))
		}
	}
	return w
}

// lists are the lists that can be paged, scattered and churned.
func (w *world) lists() []*list {
	return []*list{
		&w.outletRows, &w.listings, &w.orderList, &w.itemList,
		&w.campaignList, &w.fileList, &w.folderList,
	}
}

// step lives through one day.
func (w *world) step() {
	w.day++
	w.stepListings(w.seed.rng(w.day, kindProduct))
	w.stepFiles(w.seed.rng(w.day, kindFile))
	w.stepProfiles(w.seed.rng(w.day, kindProfile))
	w.stepOrders(w.seed.rng(w.day, kindOrder))
	w.stepItems(w.seed.rng(w.day, kindItem))
	w.stepCampaigns(w.seed.rng(w.day, kindCampaign))
	w.stepArticles(w.seed.rng(w.day, kindArticle))
}

// dayStart is the first second of the 24 hours that lead to a day: the world
// of day d knows what happened before d days after the start.
func (w *world) dayStart(day int) int64 {
	return w.opts.Start.Unix() + int64(day-1)*daySeconds
}

// now is the instant at which the present day is seen.
func (w *world) now() time.Time {
	return w.opts.Start.Add(time.Duration(w.day) * 24 * time.Hour).UTC()
}

// dayNumber is the present day counted from the world's first, which is 1.
func (w *world) dayNumber() uint16 { return uint16(w.day + w.opts.HistoryDays + 1) }

// numberedDay is the first second of a day by its number.
func (w *world) numberedDay(number uint16) int64 {
	return w.dayStart(int(number) - w.opts.HistoryDays - 1)
}

// moment draws a second of the present day.
func (w *world) moment(r *rand.Rand) int64 { return w.dayStart(w.day) + r.Int64N(daySeconds) }

// moments draws seconds of the present day in their order.
func (w *world) moments(r *rand.Rand, count int) []int64 {
	out := make([]int64, max(count, 0))
	for i := range out {
		out[i] = w.moment(r)
	}
	slices.Sort(out)
	return out
}

// due is how many records must exist on the present day when a number of them
// is spread over the past and more follow at the same rate.
func (w *world) due(onDayZero int) int {
	return onDayZero * (w.day + w.opts.HistoryDays) / w.opts.HistoryDays
}

// after is a day so many days from now: at least the given one, and up to
// spread days more.
func (w *world) after(r *rand.Rand, least, spread int) int { return w.day + least + r.IntN(spread+1) }
