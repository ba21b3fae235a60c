package transform

import (
	"math"
	"time"
)

// Instants are microseconds since 1970 in UTC, in the years 1 to 9999.
const (
	microsPerSecond = 1_000_000
	secondsPerDay   = 86_400
	firstInstant    = -62_135_596_800 * microsPerSecond
	lastInstant     = 253_402_300_800*microsPerSecond - 1
)

// clock is the state of parsing an instant.
type clock struct {
	rest     []byte
	day      int64 // since 1970-01-01
	seconds  int64 // since midnight, local
	micros   int64
	offset   int64 // seconds east of UTC
	rounded  bool
	zoneless bool
}

// parseInstant parses an ISO 8601 date, or a date and time with up to nine digits of
// fraction and a zone of Z, +hh, +hhmm or +hh:mm. A text without a zone is UTC.
// Microseconds are rounded half up. Leap seconds, invalid dates and years outside 1 to 9999
// are rejected.
func parseInstant(b []byte) (micros int64, rounded, zoneless, ok bool) {
	c := clock{rest: b}
	if !c.readDate() {
		return 0, false, false, false
	}
	if len(c.rest) == 0 {
		c.zoneless = true
	} else if !c.readTimeOfDay() || !c.readZone() {
		return 0, false, false, false
	}
	micros = ((c.day*secondsPerDay)+c.seconds-c.offset)*microsPerSecond + c.micros
	return micros, c.rounded, c.zoneless, firstInstant <= micros && micros <= lastInstant
}

// readNumber reads n digits with a value of at most top, or returns -1.
func (c *clock) readNumber(n int, top int64) int64 {
	if len(c.rest) < n {
		return -1
	}
	var v int64
	for _, d := range c.rest[:n] {
		if d -= '0'; d > 9 {
			return -1
		}
		v = v*10 + int64(d)
	}
	c.rest = c.rest[n:]
	if v > top {
		return -1
	}
	return v
}

// skipAny skips one byte if it is in the set.
func (c *clock) skipAny(set string) bool {
	if len(c.rest) == 0 {
		return false
	}
	for i := range len(set) {
		if c.rest[0] == set[i] {
			c.rest = c.rest[1:]
			return true
		}
	}
	return false
}

func (c *clock) readDate() bool {
	year := c.readNumber(4, 9999)
	if year < 1 || !c.skipAny("-") {
		return false
	}
	month := c.readNumber(2, 12)
	if month < 1 || !c.skipAny("-") {
		return false
	}
	day := c.readNumber(2, 31)
	date := time.Date(int(year), time.Month(month), int(day), 0, 0, 0, 0, time.UTC)
	c.day = date.Unix() / secondsPerDay
	return day >= 1 && date.Day() == int(day) // time.Date accepts 30 February
}

func (c *clock) readTimeOfDay() bool {
	if !c.skipAny("Tt ") {
		return false
	}
	hour := c.readNumber(2, 23)
	if hour < 0 || !c.skipAny(":") {
		return false
	}
	minute := c.readNumber(2, 59)
	if minute < 0 {
		return false
	}
	c.seconds = hour*3600 + minute*60
	if !c.skipAny(":") {
		return true
	}
	second := c.readNumber(2, 59)
	c.seconds += second
	return second >= 0 && (!c.skipAny(".") || c.readFraction())
}

func (c *clock) readFraction() bool {
	n := skipDigits(c.rest, 0)
	if n == 0 || n > 9 {
		return false
	}
	nanos := c.readNumber(n, math.MaxInt64)
	for range 9 - n {
		nanos *= 10
	}
	c.micros = (nanos + 500) / 1000
	c.rounded = nanos%1000 != 0
	return true
}

func (c *clock) readZone() bool {
	if len(c.rest) == 0 {
		c.zoneless = true
		return true
	}
	if c.skipAny("Zz") {
		return len(c.rest) == 0
	}
	sign := int64(1)
	if c.rest[0] == '-' {
		sign = -1
	}
	if !c.skipAny("+-") {
		return false
	}
	hour, minute := c.readNumber(2, 23), int64(0)
	if len(c.rest) > 0 {
		c.skipAny(":")
		minute = c.readNumber(2, 59)
	}
	c.offset = sign * (hour*3600 + minute*60)
	return hour >= 0 && minute >= 0 && len(c.rest) == 0
}
