package fetch

import (
	"net/http"

	"github.com/zeebo/xxh3"
)

// bodyKey returns a key for the body of a page within its stream and parameter. It is zero
// for answers that are not shared: single records and empty bodies.
func bodyKey(r Response) xxh3.Uint128 {
	if r.Page == 0 || r.Status != http.StatusOK || len(r.Body) == 0 {
		return xxh3.Uint128{}
	}
	body, owner := xxh3.Hash128(r.Body), xxh3.HashString128(r.Stream+"\x00"+r.Param)
	return xxh3.Uint128{Hi: body.Hi ^ owner.Hi, Lo: body.Lo ^ owner.Lo}
}

// copyPlace makes the line refer to the stored body of first, an earlier answer with the same
// body.
func (n *line) copyPlace(first entry) {
	n.Same, n.Segment, n.Offset, n.Stored, n.Sum = first.seq, first.segment, first.offset, first.stored, first.sum
	n.Encoding, n.StoredSum = first.coding, first.storedSum
}

// findBody returns the first answer with a body.
func (l *Landing) findBody(key xxh3.Uint128) (entry, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, found := l.bodies[key]
	return e, found
}

// addBody registers the location of a body for later answers. The caller holds the lock.
func (l *Landing) addBody(key xxh3.Uint128, e entry) {
	if _, found := l.bodies[key]; !found && key != (xxh3.Uint128{}) {
		l.bodies[key] = e
	}
}

// forgetBody removes a damaged body, so that later answers with this body are stored again.
func (l *Landing) forgetBody(lost entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, e := range l.bodies {
		if e.segment == lost.segment && e.offset == lost.offset {
			delete(l.bodies, key)
		}
	}
}
