package transform

import (
	"bytes"
	"sync/atomic"
)

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
	if c == nil || !isUUID(id) {
		return
	}
	hasLower := bytes.ContainsAny(id, "abcdef")
	hasUpper := bytes.ContainsAny(id, "ABCDEF")
	if !hasLower && !hasUpper {
		return
	}
	wanted := c.wanted(hasUpper)
	if wanted == upperCase && hasLower {
		copy(id, bytes.ToUpper(id))
	}
	if wanted == lowerCase && hasUpper {
		copy(id, bytes.ToLower(id))
	}
}

func isUUID(id []byte) bool {
	if len(id) != len("00000000-0000-0000-0000-000000000000") {
		return false
	}
	for i, b := range id {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if b != '-' {
				return false
			}
			continue
		}
		isHexDigit := b >= '0' && b <= '9' || b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F'
		if !isHexDigit {
			return false
		}
	}
	return true
}

// wanted returns the case of the ids. The first id decides. Reading the decision is cheap, because all ids read it.
func (c *IDCase) wanted(isUpper bool) int32 {
	if wanted := c.first.Load(); wanted != 0 {
		return wanted
	}
	own := int32(lowerCase)
	if isUpper {
		own = upperCase
	}
	c.first.CompareAndSwap(0, own)
	return c.first.Load()
}

// UnifyIDs makes the decoder write all UUIDs in the case of the warehouse.
func (d *Decoder) UnifyIDs(c *IDCase) { d.values.idCase = c }
