package transform

import (
	"errors"
	"fmt"

	"placementsync/internal/stream"

	"github.com/zeebo/xxh3"
)

// Decoder decodes the bodies of one stream, one after the other, into rows
// that it holds until Flush. It is for one goroutine.
type Decoder struct {
	binding *Binding
	scan    scanner
	tables  []*table
	// after is, by the id of a field or node, the field that followed it last:
	// records are alike, so that a name is nearly always guessed.
	after    []*field
	findings findings
	hash     hasher
	// knownRecords are records that are left out; nil: none.
	knownRecords *Known
	json         shaper
	// path names the objects between the open row, which begins at base, and
	// the position.
	path   []string
	base   int
	extras extras
	// secrets are those of the binding, with room of their own.
	secrets secrets
	copies  copies
	delayed []delayedList
	// secret is the dotted path of the private field that the position lies
	// in; empty: none.
	secret string
	// careful reads the members of every object in an order that settles what
	// a single pass in document order cannot.
	careful   bool
	scratch   []byte
	unionText []byte
	label     []byte

	origin Origin
	page   stream.Page
	seq    uint64
	// place is that of the record in the body, from 1.
	place int
	// refused is the key of the row that was refused last.
	refused string
	// created is the created_at of the last record.
	created int64
	outside []outside
	sight   sight
	// rows and marks are where the body began.
	rows  []int
	began findingsMark
}

// NewDecoder returns a decoder without rows.
func (b *Binding) NewDecoder() *Decoder {
	d := &Decoder{
		binding: b, after: make([]*field, len(b.fields)),
		findings: newFindings(), rows: make([]int, len(b.tables)),
		secrets: secrets{names: b.secrets.names},
	}
	for _, l := range b.tables {
		d.tables = append(d.tables, newTable(l))
	}
	return d
}

// Decode reads one body and appends its rows. After an error, ErrMalformed or
// ErrFull, neither rows nor findings of the body are kept. The body is not
// referred to after the return.
func (d *Decoder) Decode(body []byte, o Origin) (stream.Page, error) {
	d.beginBody(body, o)
	err := d.readBody()
	if err == nil && len(d.page.IDs) > 1 {
		err = d.settleCopies(body, o)
	}
	if err == nil {
		if d.scan.peek(); d.scan.pos < len(body) {
			err = d.scan.syntaxErr("want the end of the body")
		}
	}
	d.scan.buf = nil
	if err != nil {
		d.undoBody()
		if errors.Is(err, ErrFull) && d.Rows() == 0 {
			err = fmt.Errorf("%w: one column's text is beyond what a batch holds", ErrMalformed)
		}
		return stream.Page{}, fmt.Errorf("decode %s: %w", d.binding.name, err)
	}
	if fresh := d.findings.rejects[d.began.rejects:]; len(fresh) > 0 {
		answer := xxh3.HashString(d.origin.Param) + d.page.Fingerprint()
		for i := range fresh {
			fresh[i].Answer = answer
		}
	}
	d.findings.commit()
	d.page.Falling = d.page.Falling && len(d.page.IDs) > 0
	return d.page, nil
}

func (d *Decoder) beginBody(body []byte, o Origin) {
	d.scan = scanner{buf: body}
	d.origin, d.outside = o, d.outside[:0]
	d.path, d.base, d.delayed, d.secret = d.path[:0], 0, d.delayed[:0], ""
	d.extras.truncate(extrasMark{})
	for i, t := range d.tables {
		d.rows[i] = t.rows
	}
	d.began = d.findings.mark()
	d.resetPage()
}

func (d *Decoder) resetPage() {
	d.page = stream.Page{IDs: d.page.IDs[:0], Total: -1, TotalPages: -1, Next: -1, Falling: d.tables[0].created >= 0}
}

// undoBody drops what the body has brought so far.
func (d *Decoder) undoBody() {
	for i, t := range d.tables {
		t.truncate(d.rows[i])
	}
	d.findings.undoTo(d.began)
	d.resetPage()
}

// Rows is the row count of the largest table, to decide when to flush.
func (d *Decoder) Rows() int {
	n := 0
	for _, t := range d.tables {
		n = max(n, t.rows)
	}
	return n
}

// Flush returns the rows of all tables that have some, and forgets them.
func (d *Decoder) Flush() []Batch {
	var batches []Batch
	for _, t := range d.tables {
		if t.rows > 0 {
			batches = append(batches, t.toBatch())
		}
	}
	return batches
}

// Findings returns rejects and drift since it was last asked.
func (d *Decoder) Findings() Findings { return d.findings.takeAll() }
