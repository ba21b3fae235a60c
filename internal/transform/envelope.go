package transform

import (
	"fmt"
	"slices"
	"strings"

	"placementsync/internal/stream"

	"github.com/zeebo/xxh3"
)

// outside is a member of the envelope that is neither the list nor pagination.
type outside struct {
	name string
	pos  int
	raw  []byte
}

// readBody reads the whole body. What wraps the records is told by its shape
// wherever spec 4.1 and 4.2 leave doubt.
func (d *Decoder) readBody() error {
	c := d.scan.peek()
	switch {
	case d.binding.object && c != '{':
		return d.scan.syntaxErr("want an object")
	case d.binding.object:
		return d.readRecord(nil)
	case d.binding.raw && (c == '{' || c == '['):
		return d.readEntries()
	case c == '[':
		return d.readList()
	case c == '{':
		return d.readEnvelope()
	}
	return d.scan.syntaxErr("want an object or a list")
}

// readList reads a list of records.
func (d *Decoder) readList() error {
	if err := d.scan.open(); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := d.scan.next(']', first)
		if !more || err != nil {
			return err
		}
		if err := d.readRecord(nil); err != nil {
			return err
		}
	}
}

// readEnvelope reads an object that wraps a list, or is the only record.
func (d *Decoder) readEnvelope() error {
	start := d.scan.pos
	listed := false
	if err := d.scan.open(); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := d.scan.next('}', first)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if err := d.readEnvelopeMember(&listed); err != nil {
			return err
		}
	}
	if !listed {
		return d.sniffRecords(start)
	}
	d.countOthers("")
	return nil
}

// readEnvelopeMember reads one member of the envelope.
func (d *Decoder) readEnvelopeMember(listed *bool) error {
	quoted, f, err := d.scan.name()
	if err != nil {
		return err
	}
	name := string(d.plainName(quoted, f))
	c := d.scan.peek()
	if name == d.binding.list && c == '[' {
		return d.readNamedList(listed, name)
	}
	pos := d.scan.pos
	raw, err := d.scan.skip()
	if err != nil {
		return err
	}
	if name == d.binding.list || isError(name, raw) {
		return fmt.Errorf("%w: %.80q stands where the list %q is expected", ErrMalformed, name, d.binding.list)
	}
	if !d.readPagination(name, raw) {
		d.outside = append(d.outside, outside{name, pos, raw})
	}
	return nil
}

// isError reports whether a member says that the answer is none, whatever stands
// beside it.
func isError(name string, raw []byte) bool {
	if name != "error" && name != "errors" {
		return false
	}
	switch string(raw) {
	case "null", "false", "0":
		return false
	}
	return !(&scanner{buf: raw}).atEmpty()
}

// readNamedList reads the list in its place. Should it come twice, the last counts.
func (d *Decoder) readNamedList(again *bool, name string) error {
	if *again {
		page := d.page
		d.undoBody()
		d.page.Total, d.page.TotalPages, d.page.Next, d.page.Paginated = page.Total, page.TotalPages, page.Next, page.Paginated
		d.countOutside(DuplicateField, "."+name, nil)
	}
	*again = true
	return d.readList()
}

// readPagination notes a member of spec 4.1. Texts of digits are accepted.
func (d *Decoder) readPagination(name string, raw []byte) bool {
	var to *int64
	switch name {
	case "total_records":
		to = &d.page.Total
	case "total_pages":
		to = &d.page.TotalPages
	case "next_page":
		to = &d.page.Next
	case "current_page", "previous_page":
		to = new(int64)
	default:
		return false
	}
	d.page.Paginated = true
	*to = -1
	if name == "next_page" && string(raw) == "null" {
		*to = 0
	}
	if raw[0] == '"' {
		raw = raw[1 : len(raw)-1]
	}
	if n, _, ok := wholeNumber(raw); ok {
		*to = n
	}
	return true
}

func isPagination(name string) bool {
	switch name {
	case "total_records", "total_pages", "current_page", "next_page", "previous_page":
		return true
	}
	return false
}

// sniffRecords finds the records of an object that has no list of the usual name: the
// object is the record if it has its key; else its only list is the list.
func (d *Decoder) sniffRecords(start int) error {
	end := d.scan.pos
	lists, list := 0, outside{}
	for _, o := range d.outside {
		if d.isKey(o.name) {
			d.undoBody()
			d.scan.pos = start
			return d.readRecord(nil)
		}
		if o.raw[0] == '[' && o.name != "error" && o.name != "errors" {
			lists, list = lists+1, o
		}
	}
	if lists != 1 {
		return fmt.Errorf("%w: no list %q and no record in an object with the members %s", ErrMalformed, d.binding.list, d.memberNames())
	}
	d.scan.pos, d.scan.depth = list.pos, 1
	if err := d.readList(); err != nil {
		return err
	}
	d.scan.pos, d.scan.depth = end, 0
	d.countOthers(list.name)
	return nil
}

// isKey reports whether a member fills a key column that only a record fills.
func (d *Decoder) isKey(name string) bool {
	t := d.tables[0]
	f := t.root.fields[name]
	return f != nil && f.col >= 0 && f.col != t.param && slices.Contains(t.keys, f.col)
}

func (d *Decoder) memberNames() string {
	var names []string
	for _, o := range d.outside {
		names = append(names, fmt.Sprintf("%q", o.name))
	}
	if len(names) > 10 {
		names = append(names[:10], "...")
	}
	return "[" + strings.Join(names, " ") + "]"
}

// countOthers counts the members of the envelope that the spec does not name.
func (d *Decoder) countOthers(list string) {
	for _, o := range d.outside {
		if o.name != list {
			d.countAround("."+o.name, o.raw)
		}
	}
}

// countAround counts a member of the envelope by its path. It may hold records.
func (d *Decoder) countAround(path string, raw []byte) {
	if d.tables[0].private {
		raw = []byte(withheldText)
	}
	d.countOutside(UnknownField, path, raw)
}

// countOutside counts what stands around the records, once for each question.
func (d *Decoder) countOutside(kind, path string, raw []byte) {
	mark := d.findings.mark()
	d.findings.startCarrier(Place{d.origin.Param, d.origin.Page, 0, d.origin.Seq << seqBits})
	d.findings.count(d.tables[0].name, kind, []byte("$envelope"+path), raw)
	d.findings.addCarrier(mark, xxh3.HashString(d.origin.Param)+stream.MixBits(uint64(d.origin.Page)), func() string { return "" })
}
