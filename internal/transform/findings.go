package transform

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"placementsync/internal/stream"
)

const (
	// maxPaths bounds the distinct drift paths; a service that makes names of
	// ids would otherwise fill the memory.
	maxPaths = 1000
	// manyPaths stands for all paths beyond that.
	manyPaths = "…"
	// maxSample bounds a sample in bytes.
	maxSample = 200
)

// findings collects rejects and drift, and can take back those of a body or record that
// is not kept.
type findings struct {
	rejects []pendingReject
	drift   []Drift
	index   map[string]int
	// carrier numbers what is being read; last is, by drift entry, the carrier that
	// showed it last, so that it counts once.
	carrier uint64
	last    []uint64
	// at is where that stands.
	at Place
	// journal holds the drift entry of every count since the body began, and
	// samples what was seen.
	journal  []int
	samples  [][]byte
	carriers []stream.DriftCarrier
	sets     [][]int
	setIndex map[string]int
	// classes are the numbers of the sets among those of the night, 0 where it is not known
	// yet; byClass leads from the numbers of the last night to sets.
	classes []uint16
	byClass map[uint16]int
	key     []byte
	// own is a buffer for the entries of one record.
	own []int
}

// pendingReject is a reject whose key and parent may follow when its row is closed.
type pendingReject struct {
	stream.Reject
	keyFollows bool
}

// findingsMark is a place to go back to.
type findingsMark struct{ rejects, counts, carriers int }

func (f *findings) mark() findingsMark {
	return findingsMark{len(f.rejects), len(f.journal), len(f.carriers)}
}

func (f *findings) undoTo(m findingsMark) {
	f.rejects, f.carriers = f.rejects[:m.rejects], f.carriers[:m.carriers]
	for _, i := range f.journal[m.counts:] {
		f.drift[i].Count--
		f.last[i] = 0
	}
	f.journal, f.samples = f.journal[:m.counts], f.samples[:m.counts]
}

// commit forgets how to go back.
func (f *findings) commit() {
	clear(f.samples)
	f.journal, f.samples = f.journal[:0], f.samples[:0]
}

// startCarrier starts a record: what follows is counted once, and at is where it stands.
func (f *findings) startCarrier(at Place) {
	f.carrier++
	f.at = at
}

// count counts drift in what is being read, once.
func (f *findings) count(table, kind string, path, sample []byte) {
	f.key = append(append(append(append(append(f.key[:0], table...), 0), kind...), 0), path...)
	i, ok := f.index[string(f.key)]
	if !ok {
		i = f.addDrift(table, kind, string(path))
	}
	if f.last[i] == f.carrier {
		return
	}
	f.last[i] = f.carrier
	f.drift[i].Count++
	f.journal, f.samples = append(f.journal, i), append(f.samples, sample)
}

// addDrift makes a new entry, or finds the one for all further paths.
func (f *findings) addDrift(table, kind, path string) int {
	key := string(f.key)
	if len(f.drift) >= maxPaths {
		path = manyPaths
		key = table + "\x00" + kind + "\x00" + path
		if i, ok := f.index[key]; ok {
			return i
		}
	}
	f.drift, f.last = append(f.drift, Drift{Drift: stream.Drift{Table: table, Kind: kind, Path: strings.ToValidUTF8(path, "\uFFFD")}}), append(f.last, 0)
	f.index[key] = len(f.drift) - 1
	return len(f.drift) - 1
}

// addCarrier says which record showed what was counted since a mark. Records are alike,
// and so are their sets of drift: a set is stored once, and records refer to it. It
// returns the set; -1: nothing was counted.
func (f *findings) addCarrier(since findingsMark, record uint64, key func() string) int {
	if len(f.journal) == since.counts {
		return -1
	}
	f.own = append(f.own[:0], f.journal[since.counts:]...)
	for n, i := range f.own {
		if d := &f.drift[i]; d.Count == 1 || f.at.Before(d.First) {
			d.Sample, d.Key, d.First = clipSample(f.samples[since.counts+n]), key(), f.at
		}
	}
	slices.Sort(f.own)
	f.key = f.key[:0]
	for _, i := range f.own {
		f.key = binary.AppendUvarint(f.key, uint64(i))
	}
	set, ok := f.setIndex[string(f.key)]
	if !ok {
		set = len(f.sets)
		f.sets, f.classes = append(f.sets, slices.Clone(f.own)), append(f.classes, 0)
		f.setIndex[string(f.key)] = set
	}
	f.carriers = append(f.carriers, stream.DriftCarrier{Set: set, Record: record})
	return set
}

// recount counts a set of drift once more for a record that is not read, unless its sample
// could be the first one.
func (f *findings) recount(set int, record uint64) bool {
	for _, i := range f.sets[set] {
		if d := &f.drift[i]; d.Count == 0 || f.at.Before(d.First) {
			return false
		}
	}
	for _, i := range f.sets[set] {
		f.drift[i].Count++
		f.journal, f.samples = append(f.journal, i), append(f.samples, nil)
	}
	f.carriers = append(f.carriers, stream.DriftCarrier{Set: set, Record: record})
	return true
}

// classKey names a set by what it holds; false: it holds what stands for several paths.
func (f *findings) classKey(set int) (string, bool) {
	f.key = f.key[:0]
	for _, i := range f.sets[set] {
		d := &f.drift[i]
		if d.Path == manyPaths || strings.Contains(d.Path, "\uFFFD") {
			return "", false
		}
		// Quoted: a path comes from the service and may hold any byte.
		f.key = fmt.Appendf(f.key, "%q %q %q ", d.Table, d.Kind, d.Path)
	}
	return string(f.key), true
}

func clipSample(sample []byte) string {
	if len(sample) > maxSample {
		n := maxSample
		for n > 0 && !utf8.RuneStart(sample[n]) {
			n--
		}
		sample = sample[:n]
	}
	return validText(sample)
}

func validText(raw []byte) string { return strings.ToValidUTF8(string(raw), "\uFFFD") }

// takeAll returns what was found, drift in a fixed order, and starts anew.
func (f *findings) takeAll() Findings {
	order := make([]int, 0, len(f.drift))
	for i := range f.drift {
		if f.drift[i].Count > 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := &f.drift[a], &f.drift[b]
		return cmp.Or(strings.Compare(x.Table, y.Table), strings.Compare(x.Path, y.Path), strings.Compare(x.Kind, y.Kind))
	})
	out := Findings{Carriers: f.carriers, Sets: f.sets}
	for _, r := range f.rejects {
		out.Rejects = append(out.Rejects, r.Reject)
	}
	place := make([]int, len(f.drift))
	for n, i := range order {
		out.Drift = append(out.Drift, f.drift[i])
		place[i] = n
	}
	for _, set := range out.Sets {
		for n, i := range set {
			set[n] = place[i]
		}
	}
	*f = newFindings()
	return out
}

func newFindings() findings {
	return findings{index: map[string]int{}, setIndex: map[string]int{}, byClass: map[uint16]int{}, carrier: 1}
}

// reporter counts and keeps what does not fit the open row, without what is private
// in it.
type reporter struct {
	findings
	in      *input
	binding *Binding
	// secrets are those of the binding, with buffers of their own.
	secrets secrets
	extras  extras
	json    shaper
	label   []byte
}

// redactPath returns a raw text of a table without its private parts. The path is that
// within the row.
func (p *reporter) redactPath(t *table, path string, raw []byte) []byte {
	if len(p.secrets.names) == 0 {
		return raw
	}
	if p.isHidden(t, path) {
		return []byte(withheldValue)
	}
	return p.secrets.redact(joinNames(t.place, path), raw)
}

// isHidden reports whether a path within a row of a table leads to or into a private
// value.
func (p *reporter) isHidden(t *table, path string) bool {
	for i := 1; i <= len(path); i++ {
		if (i == len(path) || path[i] == '.') && p.secrets.hides(joinNames(t.place, path[:i])) {
			return true
		}
	}
	return false
}

// countPrivate counts a private value that no column takes, without a sample.
func (p *reporter) countPrivate(t *table, kind string, path []byte) {
	p.count(t.name, kind, path, []byte(withheldText))
}

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

// keepExtra counts a value that no column takes and keeps it until the row is closed.
func (p *reporter) keepExtra(t *table, kind, name string, raw []byte) {
	if t.link {
		return
	}
	if p.in.secret != "" {
		p.countPrivate(t, kind, []byte(p.in.secret))
		return
	}
	if len(p.secrets.names) > 0 {
		path := string(p.dottedPath(name))
		if p.isHidden(t, path) {
			p.countPrivate(t, kind, []byte(path))
			return
		}
		raw = p.redactPath(t, path, raw)
	}
	p.countDrift(t, kind, name, raw)
	p.extras.add(p.in.path[p.in.base:], name, raw)
}

// writeExtra writes the values of the open row that no column takes into its extra
// column: one object, names sorted, nested as they were sent. Nulls are omitted:
// to the service they are the same as a field that is absent, and a field that
// is new and empty is no change of the row.
func (p *reporter) writeExtra(t *table, from extrasMark) error {
	own := p.extras.all[from.all:]
	slices.SortStableFunc(own, p.extras.compare)
	for i := 1; i < len(own); i++ {
		if p.extras.compare(own[i-1], own[i]) == 0 && !p.in.careful {
			return errAgain
		}
	}
	own = slices.DeleteFunc(own, func(e extraValue) bool { return string(e.raw) == "null" })
	if len(own) == 0 {
		return nil
	}
	if t.extra < 0 {
		for _, e := range own {
			p.addPendingReject(t, p.extras.dottedPath(e), "no column takes it, and the table has no extra", e.raw)
		}
		return nil
	}
	c := &t.cols[t.extra]
	c.data = p.appendNested(c.data, own, 0)
	c.endText()
	return nil
}

// appendNested writes values whose paths agree above a depth as one object.
func (p *reporter) appendNested(dst []byte, own []extraValue, depth int) []byte {
	dst = append(dst, '{')
	for i := 0; i < len(own); {
		if i > 0 {
			dst = append(dst, ',')
		}
		name, end := p.extras.nameAt(own[i], depth), i+1
		for end < len(own) && p.extras.nameAt(own[end], depth) == name {
			end++
		}
		dst = append(quoteName(dst, name), ':')
		if own[i].depth() == depth+1 {
			dst, _ = p.json.appendJSON(dst, own[i].raw, sorted)
		} else {
			dst = p.appendNested(dst, own[i:end], depth+1)
		}
		i = end
	}
	return append(dst, '}')
}

// dottedPath is the path of a value in its row.
func (s *extras) dottedPath(e extraValue) string {
	return strings.Join(append(slices.Clone(s.path[e.pathLo:e.pathHi]), s.nameAt(e, e.depth()-1)), ".")
}

// dottedPath is the path of a field of the open row.
func (p *reporter) dottedPath(name string) []byte {
	p.label = p.label[:0]
	for _, part := range p.in.path[p.in.base:] {
		p.label = append(append(p.label, part...), '.')
	}
	p.label = append(p.label, name...)
	return p.label
}

// countDrift counts drift of the open row. Where a table has private columns,
// only a field that none of them takes may show a sample.
func (p *reporter) countDrift(t *table, kind, name string, sample []byte) {
	shown := kind == UnknownField && (t.extra < 0 || !t.layout.cols[t.extra].dropped)
	if t.private && !shown {
		sample = []byte(withheldText)
	}
	p.count(t.name, kind, p.dottedPath(name), sample)
}

// refuseValue keeps a value of the open row that did not fit its column. The key
// is added when the row is closed.
func (p *reporter) refuseValue(t *table, name string, raw []byte, reason string) {
	p.addPendingReject(t, string(p.dottedPath(name)), reason, raw)
}

// addPendingReject keeps a value whose row is still open: the key follows.
func (p *reporter) addPendingReject(t *table, column, reason string, raw []byte) {
	p.addReject(t, stream.Reject{Column: column, Reason: reason}, raw)
	p.rejects[len(p.rejects)-1].keyFollows = true
}

func (p *reporter) addReject(t *table, r stream.Reject, raw []byte) {
	raw = p.redactPath(t, r.Column, raw)
	r.Stream = p.binding.name
	r.Table, r.Raw, r.Column, r.Key, r.Parent = t.name, validText(raw), validText([]byte(r.Column)), validText([]byte(r.Key)), validText([]byte(r.Parent))
	r.Seq, r.Pass, r.Page, r.Position = p.in.seq, p.in.origin.Pass, p.in.origin.Page, p.in.place
	p.rejects = append(p.rejects, pendingReject{Reject: r})
}

// signRejects names the closed row in the rejects that its values caused.
func (p *reporter) signRejects(t *table, from int) {
	for i := from; i < len(p.rejects); i++ {
		if r := &p.rejects[i]; r.keyFollows {
			r.Key, r.Parent, r.keyFollows = validText([]byte(t.keyText(t.rows-1))), validText([]byte(p.parentKey(t))), false
		}
	}
}

// parentKey is the key of the row around that of a table, or what its list was asked
// for by.
func (p *reporter) parentKey(t *table) string {
	if t.up != nil {
		return t.up.keyText(t.up.rows)
	}
	if p.binding.object || t.param < 0 {
		return ""
	}
	return p.in.origin.Param
}
