package transform

import (
	"github.com/zeebo/xxh3"

	"placementsync/internal/stream"
)

// hasher makes the fingerprint of a row: the sum over its tracked values of a
// hash of column and value. A sum depends neither on the order of columns nor
// on columns that are NULL, so that a schema may grow without making every row
// look changed. The result is stored: it must never change.
type hasher struct {
	json shaper
}

// hashLast is the part of a column's last value.
func (h *hasher) hashLast(c *column) uint64 {
	var v uint64
	switch i := c.n - 1; {
	case c.canonical:
		v = h.json.fingerprint(c.bytes(i))
	case c.kind == text:
		v = xxh3.Hash(c.data[c.offsets[i]:])
	default:
		v = c.word(i)
	}
	return stream.MixBits(v ^ c.seed)
}
