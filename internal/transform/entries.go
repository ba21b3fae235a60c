package transform

import (
	"fmt"
	"slices"

	"placementsync/internal/stream"
)

// readEntries reads a body without a standard form (spec 4.2, "raw"): status counts as a
// map by prefix, as a list, or as one of them inside an object. An entry is an object with
// a prefix or id and a count. In a map it may lack these, or be only the count.
//
// An explicit empty list means a campaign without articles. An empty object may mean the
// same, or may be no valid answer. Other content without any entry is malformed.
func (a *bodyReader) readEntries() error {
	a.entries = entryCounts{}
	if err := a.readEntriesAt("", ""); err != nil {
		return err
	}
	switch seen := a.entries; {
	case seen.entries > 0 || seen.empty > 0 && !seen.refused:
	case seen.other:
		return fmt.Errorf("%w: it contains no entry with a prefix or id and a count", ErrMalformed)
	default:
		a.records.page.Bare = true
	}
	return nil
}

// entryCounts describes the content of a body without a standard form.
type entryCounts struct {
	// entries counts the recognized entries, and empty the empty lists.
	entries, empty int
	// other means that there was other content, and refused that this includes an object or
	// item that could be an entry.
	other, refused bool
}

// readEntriesAt reads the value at the position. name is its name in the enclosing object,
// and path all names from the top.
func (a *bodyReader) readEntriesAt(name, path string) error {
	switch a.in.peek() {
	case '[':
		return a.readEntryList(path)
	case '{':
		return a.readEntryObject(name, path)
	}
	raw, err := a.in.skip()
	if err == nil {
		a.entries.other = true
		a.countAround(path, raw)
	}
	return err
}

func (a *bodyReader) readEntryList(path string) error {
	if err := a.in.open(); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := a.in.next(']', first)
		if !more || err != nil {
			if first && path != ".error" && path != ".errors" {
				a.entries.empty++
			}
			return err
		}
		a.entries.other, a.entries.refused = true, true
		if err := a.readEntriesAt("", path); err != nil {
			return err
		}
	}
}

func (a *bodyReader) readEntryObject(name, path string) error {
	start, depth := a.in.pos, a.in.depth
	all, err := a.in.indexMembers(a.root.layout.root)
	if err != nil {
		return err
	}
	// A status may be named "error" and then has a count.
	if path == "" && slices.ContainsFunc(all, func(e rawMember) bool {
		return isError(string(e.name), e.raw) && (e.raw[0] == '"' || e.raw[0] == 't')
	}) {
		return fmt.Errorf("%w: the object is an error", ErrMalformed)
	}
	switch seen := classifyObject(all, name != ""); {
	case seen.entry:
		a.entries.entries++
		a.in.pos, a.in.depth = start, depth
		return a.records.readRecord([]byte(name))
	case seen.scalars > 0 && seen.containers == 0 && seen.numbers < seen.scalars:
		a.entries.other, a.entries.refused = true, true
		a.in.startRecord(a.records.page.Records)
		a.records.page.Records++
		a.records.page.Refused++
		a.report.addReject(a.root, stream.Reject{Parent: a.in.origin.Param, Reason: "want an entry with a prefix or id and a count"}, a.in.buf[start:a.in.pos])
		return nil
	default:
		return a.readEntryMembers(all, path, seen.scalars > seen.paging && seen.containers == 0)
	}
}

// readEntryMembers reads the members of an object: a map from prefix to count, or an object
// around entries.
func (a *bodyReader) readEntryMembers(all []rawMember, path string, counts bool) error {
	end, depth := a.in.pos, a.in.depth
	for _, e := range all {
		a.in.pos, a.in.depth = e.pos, depth+1
		var err error
		if counts {
			a.entries.entries++
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

// objectShape counts the members of an object by type.
type objectShape struct {
	entry                        bool
	scalars, numbers, containers int
	// paging counts the scalars that are pagination members.
	paging int
}

// classifyObject classifies an object. mapped means that it is a named member of another object,
// whose name can be its prefix.
func classifyObject(all []rawMember, mapped bool) objectShape {
	var g objectShape
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
