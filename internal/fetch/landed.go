package fetch

import "placementsync/internal/stream"

// isPaged reports whether a stream may answer page by page. An endpoint that the
// spec gives one answer is asked without a page number first.
func isPaged(s stream.Stream) bool {
	return s.Envelope != stream.Object && s.Envelope != stream.Raw && s.Envelope != stream.Array
}

// HasLanded reports whether the first answer has landed that a walk of s, or of
// what s holds for the path parameter param, would use: such a walk begins
// without a request.
func (c *Client) HasLanded(s stream.Stream, param string) bool {
	if c.landing == nil {
		return false
	}
	w := walk{c: c, stream: s, param: param}
	if isPaged(s) {
		return c.landing.hasAnswer(w.pageRequest(1, 1))
	}
	return c.landing.hasAnswer(w.pageRequest(0, 0))
}

func (l *Landing) hasAnswer(r Request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, found := l.index[r.indexKey()]
	return found
}
