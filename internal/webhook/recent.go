package webhook

import "crypto/sha256"

// recentIDs is how many ids are remembered at least; twice as many at most, about
// 8 MB. An older id that comes again is stored again, and the night drops it.
const recentIDs = 1 << 16

// recentSet remembers the ids that came last. When the newer of its two generations
// is full, the older one is dropped.
type recentSet struct {
	now, old map[[16]byte]struct{}
}

func newRecent() *recentSet { return &recentSet{now: map[[16]byte]struct{}{}} }

func idFingerprint(id string) [16]byte {
	sum := sha256.Sum256([]byte(id))
	return [16]byte(sum[:16])
}

func (r *recentSet) has(id string) bool {
	key := idFingerprint(id)
	_, isNew := r.now[key]
	_, isOld := r.old[key]
	return isNew || isOld
}

func (r *recentSet) add(id string) {
	if len(r.now) >= recentIDs {
		r.old, r.now = r.now, map[[16]byte]struct{}{}
	}
	r.now[idFingerprint(id)] = struct{}{}
}
