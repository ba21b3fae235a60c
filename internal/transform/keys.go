package transform

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
)

// checkParam compares the path parameter that the open record states with the one of the
// request. The only record of an answer must state it: else the body is an error. Any
// other record gets it from the request.
func (r *rowReader) checkParam(t *table) (reason string, err error) {
	if len(r.binding.oneOf) > 0 && !slices.ContainsFunc(r.binding.oneOf, t.hasValue) {
		return "", fmt.Errorf("%w: an object without any field that tells it from an error", ErrMalformed)
	}
	if t.param < 0 {
		return "", nil
	}
	name := t.layout.cols[t.param].name
	if !t.isFilled(t.param) {
		if r.binding.object {
			return "", fmt.Errorf("%w: an object without a %q of its own", ErrMalformed, name)
		}
		t.fillEmpty(t.param, r.in.origin.Param)
		return "", nil
	}
	own := t.cols[t.param].bytes(t.rows)
	if r.in.origin.Param == "" || string(own) == r.in.origin.Param {
		return "", nil
	}
	return fmt.Sprintf("names %s %q where %q was asked for", name, own, r.in.origin.Param), nil
}

// fillParents fills the parent's key where the open row does not state one. A different
// one is kept and counted as drift.
func (r *rowReader) fillParents(t *table) {
	for _, p := range t.parents {
		if !p.named {
			continue
		}
		up := t.up
		given := up.cols[p.from].bytes(up.rows)
		switch c := &t.cols[p.col]; {
		case !t.isFilled(p.col):
			t.fillEmpty(p.col, string(given))
		case !bytes.Equal(c.bytes(t.rows), given):
			r.report.countDrift(t, Conflict, t.layout.cols[p.col].name, quoteName(nil, string(c.bytes(t.rows))))
		}
	}
}

// keyByParent fills the key of an item that has none from the parent's columns. They are
// only known when the whole parent has been read.
func (r *rowReader) keyByParent(t *table) error {
	if !r.in.careful {
		return errAgain
	}
	up := t.up
	for _, col := range t.named {
		if up.isFilled(col) && !up.layout.cols[col].isPrivate() {
			t.fillEmpty(t.keys[0], string(up.cols[col].bytes(up.rows)))
		}
	}
	return nil
}

// keyProblem says why a row cannot be identified.
func (t *table) keyProblem() string {
	for _, k := range t.ownKeys {
		c := &t.layout.cols[k]
		switch {
		case !t.isFilled(k):
			return fmt.Sprintf("no %q, which is the key", c.name)
		case c.id && !standsInPath(t.cols[k].bytes(t.rows)):
			return fmt.Sprintf("%s %q cannot stand in a path", c.name, t.cols[k].bytes(t.rows))
		}
	}
	return ""
}

// standsInPath reports whether an id can be asked for: an empty one and those
// that mean a folder vanish from a path.
func standsInPath(id []byte) bool {
	return string(id) != "" && string(id) != "." && string(id) != ".."
}

// fillEmpty fills a text column of the open row that is empty.
func (t *table) fillEmpty(col int, s string) {
	if t.isFilled(col) || s == "" {
		return
	}
	c := &t.cols[col]
	c.truncate(t.rows)
	c.appendText(s)
}

// readableKey is the key of the open row, as far as all of it is there. A single
// record is identified by the id that was asked for.
func (r *rowReader) readableKey(t *table) string {
	if r.binding.object && t.param >= 0 {
		return r.in.origin.Param
	}
	for _, k := range t.keys {
		if !t.isFilled(k) {
			return ""
		}
	}
	return t.keyText(t.rows)
}

// keyText writes the key of a row for people.
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
