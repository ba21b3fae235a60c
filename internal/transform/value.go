package transform

import "bytes"

// readValue reads the scalar at the position into a column of the open row.
func (d *Decoder) readValue(t *table, col int, name string) error {
	raw, f, err := d.scan.scalar()
	if err != nil {
		return err
	}
	c := &t.cols[col]
	reason := ""
	if c.kind == text {
		d.setText(t, col, name, raw, f)
	} else {
		reason = d.parseTyped(t, c, name, raw, f)
	}
	if reason != "" {
		d.refuseValue(t, name, raw, reason)
		return nil
	}
	if c.n > t.rows+1 {
		return d.settleConflict(t, col, name, raw)
	}
	return nil
}

// readText reads the quoted text at the position into a text column, as value does:
// most values are such.
func (d *Decoder) readText(t *table, col int, name string) error {
	s := &d.scan
	start := s.pos
	f, err := s.text()
	if err != nil {
		return err
	}
	raw := s.buf[start:s.pos]
	if d.setText(t, col, name, raw, f); t.cols[col].n > t.rows+1 {
		return d.settleConflict(t, col, name, raw)
	}
	return nil
}

func (d *Decoder) setText(t *table, col int, name string, raw []byte, f form) {
	c := &t.cols[col]
	switch {
	case f == plain && raw[0] == '"':
		c.data = append(c.data, raw[1:len(raw)-1]...)
	case raw[0] != '"':
		c.data = append(c.data, raw...)
		d.countDrift(t, Converted, name, raw)
	default:
		var clean bool
		if c.data, clean = appendText(c.data, raw, f); !clean {
			d.countDrift(t, InvalidUTF8, name, raw)
		}
	}
	if c.endText(); c.judged {
		d.checkText(t, col, name, raw)
	}
}

// checkText looks at the text just read: whether the spec lists it, where it lists
// all, and whether it can be asked for, where it names what to ask for.
func (d *Decoder) checkText(t *table, col int, name string, raw []byte) {
	c := &t.cols[col]
	v := c.bytes(c.n - 1)
	if c.enum != nil && len(v) > 0 && !isListed(c.enum, v) {
		d.countEnumValue(t, col, name, raw)
	}
	if t.layout.cols[col].asked && !standsInPath(v) {
		c.truncate(c.n - 1)
		d.refuseValue(t, name, raw, "want an id that can stand in a path")
	}
}

// countEnumValue counts a value that the spec does not list, by itself.
func (d *Decoder) countEnumValue(t *table, col int, name string, raw []byte) {
	if t.layout.cols[col].isPrivate() {
		d.countDrift(t, UnknownEnum, name, raw)
		return
	}
	path := string(d.dottedPath(name)) + "=" + clipSample(t.cols[col].bytes(t.cols[col].n-1))
	d.findings.count(t.name, UnknownEnum, []byte(path), raw)
}

func isListed(enum []string, v []byte) bool {
	for _, s := range enum {
		if s == string(v) {
			return true
		}
	}
	return false
}

// parseTyped reads a scalar into a column that is no text. Texts that mean a value
// of the column's type are converted; an empty one is no value.
func (d *Decoder) parseTyped(t *table, c *column, name string, raw []byte, f form) (reason string) {
	v, quoted := raw, raw[0] == '"'
	if quoted {
		v = d.unquoted(raw, f)
		if len(v) == 0 {
			d.countDrift(t, Converted, name, raw)
			return ""
		}
	}
	switch c.kind {
	case boolean:
		return d.parseBoolean(t, c, name, v, raw)
	case instant:
		if quoted {
			return d.parseTime(t, c, name, v, raw)
		}
		return "want a date and time"
	case money:
		return d.parsePrice(t, c, name, v, raw)
	}
	n, converted, ok := wholeNumber(v)
	if !ok || c.kind == integer32 && n != int64(int32(n)) {
		return "want a whole number in the range of the column"
	}
	if c.appendInt(n); converted || quoted {
		d.countDrift(t, Converted, name, raw)
	}
	return ""
}

// unquoted is the text of a quoted string, valid until the next call.
func (d *Decoder) unquoted(raw []byte, f form) []byte {
	if f == plain {
		return raw[1 : len(raw)-1]
	}
	d.scratch, _ = appendText(d.scratch[:0], raw, f)
	return d.scratch
}

func (d *Decoder) parseBoolean(t *table, c *column, name string, v, raw []byte) (reason string) {
	var yes, ok bool
	switch {
	case string(raw) == "true", string(raw) == "false":
		c.appendBool(raw[0] == 't')
		return ""
	case len(v) <= len("false"):
		yes, ok = parseBool(v)
	}
	if !ok {
		return "want true or false"
	}
	c.appendBool(yes)
	d.countDrift(t, Converted, name, raw)
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

func (d *Decoder) parseTime(t *table, c *column, name string, v, raw []byte) (reason string) {
	micros, rounded, zoneless, ok := parseInstant(v)
	if !ok {
		return "want an ISO 8601 date and time"
	}
	c.appendInt(micros)
	if rounded {
		d.countDrift(t, Rounded, name, raw)
	}
	if zoneless {
		d.countDrift(t, Zoneless, name, raw)
	}
	return ""
}

func (d *Decoder) parsePrice(t *table, c *column, name string, v, raw []byte) (reason string) {
	n, rounded, ok := parseAmount(v)
	if !ok {
		return "want an amount of at most 12 digits before the point"
	}
	c.appendInt(n)
	if raw[0] == '"' {
		d.countDrift(t, Converted, name, raw)
	}
	if rounded {
		d.countDrift(t, Rounded, name, raw)
	}
	return ""
}

// settleConflict decides between two values for one column of the open row. An empty
// text gives way; of two different values the first stays, which is the outer
// one when the record is read carefully.
func (d *Decoder) settleConflict(t *table, col int, name string, raw []byte) error {
	c := &t.cols[col]
	if c.kind == text && len(c.bytes(t.rows)) == 0 {
		c.replaceEmpty()
		return nil
	}
	same := c.equal(t.rows, t.rows+1) || c.kind == text && len(c.bytes(t.rows+1)) == 0
	c.truncate(t.rows + 1)
	if same {
		return nil
	}
	if !d.careful {
		return errAgain
	}
	if t.layout.cols[col].isPrivate() {
		d.countPrivate(t, Conflict, d.dottedPath(name))
		return nil
	}
	d.keepExtra(t, Conflict, name, raw)
	return nil
}

// readDocument reads any value into a JSON column.
func (d *Decoder) readDocument(t *table, f *field) error {
	raw, err := d.scan.skip()
	if err != nil {
		return err
	}
	c := &t.cols[f.col]
	if len(d.secrets.names) > 0 && !t.layout.cols[f.col].isPrivate() {
		raw = d.redactPath(t, string(d.dottedPath(f.name)), raw)
	}
	var clean bool
	if c.data, clean = d.json.appendJSON(c.data, raw, compact); !clean {
		d.countDrift(t, InvalidUTF8, f.name, raw)
	}
	c.endText()
	if c.n > t.rows+1 {
		return d.settleConflict(t, f.col, f.name, raw)
	}
	return nil
}

// readUnion reads do_follow_links_allowed.
func (d *Decoder) readUnion(t *table, f *field) error {
	d.scan.peek()
	start := d.scan.pos
	raw, err := d.scan.skip()
	if err != nil {
		return err
	}
	if t.hasValue(f.union.raw) {
		return d.readSecondUnion(t, f, raw)
	}
	sent, clean := d.json.appendJSON(d.unionText[:0], raw, compact)
	if d.unionText = sent; !clean {
		d.countDrift(t, InvalidUTF8, f.name, raw)
	}
	var c capacity
	drift := UnknownEnum
	if raw[0] != '{' && raw[0] != '[' {
		d.scan.pos = start
		_, form, _ := d.scan.scalar()
		var inside []byte
		if raw[0] == '"' {
			inside = d.unquoted(raw, form)
		}
		c, drift = readCapacity(raw, inside)
	}
	t.appendCapacity(f.union, c, d.unionText)
	switch drift {
	case "":
	case UnknownEnum:
		d.countEnumValue(t, f.union.raw, f.name, raw)
	default:
		d.countDrift(t, drift, f.name, raw)
	}
	return nil
}

func (d *Decoder) readSecondUnion(t *table, f *field, raw []byte) error {
	if !d.careful {
		return errAgain
	}
	if t.layout.cols[f.union.raw].isPrivate() {
		d.countPrivate(t, Conflict, d.dottedPath(f.name))
		return nil
	}
	d.keepExtra(t, Conflict, f.name, raw)
	return nil
}
