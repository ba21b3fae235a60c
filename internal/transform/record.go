package transform

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"placementsync/internal/stream"
)

// recordReader reads records, each as a row of the first table with the rows within it, and
// collects the facts of the page.
type recordReader struct {
	in     *input
	report *reporter
	rows   *rowReader
	root   *table
	page   stream.PageFacts
	// stagedSeqs contains the seq of the staged record by key hash, while a body with copies is read again.
	stagedSeqs         map[uint64]uint64
	recaller           *recaller // nil means that all records are decoded
	previousCreated    int64     // created_at of the previous record, in microseconds
	rowsBeforeBody     []int     // of each table
	findingsBeforeBody findingsMark
}

func (r *recordReader) beginBody() {
	for i, t := range r.rows.tables {
		r.rowsBeforeBody[i] = t.rows
	}
	r.findingsBeforeBody = r.report.mark()
	if r.recaller != nil {
		r.recaller.encodedBefore = len(r.recaller.encoded)
	}
	r.resetPage()
}

func (r *recordReader) undoBody() {
	for i, t := range r.rows.tables {
		t.truncate(r.rowsBeforeBody[i])
	}
	r.report.undoTo(r.findingsBeforeBody)
	if r.recaller != nil {
		r.recaller.encoded = r.recaller.encoded[:r.recaller.encodedBefore]
	}
	r.resetPage()
}

func (r *recordReader) resetPage() {
	r.page = stream.PageFacts{IDs: r.page.IDs[:0], Total: -1, TotalPages: -1, Next: -1, IsNewestFirst: r.root.created >= 0}
}

// readRecord reads the value at the position as one record. prefix is the member name, such as draft, in
// a map of status counts, or empty.
func (r *recordReader) readRecord(prefix string) error {
	root := r.root
	r.in.startRecord(r.page.Records)
	if r.recaller != nil && r.stagedSeqs == nil && r.skipUnchanged() {
		return nil
	}
	start, mark := r.in.pos, r.report.mark()
	r.startFindings()
	r.rows.rejectedItems = 0
	reason, err := r.rows.readRow(root, 0, prefix)
	if err != nil {
		return err
	}
	r.page.Records++
	r.page.RejectedRecords += r.rows.rejectedItems
	if reason != "" {
		r.page.RejectedRecords++
		r.report.undoTo(mark)
		r.report.addReject(root, stream.Reject{Key: r.rows.rejectedKey, Parent: r.report.parentKey(root), Reason: reason}, r.in.buf[start:r.in.pos])
		return nil
	}
	if r.stagedSeqs != nil && r.dropCopy(mark, r.in.buf[start:r.in.pos]) {
		return nil
	}
	last := root.rows - 1
	created, dated := root.createdAt(last)
	r.addToPage(root.keyHash(last), created, dated)
	r.report.assignDrift(mark, root)
	if r.recaller != nil {
		r.remember(r.in.buf[start:r.in.pos], mark)
	}
	return nil
}

func (r *recordReader) startFindings() {
	r.report.startRecord(Place{r.in.origin.Param, r.in.origin.Page, r.in.recordNumber, r.in.seq})
}

// addToPage adds a record to the facts of the page. created is in microseconds.
func (r *recordReader) addToPage(id uint64, created int64, dated bool) {
	r.page.IDs = append(r.page.IDs, id)
	first := len(r.page.IDs) == 1
	r.page.Last = time.Time{}
	if !dated {
		r.page.IsNewestFirst = false
		return
	}
	r.page.Last = time.UnixMicro(created).UTC()
	switch {
	case first:
		r.page.First = r.page.Last
	case created > r.previousCreated:
		r.page.IsNewestFirst = false
	case created < r.previousCreated:
		r.page.Falls++
	}
	r.previousCreated = created
}

type rowReader struct {
	in      *input
	report  *reporter
	values  *valueReader
	binding *Binding
	tables  []*table
	// innerLists are the lists of the rows that are being read. Those of the current row are at the end.
	innerLists   []innerList
	knownMembers int // number of members that are known fields
	// rejectedKey is the key of the latest rejected row. rejectedItems counts the rejected items of the
	// record, without items that are keyed only by their position and the enclosing row.
	rejectedKey   string
	rejectedItems int
}

// innerList is a list with rows of a child table. It is read after all other members of its row, because its
// rows inherit the key of the row.
type innerList struct {
	child, pos, depth int
	privatePath       string
}

// readRow reads the value at the position as a row of a table: a record, or the item of a
// list in the enclosing row. itemNumber is the number of the item in the list, from 1. If the row is rejected,
// readRow returns the reason. The position is then after the value, too.
func (r *rowReader) readRow(t *table, itemNumber int, prefix string) (reason string, err error) {
	outerBase, outerPath := r.in.base, len(r.in.path)
	earlierExtras, earlierLists, earlierRejects := len(r.report.extras), len(r.innerLists), len(r.report.rejects)
	r.in.base = outerPath
	t.beginRow()
	for _, p := range t.parents {
		if !p.mayBeInJSON {
			t.cols[p.col].copyFrom(&t.up.cols[p.from], t.up.rows)
		}
	}
	if t.position >= 0 {
		t.cols[t.position].appendInt(int64(itemNumber))
	}
	switch c := r.in.peek(); {
	case c == '{':
		err = r.readObject(t, t.rowNode)
	case t.value < 0 || c == '[' || c == 't' || c == 'f' || c == 'n':
		reason = "expected an object"
		_, err = r.in.skip()
	default:
		var raw []byte
		var f form
		if raw, f, err = r.in.scalar(); err == nil {
			r.values.readValue(t, t.value, t.cols[t.value].name, raw, f)
		}
	}
	if err == nil && reason == "" {
		if reason, err = r.completeRow(t, prefix, earlierLists, earlierExtras); err == nil && reason == "" && len(r.report.rejects) > earlierRejects {
			r.report.completeRejects(t, earlierRejects)
		}
	}
	if err != nil || reason != "" {
		r.rejectedKey = r.currentKey(t)
		t.undoRow()
	}
	r.in.path, r.in.base, r.innerLists = r.in.path[:outerPath], outerBase, r.innerLists[:earlierLists]
	r.report.extras = r.report.extras[:earlierExtras]
	return reason, err
}

// completeRow checks the current row and adds missing keys, the rows of its lists, extra and the system
// columns. earlierLists and earlierExtras are the numbers of lists and extras of enclosing rows.
func (r *rowReader) completeRow(t *table, prefix string, earlierLists, earlierExtras int) (reason string, err error) {
	if t.up == nil {
		if reason, err = r.checkRecord(t); err != nil || reason != "" {
			return reason, err
		}
	}
	if t.prefix >= 0 {
		// In a map of status counts, the name of a member is the prefix. The prefix, which is
		// stable (spec 3), is also the id of a status count without an id.
		t.fillEmpty(t.prefix, prefix)
		if t.statusID >= 0 && t.isFilled(t.prefix) {
			t.fillEmpty(t.statusID, string(t.cols[t.prefix].bytes(t.rows)))
		}
	}
	r.fillFromParent(t)
	for _, k := range t.ownKeys {
		c := &t.cols[k]
		switch {
		case !t.isFilled(k):
			return fmt.Sprintf("no %q, which is the key", c.name), nil
		case c.isID && !isPathSegment(c.bytes(t.rows)):
			return fmt.Sprintf("%s %q cannot be used in a URL", c.name, c.bytes(t.rows)), nil
		}
	}
	pos, depth, privatePath := r.in.pos, r.in.depth, r.in.privatePath
	for _, l := range r.innerLists[earlierLists:] {
		r.in.pos, r.in.depth, r.in.privatePath = l.pos, l.depth, l.privatePath
		if err = r.readItems(r.tables[l.child]); err != nil {
			return "", err
		}
	}
	r.in.pos, r.in.depth, r.in.privatePath = pos, depth, privatePath
	r.report.writeExtra(t, earlierExtras)
	for _, col := range t.ownRequired {
		if !t.hasValue(col) {
			return fmt.Sprintf("no %q, which is required", t.cols[col].name), nil
		}
	}
	return "", t.endRow(r.in.seq, &r.values.json)
}

// readItems reads a list. An object in place of the list is read as the only item, and an empty text or
// object as an empty list. A scalar is read as the only item if items may be scalars, and is otherwise
// rejected.
func (r *rowReader) readItems(t *table) error {
	if r.in.peek() != '[' {
		start := r.in.pos
		raw, err := r.in.skip()
		if err != nil || isEmpty(raw) {
			return err
		}
		if raw[0] != '{' && t.value < 0 {
			r.report.addPendingReject(t.up, t.localPath, "expected an object or a list of objects", raw)
			return nil
		}
		r.in.pos = start
		return r.readItem(t, 1)
	}
	return r.in.each(']', func(number int) error { return r.readItem(t, number) })
}

func (r *rowReader) readItem(t *table, number int) error {
	if r.in.peek() == 'n' {
		return r.in.literal("null")
	}
	start, mark := r.in.pos, r.report.mark()
	reason, err := r.readRow(t, number, "")
	if err != nil || reason == "" {
		return err
	}
	r.report.undoTo(mark)
	if len(t.ownKeys) > 0 {
		r.rejectedItems++
	}
	r.report.addReject(t, stream.Reject{Key: r.rejectedKey, Parent: t.up.keyText(t.up.rows), Reason: reason}, r.in.buf[start:r.in.pos])
	return nil
}

func appendQuoted(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}
