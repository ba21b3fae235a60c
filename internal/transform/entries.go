package transform

import (
	"fmt"
	"slices"

	"placementsync/internal/stream"
)

// readEntries reads a body without a standard form (spec 4.2, "raw"): status counts as a
// map by prefix, as a list, or as a map or list inside an object. An entry is an object with
// a prefix or id and a count. In a map the key is the prefix, and the value may be just the
// count.
//
// An explicit empty list means a campaign without articles. An empty object may mean the
// same, or may be no valid answer. A body with other content but no entry is malformed.
func (a *bodyReader) readEntries() error {
	a.content = rawContent{}
	if err := a.readEntriesAt("", ""); err != nil {
		return err
	}
	switch c := a.content; {
	case c.entries > 0:
	case c.emptyLists > 0 && !c.rejected:
		// A campaign without articles.
	case c.unrecognized:
		return fmt.Errorf("%w: it contains no entry with a prefix or id and a count", ErrMalformed)
	default:
		a.records.page.Bare = true
	}
	return nil
}

// rawContent describes the content of a body without a standard form.
type rawContent struct {
	// entries counts the recognized entries.
	entries, emptyLists int
	// unrecognized means that a value is no entry. rejected means that such a value is an
	// object or a list item.
	unrecognized, rejected bool
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
		a.content.unrecognized = true
		a.countMember(path, raw)
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
				a.content.emptyLists++
			}
			return err
		}
		a.content.unrecognized, a.content.rejected = true, true
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
	switch shape := classifyObject(all, name != ""); {
	case shape.isEntry:
		a.content.entries++
		a.in.pos, a.in.depth = start, depth
		return a.records.readRecord([]byte(name))
	case shape.scalars > 0 && shape.containers == 0 && shape.numbers < shape.scalars:
		a.content.unrecognized, a.content.rejected = true, true
		a.in.startRecord(a.records.page.Records)
		a.records.page.Records++
		a.records.page.RejectedRecords++
		a.report.addReject(a.root, stream.Reject{Parent: a.in.origin.Param, Reason: "want an entry with a prefix or id and a count"}, a.in.buf[start:a.in.pos])
		return nil
	default:
		return a.readEntryMembers(all, path, shape.scalars > shape.paging && shape.containers == 0)
	}
}

// readEntryMembers reads the members of an object. isCounts means that it is a map from
// prefix to count; otherwise it may contain entries.
func (a *bodyReader) readEntryMembers(all []rawMember, path string, isCounts bool) error {
	end, depth := a.in.pos, a.in.depth
	for _, e := range all {
		a.in.pos, a.in.depth = e.pos, depth+1
		var err error
		if isCounts {
			a.content.entries++
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
	isEntry                      bool
	scalars, numbers, containers int
	// paging counts the scalars that are pagination members.
	paging int
}

// classifyObject classifies an object. named means that the object is a member of another
// object; its member name may be the prefix.
func classifyObject(all []rawMember, named bool) objectShape {
	var g objectShape
	var hasCount, hasID, hasName bool
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
		hasCount = hasCount || string(e.name) == "count"
		hasID = hasID || string(e.name) == "prefix" || string(e.name) == "id"
		hasName = hasName || string(e.name) == "name"
	}
	onlyCount := g.containers == 0 && (g.scalars == 1 || hasName) // a name may accompany it
	g.isEntry = hasCount && (hasID || named && onlyCount)
	return g
}
