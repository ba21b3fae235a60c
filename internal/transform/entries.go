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
func (a *answerReader) readEntries() error {
	a.sight = sight{}
	if err := a.readEntriesAt("", ""); err != nil {
		return err
	}
	switch seen := a.sight; {
	case seen.entries > 0 || seen.empty > 0 && !seen.refused:
	case seen.other:
		return fmt.Errorf("%w: no entry with a prefix or id, and a count", ErrMalformed)
	default:
		a.records.page.Bare = true
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
func (a *answerReader) readEntriesAt(name, path string) error {
	switch a.in.peek() {
	case '[':
		return a.readEntryList(path)
	case '{':
		return a.readEntryObject(name, path)
	}
	raw, err := a.in.skip()
	if err == nil {
		a.sight.other = true
		a.countAround(path, raw)
	}
	return err
}

func (a *answerReader) readEntryList(path string) error {
	if err := a.in.open(); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := a.in.next(']', first)
		if !more || err != nil {
			if first && path != ".error" && path != ".errors" {
				a.sight.empty++
			}
			return err
		}
		a.sight.other, a.sight.refused = true, true
		if err := a.readEntriesAt("", path); err != nil {
			return err
		}
	}
}

func (a *answerReader) readEntryObject(name, path string) error {
	start, depth := a.in.pos, a.in.depth
	all, err := a.in.indexMembers(a.root.layout.root)
	if err != nil {
		return err
	}
	// A status may be called an error, and then has a count.
	if path == "" && slices.ContainsFunc(all, func(e entry) bool {
		return isError(string(e.name), e.raw) && (e.raw[0] == '"' || e.raw[0] == 't')
	}) {
		return fmt.Errorf("%w: an object that states an error", ErrMalformed)
	}
	switch seen := glanceAt(all, name != ""); {
	case seen.entry:
		a.sight.entries++
		a.in.pos, a.in.depth = start, depth
		return a.records.readRecord([]byte(name))
	case seen.scalars > 0 && seen.containers == 0 && seen.numbers < seen.scalars:
		a.sight.other, a.sight.refused = true, true
		a.in.startRecord(a.records.page.Records)
		a.records.page.Records++
		a.records.page.Refused++
		a.report.addReject(a.root, stream.Reject{Parent: a.in.origin.Param, Reason: "want an entry with a prefix or id, and a count"}, a.in.buf[start:a.in.pos])
		return nil
	default:
		return a.readEntryMembers(all, path, seen.scalars > seen.paging && seen.containers == 0)
	}
}

// readEntryMembers reads the members of an object: a map from prefix to count, or one
// that wraps entries.
func (a *answerReader) readEntryMembers(all []entry, path string, counts bool) error {
	end, depth := a.in.pos, a.in.depth
	for _, e := range all {
		a.in.pos, a.in.depth = e.pos, depth+1
		var err error
		if counts {
			a.sight.entries++
			err = a.records.readRecord(e.name)
		} else {
			err = a.readEntriesAt(string(e.name), path+"."+string(e.name))
		}
		if err != nil {
			return err
		}
	}
	a.in.pos, a.in.depth = end, depth
	return nil
}

// glance is what the members of an object show of its role.
type glance struct {
	entry                        bool
	scalars, numbers, containers int
	// paging counts the scalars that are pagination members.
	paging int
}

// glanceAt finds out what an object is; mapped says that it is a member of another,
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
		if slices.Contains(paginationMembers, string(e.name)) {
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
