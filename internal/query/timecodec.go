package query

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// secondLayout is RFC 3339 without fractions and time zone. Only a TIMESTAMPTZ ends with a Z.
const secondLayout = "2006-01-02T15:04:05"

func timestampCodec(t *arrow.TimestampType) codec {
	name, zone := "TIMESTAMP", ""
	switch {
	case t.TimeZone != "":
		name, zone = "TIMESTAMPTZ", "Z"
	case t.Unit == arrow.Second:
		name = "TIMESTAMP_S"
	case t.Unit == arrow.Millisecond:
		name = "TIMESTAMP_MS"
	case t.Unit == arrow.Nanosecond:
		name = "TIMESTAMP_NS"
	}
	return codec{name: name, text: func(dst []byte, a arrow.Array, i int) []byte {
		v := int64(valueAt[arrow.Timestamp](a, i))
		if text := infinityName(v, math.MaxInt64); text != "" {
			return append(dst, text...)
		}
		// Timestamp.ToTime overflows outside the years 1678 to 2262.
		perSecond := int64(time.Second / t.Unit.Multiplier())
		at := time.Unix(v/perSecond, v%perSecond*int64(t.Unit.Multiplier())).UTC()
		dst = at.AppendFormat(dst, secondLayout)
		return append(appendFraction(dst, at.Nanosecond()), zone...)
	}}
}

// infinityName returns the text of an infinite date or time, which DuckDB stores as largest or
// -largest. For other values, infinityName returns an empty string.
func infinityName(v, largest int64) string {
	switch v {
	case largest:
		return "infinity"
	case -largest:
		return "-infinity"
	}
	return ""
}

// appendFraction appends a fraction of a second with six or, if needed, nine digits. It appends
// nothing for 0.
func appendFraction(dst []byte, nanos int) []byte {
	switch {
	case nanos == 0:
		return dst
	case nanos%1000 == 0:
		return fmt.Appendf(dst, ".%06d", nanos/1000)
	}
	return fmt.Appendf(dst, ".%09d", nanos)
}

func appendDate(dst []byte, a arrow.Array, i int) []byte {
	days := int64(valueAt[arrow.Date32](a, i))
	if text := infinityName(days, math.MaxInt32); text != "" {
		return append(dst, text...)
	}
	return time.Unix(days*24*60*60, 0).UTC().AppendFormat(dst, time.DateOnly)
}

// appendInterval appends an interval in DuckDB's text form: 1 year 2 months 3 days 04:05:06.
func appendInterval(dst []byte, a arrow.Array, i int) []byte {
	v := valueAt[arrow.MonthDayNanoInterval](a, i)
	var parts []string
	units := []string{"year", "month", "day"}
	for i, n := range []int32{v.Months / 12, v.Months % 12, v.Days} {
		switch n {
		case 0:
		case 1, -1:
			parts = append(parts, fmt.Sprintf("%d %s", n, units[i]))
		default:
			parts = append(parts, fmt.Sprintf("%d %ss", n, units[i]))
		}
	}
	if v.Nanoseconds != 0 || len(parts) == 0 {
		parts = append(parts, string(appendClock(nil, time.Duration(v.Nanoseconds))))
	}
	return append(dst, strings.Join(parts, " ")...)
}

// appendClock appends a duration or a time of day as hh:mm:ss. The hours of a duration may exceed
// 24. A time of day can be 24:00:00.
func appendClock(dst []byte, d time.Duration) []byte {
	if d < 0 {
		dst, d = append(dst, '-'), -d
	}
	dst = fmt.Appendf(dst, "%02d:%02d:%02d", int64(d/time.Hour), int64(d/time.Minute)%60, int64(d/time.Second)%60)
	return appendFraction(dst, int(d%time.Second))
}
