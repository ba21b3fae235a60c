package transform

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"sync"

	"placementsync/internal/stream"

	"github.com/zeebo/xxh3"
)

// On most nights most records of a list have the bytes of the night before. So a decoder
// makes an entry of each record, which says by its bytes what it decodes to, and the
// entries of one night let the next one pass over what it has seen.

// Known holds the records of a stream as the last night stored them: a table with open
// addressing. It is filled first and then shared by decoders.
type Known struct{ places []imprint }

// imprint is an entry: what is known of one record.
type imprint struct {
	// id is the hash of the key; 0: the place is free.
	id uint64
	// sum is the hash of the record's text and size its length; size 0: the text has to be
	// read each night.
	sum  uint64
	size uint32
	// class is the same for records of a night that show the same drift; 0: none.
	class uint16
}

// EntrySize is the length of an entry in bytes.
const EntrySize = 22

// noClass is the class of drift that a record cannot be passed over with.
const noClass = math.MaxUint16

func (e imprint) appendTo(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, e.id)
	dst = binary.LittleEndian.AppendUint64(dst, e.sum)
	dst = binary.LittleEndian.AppendUint32(dst, e.size)
	return binary.LittleEndian.AppendUint16(dst, e.class)
}

func readEntry(b []byte) imprint {
	return imprint{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint32(b[16:]), binary.LittleEndian.Uint16(b[20:])}
}

// NewKnown has space for a number of entries: an eighth of the places stays free.
func NewKnown(entries int) *Known { return &Known{make([]imprint, entries+entries/7+16)} }

// Add enters what decoders made of the records, in any order. Of a record with different
// entries nothing is known: which of them was stored depends on what landed last.
func (k *Known) Add(entries []byte) {
	for ; len(entries) >= EntrySize; entries = entries[EntrySize:] {
		e := readEntry(entries)
		switch known := k.find(e.id); {
		case known.id == 0:
			*known = e
		case *known != e:
			*known = imprint{id: e.id}
		}
	}
}

// find returns the place of an id: one without an id if nothing is known of the record.
func (k *Known) find(id uint64) *imprint {
	high, _ := bits.Mul64(stream.MixBits(id), uint64(len(k.places)))
	i := int(high)
	for k.places[i].id != id && k.places[i].id != 0 {
		if i++; i == len(k.places) {
			i = 0
		}
	}
	return &k.places[i]
}

// placeID is the hash of a key where 0 means that there is none.
func placeID(keyHash uint64) uint64 { return max(keyHash, 1) }

// CanRecall reports whether entries can be made of the records: every table of the stream
// is keyed by the record's own key, one text, or by it first, and filled by its text
// alone, whose hash gives nothing private away.
func (b *Binding) CanRecall() bool {
	root := b.tables[0]
	if b.guessable || b.raw || b.object || root.param >= 0 || len(root.keys) != 1 || root.cols[root.keys[0]].kind != text {
		return false
	}
	for _, t := range b.tables[1:] {
		if t.enclosing != 0 || len(t.parents) != 1 || t.keys[0] != t.parents[0].col || t.name == root.name {
			return false
		}
	}
	return true
}

// recollection makes entries of the records of a decoder, and finds what is known of them.
type recollection struct {
	*Memory
	// key and created begin the members that a page tells of a record.
	key, created []byte
	// same lists the keys of the records that are left out.
	same *table
	// entries are those since they were last asked for, before those when the body began.
	entries []byte
	before  int
}

// Memory is what the decoders of a stream share of two nights.
type Memory struct {
	// seed starts the hashes of texts.
	seed uint64
	// known are the records of the last night; nil: none.
	known *Known

	mu      sync.Mutex // guards classes
	classes map[string]uint16
}

// NewMemory makes a Memory of the records that the last night stored; nil: none. The seed
// must be another one wherever the same text may decode to something else.
func NewMemory(seed uint64, known *Known) *Memory {
	return &Memory{seed: seed, known: known, classes: map[string]uint16{}}
}

// classOf numbers what records show of drift.
func (m *Memory) classOf(key string) uint16 {
	m.mu.Lock()
	defer m.mu.Unlock()
	class, ok := m.classes[key]
	if !ok && len(m.classes) < noClass-1 {
		class = uint16(len(m.classes) + 1)
		m.classes[key] = class
	}
	return cmp.Or(class, noClass)
}

// Remember makes the decoder enter its records, and omit the rows of those that are known:
// it lists their keys in [stream.SameTable] instead. The binding must be one that
// [Binding.CanRecall], and no row held yet.
func (d *Decoder) Remember(shared *Memory) {
	root := d.records.root
	m := &recollection{Memory: shared, key: []byte(`"` + root.layout.cols[root.keys[0]].name + `":`)}
	if root.created >= 0 {
		m.created = []byte(`"` + root.layout.cols[root.created].name + `":`)
	}
	l := &layout{name: stream.SameTable, cols: []columnLayout{{name: "id", kind: text}, {name: stream.Seq, kind: unsigned}}}
	l.setSchema()
	m.same = newTable(l)
	d.records.memory = m
	d.rows.tables, d.records.rowsBefore = append(d.rows.tables, m.same), append(d.records.rowsBefore, 0)
}

// Entries returns the entries since it was last asked, for [Known.Add] in the next night.
// They are valid until the next body.
func (d *Decoder) Entries() []byte {
	m := d.records.memory
	if m == nil {
		return nil
	}
	entries := m.entries
	m.entries, m.before = m.entries[:0], 0
	return entries
}

// keyWithin is how far into a record its key is looked for: most begin with it.
const keyWithin = 4 << 10

// findKey finds the key of the record that a text begins with. It may be wrong: an entry
// is only made of a text in which it is right.
func (m *recollection) findKey(text []byte) ([]byte, bool) {
	return findText(text[:min(len(text), keyWithin)], m.key)
}

// findCreated finds the created_at of a record; it may be wrong, as findKey.
func (m *recollection) findCreated(text []byte) (micros int64, ok bool) {
	if m.created == nil {
		return 0, false
	}
	at, ok := findText(text, m.created)
	if ok {
		micros, _, _, ok = parseInstant(at)
	}
	return micros, ok
}

// findText finds the first member of a name, at any depth, and returns its value if that
// is a plain text.
func findText(b, name []byte) ([]byte, bool) {
	at := bytes.Index(b, name)
	if at < 0 {
		return nil, false
	}
	s := scanner{buf: b, pos: at + len(name)}
	if s.peek() != '"' {
		return nil, false
	}
	start := s.pos + 1
	f, err := s.text()
	return b[start:max(start, s.pos-1)], err == nil && f == plain
}

// skipSame passes over the record at the position if its text is that of the last night:
// the page is what decoding would make it.
func (r *recordReader) skipSame() bool {
	m, rest := r.memory, r.in.buf[r.in.pos:]
	key, ok := m.findKey(rest)
	if !ok {
		return false
	}
	id := xxh3.Hash(key)
	e := *m.known.find(placeID(id))
	if e.size == 0 || int(e.size) > len(rest) || xxh3.HashSeed(rest[:e.size], m.seed) != e.sum {
		return false
	}
	if e.class != 0 {
		// What it shows counts as if it had been read.
		set, ok := r.report.byClass[e.class]
		r.report.startCarrier(Place{r.in.origin.Param, r.in.origin.Page, r.in.place, r.in.seq})
		if !ok || !r.report.recount(set, id) {
			return false
		}
		e.class = r.report.classes[set]
	}
	created, dated := m.findCreated(rest[:e.size])
	r.in.pos += int(e.size)
	r.page.Records++
	r.addToPage(id, created, dated)
	m.entries = e.appendTo(m.entries)
	m.same.cols[0].data = append(m.same.cols[0].data, key...)
	m.same.cols[0].endText()
	m.same.cols[1].appendInt(int64(r.in.seq))
	m.same.rows++
	return true
}

// remember enters the record just closed. Set is the drift that it shows; -1: none. A record
// that must be decoded is entered without its text: it may have come in another one, too.
func (r *recordReader) remember(root *table, raw []byte, set int, rejects bool) {
	m, e := r.memory, imprint{id: placeID(root.keyHash(root.rows - 1))}
	var class uint16
	if set >= 0 {
		class = r.classOf(set)
	}
	if class != noClass && !rejects && m.readsBack(root, raw) {
		e = imprint{e.id, xxh3.HashSeed(raw, m.seed), uint32(len(raw)), class}
	}
	m.entries = e.appendTo(m.entries)
	if m.known == nil || class == 0 {
		return
	}
	if known := m.known.find(e.id); e.size > 0 && known.sum == e.sum && known.size == e.size && known.class != 0 {
		r.report.byClass[known.class] = set
	}
}

// classOf is the number of a set of drift in this night.
func (r *recordReader) classOf(set int) uint16 {
	class := &r.report.classes[set]
	if *class == 0 {
		*class = noClass
		if key, ok := r.report.classKey(set); ok {
			*class = r.memory.classOf(key)
		}
	}
	return *class
}

// readsBack reports whether key and created_at can be found in the text of the record just
// closed as skipSame finds them.
func (m *recollection) readsBack(root *table, raw []byte) bool {
	key, ok := m.findKey(raw)
	if !ok || !bytes.Equal(key, root.cols[root.keys[0]].bytes(root.rows-1)) {
		return false
	}
	created, dated := m.findCreated(raw)
	at, has := root.createdAt(root.rows - 1)
	return created == at && dated == has
}
