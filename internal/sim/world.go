package sim

import (
	"math/rand/v2"
	"slices"
	"time"
)

const daySeconds = 24 * 60 * 60

// world is the state of the service on a simulated day. Each part, such as orders, contains
// records, and embeds the world to reach the other parts. Records are identified by number and
// never removed from their part, so that references remain valid. Integer times are Unix times.
type world struct {
	opts  Options
	seed  seed
	day   int // 0 is the first served day; earlier days are negative
	words *vocabulary
	birth int64 // time of the oldest possible record, two years before the history
	// valueFaults are set by Service.SetValueFaults.
	valueFaults []ValueFault

	outlets   *outlets
	products  *products
	files     *files
	profiles  *profiles
	orders    *orders
	items     *items
	articles  *articles
	campaigns *campaigns
}

func newWorld(opts Options) *world {
	w := &world{opts: opts, seed: seed(opts.Seed), day: -opts.HistoryDays}
	w.words = &strangeWords
	if opts.Realistic {
		w.words = &realisticWords
	}
	w.birth = w.dayStart(w.day) - 2*365*daySeconds
	w.outlets = newOutlets(w)
	w.products = newProducts(w)
	w.files = newFiles(w)
	w.profiles = newProfiles(w)
	w.orders = &orders{world: w}
	w.items = &items{world: w, unassigned: make([][]uint32, opts.Profiles)}
	w.articles = &articles{world: w}
	w.campaigns = &campaigns{world: w}
	for w.day < 0 {
		w.stepDay()
	}
	if opts.Unordered {
		shuffledCount := 0
		for _, rt := range w.routes() {
			if l := rt.whole; l != nil {
				l.rng = w.seed.rng(shuffledCount, kindRoute)
				l.rng.Shuffle(len(l.numbers), func(i, j int) { l.numbers[i], l.numbers[j] = l.numbers[j], l.numbers[i] })
				shuffledCount++
			}
		}
	}
	return w
}

func (w *world) stepDay() {
	w.day++
	w.products.stepDay(w.seed.rng(w.day, kindProduct))
	w.files.stepDay(w.seed.rng(w.day, kindFile))
	w.profiles.stepDay(w.seed.rng(w.day, kindProfile))
	w.orders.stepDay(w.seed.rng(w.day, kindOrder))
	w.items.stepDay(w.seed.rng(w.day, kindItem))
	w.campaigns.stepDay(w.seed.rng(w.day, kindCampaign))
	w.articles.stepDay(w.seed.rng(w.day, kindArticle))
}

// churn changes a list while a client reads its pages. In each interval of ChurnEvery requests it
// inserts a record, and deletes one if the list has several. The seed determines at which request of
// the interval each of the two changes happens. If both happen at the same request, the total does not change.
func (w *world) churn(l *list) {
	if w.opts.ChurnEvery <= 0 {
		return
	}
	interval := uint64(w.opts.ChurnEvery)
	phase := uint64(l.requests) % interval
	l.requests++
	// The counts of inserted and deleted records give each change a different random source.
	source := func() *rand.Rand { return w.seed.rng(l.inserted<<20+l.deleted<<1+1, kindRoute) }
	if phase == w.seed.roll(kindRoute, 0, 1)%interval {
		if w.insertRecord(l, source()) {
			l.inserted++
		}
	}
	if phase == w.seed.roll(kindRoute, 0, 2)%interval && len(l.numbers) > 1 {
		n := l.numbers[source().IntN(len(l.numbers))]
		if l == &w.products.onSale || l == &w.products.outletListings {
			w.products.withdrawProduct(n)
			w.products.onSale.remove(n)
			w.products.outletListings.remove(n)
		} else {
			l.remove(n)
		}
		l.deleted++
	}
}

// insertRecord returns false if a record to which the new record must refer does not exist.
func (w *world) insertRecord(l *list, r *rand.Rand) bool {
	now := w.now().Unix()
	hasProfiles := len(w.profiles.all) > 0
	canOrder := hasProfiles && len(w.products.all) > 0
	switch {
	case l == &w.products.onSale: // the new product is not in GET /outlets
		l.add(w.products.addProduct(l.nextCreatedAt(now)))
	case l == &w.products.outletListings: // the new product is only in GET /outlets
		l.newestAt = max(l.nextCreatedAt(now), w.products.onSale.newestAt+1)
		l.add(w.products.addProduct(l.newestAt))
	case l == &w.orders.list && canOrder:
		w.orders.newOrder(r, now)
	case l == &w.items.list && canOrder:
		o := w.orders.newSingleLineOrder(r, now)
		w.items.payOrder(r, o, o.created+1)
	case l == &w.campaigns.list && hasProfiles:
		w.campaigns.newCampaign(r, now)
	case l == &w.files.list:
		w.files.newFile(r, now)
	case l == &w.files.folderList:
		w.files.newFolder(now)
	default:
		return false
	}
	return true
}

// dayStart returns the first second of a day. Day d ends at start plus d days, which is the simulated
// time on day d. So all events of a day are in the past when the day is served.
func (w *world) dayStart(day int) int64 { return w.opts.Start.Unix() + int64(day-1)*daySeconds }

func (w *world) now() time.Time {
	return w.opts.Start.Add(time.Duration(w.day) * 24 * time.Hour).UTC()
}

func (w *world) drawSecond(r *rand.Rand) int64 { return w.dayStart(w.day) + r.Int64N(daySeconds) }

// drawSeconds returns sorted seconds of the current day.
func (w *world) drawSeconds(r *rand.Rand, count int) []int64 {
	out := make([]int64, max(count, 0))
	for i := range out {
		out[i] = w.drawSecond(r)
	}
	slices.Sort(out)
	return out
}

// drawLater returns a random second of the current day, or previous+1 if that is later.
func (w *world) drawLater(r *rand.Rand, previous int64) int64 {
	return max(w.drawSecond(r), previous+1)
}

// drawDay returns a random day that is least to least+spread days after the current day.
func (w *world) drawDay(r *rand.Rand, least, spread int) int {
	return w.day + least + r.IntN(spread+1)
}

// targetCount returns the number of records that must have been created by the end of the current day. The
// number grows in proportion to the days, and is onDayZero on day 0.
func (w *world) targetCount(onDayZero int) int {
	return onDayZero * (w.day + w.opts.HistoryDays) / w.opts.HistoryDays
}
