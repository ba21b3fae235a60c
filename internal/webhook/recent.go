package webhook

import "crypto/sha256"

// recentIDs bounds how many ids are remembered at least; twice as many at most,
// some 8 MB. An older one that comes again is stored again, and the night drops
// it by its id.
const recentIDs = 1 << 16

// recent remembers the ids that came last, in two generations.
type recent struct {
	limit    int
	now, old map[[16]byte]struct{}
}

func newRecent(limit int) *recent {
	return &recent{limit: limit, now: map[[16]byte]struct{}{}, old: map[[16]byte]struct{}{}}
}

func fingerprint(id string) [16]byte {
	sum := sha256.Sum256([]byte(id))
	return [16]byte(sum[:16])
}

func (r *recent) has(id string) bool {
	key := fingerprint(id)
	if _, ok := r.now[key]; ok {
		return true
	}
	_, ok := r.old[key]
	return ok
}

func (r *recent) add(id string) {
	if len(r.now) >= r.limit {
		r.old, r.now = r.now, map[[16]byte]struct{}{}
	}
	r.now[fingerprint(id)] = struct{}{}
}
