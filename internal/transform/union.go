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

// unionAt returns the union whose first column is col, or nil.
func (l *layout) unionAt(col int) *union {
	prefix, ok := strings.CutSuffix(l.cols[col].name, unionAllowed)
	if !ok {
		return nil
	}
	stem := prefix + unionStem
	u := &union{col, l.columnIndex(stem + "limit"), l.columnIndex(stem + "unlimited"), l.columnIndex(stem + "raw")}
	if u.limit < 0 || u.unlimited < 0 || u.raw < 0 {
		return nil
	}
	l.cols[u.raw].canonical = true
	return u
}

// isDerived reports whether a column is filled by a union instead of a field of its own.
func (l *layout) isDerived(col int) bool {
	for i := range l.cols {
		if u := l.unionAt(i); u != nil && (col == u.limit || col == u.unlimited || col == u.raw) {
			return true
		}
	}
	return false
}

// linkLimit is a row of the table above.
type linkLimit struct {
	hasAllowed, hasLimit, hasUnlimited bool // whether the column has a value
	limit                              int64
	isUnlimited                        bool
}

var noLinks = linkLimit{hasAllowed: true, hasLimit: true, hasUnlimited: true}

// parseLinkLimit parses a scalar. raw is its JSON text, and content the content of a string. drift is
// the kind of drift, or empty.
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
		return linkLimit{hasAllowed: true}, ""
	case "false", "no", "none":
		return noLinks, ""
	case "unlimited", "unlimited links":
		return linkLimit{hasAllowed: true, hasUnlimited: true, isUnlimited: true}, ""
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
	return linkLimit{hasAllowed: true, hasLimit: true, hasUnlimited: true, limit: n}, ""
}

func (u *union) fill(t *table, l linkLimit, raw []byte) {
	if l.hasAllowed {
		t.cols[u.allowed].appendBool(l.isUnlimited || l.limit > 0 || !l.hasLimit)
	}
	if l.hasLimit {
		t.cols[u.limit].appendInt(l.limit)
	}
	if l.hasUnlimited {
		t.cols[u.unlimited].appendBool(l.isUnlimited)
	}
	col := &t.cols[u.raw]
	col.data = append(col.data, raw...)
	col.endText()
}

func (v *valueReader) readUnion(t *table, m *rawMember) {
	f, raw := m.field, m.raw
	if t.hasValue(f.union.raw) {
		v.keepSecond(t, f.union.raw, f.name, raw)
		return
	}
	sent, clean := v.json.appendJSON(nil, raw, compact)
	if !clean {
		v.report.countDrift(t, InvalidUTF8, f.name, raw)
	}
	var limit linkLimit
	drift := UnknownEnum
	if raw[0] != '{' && raw[0] != '[' {
		var content []byte
		if raw[0] == '"' {
			content = unquote(raw, m.form)
		}
		limit, drift = parseLinkLimit(raw, content)
	}
	f.union.fill(t, limit, sent)
	switch drift {
	case "":
	case UnknownEnum:
		v.countEnumValue(t, f.union.raw, f.name, raw)
	default:
		v.report.countDrift(t, drift, f.name, raw)
	}
}
