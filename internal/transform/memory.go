package transform

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"placementsync/internal/stream"

	"github.com/zeebo/xxh3"
)

// Most records of a list have the same bytes as in the night before. For each record the
// decoder makes an entry with a hash of its bytes. The next night skips records that match
// their entries.

// Memory contains the entries of the last night. It is filled first and then shared by the
// decoders of a stream.
type Memory struct {
	// seed is the seed for hashes of texts.
	seed uint64
	// entries contains the entries by the hash of the record's key.
	entries map[uint64]entry

	mu      sync.Mutex // guards classes
	classes map[string]uint16
}

// NewMemory returns a Memory without entries. The seed must change whenever the same text
// may be decoded differently.
func NewMemory(seed uint64) *Memory {
	return &Memory{seed: seed, entries: map[uint64]entry{}, classes: map[string]uint16{}}
}

// entry describes one record.
type entry struct {
	// sum is the hash of the record's text. size is its length. 0 means that the record must
	// be decoded each night.
	sum  uint64
	size uint32
	// class identifies the drift of the record within a night. 0 means none.
	class uint16
	// created is the offset of created_at in the text. 0 means that there is none.
	created uint16
}

// EntrySize is the size of an encoded entry in bytes.
const EntrySize = 24

// noClass is the class of records whose drift prevents skipping them.
const noClass = math.MaxUint16

// appendTo appends the encoded entry of a record. id is the hash of its key.
func (e entry) appendTo(dst []byte, id uint64) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, id)
	dst = binary.LittleEndian.AppendUint64(dst, e.sum)
	dst = binary.LittleEndian.AppendUint32(dst, e.size)
	dst = binary.LittleEndian.AppendUint16(dst, e.class)
	return binary.LittleEndian.AppendUint16(dst, e.created)
}

// Add adds the encoded entries of decoders, in any order. A record with different entries
// must be decoded, because the landing order decides which copy of it was stored.
func (m *Memory) Add(entries []byte) {
	for b := range slices.Chunk(entries, EntrySize) {
		id := binary.LittleEndian.Uint64(b)
		e := entry{binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint32(b[16:]), binary.LittleEndian.Uint16(b[20:]), binary.LittleEndian.Uint16(b[22:])}
		if known, found := m.entries[id]; found && known != e {
			e = entry{}
		}
		m.entries[id] = e
	}
}

// CanRecall reports whether unchanged records of this stream can be skipped: every table is
// keyed by the record's key, which is one text; its rows depend only on the record's own
// JSON; and no private value can be guessed from a hash.
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

// recaller makes the entries of a decoder and skips unchanged records.
type recaller struct {
	*Memory
	// key is the quoted name of the key, with the colon.
	key []byte
	// same contains the keys of the skipped records.
	same *table
	// made contains the encoded entries since the last call of Entries. before is its length
	// when the body began.
	made   []byte
	before int
}

// classOf returns the class of a set of drift with this key.
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

// Remember makes the decoder create entries, and omit the rows of unchanged records. The keys
// of unchanged records are listed in [stream.SameTable]. [Binding.CanRecall] must be true, and
// the decoder must not contain rows.
func (d *Decoder) Remember(shared *Memory) {
	root := d.records.root
	m := &recaller{Memory: shared, key: []byte(`"` + root.layout.cols[root.keys[0]].name + `":`)}
	l := &layout{name: stream.SameTable, cols: []columnLayout{{name: "id", kind: text}, {name: stream.Seq, kind: unsigned}}}
	l.setSchema()
	m.same = newTable(l)
	d.records.memory = m
	d.rows.tables, d.records.rowsBefore = append(d.rows.tables, m.same), append(d.records.rowsBefore, 0)
}

// Entries returns the entries since the last call, for [Memory.Add] in the next night. They
// are valid until the next body is decoded.
func (d *Decoder) Entries() []byte {
	m := d.records.memory
	if m == nil {
		return nil
	}
	entries := m.made
	m.made, m.before = m.made[:0], 0
	return entries
}

// maxKeySearch limits the text in which the key is searched: most records begin with it.
const maxKeySearch = 4 << 10

// findKey finds the key of the record at the beginning of a text: the first member with its
// name, at any depth, if it is a string without escapes. This may be another member, so an
// entry is made only if the found key is right.
func (m *recaller) findKey(text []byte) ([]byte, bool) {
	text = text[:min(len(text), maxKeySearch)]
	at := bytes.Index(text, m.key)
	if at < 0 {
		return nil, false
	}
	s := scanner{buf: text, pos: at + len(m.key)}
	if s.peek() != '"' {
		return nil, false
	}
	start := s.pos + 1
	f, err := s.text()
	return text[start:max(start, s.pos-1)], err == nil && f == plain
}

// readCreated reads created_at from the text of a record, in microseconds.
func (e entry) readCreated(text []byte) (micros int64, ok bool) {
	s := scanner{buf: text, pos: int(e.created)}
	if e.created == 0 || s.peek() != '"' {
		return 0, false
	}
	start := s.pos + 1
	if f, err := s.text(); err != nil || f != plain {
		return 0, false
	}
	micros, _, _, ok = parseInstant(text[start : s.pos-1])
	return micros, ok
}

// skipSame skips the record at the position if its text has not changed, with the same
// effect on the page as decoding it.
func (r *recordReader) skipSame() bool {
	m, rest := r.memory, r.in.buf[r.in.pos:]
	key, ok := m.findKey(rest)
	if !ok {
		return false
	}
	id := xxh3.Hash(key)
	e := m.entries[id]
	if e.size == 0 || int(e.size) > len(rest) || xxh3.HashSeed(rest[:e.size], m.seed) != e.sum {
		return false
	}
	if e.class != 0 {
		// Its drift counts as if it had been decoded.
		set, ok := r.report.byClass[e.class]
		r.report.startCounting(Place{r.in.origin.Param, r.in.origin.Page, r.in.place, r.in.seq})
		if !ok || !r.report.recount(set, id) {
			return false
		}
		e.class = r.report.classes[set]
	}
	created, dated := e.readCreated(rest[:e.size])
	r.in.pos += int(e.size)
	r.page.Records++
	r.addToPage(id, created, dated)
	m.made = e.appendTo(m.made, id)
	m.same.cols[0].data = append(m.same.cols[0].data, key...)
	m.same.cols[0].endText()
	m.same.cols[1].appendInt(int64(r.in.seq))
	m.same.rows++
	return true
}

// remember adds the entry of the last record. set is its set of drift, or -1. A record that
// must be decoded gets an entry without a text hash, because Add must see that its entries
// differ.
func (r *recordReader) remember(raw []byte, set int, rejects bool) {
	m, id := r.memory, r.root.keyHash(r.root.rows-1)
	var e entry
	var class uint16
	if set >= 0 {
		class = r.classOf(set)
	}
	if class != noClass && !rejects {
		e = r.describeRecord(raw, class)
	}
	m.made = e.appendTo(m.made, id)
	if known := m.entries[id]; class != 0 && e.size > 0 && known.sum == e.sum && known.size == e.size && known.class != 0 {
		r.report.byClass[known.class] = set
	}
}

// classOf returns the class of a set of drift in this night.
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

// describeRecord returns the entry of the last record. It is empty if skipSame would not
// find the right key or created_at.
func (r *recordReader) describeRecord(raw []byte, class uint16) entry {
	root, last := r.root, r.root.rows-1
	if key, ok := r.memory.findKey(raw); !ok || !bytes.Equal(key, root.cols[root.keys[0]].bytes(last)) {
		return entry{}
	}
	e := entry{size: uint32(len(raw)), class: class}
	at, dated := root.createdAt(last)
	if dated {
		place := root.createdPos - (r.in.pos - len(raw))
		if place <= 0 || place > min(len(raw)-1, math.MaxUint16) {
			return entry{}
		}
		e.created = uint16(place)
	}
	if created, has := e.readCreated(raw); created != at || has != dated {
		return entry{}
	}
	e.sum = xxh3.HashSeed(raw, r.memory.seed)
	return e
}
