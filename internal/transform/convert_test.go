package transform_test

import (
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"placementsync/internal/stream"
)

func itoa(n int) string { return strconv.Itoa(n) }

// convert converts a scalar to the type of a column and returns the result as text. An empty text
// means NULL, except in text columns. ok is false if the scalar does not fit the type. The slow functions
// below are written for clarity, with regular expressions and exact rationals; the fast functions
// of the Decoder must return the same values.
func convert(typ stream.Type, v any) (text string, ok bool) {
	_, isText := v.(string)
	text = plainText(v)
	if typ == stream.Text {
		return text, true
	}
	if isText && text == "" {
		return "", true
	}
	_, isBool := v.(bool)
	switch typ {
	case stream.Bool:
		word := strings.ToLower(text)
		isTrue := slices.Contains([]string{"true", "yes", "1"}, word)
		isFalse := slices.Contains([]string{"false", "no", "0"}, word)
		return strconv.FormatBool(isTrue), isTrue || isFalse
	case stream.Instant:
		return slowInstant(text, isText)
	}
	if isBool {
		return "", false
	}
	switch typ {
	case stream.Money:
		return slowMoney(text)
	case stream.Int32:
		return slowInteger(text, 31)
	}
	return slowInteger(text, 63)
}

func plainText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return canonicalText(v)
}

var (
	numberForm   = regexp.MustCompile(`^-?\d+(\.\d+)?([eE][+-]?\d+)?$`)
	instantForm  = regexp.MustCompile(`^(?<date>[0-9W-]+?)([Tt ](?<clock>\d\d[0-9:]*)([.,](?<fraction>\d+))?(?<zone> ?([Zz]|[Uu][Tt][Cc]|[+-]\d\d(:?\d\d)?))?)?$`)
	weekForm     = regexp.MustCompile(`^(\d{4})(-W(\d\d)-|W(\d\d))([1-7])$`)
	zoneForm     = regexp.MustCompile(`^([+-])([01]\d|2[0-3]):?([0-5]\d)?$`)
	currencyForm = regexp.MustCompile(`^[A-Za-z]{3}$`)
	linksForm    = regexp.MustCompile(`^(-?\d[^ ]*)( links?)?$`)
)

// rational returns the exact value of a number. Exponents that would exhaust the memory are
// replaced by smaller ones with the same effect in every column.
func rational(s string) (*big.Rat, bool) {
	if !numberForm.MatchString(s) {
		return nil, false
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		exp, err := strconv.Atoi(s[i+1:])
		if err != nil || exp > 2000 || exp < -2000 {
			exponent := "e2000"
			if s[i+1] == '-' {
				exponent = "e-2000"
			}
			s = s[:i] + exponent
		}
	}
	return new(big.Rat).SetString(s)
}

// slowMoney rounds half away from zero to a DECIMAL(18,6). Six of its 18 digits are after the point.
func slowMoney(s string) (string, bool) {
	v, ok := rational(s)
	if !ok {
		return "", false
	}
	units := new(big.Rat).Mul(new(big.Rat).Abs(v), big.NewRat(1_000_000, 1))
	units.Add(units, big.NewRat(1, 2))
	n := new(big.Int).Quo(units.Num(), units.Denom())
	digits := n.String()
	if len(digits) > 18 {
		return "", false
	}
	digits = strings.Repeat("0", max(7-len(digits), 0)) + digits // at least one digit before the point
	point := len(digits) - 6
	text := digits[:point] + "." + digits[point:]
	if v.Sign() < 0 && n.Sign() != 0 {
		text = "-" + text
	}
	return text, true
}

func slowInteger(s string, bits uint) (string, bool) {
	v, ok := rational(s)
	if !ok || !v.IsInt() {
		return "", false
	}
	limit := new(big.Int).Lsh(big.NewInt(1), bits)
	n := v.Num()
	if n.Cmp(limit) >= 0 || n.Cmp(new(big.Int).Neg(limit)) < 0 {
		return "", false
	}
	return n.String(), true
}

func slowInstant(s string, isText bool) (string, bool) {
	at, ok := slowISO(s)
	if !isText || !ok {
		at, ok = slowUnix(s)
	}
	at = at.UTC()
	return at.Format("2006-01-02T15:04:05.999999Z"), ok && at.Year() >= 1 && at.Year() <= 9999
}

func slowUnix(s string) (time.Time, bool) {
	v, ok := rational(s)
	if !ok {
		return time.Time{}, false
	}
	for _, microsPerUnit := range []int64{1_000_000, 1_000} { // s is in seconds, or else in milliseconds
		micros := roundRat(new(big.Rat).Mul(v, big.NewRat(microsPerUnit, 1)))
		at := time.UnixMicro(micros)
		if at.Before(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) || at.After(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)) {
			continue
		}
		return at, true
	}
	return time.Time{}, false
}

// roundRat rounds half up. It returns 0 for values outside of int64.
func roundRat(v *big.Rat) int64 {
	v = new(big.Rat).Add(v, big.NewRat(1, 2))
	n := new(big.Int).Div(v.Num(), v.Denom())
	if !n.IsInt64() {
		return 0
	}
	return n.Int64()
}

func slowISO(s string) (time.Time, bool) {
	m := instantForm.FindStringSubmatch(s)
	if m == nil {
		return time.Time{}, false
	}
	part := func(name string) string { return m[instantForm.SubexpIndex(name)] }
	day, ok := slowDate(part("date"))
	if !ok || part("clock") == "" {
		return day, ok && strings.Contains(part("date"), "-")
	}
	clock, units := part("clock"), []time.Duration{time.Hour, time.Minute, time.Second}
	var numbers []string
	if strings.Contains(clock, ":") {
		numbers = strings.Split(clock, ":")
	} else {
		for ; len(clock) >= 2; clock = clock[2:] {
			numbers = append(numbers, clock[:2])
		}
		if clock != "" {
			return day, false
		}
	}
	if len(numbers) > len(units) {
		return day, false
	}
	at := day
	for i, limit := range []int{24, 59, 60}[:len(numbers)] {
		n, err := strconv.Atoi(numbers[i])
		if err != nil || len(numbers[i]) != 2 || n > limit {
			return day, false
		}
		at = at.Add(time.Duration(n) * units[i])
	}
	isLeapSecond := len(numbers) == 3 && numbers[2] == "60"
	withoutFraction := at
	if fraction := part("fraction"); fraction != "" {
		digits := fraction[:min(len(fraction), 9)]
		v, _ := new(big.Rat).SetString("0." + digits)
		micros := roundRat(v.Mul(v, big.NewRat(units[len(numbers)-1].Microseconds(), 1)))
		if numbers[0] == "24" && strings.Trim(fraction, "0") != "" {
			return day, false
		}
		at = at.Add(time.Duration(micros) * time.Microsecond)
	}
	if numbers[0] == "24" && withoutFraction.Sub(day) != 24*time.Hour {
		return day, false
	}
	offset, ok := slowOffset(strings.ToUpper(strings.TrimPrefix(part("zone"), " ")))
	if !ok {
		return day, false
	}
	utc := withoutFraction.Add(-offset)
	if isLeapSecond && !utc.Equal(utc.Truncate(24*time.Hour)) { // a leap second is the last second of a day in UTC
		return day, false
	}
	return at.Add(-offset), true
}

// slowOffset returns the offset of a zone from UTC.
func slowOffset(zone string) (time.Duration, bool) {
	if slices.Contains([]string{"", "Z", "UTC"}, zone) {
		return 0, true
	}
	z := zoneForm.FindStringSubmatch(zone)
	if z == nil {
		return 0, false
	}
	hours, _ := strconv.Atoi(z[2])
	minutes, _ := strconv.Atoi("0" + z[3]) // z[3] can be empty
	offset := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if z[1] == "-" {
		offset = -offset
	}
	return offset, true
}

func slowDate(s string) (time.Time, bool) {
	if w := weekForm.FindStringSubmatch(s); w != nil {
		year, _ := strconv.Atoi(w[1])
		week, _ := strconv.Atoi(w[3] + w[4])
		for at := time.Date(year-1, 12, 25, 0, 0, 0, 0, time.UTC); at.Year() <= year+1; at = at.AddDate(0, 0, 1) {
			isoYear, isoWeek := at.ISOWeek()
			isoDay := (int(at.Weekday())+6)%7 + 1 // 1 is Monday
			if isoYear == year && isoWeek == week && strconv.Itoa(isoDay) == w[5] {
				return at, year > 0
			}
		}
		return time.Time{}, false
	}
	for _, layout := range []string{"2006-01-02", "20060102", "2006-002", "2006002"} {
		if at, err := time.Parse(layout, s); err == nil && len(s) == len(layout) {
			return at, s[:4] != "0000"
		}
	}
	return time.Time{}, false
}

// jsonInText returns the list or object in a text. ok is false if the text contains neither.
func jsonInText(v any) (inner any, ok bool) {
	s, isText := v.(string)
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	if !isText || d.Decode(&inner) != nil || strings.Trim(s[d.InputOffset():], " \t\r\n") != "" {
		return nil, false
	}
	_, isObject := inner.(map[string]any)
	_, isList := inner.([]any)
	return inner, isObject || isList
}

// arrayForm is an array literal of one dimension. listInText reads its elements.
var (
	arrayForm   = regexp.MustCompile(`^\{\s*(("([^"\\]|\\.)*"|[^\s{}",\\][^{}",\\]*)\s*(,\s*("([^"\\]|\\.)*"|[^\s{}",\\][^{}",\\]*)\s*)*)?\}$`)
	elementForm = regexp.MustCompile(`"([^"\\]|\\.)*"|[^\s{}",\\][^{}",\\]*`)
)

func listInText(v any) (list any, ok bool) {
	if list, ok = jsonInText(v); ok {
		return list, true
	}
	s, isText := v.(string)
	s = strings.Trim(s, " \t\r\n")
	if !isText || !arrayForm.MatchString(s) {
		return nil, false
	}
	items := []any{}
	for _, element := range elementForm.FindAllString(s[1:len(s)-1], -1) {
		trimmed := strings.TrimSpace(element)
		switch {
		case element[0] == '"':
			items = append(items, regexp.MustCompile(`\\(.)`).ReplaceAllString(element[1:len(element)-1], "$1"))
		case strings.EqualFold(trimmed, "NULL"):
			items = append(items, nil)
		default:
			items = append(items, trimmed)
		}
	}
	return items, true
}

// readUnion fills the four columns of do_follow_links_allowed.
func (w *objectReader) readUnion(stem string, v any) {
	w.row[stem+"raw"] = canonicalText(v)
	word := plainText(v)
	switch v := v.(type) {
	case string:
		word = strings.ToLower(strings.Trim(v, " "))
	case json.Number, bool: // word is complete
	default:
		return
	}
	limit := ""
	switch word {
	case "true", "yes":
		w.row[stem+"allowed"] = "true"
		return
	case "unlimited", "unlimited links":
		w.row[stem+"allowed"], w.row[stem+"unlimited"] = "true", "true"
		return
	case "false", "no", "none":
		limit = "0"
	default:
		if m := linksForm.FindStringSubmatch(word); m != nil {
			limit, _ = slowInteger(m[1], 31)
		}
	}
	if limit != "" && limit[0] != '-' {
		w.row[stem+"allowed"], w.row[stem+"unlimited"], w.row[stem+"limit"] = strconv.FormatBool(limit != "0"), "false", limit
	}
}
