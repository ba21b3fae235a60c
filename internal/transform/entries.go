package transform

import (
	"fmt"
	"slices"

	"placementsync/internal/stream"
)

// readEntries reads a body of no standard form (spec 4.2, "raw"): status counts as
// a map by prefix, a list, or either of them inside an object. An entry is an
// object with a prefix or id, and a count; in a map it may lack both, and be no
// more than the count.
//
// An explicit empty list is a campaign without articles. An empty object may be
// that, and may as well be no answer; what holds anything else and no entry is
// none.
func (d *Decoder) readEntries() error {
	d.sight = sight{}
	if err := d.readEntriesAt("", ""); err != nil {
		return err
	}
	switch seen := d.sight; {
	case seen.entries > 0 || seen.empty > 0 && !seen.refused:
	case seen.other:
		return fmt.Errorf("%w: no entry with a prefix or id, and a count", ErrMalformed)
	default:
		d.page.Bare = true
	}
	return nil
}

// sight is what a body of no standard form showed.
type sight struct {
	// entries counts what was recognised as one, empty the empty lists.
	entries, empty int
	// other says that something else stood there, refused that it was an object
	// or an item that could have been an entry.
	other, refused bool
}

// readEntriesAt reads the value at the position; name is its name in the object
// around it, path all names from the top.
func (d *Decoder) readEntriesAt(name, path string) error {
	switch d.scan.peek() {
	case '[':
		return d.readEntryList(path)
	case '{':
		return d.readEntryObject(name, path)
	}
	raw, err := d.scan.skip()
	if err == nil {
		d.sight.other = true
		d.countAround(path, raw)
	}
	return err
}

func (d *Decoder) readEntryList(path string) error {
	if err := d.scan.open(); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := d.scan.next(']', first)
		if !more || err != nil {
			if first && path != ".error" && path != ".errors" {
				d.sight.empty++
			}
			return err
		}
		d.sight.other, d.sight.refused = true, true
		if err := d.readEntriesAt("", path); err != nil {
			return err
		}
	}
}

func (d *Decoder) readEntryObject(name, path string) error {
	start, depth := d.scan.pos, d.scan.depth
	all, err := d.indexMembers(d.tables[0].root)
	if err != nil {
		return err
	}
	if path == "" && statesError(all) {
		return fmt.Errorf("%w: an object that tells of an error", ErrMalformed)
	}
	end := d.scan.pos
	switch seen := glanceAt(all, name != ""); {
	case seen.entry:
		d.sight.entries++
		d.scan.pos, d.scan.depth = start, depth
		return d.readRecord([]byte(name))
	case seen.scalars > 0 && seen.containers == 0 && seen.numbers < seen.scalars:
		d.sight.other, d.sight.refused = true, true
		d.numberRecord()
		d.page.Records++
		d.page.Refused++
		d.addReject(d.tables[0], stream.Reject{Parent: d.origin.Param, Reason: "want an entry with a prefix or id, and a count"}, d.scan.buf[start:end])
		return nil
	case seen.scalars > seen.paging && seen.containers == 0:
		return d.readEntryCounts(all, end)
	}
	return d.readEntryMap(all, path, end)
}

// statesError reports whether the members of the outermost object say that the
// answer is none. A status may be called an error, and then has a count.
func statesError(all []entry) bool {
	return slices.ContainsFunc(all, func(e entry) bool {
		return isError(string(e.name), e.raw) && (e.raw[0] == '"' || e.raw[0] == 't')
	})
}

// readEntryMap reads the members of an object that wraps entries.
func (d *Decoder) readEntryMap(all []entry, path string, end int) error {
	depth := d.scan.depth
	for _, e := range all {
		d.scan.pos, d.scan.depth = e.pos, depth+1
		if err := d.readEntriesAt(string(e.name), path+"."+string(e.name)); err != nil {
			return err
		}
	}
	d.scan.pos, d.scan.depth = end, depth
	return nil
}

// readEntryCounts reads a map from prefix to count.
func (d *Decoder) readEntryCounts(all []entry, end int) error {
	depth := d.scan.depth
	for _, e := range all {
		d.scan.pos, d.scan.depth = e.pos, depth+1
		d.sight.entries++
		if err := d.readRecord(e.name); err != nil {
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
	// paging counts the scalars that are pagination members.
	paging int
}

// glanceAt tells what an object is; mapped says that it is a member of another,
// whose name for it can be its prefix.
func glanceAt(all []entry, mapped bool) glance {
	var g glance
	var counted, named, labelled bool
	for _, e := range all {
		if e.raw[0] == '{' || e.raw[0] == '[' {
			g.containers++
			continue
		}
		g.scalars++
		if isPagination(string(e.name)) {
			g.paging++
		}
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
