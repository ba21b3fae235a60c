package transform

import "github.com/zeebo/xxh3"

// hasher makes the fingerprint of a row: the sum over its tracked values of a
// hash of column and value. A sum depends neither on the order of columns nor
// on columns that are NULL, so that a schema may grow without making every row
// look changed. The result is stored: it must never change.
type hasher struct {
	json shaper
}

// last is the part of a column's last value.
func (h *hasher) last(c *column) uint64 {
	var v uint64
	switch i := c.n - 1; {
	case c.canonical:
		v = h.json.fingerprint(c.bytes(i))
	case c.kind == text:
		v = xxh3.Hash(c.data[c.offsets[i]:])
	default:
		v = c.word(i)
	}
	return mix(v ^ c.seed)
}

// mix spreads every bit over all others (the finaliser of MurmurHash3).
func mix(v uint64) uint64 {
	v ^= v >> 33
	v *= 0xff51afd7ed558ccd
	v ^= v >> 33
	v *= 0xc4ceb9fe1a85ec53
	return v ^ v>>33
}
