package fetch

import (
	"net/http"

	"github.com/zeebo/xxh3"
)

// bodyKeyOf returns a key for the body of a page within its stream and parameter. The key is zero for
// responses whose body is not shared: single records, empty bodies and statuses other than 200.
func bodyKeyOf(r Response) xxh3.Uint128 {
	if r.Page == 0 || r.Status != http.StatusOK || len(r.Body) == 0 {
		return xxh3.Uint128{}
	}
	body, list := xxh3.Hash128(r.Body), xxh3.HashString128(r.Stream+"\x00"+r.Param)
	return xxh3.Uint128{Hi: body.Hi ^ list.Hi, Lo: body.Lo ^ list.Lo}
}

// The caller of addBody holds the lock.
func (l *Landing) addBody(key xxh3.Uint128, loc location) {
	if _, found := l.bodies[key]; !found && key != (xxh3.Uint128{}) {
		l.bodies[key] = loc
	}
}

// forgetBody removes a damaged body from l.bodies, so that later responses with this body are stored again.
func (l *Landing) forgetBody(lost location) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, loc := range l.bodies {
		if loc.Segment == lost.Segment && loc.Offset == lost.Offset {
			delete(l.bodies, key)
		}
	}
}
