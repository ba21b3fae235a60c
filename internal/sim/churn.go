package sim

import "math/rand/v2"

// churn changes a list while it is walked: for every ChurnEvery requests it
// inserts one record and deletes another one. Where within the count each of
// the two happens is up to the seed, so that now they hide each other in the
// total and now they do not.
func (w *world) churn(rt *route) {
	if rt.top == nil || w.opts.ChurnEvery <= 0 {
		return
	}
	l := rt.top(w)
	phase := uint64(l.requests % w.opts.ChurnEvery)
	l.requests++
	every := uint64(w.opts.ChurnEvery)
	if phase == w.seed.roll(kindRoute, 0, 1)%every {
		rt.insert(w)
		l.inserted++
	}
	if phase == w.seed.roll(kindRoute, 0, 2)%every && len(l.order) > 1 {
		r := w.churnDraw(l)
		rt.remove(w, l.order[r.IntN(len(l.order))])
		l.deleted++
	}
}

// churnDraw is a fresh source for each event on a list.
func (w *world) churnDraw(l *list) *rand.Rand {
	return w.seed.rng(l.inserted<<20+l.deleted<<1+1, kindRoute)
}

// insertListing lists one more product, which is no outlet row.
func (w *world) insertListing() {
	n := uint32(len(w.products))
	w.products = append(w.products, product{created: uint32(w.listings.stamp(w.now().Unix()) - w.birth)})
	w.listings.add(n)
}

// insertOutletRow lists one more product on GET /outlets alone.
func (w *world) insertOutletRow() {
	n := uint32(len(w.products))
	at := max(w.outletRows.stamp(w.now().Unix()), w.listings.newest+1)
	w.outletRows.newest = at
	w.products = append(w.products, product{created: uint32(at - w.birth)})
	w.outletRows.add(n)
}

// canOrder tells whether the world has what an order needs.
func (w *world) canOrder() bool { return len(w.products) > 0 && len(w.profiles) > 0 }

// insertOrder makes an order that goes on like any other.
func (w *world) insertOrder() {
	if w.canOrder() {
		w.newOrder(w.churnDraw(&w.orderList), w.now().Unix())
	}
}

// insertItem pays a new one-line order out of band, whose order is real.
func (w *world) insertItem() {
	if !w.canOrder() {
		return
	}
	r := w.churnDraw(&w.itemList)
	o := &w.orders[w.newOrder(r, w.now().Unix())]
	o.lines = o.lines[:1]
	o.subtotal = 0
	o.settle(w.seed.roll(kindOrder, o.n, 3))
	w.openOrders = w.openOrders[:len(w.openOrders)-1]
	w.payOrder(r, o, o.created+1)
}

// insertCampaign starts a campaign that goes on like any other.
func (w *world) insertCampaign() {
	if len(w.profiles) > 0 {
		w.newCampaign(w.churnDraw(&w.campaignList), w.now().Unix())
	}
}

// insertFile uploads a file out of turn.
func (w *world) insertFile() { w.newFile(w.churnDraw(&w.fileList), w.now().Unix()) }

func (w *world) insertFolder() { w.newFolder(w.now().Unix()) }

// removeOrder takes an order off the list. Its items go on naming it, which is
// what a reader meets when a parent is deleted between two requests.
func (w *world) removeOrder(n uint32) {
	w.orders[n].gone = true
	w.orderList.drop(n)
}

// removeItem takes an item off the lists; its order still shows the line.
func (w *world) removeItem(n uint32) {
	w.items[n].gone = true
	w.itemList.drop(n)
}

// removeCampaign takes a campaign off the lists; its articles still answer.
func (w *world) removeCampaign(n uint32) {
	w.campaigns[n].gone = true
	w.campaignList.drop(n)
}

func (w *world) removeFile(n uint32) {
	w.files[n].gone = true
	w.fileList.drop(n)
}

func (w *world) removeFolder(n uint32) {
	w.folders[n].gone = true
	w.folderList.drop(n)
}
