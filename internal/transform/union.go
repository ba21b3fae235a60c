package transform

import (
	"bytes"
	"math"
	"strings"
)

// The field do_follow_links_allowed (spec 2.2, 9) is split into four columns according to
// this table. Case and surrounding spaces of words are ignored. raw is the JSON text as
// sent.
//
//	JSON                      allowed  limit  unlimited  raw
//	absent                    NULL     NULL   NULL       NULL
//	null                      NULL     NULL   NULL       null
//	true, "true", "yes"       true     NULL   NULL       as sent
//	false, "false", "no"      false    0      false      as sent
//	"none", 0, "0"            false    0      false      as sent
//	n > 0, "n", "n link(s)"   true     n      false      as sent
//	"unlimited (links)"       true     NULL   true       as sent
//	""                        NULL     NULL   NULL       "" (counted as converted)
//	anything else             NULL     NULL   NULL       as sent (counted as unknown_enum)
//
// Whole numbers may have any JSON notation. Negative numbers, fractions and numbers beyond
// 32 bits are "anything else".
const (
	unionStem    = "do_follow_links_"
	unionAllowed = unionStem + "allowed"
)

// union contains the indexes of the columns of do_follow_links_allowed.
type union struct{ allowed, limit, unlimited, raw int }

// findUnions finds the columns of do_follow_links_allowed. Only the first of them is bound to a field.
func (l *layout) findUnions() {
	for i := range l.cols {
		prefix, ok := strings.CutSuffix(l.cols[i].name, unionAllowed)
		stem := prefix + unionStem
		u := &union{i, l.columnIndex(stem + "limit"), l.columnIndex(stem + "unlimited"), l.columnIndex(stem + "raw")}
		if !ok || u.limit < 0 || u.unlimited < 0 || u.raw < 0 {
			continue
		}
		l.cols[i].union, l.cols[u.raw].canonical = u, true
		for _, derived := range []int{u.limit, u.unlimited, u.raw} {
			l.cols[derived].derived = true
		}
	}
}

// linkLimit is a row of the table above. Nil means NULL.
type linkLimit struct {
	allowed, unlimited *bool
	limit              *int64
}

var noLinks = linkLimit{allowed: new(false), limit: new(int64(0)), unlimited: new(false)}

// parseLinkLimit parses a scalar. content is the content of a string. drift is the kind of drift to count, or empty.
func parseLinkLimit(raw, content []byte) (limit linkLimit, drift string) {
	word := raw
	if raw[0] == '"' {
		word = bytes.ToLower(bytes.Trim(content, " "))
	}
	switch string(word) {
	case "null":
		if raw[0] == '"' {
			return limit, UnknownEnum
		}
		return limit, ""
	case "":
		return limit, Converted
	case "true", "yes":
		return linkLimit{allowed: new(true)}, ""
	case "false", "no", "none":
		return noLinks, ""
	case "unlimited", "unlimited links":
		return linkLimit{allowed: new(true), unlimited: new(true)}, ""
	}
	if raw[0] == '"' {
		word = bytes.TrimSuffix(bytes.TrimSuffix(word, []byte(" link")), []byte(" links"))
	}
	n, _, ok := parseInteger(word)
	switch {
	case !ok || n < 0 || n > math.MaxInt32:
		return linkLimit{}, UnknownEnum
	case n == 0:
		return noLinks, ""
	}
	return linkLimit{allowed: new(true), limit: &n, unlimited: new(false)}, ""
}

func (u *union) fill(t *table, l linkLimit, raw []byte) {
	if l.allowed != nil {
		t.cols[u.allowed].appendBool(*l.allowed)
	}
	if l.limit != nil {
		t.cols[u.limit].appendInt(*l.limit)
	}
	if l.unlimited != nil {
		t.cols[u.unlimited].appendBool(*l.unlimited)
	}
	t.cols[u.raw].appendText(string(raw))
}

func (v *valueReader) readUnion(t *table, f *field, raw []byte, form form) {
	u := t.cols[f.col].union
	if t.hasValue(u.raw) {
		v.keepSecond(t, u.raw, f.name, raw)
		return
	}
	sent, clean := v.json.appendJSON(nil, raw, sorted)
	if !clean {
		v.report.countDrift(t, InvalidUTF8, f.name, raw)
	}
	var limit linkLimit
	drift := UnknownEnum
	if raw[0] != '{' && raw[0] != '[' {
		var content []byte
		if raw[0] == '"' {
			content = unquote(raw, form)
		}
		limit, drift = parseLinkLimit(raw, content)
	}
	u.fill(t, limit, sent)
	switch drift {
	case UnknownEnum:
		v.countEnumValue(t, u.raw, f.name, raw)
	case Converted:
		v.report.countEmptyText(t, f.name, raw)
	}
}
