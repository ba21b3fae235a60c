package transform

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"placementsync/internal/stream"
)

// errAgain requests that the record be read again, carefully.
var errAgain = errors.New("read the record again")

// recordReader reads records, each as a row of the first table with the rows within it, and
// collects the facts of the page.
type recordReader struct {
	in     *input
	report *reporter
	rows   *rowReader
	root   *table
	page   stream.PageFacts
	copies copies
	// recaller makes entries and skips unchanged records. Nil means that all records are decoded.
	recaller *recaller
	// previousCreated is the created_at of the previous record, in microseconds.
	previousCreated int64
	// rowsBeforeBody contains the number of rows of each table when the body began.
	rowsBeforeBody     []int
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

// undoBody removes the rows and findings of the current body.
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

// readRecord reads the value at the position as one record. prefix is the name of the value in a map
// of status counts, or empty.
func (r *recordReader) readRecord(prefix []byte) error {
	root := r.root
	r.in.startRecord(r.page.Records)
	if r.recaller != nil && r.copies.best == nil && r.skipUnchanged() {
		return nil
	}
	start, depth, mark := r.in.pos, r.in.depth, r.report.mark()
	r.startCounting()
	r.rows.rejectedItems = 0
	reason, err := r.rows.readRow(root, 0, prefix)
	if err == errAgain {
		r.report.undoTo(mark)
		r.rows.rejectedItems = 0
		r.in.pos, r.in.depth, r.in.careful = start, depth, true
		reason, err = r.rows.readRow(root, 0, prefix)
		r.in.careful = false
	}
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
	if r.copies.best != nil && r.countOrDropCopy(mark, r.in.buf[start:r.in.pos]) {
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

// startCounting starts to count the drift of the record at the position.
func (r *recordReader) startCounting() {
	r.report.startCounting(Place{r.in.origin.Param, r.in.origin.Page, r.in.recordNumber, r.in.seq})
}

// addToPage adds a record to the facts of the page. id is the hash of its key, and created is its
// created_at in microseconds.
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

// rowReader reads objects and lists into rows.
type rowReader struct {
	in      *input
	report  *reporter
	values  *valueReader
	binding *Binding
	tables  []*table
	// likelyNext contains, by the id of a field or node, the field that came next in an earlier
	// record. Since records are alike, nearly all names are predicted.
	likelyNext []*field
	delayed    []delayedList
	hash       hasher
	// rejectedKey is the key of the latest rejected row. rejectedItems counts the rejected items of the
	// record, without items that are keyed only by their position and the enclosing row.
	rejectedKey   string
	rejectedItems int
}

// delayedList is a list that occurred before the key that its rows inherit.
type delayedList struct {
	child, pos, depth int
}

// readRow reads the value at the position as a row of a table: a record, or the item of a
// list in the enclosing row. itemNumber is the number of the item in the list, from 1. If the row is rejected,
// readRow returns the reason. The position is then after the value, too.
func (r *rowReader) readRow(t *table, itemNumber int, prefix []byte) (reason string, err error) {
	outerBase, outerPath := r.in.base, len(r.in.path)
	earlierExtras, earlierDelayed, earlierRejects := len(r.report.extras), len(r.delayed), len(r.report.rejects)
	r.in.base = outerPath
	t.beginRow()
	for _, p := range t.parents {
		if !p.mayNameParent {
			t.cols[p.col].copyFrom(&t.up.cols[p.from], t.up.rows)
		}
	}
	if t.position >= 0 {
		t.cols[t.position].appendInt(int64(itemNumber))
	}
	switch c := r.in.peek(); {
	case c == '{':
		err = r.readObject(t, t.root)
	case t.value < 0 || c == '[' || c == 't' || c == 'f' || c == 'n':
		reason = "expected an object"
		_, err = r.in.skip()
	default:
		err = r.values.readValue(t, t.value, t.layout.cols[t.value].name)
	}
	if err == nil && reason == "" {
		if reason, err = r.completeRow(t, prefix, earlierDelayed, earlierExtras); err == nil && reason == "" && len(r.report.rejects) > earlierRejects {
			r.report.completeRejects(t, earlierRejects)
		}
	}
	if err != nil || reason != "" {
		r.rejectedKey = r.currentKey(t)
		t.undoRow()
	}
	r.in.path, r.in.base, r.delayed = r.in.path[:outerPath], outerBase, r.delayed[:earlierDelayed]
	r.report.extras = r.report.extras[:earlierExtras]
	return reason, err
}

// completeRow checks the current row and adds missing keys, delayed lists, extra and the system columns.
// earlierDelayed and earlierExtras are the numbers of delayed lists and extras of enclosing rows.
func (r *rowReader) completeRow(t *table, prefix []byte, earlierDelayed, earlierExtras int) (reason string, err error) {
	if t.up == nil {
		if reason, err = r.checkRecord(t); err != nil || reason != "" {
			return reason, err
		}
	}
	if t.prefix >= 0 {
		// In a map of status counts, the name of a member is the prefix. The prefix, which is
		// stable (spec 3), is also the id of a status count without an id.
		t.fillEmpty(t.prefix, string(prefix))
		if t.statusID >= 0 && t.isFilled(t.prefix) {
			t.fillEmpty(t.statusID, string(t.cols[t.prefix].bytes(t.rows)))
		}
	}
	r.fillParents(t)
	if len(t.keySources) > 0 && !t.isFilled(t.keys[0]) {
		if err = r.takeKeyFromParent(t); err != nil {
			return "", err
		}
	}
	if reason = t.keyProblem(); reason != "" {
		return reason, nil
	}
	pos, depth := r.in.pos, r.in.depth
	for _, l := range r.delayed[earlierDelayed:] {
		r.in.pos, r.in.depth = l.pos, l.depth
		if err = r.readItems(r.tables[l.child]); err != nil {
			return "", err
		}
	}
	r.in.pos, r.in.depth = pos, depth
	if len(r.report.extras) > earlierExtras {
		if err = r.report.writeExtra(t, earlierExtras); err != nil {
			return "", err
		}
	}
	for _, col := range t.ownRequired {
		if !t.hasValue(col) {
			return fmt.Sprintf("no %q, which is required", t.layout.cols[col].name), nil
		}
	}
	return "", t.endRow(r.in.seq, &r.hash)
}

// readChildren reads a list of rows of a child table. It delays the list if a key that the rows inherit
// is still missing.
func (r *rowReader) readChildren(t *table, f *field) error {
	if t.canKeyChildren() {
		return r.readItems(r.tables[f.child])
	}
	r.delayed = append(r.delayed, delayedList{f.child, r.in.pos, r.in.depth})
	_, err := r.in.skip()
	return err
}

// readItems reads a list. An object in place of the list is read as the only item, and an empty text or
// object as an empty list. A scalar is read as the only item if items may be scalars, and is otherwise
// rejected.
func (r *rowReader) readItems(t *table) error {
	if r.in.peek() != '[' {
		if r.in.atEmpty() {
			_, err := r.in.skip()
			return err
		}
		if c := r.in.peek(); c != '{' && t.value < 0 {
			raw, err := r.in.skip()
			r.report.addPendingReject(t.up, t.localPath, "expected an object or a list of objects", raw)
			return err
		}
		return r.readItem(t, 1)
	}
	if err := r.in.open(); err != nil {
		return err
	}
	for number := 1; ; number++ {
		more, err := r.in.next(']', number == 1)
		if !more || err != nil {
			return err
		}
		if err := r.readItem(t, number); err != nil {
			return err
		}
	}
}

func (r *rowReader) readItem(t *table, number int) error {
	if r.in.peek() == 'n' {
		return r.in.literal("null")
	}
	start, mark := r.in.pos, r.report.mark()
	reason, err := r.readRow(t, number, nil)
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

// readObject reads the object at the position into the current row.
func (r *rowReader) readObject(t *table, n *node) error {
	if r.in.careful {
		return r.readCarefully(t, n)
	}
	s, previous := &r.in.scanner, n.id
	if err := s.open(); err != nil {
		return err
	}
	for first := true; ; first = false {
		if first || !s.skipComma() {
			if more, err := s.next('}', first); !more || err != nil {
				return err
			}
		}
		if f := r.likelyNext[previous]; f != nil && s.matchName(f) {
			previous = f.id
			if err := r.readMember(t, f); err != nil {
				return err
			}
			continue
		}
		name, form, err := s.name()
		if err != nil {
			return err
		}
		name = unquoteName(name, form)
		if f := n.fields[string(name)]; f != nil {
			r.likelyNext[previous] = f
			previous = f.id
			err = r.readMember(t, f)
		} else {
			err = r.readUnknown(t, name)
		}
		if err != nil {
			return err
		}
	}
}

// unquoteName returns a name without quotes and escapes.
func unquoteName(quoted []byte, f form) []byte {
	if f == plain {
		return quoted[1 : len(quoted)-1]
	}
	name, _ := appendUnquoted(nil, quoted, f)
	return name
}

// readMember reads the value of a known field.
func (r *rowReader) readMember(t *table, f *field) error {
	if t.markSeen(f) && !r.in.careful {
		return errAgain
	}
	c := r.in.peek()
	switch {
	case c == '"' && f.takesText && !f.dropped:
		return r.values.readText(t, f.col, f.name)
	case f.dropped && (c != '{' || f.group == nil):
		_, err := r.in.skip()
		return err
	case f.union != nil:
		return r.values.readUnion(t, f)
	case c == 'n':
		return r.in.literal("null")
	case f.child >= 0:
		return r.readChildren(t, f)
	case f.col >= 0 && t.cols[f.col].kind == document:
		return r.values.readDocument(t, f)
	case c == '{' && f.group != nil && (f.col < 0 || t.layout.cols[f.col].freeForm):
		return r.readGroup(t, f)
	case c == '{' && f.group != nil:
		return r.readTextObject(t, f)
	case f.col >= 0 && c != '[' && c != '{':
		return r.values.readValue(t, f.col, f.name)
	case f.col >= 0:
		raw, err := r.in.skip()
		r.report.rejectValue(t, f.name, raw, "expected a single value, found a list or object")
		return err
	}
	return r.readMisfit(t, f)
}

// readTextObject reads an object in place of a scalar. The object is accepted if one of its fields
// has a column, for example the name, or if no value is lost, as in an empty object. Any other object
// is rejected.
func (r *rowReader) readTextObject(t *table, f *field) error {
	start, mark, earlierExtras, seen := r.in.pos, r.report.mark(), len(r.report.extras), slices.Clone(t.seenFields)
	lost := t.link && !r.in.atEmpty()
	if err := r.readGroup(t, f); err != nil {
		return err
	}
	lost = lost || len(r.report.extras) != earlierExtras || r.report.mark() != mark
	if !lost || !slices.Equal(seen, t.seenFields) {
		return nil
	}
	r.report.undoTo(mark)
	r.report.extras = r.report.extras[:earlierExtras]
	r.report.rejectValue(t, f.name, r.in.buf[start:r.in.pos], "expected a single value, found an object")
	return nil
}

// readGroup reads an object whose fields are columns with a common prefix. An object in
// place of a private text is private too.
func (r *rowReader) readGroup(t *table, f *field) error {
	outer := r.in.privatePath
	if f.col >= 0 && t.layout.cols[f.col].isPrivate() {
		r.in.privatePath = string(r.report.dottedPath(f.name))
	}
	r.in.path = append(r.in.path, f.name)
	err := r.readObject(t, f.group)
	r.in.path, r.in.privatePath = r.in.path[:len(r.in.path)-1], outer
	return err
}

// readMisfit reads a value that does not fit its field, such as a scalar in place of an object. An empty
// value is ignored. A scalar is read as the name of the object, if the name has a column. Any other value
// is kept as an unknown field.
func (r *rowReader) readMisfit(t *table, f *field) error {
	if r.in.atEmpty() {
		_, err := r.in.skip()
		return err
	}
	c := r.in.peek()
	if f.group != nil && c != '[' && c != '{' {
		if name := f.group.fields["name"]; name != nil && name.col >= 0 && t.cols[name.col].kind == text {
			return r.values.readValue(t, name.col, f.name)
		}
	}
	if f.private {
		r.report.countPrivate(t, UnknownField, r.report.dottedPath(f.name))
		_, err := r.in.skip()
		return err
	}
	return r.readUnknown(t, []byte(f.name))
}

// readUnknown reads a value without a column.
func (r *rowReader) readUnknown(t *table, name []byte) error {
	raw, err := r.in.skip()
	if err != nil {
		return err
	}
	r.report.keepExtra(t, UnknownField, string(name), raw)
	return nil
}

// appendQuoted appends a text as a JSON string.
func appendQuoted(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}
