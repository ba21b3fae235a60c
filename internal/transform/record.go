package transform

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
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
	stored             Stored              // nil if all records are staged
	copies             []stream.RecordCopy // of stored records in the body
	previousCreated    int64               // created_at of the previous record, in microseconds
	rowsBeforeBody     []int               // of each table
	findingsBeforeBody findingsMark
}

func (r *recordReader) beginBody() {
	for i, t := range r.rows.tables {
		r.rowsBeforeBody[i] = t.rows
	}
	r.findingsBeforeBody = r.report.mark()
	r.resetPage()
}

func (r *recordReader) undoBody() {
	for i, t := range r.rows.tables {
		t.truncate(r.rowsBeforeBody[i])
	}
	r.report.undoTo(r.findingsBeforeBody)
	r.resetPage()
}

func (r *recordReader) resetPage() {
	r.page = stream.PageFacts{IDs: r.page.IDs[:0], Total: -1, TotalPages: -1, Next: -1, IsNewestFirst: r.root.created >= 0}
	r.copies = r.copies[:0]
}

// readRecord reads the value at the position as one record. prefix is the member name, such as draft, in
// a map of status counts, or empty.
func (r *recordReader) readRecord(prefix string) error {
	root := r.root
	r.in.startRecord(r.page.Records)
	record, err := r.in.index(nil, "", root.rowNode, nil)
	if err != nil {
		return err
	}
	raw, mark := r.in.raw(record), r.report.mark()
	r.report.startRecord(Place{r.in.origin.Param, r.in.origin.Page, r.in.recordNumber, r.in.seq})
	r.rows.rejectedItems = 0
	reason, err := r.rows.readRow(root, record, 0, prefix)
	r.in.values = r.in.values[:record]
	if err != nil {
		return err
	}
	r.page.Records++
	r.page.RejectedRecords += r.rows.rejectedItems
	if reason != "" {
		r.page.RejectedRecords++
		r.report.undoTo(mark)
		r.report.addReject(root, stream.Reject{Key: r.rows.rejectedKey, Parent: r.report.parentKey(root), Reason: reason}, raw)
		return nil
	}
	if r.stagedSeqs != nil && r.dropCopy(mark, raw) {
		return nil
	}
	last := root.rows - 1
	created, dated := root.createdAt(last)
	r.addToPage(root.keyHash(last), created, dated)
	r.report.assignDrift(mark, root)
	if r.stored != nil {
		r.dropUnchanged()
	}
	return nil
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

// Stored contains the records of a list in the last snapshot. It may be used from many goroutines.
type Stored interface {
	// Find returns the number of a record, or -1 if it is not stored. sum is the sum of stream.RowSum over
	// the rows of a copy of the record, without their positions. isUnchanged reports whether they equal the
	// stored rows. previous is the result of the last Find, or -1. The search begins after it, because lists
	// are mostly in the order of the last night.
	Find(key []byte, sum uint64, previous int) (record int, isUnchanged bool)
	// AddCopies is called once for each decoded body.
	AddCopies(copies []stream.RecordCopy)
}

// SkipUnchanged makes the decoder omit the rows of unchanged records. The records of the stream must have one
// text as key, and all other tables of the stream must be child tables of the records.
func (d *Decoder) SkipUnchanged(stored Stored) { d.records.stored = stored }

// dropUnchanged removes the rows of the last record if they equal the stored rows. The order of the items of a
// list does not matter.
func (r *recordReader) dropUnchanged() {
	root, last := r.root, r.root.rows-1
	sum := stream.RowSum(0, root.itemHash(last))
	for i, child := range root.inner {
		for row := root.innerRowsBefore[i]; row < child.rows; row++ {
			sum += stream.RowSum(i+1, child.itemHash(row))
		}
	}
	previous := -1
	if len(r.copies) > 0 {
		previous = r.copies[len(r.copies)-1].Record
	}
	record, isUnchanged := r.stored.Find(root.cols[root.keys[0]].bytes(last), sum, previous)
	if record < 0 {
		return
	}
	if r.stagedSeqs != nil { // this body has several copies of a record, of which one is staged
		isUnchanged = false
	}
	r.copies = append(r.copies, stream.RecordCopy{Record: record, Seq: r.in.seq, IsUnchanged: isUnchanged})
	if isUnchanged {
		root.rows--
		root.undoRow()
	}
}

// itemHash returns the fingerprint of a row without its position.
func (t *table) itemHash(row int) uint64 {
	hash := t.cols[t.systemColumn()].word(row)
	if t.position >= 0 {
		hash -= stream.PositionHash(int64(t.cols[t.position].word(row)))
	}
	return hash
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
	child       *table
	list        int // in input.values
	privatePath string
	buf         []byte // contains the list: the body, or the JSON of a text
}

// readRow reads a value as a row of a table: a record, or the item of a list in the enclosing row. itemNumber
// is the number of the item in the list, from 1. If the row is rejected, readRow returns the reason.
func (r *rowReader) readRow(t *table, value, itemNumber int, prefix string) (reason string, err error) {
	earlierExtras, earlierLists, earlierRejects := len(r.report.extras), len(r.innerLists), len(r.report.rejects)
	t.beginRow()
	for _, p := range t.parents {
		if !p.mayBeInJSON {
			t.cols[p.col].copyFrom(&t.up.cols[p.from], t.up.rows)
		}
	}
	if t.position >= 0 {
		t.cols[t.position].appendInt(int64(itemNumber))
	}
	switch raw := r.in.raw(value); {
	case raw[0] == '{':
		r.readObject(t, value)
	case raw[0] == '"' && (t.value < 0 || len(raw) > 2 && raw[1] == '{'):
		reason = r.readTextRow(t, value)
	case t.value < 0 || raw[0] == '[' || raw[0] == 't' || raw[0] == 'f' || raw[0] == 'n':
		reason = "expected an object"
	default:
		r.values.readValue(t, t.value, t.cols[t.value].name, raw, r.in.values[value].form)
	}
	if reason == "" {
		reason, err = r.completeRow(t, prefix, earlierLists, earlierExtras)
	}
	if err == nil && reason == "" {
		r.report.completeRejects(t, earlierRejects)
	} else {
		r.rejectedKey = r.currentKey(t)
		t.undoRow()
	}
	r.innerLists = r.innerLists[:earlierLists]
	r.report.extras = r.report.extras[:earlierExtras]
	return reason, err
}

// completeRow checks the current row and adds missing keys, the rows of its lists, extra and the system
// columns. earlierLists and earlierExtras are the numbers of lists and extras of enclosing rows.
func (r *rowReader) completeRow(t *table, prefix string, earlierLists, earlierExtras int) (reason string, err error) {
	if t.up == nil {
		reason, err = r.checkRecord(t)
		if err != nil || reason != "" {
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
	outerPath, outerBuf := r.in.privatePath, r.in.buf
	for _, l := range r.innerLists[earlierLists:] {
		r.in.privatePath, r.in.buf = l.privatePath, l.buf
		if err = r.readItems(l.child, l.list); err != nil {
			return "", err
		}
	}
	r.in.privatePath, r.in.buf = outerPath, outerBuf
	r.report.writeExtra(t, earlierExtras)
	for _, col := range t.ownRequired {
		if !t.hasValue(col) {
			return fmt.Sprintf("no %q, which is required", t.cols[col].name), nil
		}
	}
	return "", t.endRow(r.in.seq, &r.values.json)
}

// readTextRow reads the JSON of an object in a text as a row. Any other text is the value of the row, if
// rows may be scalars. Otherwise readTextRow returns a reason to reject it.
func (r *rowReader) readTextRow(t *table, value int) (reason string) {
	raw, f := r.in.raw(value), r.in.values[value].form
	if content, ok := objectInText(raw, f); ok {
		r.report.countDrift(t, Converted, valueName(t), raw)
		r.in.insideText(content, nil, t.rowNode, nil, func(object int) { r.readObject(t, object) })
		return ""
	}
	if t.value < 0 {
		return "expected an object"
	}
	r.values.readValue(t, t.value, t.cols[t.value].name, raw, f)
	return ""
}

// valueName returns the name under which drift of a whole row is counted.
func valueName(t *table) string {
	if t.value < 0 {
		return "$record"
	}
	return t.cols[t.value].name
}

// readItems reads a list. An object in place of the list is read as the only item, and an empty text or
// object as an empty list. A text can contain the list. Any other scalar is read as the only item if items
// may be scalars, and is otherwise rejected.
func (r *rowReader) readItems(t *table, list int) error {
	switch raw := r.in.raw(list); {
	case raw[0] == '[':
		number, end := 1, int(r.in.values[list].next)
		for item := list + 1; item < end; item = int(r.in.values[item].next) {
			if err := r.readItem(t, item, number); err != nil {
				return err
			}
			number++
		}
		return nil
	case raw[0] == '"' && len(raw) == len(`""`):
		r.report.countEmptyText(t.up, t.localPath, raw)
		return nil
	case raw[0] == '"':
		if content, ok := listInText(raw, r.in.values[list].form); ok {
			r.report.countDrift(t.up, Converted, t.localPath, raw)
			var err error
			r.in.insideText(content, nil, t.rowNode, t.rowNode, func(inner int) { err = r.readItems(t, inner) })
			return err
		}
	case isEmpty(raw):
		return nil
	}
	if raw := r.in.raw(list); raw[0] != '{' && t.value < 0 {
		r.report.addPendingReject(t.up, t.localPath, "expected an object or a list of objects", raw)
		return nil
	}
	return r.readItem(t, list, 1)
}

func (r *rowReader) readItem(t *table, item, number int) error {
	raw := r.in.raw(item)
	if raw[0] == 'n' {
		return nil
	}
	mark := r.report.mark()
	reason, err := r.readRow(t, item, number, "")
	if err != nil || reason == "" {
		return err
	}
	r.report.undoTo(mark)
	if len(t.ownKeys) > 0 {
		r.rejectedItems++
	}
	r.report.addReject(t, stream.Reject{Key: r.rejectedKey, Parent: t.up.keyText(t.up.rows), Reason: reason}, raw)
	return nil
}

func appendQuoted(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

// checkRecord checks the current record. If no column of RequireOne has a value, the body is malformed.
// If the column Stream.Param differs from the path parameter of the request, checkRecord returns a reason
// to reject the record. If this column is empty, a body of one object is malformed, and a record of a
// list gets the path parameter of the request.
func (r *rowReader) checkRecord(t *table) (reason string, err error) {
	if len(r.binding.requireOne) > 0 && !slices.ContainsFunc(r.binding.requireOne, t.hasValue) {
		return "", fmt.Errorf("%w: the object has no field that distinguishes it from an error", ErrMalformed)
	}
	if r.binding.team >= 0 {
		t.fillEmpty(r.binding.team, r.in.origin.Team)
	}
	if t.param < 0 {
		return "", nil
	}
	name := t.cols[t.param].name
	if !t.isFilled(t.param) {
		if r.binding.stream.Envelope == stream.Object {
			return "", fmt.Errorf("%w: the object has no %q", ErrMalformed, name)
		}
		t.fillEmpty(t.param, r.in.origin.Param)
		return "", nil
	}
	own := t.cols[t.param].bytes(t.rows)
	if r.in.origin.Param == "" || string(own) == r.in.origin.Param {
		return "", nil
	}
	return fmt.Sprintf("its %s is %q, but %q was requested", name, own, r.in.origin.Param), nil
}

// fillFromParent copies the parent's key into a row that does not name a parent. It also fills a missing key
// from keySources. If the row names another parent, the named parent is kept and counted as drift.
func (r *rowReader) fillFromParent(t *table) {
	up := t.up
	for _, p := range t.parents {
		if !p.mayBeInJSON {
			continue
		}
		parentKey := up.cols[p.from].bytes(up.rows)
		switch c := &t.cols[p.col]; {
		case !t.isFilled(p.col):
			t.fillEmpty(p.col, string(parentKey))
		case !bytes.Equal(c.bytes(t.rows), parentKey):
			r.report.countDrift(t, Conflict, t.cols[p.col].name, appendQuoted(nil, string(c.bytes(t.rows))))
		}
	}
	for _, col := range t.keySources {
		if up.isFilled(col) && !up.cols[col].isPrivate() {
			t.fillEmpty(t.keys[0], string(up.cols[col].bytes(up.rows)))
		}
	}
}

// isPathSegment reports whether an id can be a segment of a URL path: empty and relative segments cannot.
func isPathSegment(id []byte) bool {
	return string(id) != "" && string(id) != "." && string(id) != ".."
}

func (t *table) fillEmpty(col int, s string) {
	if t.isFilled(col) || s == "" {
		return
	}
	c := &t.cols[col]
	c.truncate(t.rows)
	c.appendText(s)
}

// currentKey returns the key of the current row, or "" if the key is incomplete. For a detail it
// returns the requested id.
func (r *rowReader) currentKey(t *table) string {
	if r.binding.stream.Envelope == stream.Object && t.param >= 0 {
		return r.in.origin.Param
	}
	for _, k := range t.keys {
		if !t.isFilled(k) {
			return ""
		}
	}
	return t.keyText(t.rows)
}

func (t *table) keyText(row int) string {
	var s []byte
	for i, k := range t.keys {
		if i > 0 {
			s = append(s, '/')
		}
		if c := &t.cols[k]; c.kind <= document {
			s = append(s, c.bytes(row)...)
		} else {
			s = strconv.AppendInt(s, int64(c.word(row)), 10)
		}
	}
	return string(s)
}
