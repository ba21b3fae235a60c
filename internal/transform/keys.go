package transform

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"placementsync/internal/stream"
)

// checkRecord checks the current record. If no column of RequireOne has a value, the body is malformed.
// If the column Stream.Param differs from the path parameter of the request, checkRecord returns a reason
// to reject the record. If this column is empty, a body of one object is malformed, and a record of a
// list gets the path parameter of the request.
func (r *rowReader) checkRecord(t *table) (reason string, err error) {
	if len(r.binding.requireOne) > 0 && !slices.ContainsFunc(r.binding.requireOne, t.hasValue) {
		return "", fmt.Errorf("%w: the object has no field that distinguishes it from an error", ErrMalformed)
	}
	if r.binding.team >= 0 {
		t.fillEmpty(r.binding.team, r.in.origin.Team)
	}
	if t.param < 0 {
		return "", nil
	}
	name := t.cols[t.param].name
	if !t.isFilled(t.param) {
		if r.binding.stream.Envelope == stream.Object {
			return "", fmt.Errorf("%w: the object has no %q", ErrMalformed, name)
		}
		t.fillEmpty(t.param, r.in.origin.Param)
		return "", nil
	}
	own := t.cols[t.param].bytes(t.rows)
	if r.in.origin.Param == "" || string(own) == r.in.origin.Param {
		return "", nil
	}
	return fmt.Sprintf("its %s is %q, but %q was requested", name, own, r.in.origin.Param), nil
}

// fillFromParent copies the parent's key into a row that does not name a parent. It also fills a missing key
// from keySources. If the row names another parent, the named parent is kept and counted as drift.
func (r *rowReader) fillFromParent(t *table) {
	up := t.up
	for _, p := range t.parents {
		if !p.mayBeInJSON {
			continue
		}
		parentKey := up.cols[p.from].bytes(up.rows)
		switch c := &t.cols[p.col]; {
		case !t.isFilled(p.col):
			t.fillEmpty(p.col, string(parentKey))
		case !bytes.Equal(c.bytes(t.rows), parentKey):
			r.report.countDrift(t, Conflict, t.cols[p.col].name, appendQuoted(nil, string(c.bytes(t.rows))))
		}
	}
	for _, col := range t.keySources {
		if up.isFilled(col) && !up.cols[col].isPrivate() {
			t.fillEmpty(t.keys[0], string(up.cols[col].bytes(up.rows)))
		}
	}
}

// isPathSegment reports whether an id can be a segment of a URL path: empty and relative segments cannot.
func isPathSegment(id []byte) bool {
	return string(id) != "" && string(id) != "." && string(id) != ".."
}

func (t *table) fillEmpty(col int, s string) {
	if t.isFilled(col) || s == "" {
		return
	}
	c := &t.cols[col]
	c.truncate(t.rows)
	c.appendText(s)
}

// currentKey returns the key of the current row, or "" if the key is incomplete. For a detail it
// returns the requested id.
func (r *rowReader) currentKey(t *table) string {
	if r.binding.stream.Envelope == stream.Object && t.param >= 0 {
		return r.in.origin.Param
	}
	for _, k := range t.keys {
		if !t.isFilled(k) {
			return ""
		}
	}
	return t.keyText(t.rows)
}

func (t *table) keyText(row int) string {
	var s []byte
	for i, k := range t.keys {
		if i > 0 {
			s = append(s, '/')
		}
		if c := &t.cols[k]; c.kind <= document {
			s = append(s, c.bytes(row)...)
		} else {
			s = strconv.AppendInt(s, int64(c.word(row)), 10)
		}
	}
	return string(s)
}
