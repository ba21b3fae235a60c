package transform

// hasher makes the fingerprint of a row: the sum over its tracked values of a
// hash of column and value. A sum depends neither on the order of columns nor
// on columns that are NULL, so that a schema may grow without making every row
// look changed. The result is stored: it must never change.
type hasher struct {
	json shaper
}

func (h *hasher) value(c *column, i int, col *columnOf) uint64 {
	if col.canonical {
		return mix(h.json.fingerprint(c.bytes(i)) ^ col.seed)
	}
	return mix(c.word64(i) ^ col.seed)
}

// mix spreads every bit over all others (the finaliser of MurmurHash3).
func mix(v uint64) uint64 {
	v ^= v >> 33
	v *= 0xff51afd7ed558ccd
	v ^= v >> 33
	v *= 0xc4ceb9fe1a85ec53
	return v ^ v>>33
}
