package transform

import (
	"bytes"
	"time"
)

const (
	microsPerSecond = 1_000_000
	microsPerMinute = 60 * microsPerSecond
	microsPerHour   = 60 * microsPerMinute
	microsPerDay    = 24 * microsPerHour
)

// firstMicro and lastMicro are the limits of the years 1 to 9999.
const firstMicro, lastMicro = -62_135_596_800_000_000, 253_402_300_799_999_999

// parseInstant parses a date and time of ISO 8601 or RFC 3339, or a date with hyphens, and returns microseconds
// since 1970. A text without a zone is UTC. Microseconds are rounded half up. Invalid dates and years outside 1 to 9999 are
// rejected. A leap second is read as the second after it, and counts as rounded.
func parseInstant(b []byte) (micros int64, rounded, zoneless, ok bool) {
	p := instantParser{text: b}
	days, ok := p.date()
	if !ok {
		return 0, false, false, false
	}
	micros = days * microsPerDay
	if p.pos == len(b) {
		return micros, false, true, b[len("2006")] == '-' // otherwise any number could be a date
	}
	if c := b[p.pos]; c != 'T' && c != 't' && c != ' ' {
		return 0, false, false, false
	}
	p.pos++
	clock, ok := p.clock()
	if !ok {
		return 0, false, false, false
	}
	offset, zoneless, ok := p.zone()
	micros += clock - offset
	// A leap second ends a day in UTC. It was read as the next second, which is the first of a day.
	isFirstSecondOfDay := (micros-micros%microsPerSecond)%microsPerDay == 0
	if p.isLeapSecond && !isFirstSecondOfDay {
		ok = false
	}
	return micros, p.isRounded || p.isLeapSecond, zoneless, ok && firstMicro <= micros && micros <= lastMicro
}

// instantParser reads the parts of a date and time.
type instantParser struct {
	text                    []byte
	pos                     int
	isRounded, isLeapSecond bool
}

// number reads exactly n digits.
func (p *instantParser) number(n int) (v int64, ok bool) {
	if len(p.text)-p.pos < n {
		return 0, false
	}
	for _, c := range p.text[p.pos:][:n] {
		if c-'0' > 9 {
			return 0, false
		}
		v = v*10 + int64(c-'0')
	}
	p.pos += n
	return v, true
}

func (p *instantParser) skip(c byte) bool {
	if p.pos < len(p.text) && p.text[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

// date reads a date as a month and day, a week and day, or a day of the year, with or without hyphens. It
// returns the days since 1970.
func (p *instantParser) date() (days int64, ok bool) {
	year, ok := p.number(4)
	if !ok || year == 0 {
		return 0, false
	}
	isExtended := p.skip('-')
	if p.skip('W') {
		return p.weekDate(year, isExtended)
	}
	digits := skipDigits(p.text, p.pos) - p.pos
	if digits == len("123") {
		day, _ := p.number(3)
		days = daysUntil(year, 1, 1) + day - 1
		return days, day >= 1 && days < daysUntil(year+1, 1, 1)
	}
	month, ok := p.number(2)
	if !ok || isExtended && !p.skip('-') {
		return 0, false
	}
	day, ok := p.number(2)
	if !ok || month < 1 || month > 12 || day < 1 {
		return 0, false
	}
	days = daysUntil(year, month, day)
	return days, day <= 28 || days < daysUntil(year, month+1, 1)
}

// weekDate reads a week and a day of the week. Week 1 contains January 4, and weeks begin on Monday.
func (p *instantParser) weekDate(year int64, isExtended bool) (days int64, ok bool) {
	week, ok := p.number(2)
	if !ok || isExtended && !p.skip('-') {
		return 0, false
	}
	day, ok := p.number(1)
	if !ok || week < 1 || day < 1 || day > 7 {
		return 0, false
	}
	days = firstWeek(year) + 7*(week-1) + day - 1
	return days, 7*week <= firstWeek(year+1)-firstWeek(year)
}

// firstWeek returns the Monday of week 1 of a year.
func firstWeek(year int64) int64 {
	fourth := daysUntil(year, 1, 4)
	const mondayOffset = 3 // 1970-01-01 was a Thursday
	return fourth - ((fourth+mondayOffset)%7+7)%7
}

// daysUntil returns the days from 1970-01-01 to a date. Month 13 is January of the next year.
func daysUntil(year, month, day int64) int64 {
	const secondsPerDay = 24 * 60 * 60
	return time.Date(int(year), time.Month(month), int(day), 0, 0, 0, 0, time.UTC).Unix() / secondsPerDay
}

// clock reads hours, and perhaps minutes and seconds, with or without colons. The last of them can have a
// fraction.
func (p *instantParser) clock() (micros int64, ok bool) {
	hours, ok := p.number(2)
	if !ok || hours > 24 {
		return 0, false
	}
	micros = hours * microsPerHour
	unit := int64(microsPerHour)
	hasColons := p.pos < len(p.text) && p.text[p.pos] == ':'
	for _, next := range []int64{microsPerMinute, microsPerSecond} {
		hasMore := p.pos < len(p.text) && p.text[p.pos]-'0' <= 9
		if hasColons {
			hasMore = p.skip(':')
		}
		if !hasMore {
			break
		}
		v, ok := p.number(2)
		p.isLeapSecond = next == microsPerSecond && v == 60
		if !ok || v > 59 && !p.isLeapSecond {
			return 0, false
		}
		micros, unit = micros+v*next, next
	}
	if p.skip('.') || p.skip(',') {
		fraction, ok := p.fraction(unit)
		if !ok {
			return 0, false
		}
		micros += fraction
	}
	isEndOfDay := micros == microsPerDay && !p.isRounded // 24:00:00.0000001 is rounded to the same value
	return micros, hours < 24 || isEndOfDay
}

// fraction reads a fraction of a unit. Digits after the ninth are ignored.
func (p *instantParser) fraction(unit int64) (micros int64, ok bool) {
	digits := skipDigits(p.text, p.pos) - p.pos
	if digits < 1 {
		return 0, false
	}
	end := p.pos + digits
	digits = min(digits, 9)
	v, _ := p.number(digits)
	parts := int64(1)
	for range digits {
		parts *= 10
	}
	p.isRounded = len(bytes.Trim(p.text[p.pos:end], "0")) > 0
	p.pos = end
	// v*unit has at most 19 digits, and fits: 999,999,999 * 3.6e9.
	micros = v * unit / parts
	if rest := v * unit % parts; rest > 0 {
		p.isRounded = true
		if 2*rest >= parts {
			micros++
		}
	}
	return micros, true
}

// zone reads the rest of the text: no zone, Z, UTC, ±hh, ±hhmm or ±hh:mm, perhaps after a space.
func (p *instantParser) zone() (offset int64, zoneless, ok bool) {
	if p.pos == len(p.text) {
		return 0, true, true
	}
	p.skip(' ')
	name := p.text[p.pos:]
	if len(name) == 1 && name[0]|0x20 == 'z' || bytes.EqualFold(name, []byte("UTC")) {
		return 0, false, true
	}
	isNegative := p.skip('-')
	if !isNegative && !p.skip('+') {
		return 0, false, false
	}
	hours, ok := p.number(2)
	if !ok || hours > 23 {
		return 0, false, false
	}
	minutes := int64(0)
	if p.pos < len(p.text) {
		p.skip(':')
		if minutes, ok = p.number(2); !ok || minutes > 59 {
			return 0, false, false
		}
	}
	offset = hours*microsPerHour + minutes*microsPerMinute
	if isNegative {
		offset = -offset
	}
	return offset, false, p.pos == len(p.text)
}

// Unix times from 2000 to 2100, in microseconds. Other numbers are not times.
const firstUnix, lastUnix = 946_684_800 * microsPerSecond, 4_102_444_800 * microsPerSecond

// parseUnix parses the seconds or milliseconds since 1970.
func parseUnix(b []byte) (micros int64, rounded, ok bool) {
	d, ok := splitDecimal(b)
	if !ok || d.negative {
		return 0, false, false
	}
	// v is the number times a million: microseconds if the text has seconds, nanoseconds if it has milliseconds. A valid
	// number of milliseconds has at most 13 digits before the point.
	v, inexact, ok := d.scaleTo(6, 13)
	if !ok {
		return 0, false, false
	}
	if firstUnix <= v && v <= lastUnix {
		return int64(v), inexact, true
	}
	micros = int64(v / 1000)
	if v%1000 >= 500 {
		micros++
	}
	return micros, inexact || v%1000 != 0, firstUnix*1000 <= v && v <= lastUnix*1000
}
