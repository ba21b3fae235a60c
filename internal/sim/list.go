package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// list holds the numbers of the records that a list endpoint shows.
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

	marked map[uint32]bool // records at the last mark
	// What churn counts by.
	requests          int
	inserted, deleted int
}

// stamp is the created_at of the next record, at or after a wished instant.
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

// addTied lists records of one and the same created_at; ids decide.
func (l *list) addTied(numbers []uint32, s seed, k kind) {
	numbers = slices.Clone(numbers)
	slices.SortFunc(numbers, func(a, b uint32) int { return cmp.Compare(s.id(k, b), s.id(k, a)) })
	for _, n := range numbers {
		l.add(n)
	}
}

// drop takes one record off the list; false when it was not there.
func (l *list) drop(n uint32) bool {
	i := slices.Index(l.order, n)
	if i < 0 {
		return false
	}
	l.order = slices.Delete(l.order, i, i+1)
	return true
}

// scatter turns the list into a pseudo-random order that stays as it is.
func (l *list) scatter(r *rand.Rand) {
	l.scattered, l.rng = true, r
	r.Shuffle(len(l.order), func(i, j int) { l.order[i], l.order[j] = l.order[j], l.order[i] })
}

// mark remembers which records are listed now.
func (l *list) mark() {
	l.marked = make(map[uint32]bool, len(l.order))
	for _, n := range l.order {
		l.marked[n] = true
	}
}

// survivors are the records that were listed at the mark and still are. No
// record returns after it left, so they were there throughout.
func (l *list) survivors() []uint32 {
	var out []uint32
	for _, n := range slices.Backward(l.order) {
		if l.marked[n] {
			out = append(out, n)
		}
	}
	return out
}

// view is what one list request sees: numbers in listing order and what can
// be done with them.
type view struct {
	order  []uint32
	toHead bool // order is from the end, as in list
	kind   kind
	render func(e *enc, n uint32)
	// sortKey compares by a field of sort_by; nil when the field is unknown.
	sortKey func(field string) func(a, b uint32) int
	// match tells whether a record passes a filter; nil: nothing is filtered.
	match func(n uint32, key string, values []string) bool
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
