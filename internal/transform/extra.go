package transform

import (
	"cmp"
	"slices"
	"strings"

	"placementsync/internal/stream"
)

// strays are the values of the open rows that no column takes, until their row
// is closed: a stack of arenas, so that keeping one allocates nothing.
type strays struct {
	all   []stray
	path  []string
	names []byte
}

type stray struct {
	// path and name say where the value stands in its row.
	pathLo, pathHi, nameLo, nameHi int
	raw                            []byte
}

// level is a height of the stack.
type level struct{ all, path, names int }

func (s *strays) mark() level { return level{len(s.all), len(s.path), len(s.names)} }

func (s *strays) cut(l level) {
	s.all, s.path, s.names = s.all[:l.all], s.path[:l.path], s.names[:l.names]
}

func (s *strays) add(path []string, name string, raw []byte) {
	e := stray{pathLo: len(s.path), nameLo: len(s.names), raw: raw}
	s.path = append(s.path, path...)
	s.names = append(s.names, name...)
	e.pathHi, e.nameHi = len(s.path), len(s.names)
	s.all = append(s.all, e)
}

// depth is the number of names that lead to a value.
func (e stray) depth() int { return e.pathHi - e.pathLo + 1 }

// part is the i-th of these names.
func (s *strays) part(e stray, i int) string {
	if i < e.pathHi-e.pathLo {
		return s.path[e.pathLo+i]
	}
	return string(s.names[e.nameLo:e.nameHi])
}

func (s *strays) compare(a, b stray) int {
	for i := range min(a.depth(), b.depth()) {
		if c := strings.Compare(s.part(a, i), s.part(b, i)); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.depth(), b.depth())
}

// keep counts a value that no column takes and puts it aside until the row is
// closed.
func (d *Decoder) keep(t *table, kind, name string, raw []byte) {
	if t.link {
		return
	}
	if d.secret != "" {
		d.conceal(t, kind, []byte(d.secret))
		return
	}
	if len(d.secrets.names) > 0 {
		path := string(d.dotted(name))
		if d.hidden(t, path) {
			d.conceal(t, kind, []byte(path))
			return
		}
		raw = d.closed(t, path, raw)
	}
	d.count(t, kind, name, raw)
	d.strays.add(d.path[d.base:], name, raw)
}

// gather writes the strays of the open row into its extra column: one object,
// names sorted, those from nested objects under their path. Nulls are left out:
// to the service they are the same as a field that is absent, and a field that
// is new and empty is no change of the row.
func (d *Decoder) gather(t *table, from level) error {
	own := d.strays.all[from.all:]
	slices.SortStableFunc(own, d.strays.compare)
	for i := 1; i < len(own); i++ {
		if d.strays.compare(own[i-1], own[i]) == 0 && !d.careful {
			return errAgain
		}
	}
	own = slices.DeleteFunc(own, func(e stray) bool { return string(e.raw) == "null" })
	if len(own) == 0 {
		return nil
	}
	if t.extra < 0 {
		for _, e := range own {
			d.rejectPending(t, d.strays.dotted(e), "no column takes it, and the table has no extra", e.raw)
		}
		return nil
	}
	c := &t.cols[t.extra]
	c.data = d.nest(c.data, own, 0)
	c.seal()
	return nil
}

// nest writes strays that agree in the names above a depth as one object.
func (d *Decoder) nest(dst []byte, own []stray, depth int) []byte {
	dst = append(dst, '{')
	for i := 0; i < len(own); {
		if i > 0 {
			dst = append(dst, ',')
		}
		name, end := d.strays.part(own[i], depth), i+1
		for end < len(own) && d.strays.part(own[end], depth) == name {
			end++
		}
		dst = append(quoteName(dst, name), ':')
		if own[i].depth() == depth+1 {
			dst, _ = d.json.append(dst, own[i].raw, sorted)
		} else {
			dst = d.nest(dst, own[i:end], depth+1)
		}
		i = end
	}
	return append(dst, '}')
}

// dotted is the path of a stray in its row.
func (s *strays) dotted(e stray) string {
	return strings.Join(append(slices.Clone(s.path[e.pathLo:e.pathHi]), s.part(e, e.depth()-1)), ".")
}

// dotted is the path of a field of the open row.
func (d *Decoder) dotted(name string) []byte {
	d.label = d.label[:0]
	for _, p := range d.path[d.base:] {
		d.label = append(append(d.label, p...), '.')
	}
	d.label = append(d.label, name...)
	return d.label
}

// count counts a surprise of the open row. Where a table has private columns,
// only a field that none of them takes may show a sample.
func (d *Decoder) count(t *table, kind, name string, sample []byte) {
	shown := kind == UnknownField && (t.extra < 0 || !t.layoutOf.cols[t.extra].dropped)
	if t.private && !shown {
		sample = []byte(withheld)
	}
	d.found.count(t.name, kind, d.dotted(name), sample)
}

// refuse keeps a value of the open row that did not fit its column. The key
// is added when the row is closed.
func (d *Decoder) refuse(t *table, name string, raw []byte, reason string) {
	d.rejectPending(t, string(d.dotted(name)), reason, raw)
}

// rejectPending keeps a value whose row is still open: the key follows.
func (d *Decoder) rejectPending(t *table, column, reason string, raw []byte) {
	d.reject(t, stream.Reject{Column: column, Reason: reason}, raw)
	d.found.rejects[len(d.found.rejects)-1].keyFollows = true
}

func (d *Decoder) reject(t *table, r stream.Reject, raw []byte) {
	raw = d.closed(t, r.Column, raw)
	r.Stream = d.binding.name
	r.Table, r.Raw, r.Column, r.Key, r.Parent = t.name, validText(raw), validText([]byte(r.Column)), validText([]byte(r.Key)), validText([]byte(r.Parent))
	r.Seq, r.Pass, r.Page, r.Position = d.seq, d.origin.Pass, d.origin.Page, d.place
	d.found.rejects = append(d.found.rejects, pendingReject{Reject: r})
}
