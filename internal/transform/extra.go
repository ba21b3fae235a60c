package transform

import (
	"cmp"
	"slices"
	"strings"

	"placementsync/internal/stream"
)

// extras are the values of the open rows that no column takes, until their row
// is closed: a stack of arenas, so that keeping one allocates nothing.
type extras struct {
	all   []extraValue
	path  []string
	names []byte
}

type extraValue struct {
	// path and name say where the value stands in its row.
	pathLo, pathHi, nameLo, nameHi int
	raw                            []byte
}

// extrasMark is a height of the stack.
type extrasMark struct{ all, path, names int }

func (s *extras) mark() extrasMark { return extrasMark{len(s.all), len(s.path), len(s.names)} }

func (s *extras) truncate(l extrasMark) {
	s.all, s.path, s.names = s.all[:l.all], s.path[:l.path], s.names[:l.names]
}

func (s *extras) add(path []string, name string, raw []byte) {
	e := extraValue{pathLo: len(s.path), nameLo: len(s.names), raw: raw}
	s.path = append(s.path, path...)
	s.names = append(s.names, name...)
	e.pathHi, e.nameHi = len(s.path), len(s.names)
	s.all = append(s.all, e)
}

// depth is the number of names that lead to a value.
func (e extraValue) depth() int { return e.pathHi - e.pathLo + 1 }

// nameAt is the i-th of these names.
func (s *extras) nameAt(e extraValue, i int) string {
	if i < e.pathHi-e.pathLo {
		return s.path[e.pathLo+i]
	}
	return string(s.names[e.nameLo:e.nameHi])
}

func (s *extras) compare(a, b extraValue) int {
	for i := range min(a.depth(), b.depth()) {
		if c := strings.Compare(s.nameAt(a, i), s.nameAt(b, i)); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.depth(), b.depth())
}

// keepExtra counts a value that no column takes and puts it aside until the row is
// closed.
func (d *Decoder) keepExtra(t *table, kind, name string, raw []byte) {
	if t.link {
		return
	}
	if d.secret != "" {
		d.countPrivate(t, kind, []byte(d.secret))
		return
	}
	if len(d.secrets.names) > 0 {
		path := string(d.dottedPath(name))
		if d.isHidden(t, path) {
			d.countPrivate(t, kind, []byte(path))
			return
		}
		raw = d.redactPath(t, path, raw)
	}
	d.countDrift(t, kind, name, raw)
	d.extras.add(d.path[d.base:], name, raw)
}

// writeExtra writes the strays of the open row into its extra column: one object,
// names sorted, those from nested objects under their path. Nulls are left out:
// to the service they are the same as a field that is absent, and a field that
// is new and empty is no change of the row.
func (d *Decoder) writeExtra(t *table, from extrasMark) error {
	own := d.extras.all[from.all:]
	slices.SortStableFunc(own, d.extras.compare)
	for i := 1; i < len(own); i++ {
		if d.extras.compare(own[i-1], own[i]) == 0 && !d.careful {
			return errAgain
		}
	}
	own = slices.DeleteFunc(own, func(e extraValue) bool { return string(e.raw) == "null" })
	if len(own) == 0 {
		return nil
	}
	if t.extra < 0 {
		for _, e := range own {
			d.addPendingReject(t, d.extras.dottedPath(e), "no column takes it, and the table has no extra", e.raw)
		}
		return nil
	}
	c := &t.cols[t.extra]
	c.data = d.appendNested(c.data, own, 0)
	c.endText()
	return nil
}

// appendNested writes strays that agree in the names above a depth as one object.
func (d *Decoder) appendNested(dst []byte, own []extraValue, depth int) []byte {
	dst = append(dst, '{')
	for i := 0; i < len(own); {
		if i > 0 {
			dst = append(dst, ',')
		}
		name, end := d.extras.nameAt(own[i], depth), i+1
		for end < len(own) && d.extras.nameAt(own[end], depth) == name {
			end++
		}
		dst = append(quoteName(dst, name), ':')
		if own[i].depth() == depth+1 {
			dst, _ = d.json.appendJSON(dst, own[i].raw, sorted)
		} else {
			dst = d.appendNested(dst, own[i:end], depth+1)
		}
		i = end
	}
	return append(dst, '}')
}

// dottedPath is the path of a stray in its row.
func (s *extras) dottedPath(e extraValue) string {
	return strings.Join(append(slices.Clone(s.path[e.pathLo:e.pathHi]), s.nameAt(e, e.depth()-1)), ".")
}

// dottedPath is the path of a field of the open row.
func (d *Decoder) dottedPath(name string) []byte {
	d.label = d.label[:0]
	for _, p := range d.path[d.base:] {
		d.label = append(append(d.label, p...), '.')
	}
	d.label = append(d.label, name...)
	return d.label
}

// countDrift counts a surprise of the open row. Where a table has private columns,
// only a field that none of them takes may show a sample.
func (d *Decoder) countDrift(t *table, kind, name string, sample []byte) {
	shown := kind == UnknownField && (t.extra < 0 || !t.layout.cols[t.extra].dropped)
	if t.private && !shown {
		sample = []byte(withheldText)
	}
	d.findings.count(t.name, kind, d.dottedPath(name), sample)
}

// refuseValue keeps a value of the open row that did not fit its column. The key
// is added when the row is closed.
func (d *Decoder) refuseValue(t *table, name string, raw []byte, reason string) {
	d.addPendingReject(t, string(d.dottedPath(name)), reason, raw)
}

// addPendingReject keeps a value whose row is still open: the key follows.
func (d *Decoder) addPendingReject(t *table, column, reason string, raw []byte) {
	d.addReject(t, stream.Reject{Column: column, Reason: reason}, raw)
	d.findings.rejects[len(d.findings.rejects)-1].keyFollows = true
}

func (d *Decoder) addReject(t *table, r stream.Reject, raw []byte) {
	raw = d.redactPath(t, r.Column, raw)
	r.Stream = d.binding.name
	r.Table, r.Raw, r.Column, r.Key, r.Parent = t.name, validText(raw), validText([]byte(r.Column)), validText([]byte(r.Key)), validText([]byte(r.Parent))
	r.Seq, r.Pass, r.Page, r.Position = d.seq, d.origin.Pass, d.origin.Page, d.place
	d.findings.rejects = append(d.findings.rejects, pendingReject{Reject: r})
}
