package transform

// entries reads a body of no standard form (spec 4.2, "raw"): status counts as
// a map by prefix, a list, or either of them inside an object. An entry is an
// object with a prefix or id, and a count; in a map it may lack both, and be no
// more than the count.
func (d *Decoder) entries() error { return d.entriesAt("", "") }

// entriesAt reads the value at the position; name is its name in the object
// around it, path all names from the top.
func (d *Decoder) entriesAt(name, path string) error {
	switch d.scan.peek() {
	case '[':
		return d.entryList(path)
	case '{':
		return d.entryObject(name, path)
	}
	raw, err := d.scan.skip()
	if err == nil {
		d.around(path, raw)
	}
	return err
}

func (d *Decoder) entryList(path string) error {
	if err := d.scan.open(); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := d.scan.next(']', first)
		if !more || err != nil {
			return err
		}
		if err := d.entriesAt("", path); err != nil {
			return err
		}
	}
}

func (d *Decoder) entryObject(name, path string) error {
	start, depth := d.scan.pos, d.scan.depth
	all, err := d.index(d.tables[0].root)
	if err != nil {
		return err
	}
	end := d.scan.pos
	switch seen := look(all, name != ""); {
	case seen.entry:
		d.scan.pos, d.scan.depth = start, depth
		return d.record([]byte(name))
	case seen.scalars > 0 && seen.containers == 0 && seen.numbers < seen.scalars:
		d.number()
		d.page.Records++
		d.reject(d.tables[0], "", "", d.scan.buf[start:end], "want an entry with a prefix or id, and a count")
		return nil
	case seen.scalars > 0 && seen.containers == 0:
		return d.entryCounts(all, end)
	}
	return d.entryMap(all, path, end)
}

// entryMap reads the members of an object that wraps entries.
func (d *Decoder) entryMap(all []entry, path string, end int) error {
	depth := d.scan.depth
	for _, e := range all {
		d.scan.pos, d.scan.depth = e.pos, depth+1
		if err := d.entriesAt(string(e.name), path+"."+string(e.name)); err != nil {
			return err
		}
	}
	d.scan.pos, d.scan.depth = end, depth
	return nil
}

// entryCounts reads a map from prefix to count.
func (d *Decoder) entryCounts(all []entry, end int) error {
	depth := d.scan.depth
	for _, e := range all {
		d.scan.pos, d.scan.depth = e.pos, depth+1
		if err := d.record(e.name); err != nil {
			return err
		}
	}
	d.scan.pos, d.scan.depth = end, depth
	return nil
}

// glance is what the members of an object show of its role.
type glance struct {
	entry                        bool
	scalars, numbers, containers int
}

// look tells what an object is; mapped says that it is a member of another,
// whose name for it can be its prefix.
func look(all []entry, mapped bool) glance {
	var g glance
	var counted, named, labelled bool
	for _, e := range all {
		if e.raw[0] == '{' || e.raw[0] == '[' {
			g.containers++
			continue
		}
		g.scalars++
		if e.raw[0] == '-' || e.raw[0]-'0' <= 9 {
			g.numbers++
		}
		counted = counted || string(e.name) == "count"
		named = named || string(e.name) == "prefix" || string(e.name) == "id"
		labelled = labelled || string(e.name) == "name"
	}
	alone := g.containers == 0 && (g.scalars == 1 || labelled)
	g.entry = counted && (named || mapped && alone)
	return g
}
