package transform

import "bytes"

// value reads the scalar at the position into a column of the open row.
func (d *Decoder) value(t *table, col int, name string) error {
	raw, f, err := d.scan.scalar()
	if err != nil {
		return err
	}
	c := &t.cols[col]
	reason := ""
	if c.kind == text {
		d.text(t, col, name, raw, f)
	} else {
		reason = d.typed(t, c, name, raw, f)
	}
	if reason != "" {
		d.refuse(t, name, raw, reason)
		return nil
	}
	if c.n > t.rows+1 {
		return d.settle(t, col, name, raw)
	}
	return nil
}

// quoted reads the quoted text at the position into a text column, as value does:
// most values are such.
func (d *Decoder) quoted(t *table, col int, name string) error {
	s := &d.scan
	start := s.pos
	f, err := s.text()
	if err != nil {
		return err
	}
	raw := s.buf[start:s.pos]
	if d.text(t, col, name, raw, f); t.cols[col].n > t.rows+1 {
		return d.settle(t, col, name, raw)
	}
	return nil
}

func (d *Decoder) text(t *table, col int, name string, raw []byte, f form) {
	c := &t.cols[col]
	switch {
	case f == plain && raw[0] == '"':
		c.data = append(c.data, raw[1:len(raw)-1]...)
	case raw[0] != '"':
		c.data = append(c.data, raw...)
		d.count(t, Converted, name, raw)
	default:
		var clean bool
		if c.data, clean = appendText(c.data, raw, f); !clean {
			d.count(t, InvalidUTF8, name, raw)
		}
	}
	if c.seal(); c.judged {
		d.judge(t, col, name, raw)
	}
}

// judge looks at the text just read: whether the spec lists it, where it lists
// all, and whether it can be asked for, where it names what to ask for.
func (d *Decoder) judge(t *table, col int, name string, raw []byte) {
	c := &t.cols[col]
	v := c.bytes(c.n - 1)
	if c.enum != nil && len(v) > 0 && !listed(c.enum, v) {
		d.countValue(t, col, name, raw)
	}
	if t.layoutOf.cols[col].asked && !standsInPath(v) {
		c.cut(c.n - 1)
		d.refuse(t, name, raw, "want an id that can stand in a path")
	}
}

// countValue counts a value that the spec does not list, by itself.
func (d *Decoder) countValue(t *table, col int, name string, raw []byte) {
	if t.layoutOf.cols[col].private() {
		d.count(t, UnknownEnum, name, raw)
		return
	}
	path := string(d.dotted(name)) + "=" + clip(t.cols[col].bytes(t.cols[col].n-1))
	d.found.count(t.name, UnknownEnum, []byte(path), raw)
}

func listed(enum []string, v []byte) bool {
	for _, s := range enum {
		if s == string(v) {
			return true
		}
	}
	return false
}

// typed reads a scalar into a column that is no text. Texts that mean a value
// of the column's type are converted; an empty one is no value.
func (d *Decoder) typed(t *table, c *column, name string, raw []byte, f form) (reason string) {
	v, quoted := raw, raw[0] == '"'
	if quoted {
		v = d.inside(raw, f)
		if len(v) == 0 {
			d.count(t, Converted, name, raw)
			return ""
		}
	}
	switch c.kind {
	case boolean:
		return d.bool(t, c, name, v, raw)
	case instant:
		if quoted {
			return d.instant(t, c, name, v, raw)
		}
		return "want a date and time"
	case money:
		return d.amount(t, c, name, v, raw)
	}
	n, converted, ok := wholeNumber(v)
	if !ok || c.kind == integer32 && n != int64(int32(n)) {
		return "want a whole number in the range of the column"
	}
	if c.int(n); converted || quoted {
		d.count(t, Converted, name, raw)
	}
	return ""
}

// inside is the text of a quoted string, valid until the next call.
func (d *Decoder) inside(raw []byte, f form) []byte {
	if f == plain {
		return raw[1 : len(raw)-1]
	}
	d.scratch, _ = appendText(d.scratch[:0], raw, f)
	return d.scratch
}

func (d *Decoder) bool(t *table, c *column, name string, v, raw []byte) (reason string) {
	var yes, ok bool
	switch {
	case string(raw) == "true", string(raw) == "false":
		c.bool(raw[0] == 't')
		return ""
	case len(v) <= len("false"):
		yes, ok = parseBool(v)
	}
	if !ok {
		return "want true or false"
	}
	c.bool(yes)
	d.count(t, Converted, name, raw)
	return ""
}

func parseBool(v []byte) (yes, ok bool) {
	switch string(bytes.ToLower(v)) {
	case "true", "yes", "1":
		return true, true
	case "false", "no", "0":
		return false, true
	}
	return false, false
}

func (d *Decoder) instant(t *table, c *column, name string, v, raw []byte) (reason string) {
	micros, rounded, zoneless, ok := parseInstant(v)
	if !ok {
		return "want an ISO 8601 date and time"
	}
	c.int(micros)
	if rounded {
		d.count(t, Rounded, name, raw)
	}
	if zoneless {
		d.count(t, Zoneless, name, raw)
	}
	return ""
}

func (d *Decoder) amount(t *table, c *column, name string, v, raw []byte) (reason string) {
	n, rounded, ok := amount(v)
	if !ok {
		return "want an amount of at most 12 digits before the point"
	}
	c.int(n)
	if raw[0] == '"' {
		d.count(t, Converted, name, raw)
	}
	if rounded {
		d.count(t, Rounded, name, raw)
	}
	return ""
}

// settle decides between two values for one column of the open row. An empty
// text gives way; of two different values the first stays, which is the outer
// one when the record is read carefully.
func (d *Decoder) settle(t *table, col int, name string, raw []byte) error {
	c := &t.cols[col]
	if c.kind == text && len(c.bytes(t.rows)) == 0 {
		c.absorb()
		return nil
	}
	same := c.equal(t.rows, t.rows+1) || c.kind == text && len(c.bytes(t.rows+1)) == 0
	c.cut(t.rows + 1)
	if same {
		return nil
	}
	if !d.careful {
		return errAgain
	}
	if t.layoutOf.cols[col].private() {
		d.conceal(t, Conflict, d.dotted(name))
		return nil
	}
	d.keep(t, Conflict, name, raw)
	return nil
}

// document reads any value into a JSON column.
func (d *Decoder) document(t *table, f *field) error {
	raw, err := d.scan.skip()
	if err != nil {
		return err
	}
	c := &t.cols[f.col]
	if len(d.secrets.names) > 0 && !t.layoutOf.cols[f.col].private() {
		raw = d.closed(t, string(d.dotted(f.name)), raw)
	}
	var clean bool
	if c.data, clean = d.json.append(c.data, raw, compact); !clean {
		d.count(t, InvalidUTF8, f.name, raw)
	}
	c.seal()
	if c.n > t.rows+1 {
		return d.settle(t, f.col, f.name, raw)
	}
	return nil
}

// union reads do_follow_links_allowed.
func (d *Decoder) union(t *table, f *field) error {
	d.scan.peek()
	start := d.scan.pos
	raw, err := d.scan.skip()
	if err != nil {
		return err
	}
	if t.set(f.union.raw) {
		return d.secondUnion(t, f, raw)
	}
	sent, clean := d.json.append(d.sent[:0], raw, compact)
	if d.sent = sent; !clean {
		d.count(t, InvalidUTF8, f.name, raw)
	}
	var c capacity
	drift := UnknownEnum
	if raw[0] != '{' && raw[0] != '[' {
		d.scan.pos = start
		_, form, _ := d.scan.scalar()
		var inside []byte
		if raw[0] == '"' {
			inside = d.inside(raw, form)
		}
		c, drift = readCapacity(raw, inside)
	}
	t.capacity(f.union, c, d.sent)
	switch drift {
	case "":
	case UnknownEnum:
		d.countValue(t, f.union.raw, f.name, raw)
	default:
		d.count(t, drift, f.name, raw)
	}
	return nil
}

func (d *Decoder) secondUnion(t *table, f *field, raw []byte) error {
	if !d.careful {
		return errAgain
	}
	if t.layoutOf.cols[f.union.raw].private() {
		d.conceal(t, Conflict, d.dotted(f.name))
		return nil
	}
	d.keep(t, Conflict, f.name, raw)
	return nil
}
