package transform

import "sync/atomic"

// IDCase is the case of the letters in the ids of a warehouse that are UUIDs. A service may write a UUID in
// upper case in one response and in lower case in another, but it is one id. All UUIDs are written in the case of
// the first one, so that rows join. It is not always lower case, because ids are parts of requests, and a service
// may compare them exactly. An IDCase may be used from many goroutines.
type IDCase struct{ first atomic.Int32 }

const (
	lowerCase int32 = iota + 1
	upperCase
)

// Set sets the case of the ids that the warehouse contains.
func (c *IDCase) Set(isUpper bool) {
	c.first.Store(lowerCase)
	if isUpper {
		c.first.Store(upperCase)
	}
}

// Unify returns an id in the case of the warehouse. Ids that are not UUIDs are returned as they are.
func (c *IDCase) Unify(id string) string {
	unified := []byte(id)
	c.unify(unified)
	return string(unified)
}

func (c *IDCase) unify(id []byte) {
	if c == nil || len(id) != len("00000000-0000-0000-0000-000000000000") {
		return
	}
	firstCase := int32(0)
	for i, b := range id {
		isDash := i == 8 || i == 13 || i == 18 || i == 23
		switch {
		case isDash && b == '-', !isDash && b >= '0' && b <= '9':
		case !isDash && b >= 'a' && b <= 'f':
			firstCase = max(firstCase, lowerCase)
		case !isDash && b >= 'A' && b <= 'F':
			firstCase = max(firstCase, upperCase)
		default:
			return
		}
	}
	if firstCase == 0 {
		return
	}
	c.first.CompareAndSwap(0, firstCase)
	isUpper := c.first.Load() == upperCase
	for i, b := range id {
		switch {
		case isUpper && b >= 'a':
			id[i] = b &^ 0x20
		case !isUpper && b >= 'A':
			id[i] = b | 0x20
		}
	}
}

// UnifyIDs makes the decoder write all UUIDs in the case of the warehouse.
func (d *Decoder) UnifyIDs(c *IDCase) { d.values.idCase = c }
