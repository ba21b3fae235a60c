package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// list is the numbers of the records that a list endpoint shows.
type list struct {
	// order is the listing order from its end: the head of a newest-first
	// list is the last element, so that a new record is an append.
	order []uint32
	// newest is the latest created_at so far; every later record is given a
	// later one, so that the order of numbers is the order of time.
	newest int64
	// scattered is set once new records shall appear anywhere.
	scattered bool
	// rng draws the places of scattered records.
	rng *rand.Rand

	removed map[uint32]bool // records that were taken off the list
	marked  map[uint32]bool // records at the last mark
	// What churn counts by.
	requests          int
	inserted, deleted int
}

// stamp is the created_at of the next record: the wished instant, or the next second
// after the newest record.
func (l *list) stamp(wish int64) int64 {
	l.newest = max(wish, l.newest+1)
	return l.newest
}

// add lists a record as the newest one.
func (l *list) add(n uint32) {
	if !l.scattered {
		l.order = append(l.order, n)
		return
	}
	l.order = slices.Insert(l.order, l.rng.IntN(len(l.order)+1), n)
}

// addTied lists records of the same created_at, in the order of their ids.
func (l *list) addTied(numbers []uint32, s seed, k kind) {
	numbers = slices.Clone(numbers)
	slices.SortFunc(numbers, func(a, b uint32) int { return cmp.Compare(s.id(k, b), s.id(k, a)) })
	for _, n := range numbers {
		l.add(n)
	}
}

// remove deletes one record from the list, if it is there. Other records may go
// on naming it, which is what a reader meets when a parent is deleted between
// two requests.
func (l *list) remove(n uint32) {
	if i := slices.Index(l.order, n); i >= 0 {
		l.order = slices.Delete(l.order, i, i+1)
	}
	if l.removed == nil {
		l.removed = map[uint32]bool{}
	}
	l.removed[n] = true
}

// newestFirst reverses numbers that are oldest first, and leaves out removed records.
func (l *list) newestFirst(numbers []uint32) []uint32 {
	var out []uint32
	for _, n := range slices.Backward(numbers) {
		if !l.removed[n] {
			out = append(out, n)
		}
	}
	return out
}

// scatter puts the list into a stable pseudo-random order.
func (l *list) scatter(r *rand.Rand) {
	l.scattered, l.rng = true, r
	r.Shuffle(len(l.order), func(i, j int) { l.order[i], l.order[j] = l.order[j], l.order[i] })
}

// mark stores which records are listed now.
func (l *list) mark() {
	l.marked = make(map[uint32]bool, len(l.order))
	for _, n := range l.order {
		l.marked[n] = true
	}
}

// byKey compares two records by what a function says of each.
func byKey[K cmp.Ordered](key func(n uint32) K) func(a, b uint32) int {
	return func(a, b uint32) int { return cmp.Compare(key(a), key(b)) }
}

// countTo is 0, 1, 2 and so on.
func countTo(count int) []uint32 {
	out := make([]uint32, count)
	for i := range out {
		out[i] = uint32(i)
	}
	return out
}

// churn changes the list while it is walked: for every so many requests it
// inserts one record and removes another one. The seed decides when within the count
// each of the two happens, so that they sometimes hide each other in the total.
func (l *list) churn(s seed, every int, insert func(r *rand.Rand), remove func(n uint32)) {
	phase := uint64(l.requests % every)
	l.requests++
	// A fresh source for each event.
	source := func() *rand.Rand { return s.rng(l.inserted<<20+l.deleted<<1+1, kindRoute) }
	if phase == s.roll(kindRoute, 0, 1)%uint64(every) {
		insert(source())
		l.inserted++
	}
	if phase == s.roll(kindRoute, 0, 2)%uint64(every) && len(l.order) > 1 {
		remove(l.order[source().IntN(len(l.order))])
		l.deleted++
	}
}

// view is what one list request sees: numbers in listing order and what can
// be done with them.
type view struct {
	order  []uint32
	toHead bool // order is from the end, as in list
	kind   kind
	render func(e *enc, n uint32)
	// sortKeys compare records, by the fields of sort_by.
	sortKeys map[string]func(a, b uint32) int
	// filters are the values of a record that a filter may ask for, by its key. A key
	// that is not known filters nothing.
	filters map[string]func(n uint32) []string
}

// len is the number of records before paging.
func (v view) len() int { return len(v.order) }

// at is the number of the i-th record in listing order.
func (v view) at(i int) uint32 {
	if v.toHead {
		return v.order[len(v.order)-1-i]
	}
	return v.order[i]
}

// numbers copies the listing order, head first.
func (v view) numbers() []uint32 {
	out := slices.Clone(v.order)
	if v.toHead {
		slices.Reverse(out)
	}
	return out
}

// with is the view of other numbers, head first.
func (v view) with(order []uint32) view {
	v.order, v.toHead = order, false
	return v
}
