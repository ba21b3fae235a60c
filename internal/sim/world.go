package sim

// world is the state of the service on a simulated day. Each part contains the records of
// one kind and refers only to the parts listed before it. Records are identified by number
// and never removed from their part, so that references remain valid.
type world struct {
	opts     Options
	seed     seed
	calendar *calendar

	outlets   *outlets
	products  *products
	listings  *listings
	files     *files
	profiles  *profiles
	orders    *orders
	items     *items
	articles  *articles
	campaigns *campaigns
}

// newWorld simulates the days before day 0.
func newWorld(opts Options) *world {
	w := &world{opts: opts, seed: seed(opts.Seed), calendar: newCalendar(opts)}
	w.outlets = newOutlets(w.calendar, w.seed, opts)
	w.products = &products{calendar: w.calendar, seed: w.seed, words: words{placementTypes(), sentences(), requirements(), productTypes()}, outlets: w.outlets}
	w.listings = newListings(w.products, opts)
	w.files = newFiles(w.calendar, w.seed, opts)
	w.profiles = newProfiles(w.calendar, w.seed, opts)
	w.orders = &orders{
		calendar: w.calendar, seed: w.seed, outlets: w.outlets, products: w.products, listings: w.listings,
		expected: opts.Orders, byProfile: make([][]uint32, opts.Profiles), hidden: opts.HiddenDetail,
	}
	w.items = &items{
		calendar: w.calendar, seed: w.seed, outlets: w.outlets, products: w.products, orders: w.orders,
		byProfile: make([][]uint32, opts.Profiles), unassigned: make([][]uint32, opts.Profiles),
	}
	w.articles = &articles{
		calendar: w.calendar, seed: w.seed, outlets: w.outlets, products: w.products, orders: w.orders,
		items: w.items, files: w.files, silentChange: opts.SilentChange,
	}
	w.campaigns = &campaigns{
		calendar: w.calendar, seed: w.seed, files: w.files, items: w.items, articles: w.articles,
		expected: opts.Campaigns, byProfile: make([][]uint32, opts.Profiles), hidden: opts.HiddenDetail,
	}
	for w.calendar.day < 0 {
		w.stepDay()
	}
	if opts.Order == Unordered {
		for i, l := range w.topLists() {
			l.scatter(w.seed.rng(i, kindRoute))
		}
	}
	return w
}

// topLists returns the lists that can be paged, scattered and churned.
func (w *world) topLists() []*list {
	return []*list{
		&w.listings.outletRows, &w.listings.onSale, &w.orders.list, &w.items.list,
		&w.campaigns.list, &w.files.list, &w.files.folderList,
	}
}

// stepDay simulates one day. Each part has its own random source.
func (w *world) stepDay() {
	w.calendar.day++
	day := w.calendar.day
	w.listings.stepDay(w.seed.rng(day, kindProduct))
	w.files.stepDay(w.seed.rng(day, kindFile))
	w.profiles.stepDay(w.seed.rng(day, kindProfile))
	w.orders.stepDay(w.seed.rng(day, kindOrder), w.items.payOrder)
	w.items.stepDay(w.seed.rng(day, kindItem))
	w.campaigns.stepDay(w.seed.rng(day, kindCampaign))
	w.articles.stepDay(w.seed.rng(day, kindArticle))
}
