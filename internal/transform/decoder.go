package transform

import (
	"errors"
	"fmt"
	"slices"

	"github.com/zeebo/xxh3"

	"placementsync/internal/stream"
)

// Decoder decodes the bodies of one stream into rows, which it keeps until Flush. It must
// be used by one goroutine at a time.
//
// Its parts call one another in one direction: the body reader finds the records, the record reader
// reads each record into a row of the first table and the rows within this row, the row reader reads
// objects and lists, and the value reader sets columns. All of them report findings.
type Decoder struct {
	binding *Binding
	in      input
	report  reporter
	values  valueReader
	rows    rowReader
	records recordReader
	body    bodyReader
}

// NewDecoder returns an empty decoder.
func (b *Binding) NewDecoder() *Decoder {
	d := &Decoder{binding: b}
	var tables []*table
	for _, l := range b.tables {
		t := newTable(l)
		if l.enclosing >= 0 {
			t.up = tables[l.enclosing]
		}
		for up := t.up; up != nil; up = up.up {
			up.inner, up.innerRowsBefore = append(up.inner, t), append(up.innerRowsBefore, 0)
		}
		tables = append(tables, t)
	}
	d.report = reporter{findings: newFindings(), in: &d.in, binding: b}
	d.values = valueReader{report: &d.report}
	d.rows = rowReader{in: &d.in, report: &d.report, values: &d.values, binding: b, tables: tables}
	d.records = recordReader{in: &d.in, report: &d.report, rows: &d.rows, root: tables[0], rowsBeforeBody: make([]int, len(tables))}
	d.body = bodyReader{in: &d.in, report: &d.report, records: &d.records, binding: b, root: tables[0]}
	return d
}

// Decode decodes one body and appends its rows. It fails with ErrMalformed or ErrFull, and then keeps
// neither rows nor findings of the body. The body may be overwritten afterwards. The IDs of the returned
// facts are valid until the next call.
func (d *Decoder) Decode(body []byte, o Origin) (stream.PageFacts, error) {
	if err := d.readToEnd(body, o); err != nil {
		d.records.undoBody()
		if errors.Is(err, ErrFull) && d.Rows() == 0 {
			err = fmt.Errorf("%w: the text of one column exceeds the size of a batch", ErrMalformed)
		}
		return stream.PageFacts{}, fmt.Errorf("decode %s: %w", d.binding.stream.Name, err)
	}
	if bodyRejects := d.report.rejects[d.records.findingsBeforeBody.rejects:]; len(bodyRejects) > 0 {
		// Repeated responses have the same hash, see [stream.Reject].
		responseHash := xxh3.HashString(d.in.origin.Param) + d.records.page.KeySum()
		for i := range bodyRejects {
			bodyRejects[i].ResponseHash = responseHash
		}
		d.records.page.Rejects = len(bodyRejects)
	}
	d.report.commit()
	if d.records.stored != nil {
		d.records.stored.AddCopies(d.records.copies)
	}
	d.records.page.IsNewestFirst = d.records.page.IsNewestFirst && len(d.records.page.IDs) > 0
	return d.records.page, nil
}

func (d *Decoder) readToEnd(body []byte, o Origin) error {
	d.beginBody(body, o)
	if err := d.body.readBody(); err != nil {
		return err
	}
	if err := d.resolveCopies(body, o); err != nil {
		return err
	}
	d.in.peek() // skips white space
	if d.in.pos < len(body) {
		return d.in.syntaxErr("expected the end of the body")
	}
	return nil
}

func (d *Decoder) beginBody(body []byte, o Origin) {
	if d.values.idCase != nil {
		o.Param = d.values.idCase.Unify(o.Param)
	}
	d.in = input{scanner: scanner{buf: body}, origin: o, path: d.in.path[:0], values: d.in.values[:0], seen: d.in.seen[:0]}
	d.records.beginBody()
	d.body.members = d.body.members[:0]
}

// Of several records with the same key in one body, the record with the most values is staged. If several of
// them have the most values, the last of these is staged. The choice is known only after the whole body was read,
// but only the last row of a table can be removed. So a body with copies, which is rare, is read again.

func (d *Decoder) resolveCopies(body []byte, o Origin) error {
	r := &d.records
	ids := slices.Clone(r.page.IDs)
	slices.Sort(ids)
	if len(slices.Compact(ids)) == len(r.page.IDs) {
		return nil
	}
	r.stagedSeqs = map[uint64]uint64{}
	defer func() { r.stagedSeqs = nil }()
	if r.stored != nil { // the choice needs the rows of unchanged records too
		if err := d.readAgain(body, o); err != nil {
			return err
		}
	}
	r.chooseCopies()
	return d.readAgain(body, o)
}

func (d *Decoder) readAgain(body []byte, o Origin) error {
	d.records.undoBody()
	d.beginBody(body, o)
	return d.body.readBody()
}

// chooseCopies fills stagedSeqs from the rows of the body. All rows of a record have the same seq.
func (r *recordReader) chooseCopies() {
	values := map[uint64]int{} // number of values by seq
	for i, t := range r.rows.tables {
		for row := r.rowsBeforeBody[i]; row < t.rows; row++ {
			for n := range t.cols {
				if !t.cols[n].isNull(row) {
					values[t.seq(row)]++
				}
			}
		}
	}
	for row := r.rowsBeforeBody[0]; row < r.root.rows; row++ {
		id, seq := r.root.keyHash(row), r.root.seq(row)
		if best, found := r.stagedSeqs[id]; !found || values[seq] >= values[best] {
			r.stagedSeqs[id] = seq
		}
	}
}

// dropCopy removes the last record if another copy of it is staged. It reports whether it removed the record.
// The parameter since is the mark before the record's findings.
func (r *recordReader) dropCopy(since findingsMark, raw []byte) bool {
	root, last := r.root, r.root.rows-1
	if staged, chosen := r.stagedSeqs[root.keyHash(last)]; !chosen || staged == r.in.seq {
		return false
	}
	raw = r.report.redactRaw(root, "", raw)
	r.report.count(root.name, Duplicate, []byte("$record"), raw)
	r.report.assignDrift(since, root)
	r.page.Copies++
	root.rows--
	root.undoRow()
	return true
}

// Rows returns the number of rows of the largest table, for deciding when to flush.
func (d *Decoder) Rows() int {
	n := 0
	for _, t := range d.rows.tables {
		n = max(n, t.rows)
	}
	return n
}

// Flush returns the rows and removes them from the decoder.
func (d *Decoder) Flush() []Batch {
	var batches []Batch
	for _, t := range d.rows.tables {
		if t.rows > 0 {
			batches = append(batches, t.toBatch())
		}
	}
	return batches
}

// Findings returns the rejects and drift since the last call.
func (d *Decoder) Findings() Findings { return d.report.takeAll() }

// bodyReader finds the records of a body in any envelope (spec 4.1).
type bodyReader struct {
	in      *input
	report  *reporter
	records *recordReader
	binding *Binding
	root    *table // of the records
	members []envelopeMember
	content countsContent
}

type envelopeMember struct {
	name string
	pos  int
	raw  []byte
}

// readBody reads the whole body. If the envelope of the stream is Object or StatusCounts, the body must
// have this form. For all other streams the shape of the body decides, even if the spec shows another
// envelope (spec 4.1, 4.2). For them an empty body is a list without records.
func (b *bodyReader) readBody() error {
	envelope, c := b.binding.stream.Envelope, b.in.peek()
	isEmpty := len(b.in.buf) == 0
	switch {
	case isEmpty && envelope != stream.Object && envelope != stream.StatusCounts:
		return nil
	case envelope == stream.Object && c != '{':
		return b.in.syntaxErr("expected an object")
	case envelope == stream.Object:
		return b.records.readRecord("")
	case envelope == stream.StatusCounts && (c == '{' || c == '['):
		return b.readCounts()
	case c == '[':
		return b.readList()
	case c == '{':
		return b.readEnvelope()
	}
	return b.in.syntaxErr("expected an object or a list")
}

func (b *bodyReader) readList() error {
	return b.in.each(']', func(int) error { return b.records.readRecord("") })
}

// readEnvelope reads an object that contains the list of records or is the only record.
func (b *bodyReader) readEnvelope() error {
	start := b.in.pos
	listFound := false
	if err := b.in.open(); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := b.in.next('}', first)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		quoted, f, err := b.in.name()
		if err != nil {
			return err
		}
		name := string(unquote(quoted, f))
		if c := b.in.peek(); name == b.binding.list && c == '[' {
			if listFound { // The list occurs twice: the last one is used.
				before, page := b.records.page, &b.records.page
				b.records.undoBody()
				page.Total, page.TotalPages, page.Next, page.Paginated = before.Total, before.TotalPages, before.Next, before.Paginated
				b.countEnvelopeDrift(DuplicateField, "."+name, nil)
			}
			listFound = true
			if err := b.readList(); err != nil {
				return err
			}
			continue
		}
		pos := b.in.pos
		raw, err := b.in.skip()
		switch {
		case err != nil:
			return err
		case name == b.binding.list:
			return fmt.Errorf("%w: the member %q is not a list", ErrMalformed, name)
		case isError(name, raw):
			return fmt.Errorf("%w: the member %q reports an error", ErrMalformed, name)
		case slices.Contains(paginationMembers, name):
			b.readPagination(name, raw)
		default:
			b.members = append(b.members, envelopeMember{name, pos, raw})
		}
	}
	if !listFound {
		return b.sniffRecords(start)
	}
	b.reportMembers("")
	return nil
}

func isError(name string, raw []byte) bool {
	if name != "error" && name != "errors" {
		return false
	}
	return !slices.Contains([]string{"null", "false", "0"}, string(raw)) && !isEmpty(raw)
}

var paginationMembers = []string{"total_records", "total_pages", "current_page", "next_page", "previous_page"}

// readPagination reads one of the paginationMembers (spec 4.1), also if it is a string of digits. A value
// that is no number is ignored, but a next_page of null becomes 0.
func (b *bodyReader) readPagination(name string, raw []byte) {
	page := &b.records.page
	page.Paginated = true
	if name == "next_page" && string(raw) == "null" {
		page.Next = 0
	}
	if raw[0] == '"' {
		raw = raw[1 : len(raw)-1]
	}
	n, _, ok := parseInteger(raw)
	if !ok {
		return
	}
	switch name {
	case "total_records":
		page.Total = n
	case "total_pages":
		page.TotalPages = n
	case "next_page":
		page.Next = n
	}
}

// sniffRecords finds the records of an object without the usual list: an object with a
// key column of the table is itself the record; otherwise its only list contains the records.
func (b *bodyReader) sniffRecords(start int) error {
	t, end := b.root, b.in.pos
	listCount, list := 0, envelopeMember{}
	for _, o := range b.members {
		f := t.rowNode.fields[o.name]
		isKey := f != nil && f.col != t.param && slices.Contains(t.keys, f.col)
		if isKey { // only records have a member for the key
			b.records.undoBody() // its members are not those of an envelope
			b.in.pos = start
			return b.records.readRecord("")
		}
		if o.raw[0] == '[' && o.name != "error" && o.name != "errors" {
			listCount, list = listCount+1, o
		}
	}
	if listCount != 1 {
		var names []string
		for _, o := range b.members {
			names = append(names, fmt.Sprintf("%q", o.name))
		}
		if len(names) > 10 {
			names = append(names[:10], "...")
		}
		return fmt.Errorf("%w: the object has no list %q and is no record; its members are %s", ErrMalformed, b.binding.list, names)
	}
	b.in.pos = list.pos
	if err := b.readList(); err != nil {
		return err
	}
	b.in.pos = end
	b.reportMembers(list.name)
	return nil
}

func (b *bodyReader) reportMembers(list string) {
	for _, o := range b.members {
		if o.name != list {
			b.reportMember("."+o.name, o.raw)
		}
	}
}

// reportMember reports a member of the envelope as an unknown field. Its value may contain
// records, so the sample is withheld if records have private columns.
func (b *bodyReader) reportMember(path string, raw []byte) {
	if b.root.private {
		raw = []byte(withheldSample)
	}
	b.countEnvelopeDrift(UnknownField, path, raw)
}

// countEnvelopeDrift counts drift in the envelope. In meta.drift, repeated responses for one parameter and
// page count once.
func (b *bodyReader) countEnvelopeDrift(kind, path string, raw []byte) {
	b.report.startRecord(Place{b.in.origin.Param, b.in.origin.Page, 0, b.in.origin.Seq << seqBits})
	b.report.count(b.root.name, kind, []byte("$envelope"+path), raw)
	b.report.pending[len(b.report.pending)-1].record = xxh3.HashString(b.in.origin.Param) + stream.MixBits(uint64(b.in.origin.Page))
}
