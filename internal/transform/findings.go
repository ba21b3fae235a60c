package transform

import (
	"slices"
	"strings"
	"unicode/utf8"

	"placementsync/internal/stream"
)

const (
	// maxPaths limits the distinct drift paths: if a service uses ids as names, they would
	// fill the memory.
	maxPaths   = 1000
	otherPaths = "…" // replaces all further paths
	maxSample  = 200 // in bytes
)

// findings collects rejects and drift. The findings of a body or record that is not kept can be
// removed again.
type findings struct {
	rejects      []pendingReject
	drift        []Drift
	index        map[driftKey]int // in drift
	driftRecords []stream.DriftRecord
	// pending is the drift of the current body, and pending[recordStart:] of the current record. at is the
	// place of this record.
	pending     []pendingDrift
	recordStart int
	at          Place
}

type driftKey struct{ table, kind, path string }

// pendingDrift is drift of one record. record and key are set when the whole record was read.
type pendingDrift struct {
	driftIndex int
	at         Place
	sample     []byte
	record     uint64 // hash of the key
	key        string
}

// pendingReject is a reject. keyFollows means that key and parent are set when the row is complete.
type pendingReject struct {
	stream.Reject
	keyFollows bool
}

type findingsMark struct{ rejects, pending int }

func (f *findings) mark() findingsMark { return findingsMark{len(f.rejects), len(f.pending)} }

func (f *findings) undoTo(m findingsMark) {
	f.rejects, f.pending = f.rejects[:m.rejects], f.pending[:m.pending]
}

// commit adds the pending drift of the current body to drift and driftRecords. The findings of the body
// can then no longer be undone.
func (f *findings) commit() {
	for _, p := range f.pending {
		d := &f.drift[p.driftIndex]
		if d.Count == 0 || p.at.Before(d.First) {
			d.Sample, d.Key, d.First = clipSample(p.sample), p.key, p.at
		}
		d.Count++
		f.driftRecords = append(f.driftRecords, stream.DriftRecord{DriftIndex: p.driftIndex, Record: p.record})
	}
	clear(f.pending)
	f.pending = f.pending[:0]
}

func (f *findings) startRecord(at Place) { f.recordStart, f.at = len(f.pending), at }

func (f *findings) count(table, kind string, path, sample []byte) {
	i, ok := f.index[driftKey{table, kind, string(path)}]
	if !ok {
		i = f.addDrift(driftKey{table, kind, string(path)})
	}
	if !slices.ContainsFunc(f.pending[f.recordStart:], func(p pendingDrift) bool { return p.driftIndex == i }) {
		f.pending = append(f.pending, pendingDrift{driftIndex: i, at: f.at, sample: sample})
	}
}

// addDrift returns the index of a new element of drift. All paths beyond the limit share one element.
func (f *findings) addDrift(key driftKey) int {
	if len(f.drift) >= maxPaths {
		key.path = otherPaths
		if i, ok := f.index[key]; ok {
			return i
		}
	}
	f.drift = append(f.drift, Drift{Drift: stream.Drift{Table: key.table, Kind: key.kind, Path: strings.ToValidUTF8(key.path, "\uFFFD")}})
	f.index[key] = len(f.drift) - 1
	return len(f.drift) - 1
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

func (f *findings) takeAll() Findings {
	out := Findings{DriftRecords: f.driftRecords}
	for _, r := range f.rejects {
		out.Rejects = append(out.Rejects, r.Reject)
	}
	indexInOut := make([]int, len(f.drift))
	for i, d := range f.drift {
		indexInOut[i] = len(out.Drift)
		if d.Count > 0 {
			out.Drift = append(out.Drift, d)
		}
	}
	for i := range out.DriftRecords {
		out.DriftRecords[i].DriftIndex = indexInOut[out.DriftRecords[i].DriftIndex]
	}
	*f = newFindings()
	return out
}

func newFindings() findings { return findings{index: map[driftKey]int{}} }

// reporter reports values that do not fit the current row, without their private parts.
type reporter struct {
	findings
	in      *input
	binding *Binding
	// extras contains values without a column. They belong to the rows that are being read: those of the
	// current row are at the end.
	extras  []extraValue
	json    jsonWriter
	pathBuf []byte // of dottedPath
}

// assignDrift assigns the drift counted since a mark to the last row of a table.
func (p *reporter) assignDrift(since findingsMark, t *table) {
	for i := since.pending; i < len(p.pending); i++ {
		d := &p.pending[i]
		d.record = t.keyHash(t.rows - 1)
		known := &p.drift[d.driftIndex]
		if known.Count == 0 || d.at.Before(known.First) { // otherwise the key is not used
			d.key = validText([]byte(t.keyText(t.rows - 1)))
		}
	}
}

func (p *reporter) redactRaw(t *table, path string, raw []byte) []byte {
	if len(p.binding.privatePaths) == 0 {
		return raw
	}
	if p.isHidden(t, path) {
		return []byte(withheldValue)
	}
	return p.binding.privatePaths.redact(joinNames(t.recordPath, path), raw)
}

func (p *reporter) isHidden(t *table, path string) bool {
	for i := 1; i <= len(path); i++ {
		if (i == len(path) || path[i] == '.') && p.binding.privatePaths.hides(joinNames(t.recordPath, path[:i])) {
			return true
		}
	}
	return false
}

func (p *reporter) countPrivate(t *table, kind string, path []byte) {
	p.count(t.name, kind, path, []byte(withheldSample))
}

// extraValue is a value without a column.
type extraValue struct {
	path []string // in the row
	raw  []byte
}

// keepExtra counts a value without a column and keeps it until the row is complete. A private value
// is only counted. In a link table the value is ignored.
func (p *reporter) keepExtra(t *table, kind, name string, raw []byte) {
	if t.link {
		return
	}
	if p.in.privatePath != "" {
		p.countPrivate(t, kind, []byte(p.in.privatePath))
		return
	}
	if len(p.binding.privatePaths) > 0 {
		path := string(p.dottedPath(name))
		if p.isHidden(t, path) {
			p.countPrivate(t, kind, []byte(path))
			return
		}
		raw = p.redactRaw(t, path, raw)
	}
	p.countDrift(t, kind, name, raw)
	p.extras = append(p.extras, extraValue{append(slices.Clone(p.in.path), name), raw})
}

// writeExtra writes the values without a column, p.extras[first:], into the extra column of the current row:
// one object with sorted names, nested as sent. In a table without this column, the values are rejected.
// Nulls are omitted, because to the service they mean the same as absent fields: a new field that is null
// must not change the row. NaN and Infinity are omitted too.
func (p *reporter) writeExtra(t *table, first int) {
	own := slices.DeleteFunc(p.extras[first:], func(e extraValue) bool { return string(e.raw) == "null" || isNotFinite(e.raw) })
	if len(own) == 0 {
		return
	}
	slices.SortStableFunc(own, func(a, b extraValue) int { return slices.Compare(a.path, b.path) })
	if t.extra < 0 {
		for _, e := range own {
			p.addPendingReject(t, strings.Join(e.path, "."), "there is no column for it, and the table has no extra column", e.raw)
		}
		return
	}
	c := &t.cols[t.extra]
	c.data = p.appendNested(c.data, own, 0)
	c.endText()
}

// appendNested writes values with a common path prefix of the given depth as one object.
func (p *reporter) appendNested(dst []byte, own []extraValue, depth int) []byte {
	dst = append(dst, '{')
	for i := 0; i < len(own); {
		if i > 0 {
			dst = append(dst, ',')
		}
		name, end := own[i].path[depth], i+1
		for end < len(own) && own[end].path[depth] == name {
			end++
		}
		dst = append(appendQuoted(dst, name), ':')
		if len(own[i].path) == depth+1 {
			dst, _ = p.json.appendJSON(dst, own[i].raw, sorted)
		} else {
			dst = p.appendNested(dst, own[i:end], depth+1)
		}
		i = end
	}
	return append(dst, '}')
}

// dottedPath returns the path of a field of the current row. It is valid until the next call.
func (p *reporter) dottedPath(name string) []byte {
	p.pathBuf = p.pathBuf[:0]
	for _, part := range p.in.path {
		p.pathBuf = append(append(p.pathBuf, part...), '.')
	}
	p.pathBuf = append(p.pathBuf, name...)
	return p.pathBuf
}

// countDrift counts drift of the current row. In a table with private columns only unknown fields
// have a sample, and only if the column extra is not dropped.
func (p *reporter) countDrift(t *table, kind, name string, sample []byte) {
	hasSample := kind == UnknownField && (t.extra < 0 || !t.cols[t.extra].dropped)
	if t.private && !hasSample {
		sample = []byte(withheldSample)
	}
	p.count(t.name, kind, p.dottedPath(name), sample)
}

// countEmptyText counts an empty text that becomes NULL, as a converted value and also as this value: a record counts once
// for each path, and other values of the column may be converted to something other than NULL.
func (p *reporter) countEmptyText(t *table, name string, raw []byte) {
	p.countDrift(t, Converted, name, raw)
	p.countDrift(t, Converted, name+"=", raw)
}

func (p *reporter) rejectValue(t *table, name string, raw []byte, reason string) {
	p.addPendingReject(t, string(p.dottedPath(name)), reason, raw)
}

// addPendingReject records a reject whose row is incomplete: completeRejects adds the key.
func (p *reporter) addPendingReject(t *table, column, reason string, raw []byte) {
	p.addReject(t, stream.Reject{Column: column, Reason: reason}, raw)
	p.rejects[len(p.rejects)-1].keyFollows = true
}

func (p *reporter) addReject(t *table, r stream.Reject, raw []byte) {
	raw = p.redactRaw(t, r.Column, raw)
	r.Stream = p.binding.stream.Name
	r.Table, r.Raw, r.Column, r.Key, r.Parent = t.name, validText(raw), validText([]byte(r.Column)), validText([]byte(r.Key)), validText([]byte(r.Parent))
	r.Seq, r.Pass, r.Page, r.Position = p.in.seq, p.in.origin.Pass, p.in.origin.Page, p.in.recordNumber
	p.rejects = append(p.rejects, pendingReject{Reject: r})
}

func (p *reporter) completeRejects(t *table, first int) {
	for i := first; i < len(p.rejects); i++ {
		r := &p.rejects[i]
		if r.keyFollows {
			r.Key, r.Parent = validText([]byte(t.keyText(t.rows-1))), validText([]byte(p.parentKey(t)))
			r.keyFollows = false
		}
	}
}

// parentKey returns the key of the enclosing row, or the path parameter of the list.
func (p *reporter) parentKey(t *table) string {
	if t.up != nil {
		return t.up.keyText(t.up.rows)
	}
	if p.binding.stream.Envelope == stream.Object || t.param < 0 {
		return ""
	}
	return p.in.origin.Param
}
