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
		i := slices.Index([]string{"true", "yes", "1", "false", "no", "0"}, strings.ToLower(text))
		return strconv.FormatBool(i < 3), i >= 0
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
	numberForm  = regexp.MustCompile(`^-?\d+(\.\d+)?([eE][+-]?\d+)?$`)
	instantForm = regexp.MustCompile(`^\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?([Zz]|[+-]([01]\d|2[0-3])(:?[0-5]\d)?)?)?$`)
	linksForm   = regexp.MustCompile(`^(-?\d[^ ]*)( links?)?$`)
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

func slowMoney(s string) (string, bool) {
	v, ok := rational(s)
	if !ok {
		return "", false
	}
	units := new(big.Rat).Mul(new(big.Rat).Abs(v), big.NewRat(1_000_000, 1))
	units.Add(units, big.NewRat(1, 2))
	n := new(big.Int).Quo(units.Num(), units.Denom())
	if n.Cmp(big.NewInt(1_000_000_000_000_000_000)) >= 0 {
		return "", false
	}
	digits := n.String()
	digits = strings.Repeat("0", max(7-len(digits), 0)) + digits
	text := digits[:len(digits)-6] + "." + digits[len(digits)-6:]
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
	if !isText || !instantForm.MatchString(s) {
		return "", false
	}
	s = strings.ToUpper(strings.Replace(s, " ", "T", 1))
	for _, layout := range []string{
		"2006-01-02", "2006-01-02T15:04", "2006-01-02T15:04Z07:00", "2006-01-02T15:04Z0700", "2006-01-02T15:04Z07",
		"2006-01-02T15:04:05", "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05Z07",
	} {
		at, err := time.Parse(layout, s)
		if err != nil || s[:4] == "0000" {
			continue
		}
		at = at.UTC().Add(500 * time.Nanosecond).Truncate(time.Microsecond)
		return at.Format("2006-01-02T15:04:05.999999Z"), at.Year() >= 1 && at.Year() <= 9999
	}
	return "", false
}

// readUnion fills the four columns of do_follow_links_allowed.
func (w *objectReader) readUnion(stem string, v any) {
	w.row[stem+"raw"] = canonicalText(v)
	word := plainText(v)
	if s, ok := v.(string); ok {
		word = strings.ToLower(strings.Trim(s, " "))
	} else if _, ok := v.(json.Number); !ok && v != true && v != false {
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
