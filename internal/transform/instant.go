package transform

import (
	"bytes"
	"time"
)

// parseInstant parses an ISO 8601 date, or a date and time with up to nine digits of fraction, and returns
// microseconds since 1970. The zone is Z, ±hh, ±hhmm or ±hh:mm. A text without a zone is UTC. Microseconds are
// rounded half up. Leap seconds, invalid dates and years outside 1 to 9999 are rejected.
func parseInstant(b []byte) (micros int64, rounded, zoneless, ok bool) {
	var buffer [len("2006-01-02T15:04:05.000000000+00:00")]byte
	text, zoneless, ok := appendRFC3339(buffer[:0], b)
	if !ok {
		return 0, false, false, false
	}
	var at time.Time
	if at.UnmarshalText(text) != nil || bytes.HasPrefix(text, []byte("0000")) {
		return 0, false, false, false
	}
	micros = at.UnixMicro()
	nanos := at.Nanosecond() % 1000
	if nanos >= 500 {
		micros++
	}
	return micros, nanos != 0, zoneless, firstMicro <= micros && micros <= lastMicro
}

// firstMicro and lastMicro are the limits of the years 1 to 9999.
const firstMicro, lastMicro = -62_135_596_800_000_000, 253_402_300_799_999_999

// appendRFC3339 appends an instant in the form of RFC 3339. It checks the form where
// UnmarshalText accepts more: the digits of the time and the range of the zone.
func appendRFC3339(text, b []byte) (_ []byte, zoneless, ok bool) {
	const dateLen, clockLen = len("2006-01-02"), len("15:04")
	if len(b) == dateLen {
		return append(append(text, b...), "T00:00:00Z"...), true, true
	}
	if len(b) < dateLen+1+clockLen || bytes.IndexByte([]byte("Tt "), b[dateLen]) < 0 {
		return nil, false, false
	}
	text = append(append(text, b[:dateLen]...), 'T')
	clock, rest := b[dateLen+1:][:clockLen], b[dateLen+1+clockLen:]
	text = append(text, clock...)
	if skipDigits(clock, 0) != 2 || skipDigits(clock, 3) != clockLen {
		return nil, false, false
	}
	n := 0
	if len(rest) > 0 && rest[0] == ':' {
		if n = skipDigits(rest, 1); n < len(rest) && rest[n] == '.' {
			n = skipDigits(rest, n+1)
		}
		if n < len(":05") || n > len(":05.000000000") || rest[n-1] == '.' {
			return nil, false, false
		}
		text = append(text, rest[:n]...)
	} else {
		text = append(text, ":00"...)
	}
	zone := rest[n:]
	switch {
	case len(zone) == 0:
		return append(text, 'Z'), true, true
	case string(zone) == "Z" || string(zone) == "z":
		return append(text, 'Z'), false, true
	case len(zone) < 3 || string(zone[1:3]) > "23":
		return nil, false, false
	}
	zoneMinutes := []byte("00")
	if len(zone) > 3 {
		zoneMinutes = bytes.TrimPrefix(zone[3:], []byte(":"))
	}
	text = append(append(append(text, zone[:3]...), ':'), zoneMinutes...)
	return text, false, string(zoneMinutes) <= "59"
}
