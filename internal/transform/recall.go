package transform

import (
	"bytes"
	"encoding/binary"
	"math"

	"placementsync/internal/stream"

	"github.com/zeebo/xxh3"
)

// Memory contains the entries of the previous night: hashes of the records' bytes. Records that match their
// entries are skipped. The decoders of a stream share it.
type Memory struct {
	seed    uint64
	entries map[uint64]entry // by ID
}

// entry describes one record. It is encoded in little-endian order, without padding.
type entry struct {
	ID      uint64 // hash of the record's key
	Sum     uint64 // hash of the record's text
	Created int64  // created_at in microseconds, or undated
	Drift   uint64 // hash of the set of drift of the record
	Size    uint32 // length of the text; 0 means that the record must be decoded
}

const undated = math.MinInt64

// EntrySize is the size of an encoded entry in bytes.
const EntrySize = 36

// NewMemory returns a Memory with the encoded entries of decoders, in any order. A record with
// different entries must be decoded, because the landing order decides which copy of it was
// stored. The seed must change whenever the same text may be decoded differently.
func NewMemory(seed uint64, entries []byte) *Memory {
	m := &Memory{seed, map[uint64]entry{}}
	for ; len(entries) >= EntrySize; entries = entries[EntrySize:] {
		word := func(i int) uint64 { return binary.LittleEndian.Uint64(entries[8*i:]) }
		e := entry{word(0), word(1), int64(word(2)), word(3), binary.LittleEndian.Uint32(entries[32:])}
		if known, found := m.entries[e.ID]; found && known != e {
			e = entry{ID: e.ID}
		}
		m.entries[e.ID] = e
	}
	return m
}

// CanRecall reports whether unchanged records of this stream can be recalled: they are skipped, and
// their stored rows are used. The conditions are that every table is keyed by the record's key, which
// is one text, that all rows depend only on the record's own JSON, and that no private value can be
// guessed from a hash.
func (b *Binding) CanRecall() bool {
	root := b.tables[0]
	if b.guessable || b.stream.Envelope == stream.StatusCounts || b.stream.Envelope == stream.Object || root.param >= 0 || len(root.keys) != 1 || root.cols[root.keys[0]].kind != text {
		return false
	}
	for _, t := range b.tables[1:] {
		if t.enclosing != 0 || len(t.parents) != 1 || t.keys[0] != t.parents[0].col || t.name == root.name {
			return false
		}
	}
	return true
}

type recaller struct {
	*Memory
	key       []byte // quoted name of the key, with the colon
	unchanged *table // keys of the skipped records
	// encoded contains the encoded entries since the last call of Entries. encodedBefore is the
	// length of encoded when the body began.
	encoded       []byte
	encodedBefore int
}

// Remember makes the decoder create entries, and omit the rows of unchanged records. The keys
// of unchanged records are listed in [stream.UnchangedTable]. [Binding.CanRecall] must be true, and
// the decoder must not contain rows.
func (d *Decoder) Remember(shared *Memory) {
	root := d.records.root
	m := &recaller{Memory: shared, key: []byte(`"` + root.cols[root.keys[0]].name + `":`)}
	l := &layout{name: stream.UnchangedTable, cols: []columnLayout{{name: "id", kind: text}, {name: stream.Seq, kind: unsigned}}}
	l.setSchema()
	m.unchanged = newTable(l)
	d.records.recaller = m
	d.rows.tables, d.records.rowsBeforeBody = append(d.rows.tables, m.unchanged), append(d.records.rowsBeforeBody, 0)
}

// Entries returns the entries since the last call, for [NewMemory] in the next night. The returned
// bytes are valid until the next body is decoded.
func (d *Decoder) Entries() []byte {
	m := d.records.recaller
	if m == nil {
		return nil
	}
	entries := m.encoded
	m.encoded, m.encodedBefore = m.encoded[:0], 0
	return entries
}

// maxKeySearch limits the text in which the key is searched: most records begin with the key.
const maxKeySearch = 4 << 10

// findKey finds the key of the record at the beginning of a text: the first member with the name of
// the key column, at any depth, if its value is a plain string. The member may belong to a nested
// object, so remember compares its value with the key.
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

// skipUnchanged skips the record at the position and returns true, if the text of the record has not
// changed and its drift can be counted without decoding. The facts of the page and the drift are the same
// as after decoding the record.
func (r *recordReader) skipUnchanged() bool {
	m, rest := r.recaller, r.in.buf[r.in.pos:]
	key, ok := m.findKey(rest)
	if !ok {
		return false
	}
	id := xxh3.Hash(key)
	e := m.entries[id]
	if e.Size == 0 || int(e.Size) > len(rest) || xxh3.HashSeed(rest[:e.Size], m.seed) != e.Sum {
		return false
	}
	r.startFindings()
	if !r.report.countSet(e.Drift, id) {
		return false
	}
	r.in.pos += int(e.Size)
	r.page.Records++
	r.addToPage(id, e.Created, e.Created != undated)
	m.add(e)
	m.unchanged.cols[0].data = append(m.unchanged.cols[0].data, key...)
	m.unchanged.cols[0].endText()
	m.unchanged.cols[1].appendInt(int64(r.in.seq))
	m.unchanged.rows++
	return true
}

// remember adds the entry of the record that was just read, with the findings since a mark. The entry is
// empty if the record has rejects, which each night must report, if its drift cannot be counted by its
// hash, or if skipUnchanged would not find the right key. An empty entry is needed because NewMemory must see
// that the entries of a record differ.
func (r *recordReader) remember(raw []byte, since findingsMark) {
	m, root, last := r.recaller, r.root, r.root.rows-1
	drift, countable := r.report.addSet(since)
	e := entry{ID: root.keyHash(last)}
	if key, ok := m.findKey(raw); ok && countable && len(r.report.rejects) == since.rejects && bytes.Equal(key, root.cols[root.keys[0]].bytes(last)) {
		e.Sum, e.Size, e.Created, e.Drift = xxh3.HashSeed(raw, m.seed), uint32(len(raw)), undated, drift
		if at, dated := root.createdAt(last); dated {
			e.Created = at
		}
	}
	m.add(e)
}

func (m *recaller) add(e entry) {
	for _, word := range [...]uint64{e.ID, e.Sum, uint64(e.Created), e.Drift} {
		m.encoded = binary.LittleEndian.AppendUint64(m.encoded, word)
	}
	m.encoded = binary.LittleEndian.AppendUint32(m.encoded, e.Size)
}
