package transform

import (
	"bytes"
	"slices"
)

// readCarefully reads an object in a fixed order. This is needed if a name occurs twice, if
// two members have different values for one column, or if a child gets its key from columns
// of its parent. Of members with the same name, the last one is used. Scalars are read first, so
// that outer values take precedence and the key is known. Then come objects and lists without a table,
// then aliases, over which the column's own name takes precedence, and then fields with a child table.
func (r *rowReader) readCarefully(t *table, n *node) error {
	all, err := r.in.indexMembers(n)
	if err != nil {
		return err
	}
	end, depth := r.in.pos, r.in.depth
	slices.SortStableFunc(all, func(a, b rawMember) int { return a.order - b.order })
	for _, e := range all {
		r.in.pos, r.in.depth = e.pos, depth+1
		if e.overridden {
			r.report.countDrift(t, DuplicateField, string(e.name), e.raw)
			continue
		}
		if e.field != nil {
			err = r.readMember(t, e.field)
		} else {
			err = r.readUnknown(t, e.name)
		}
		if err != nil {
			return err
		}
	}
	r.in.pos, r.in.depth = end, depth
	return nil
}

// rawMember is a member of an object, with the position and JSON text of its value.
type rawMember struct {
	name  []byte
	field *field
	pos   int
	raw   []byte
	order int
	// overridden means that a later member has the same name.
	overridden bool
}

func (in *input) indexMembers(n *node) ([]rawMember, error) {
	var all []rawMember
	seen := map[string]int{}
	err := in.open()
	for first := true; err == nil; first = false {
		var more bool
		if more, err = in.next('}', first); !more || err != nil {
			return all, err
		}
		name, f, bad := in.name()
		if bad != nil {
			return nil, bad
		}
		e := rawMember{name: bytes.Clone(unquoteName(name, f)), pos: in.pos}
		e.field = n.fields[string(e.name)]
		if e.raw, err = in.skip(); err != nil {
			return nil, err
		}
		e.order = readingOrder(e)
		if i, again := seen[string(e.name)]; again {
			all[i].overridden = true
		}
		seen[string(e.name)] = len(all)
		all = append(all, e)
	}
	return nil, err
}

func readingOrder(e rawMember) int {
	switch {
	case e.field != nil && e.field.child >= 0:
		return 3
	case e.field != nil && e.field.alias:
		return 2
	case e.raw[0] == '{' || e.raw[0] == '[':
		return 1
	}
	return 0
}
