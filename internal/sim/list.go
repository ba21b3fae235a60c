package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// list contains the numbers of the records of a list endpoint.
type list struct {
	// order is the listing order in reverse: the newest record of a list sorted newest
	// first is the last element, so that a new record is appended.
	order []uint32
	// newest is the latest created_at so far. Each new record gets a later time, so that
	// the order of numbers is the order of time.
	newest int64
	// scattered means that new records are inserted anywhere.
	scattered bool
	// rng chooses the positions of scattered records.
	rng *rand.Rand

	removed map[uint32]bool // deleted records
	marked  map[uint32]bool // records at the last mark
	// State of churn.
	requests          int
	inserted, deleted int
}

// stamp returns the created_at of the next record: wish, or the second after the newest
// record if that is later.
func (l *list) stamp(wish int64) int64 {
	l.newest = max(wish, l.newest+1)
	return l.newest
}

// add adds a record as the newest one.
func (l *list) add(n uint32) {
	if !l.scattered {
		l.order = append(l.order, n)
		return
	}
	l.order = slices.Insert(l.order, l.rng.IntN(len(l.order)+1), n)
}

// addTied adds records with the same created_at, in the order of their ids.
func (l *list) addTied(numbers []uint32, s seed, k kind) {
	numbers = slices.Clone(numbers)
	slices.SortFunc(numbers, func(a, b uint32) int { return cmp.Compare(s.id(k, b), s.id(k, a)) })
	for _, n := range numbers {
		l.add(n)
	}
}

// remove deletes a record from the list, if it is there. Other records may still refer to
// it, as when a parent is deleted between two requests.
func (l *list) remove(n uint32) {
	if i := slices.Index(l.order, n); i >= 0 {
		l.order = slices.Delete(l.order, i, i+1)
	}
	if l.removed == nil {
		l.removed = map[uint32]bool{}
	}
	l.removed[n] = true
}

// newestFirst reverses numbers in ascending order and omits deleted records.
func (l *list) newestFirst(numbers []uint32) []uint32 {
	var out []uint32
	for _, n := range slices.Backward(numbers) {
		if !l.removed[n] {
			out = append(out, n)
		}
	}
	return out
}

// scatter puts the list into a stable pseudorandom order.
func (l *list) scatter(r *rand.Rand) {
	l.scattered, l.rng = true, r
	r.Shuffle(len(l.order), func(i, j int) { l.order[i], l.order[j] = l.order[j], l.order[i] })
}

// mark stores the set of the listed records.
func (l *list) mark() {
	l.marked = make(map[uint32]bool, len(l.order))
	for _, n := range l.order {
		l.marked[n] = true
	}
}

// byKey returns a comparison of records by a key.
func byKey[K cmp.Ordered](key func(n uint32) K) func(a, b uint32) int {
	return func(a, b uint32) int { return cmp.Compare(key(a), key(b)) }
}

// countTo returns 0, 1, 2 up to count-1.
func countTo(count int) []uint32 {
	out := make([]uint32, count)
	for i := range out {
		out[i] = uint32(i)
	}
	return out
}

// churn changes the list while it is walked: in each interval of requests it inserts a record
// and deletes another. The seed determines when the two happen, so that the total sometimes
// does not change.
func (l *list) churn(s seed, interval int, insert func(r *rand.Rand), remove func(n uint32)) {
	phase := uint64(l.requests % interval)
	l.requests++
	// Each event has its own random source.
	source := func() *rand.Rand { return s.rng(l.inserted<<20+l.deleted<<1+1, kindRoute) }
	if phase == s.roll(kindRoute, 0, 1)%uint64(interval) {
		insert(source())
		l.inserted++
	}
	if phase == s.roll(kindRoute, 0, 2)%uint64(interval) && len(l.order) > 1 {
		remove(l.order[source().IntN(len(l.order))])
		l.deleted++
	}
}

// view is the content of a list at the time of a request: numbers in listing order, and how
// to sort, filter and render them.
type view struct {
	order  []uint32
	toHead bool // order is reversed, as in list
	kind   kind
	render func(e *enc, n uint32)
	// sortKeys are comparisons by the name of a sort_by field.
	sortKeys map[string]func(a, b uint32) int
	// filters return the values of a record by the key of a filter. Unknown keys are
	// ignored.
	filters map[string]func(n uint32) []string
}

// len returns the number of records before paging.
func (v view) len() int { return len(v.order) }

// at returns the number of the i-th record in listing order.
func (v view) at(i int) uint32 {
	if v.toHead {
		return v.order[len(v.order)-1-i]
	}
	return v.order[i]
}

// numbers returns a copy of the numbers in listing order.
func (v view) numbers() []uint32 {
	out := slices.Clone(v.order)
	if v.toHead {
		slices.Reverse(out)
	}
	return out
}

// with returns a view of other numbers in listing order.
func (v view) with(order []uint32) view {
	v.order, v.toHead = order, false
	return v
}
