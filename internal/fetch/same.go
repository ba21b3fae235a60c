package fetch

import (
	"net/http"

	"github.com/zeebo/xxh3"
)

// bodyKey stands for the body of a page in its stream. It is zero for what does not come
// twice: a record that is asked for by its id, and nothing.
func bodyKey(r Response) xxh3.Uint128 {
	if r.Page == 0 || r.Status != http.StatusOK || len(r.Body) == 0 {
		return xxh3.Uint128{}
	}
	body, asked := xxh3.Hash128(r.Body), xxh3.HashString128(r.Stream+"\x00"+r.Param)
	return xxh3.Uint128{Hi: body.Hi ^ asked.Hi, Lo: body.Lo ^ asked.Lo}
}

// findBody returns where the first copy of a body is stored.
func (l *Landing) findBody(key xxh3.Uint128) (entry, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, found := l.bodies[key]
	return e, found
}

// addBody notes where a body is stored, for what lands later. The lock is held.
func (l *Landing) addBody(key xxh3.Uint128, e entry) {
	if _, found := l.bodies[key]; !found && key != (xxh3.Uint128{}) {
		l.bodies[key] = e
	}
}

// forgetBody makes what lands from now on be stored anew, since a frame that the disk lost
// must not stand for it.
func (l *Landing) forgetBody(lost entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, e := range l.bodies {
		if e.segment == lost.segment && e.offset == lost.offset {
			delete(l.bodies, key)
		}
	}
}
