package transform

import (
	"fmt"
	"slices"

	"placementsync/internal/stream"
)

// readCounts reads a body without a standard form (spec 4.2, "raw"): status counts as a
// map by prefix, as a list, or as a map or list inside an object. A status count is an object with
// a count and with a prefix or an id. In a map the name is the prefix, and the value may be just the
// number.
//
// In a body without status counts, an empty list means a campaign without articles. An object without
// content may mean this too, or may be an invalid response. Any other content makes the body malformed,
// except scalars beside an empty list.
func (b *bodyReader) readCounts() error {
	b.content = countsContent{}
	if err := b.readCountsAt("", ""); err != nil {
		return err
	}
	switch c := b.content; {
	case c.counts > 0:
	case c.emptyLists > 0 && !c.unrecognizedItem:
		// A campaign without articles.
	case c.unrecognized:
		return fmt.Errorf("%w: it contains no object with a count and a prefix or id", ErrMalformed)
	default:
		b.records.page.IsDoubtful = true
	}
	return nil
}

// countsContent describes the content of a body of status counts.
type countsContent struct {
	counts, emptyLists int // recognized status counts and empty lists
	// unrecognized and unrecognizedItem are evaluated only in a body without status counts. unrecognized
	// means that the body has other content. unrecognizedItem means that some of this content is an
	// object or a list item.
	unrecognized, unrecognizedItem bool
}

// readCountsAt reads the value at the position. name is the name of the value in the enclosing object.
// path contains the names from the top of the body, such as ".counts.draft".
func (b *bodyReader) readCountsAt(name, path string) error {
	switch b.in.peek() {
	case '[':
		return b.readCountList(path)
	case '{':
		return b.readCountObject(name, path)
	}
	raw, err := b.in.skip()
	if err == nil {
		b.content.unrecognized = true
		b.reportMember(path, raw)
	}
	return err
}

func (b *bodyReader) readCountList(path string) error {
	hasItems := false
	err := b.in.each(']', func(int) error {
		hasItems = true
		b.content.unrecognized, b.content.unrecognizedItem = true, true
		return b.readCountsAt("", path)
	})
	if !hasItems && path != ".error" && path != ".errors" {
		b.content.emptyLists++
	}
	return err
}

func (b *bodyReader) readCountObject(name, path string) error {
	object, err := b.in.index(nil, "", b.root.rowNode, nil)
	if err != nil {
		return err
	}
	start, end := int(b.in.values[object].start), b.in.pos
	defer func() { b.in.values = b.in.values[:object] }()
	var members []value
	for i := object + 1; i < len(b.in.values); i = int(b.in.values[i].next) {
		members = append(members, b.in.values[i])
	}
	// A member "error" whose value is a number or an object is a status of this name.
	if path == "" && slices.ContainsFunc(members, func(m value) bool {
		raw := b.in.buf[m.start:m.end]
		return isError(m.name, raw) && (raw[0] == '"' || raw[0] == 't')
	}) {
		return fmt.Errorf("%w: the object is an error", ErrMalformed)
	}
	var scalars, numbers, paging, containers int
	var hasCount, hasID, hasName bool
	for _, m := range members {
		c := b.in.buf[m.start]
		if c == '{' || c == '[' {
			containers++
			continue
		}
		scalars++
		if slices.Contains(paginationMembers, m.name) {
			paging++
		}
		if c == '-' || c-'0' <= 9 {
			numbers++
		}
		hasCount = hasCount || m.name == "count"
		hasID = hasID || m.name == "prefix" || m.name == "id"
		hasName = hasName || m.name == "name"
	}
	onlyCount := containers == 0 && (scalars == 1 || hasName) // a name may accompany the count
	switch {
	case hasCount && (hasID || name != "" && onlyCount):
		b.content.counts++
		b.in.pos = start
		return b.records.readRecord(name)
	case scalars > 0 && containers == 0 && numbers < scalars:
		b.content.unrecognized, b.content.unrecognizedItem = true, true
		b.in.startRecord(b.records.page.Records)
		b.records.page.Records++
		b.records.page.RejectedRecords++
		b.report.addReject(b.root, stream.Reject{Parent: b.in.origin.Param, Reason: "expected an object with a count and a prefix or id"}, b.in.buf[start:end])
		return nil
	}
	isCountMap := scalars > paging && containers == 0 // of prefixes to numbers
	for _, m := range members {
		b.in.pos = int(m.start)
		if isCountMap {
			b.content.counts++
			err = b.records.readRecord(m.name)
		} else {
			err = b.readCountsAt(m.name, path+"."+m.name)
		}
		if err != nil {
			return err
		}
	}
	b.in.pos = end
	return nil
}
