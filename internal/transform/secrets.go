package transform

import (
	"slices"
	"strings"
)

// withheldValue stands for a private value in a raw text.
const withheldValue = `"(withheld)"`

// secrets are the places in the records of a stream whose values are private: the
// names that lead there, joined by underscores, as a column is called that takes
// the value. A body may put the border between an object and its field anywhere.
type secrets struct {
	names []string
	scan  scanner
	out   []byte
}

func (s *secrets) add(name string) {
	if i, found := slices.BinarySearch(s.names, name); !found {
		s.names = slices.Insert(s.names, i, name)
	}
}

// hides reports whether the value of that name is private.
func (s *secrets) hides(name string) bool {
	_, found := slices.BinarySearch(s.names, name)
	return found
}

// hidesWithin reports whether a part of the value of that name can be private.
func (s *secrets) hidesWithin(name string) bool {
	if name == "" {
		return len(s.names) > 0
	}
	i, _ := slices.BinarySearch(s.names, name+"_")
	return i < len(s.names) && strings.HasPrefix(s.names[i], name+"_")
}

// redact gives a raw text without its private parts. What it leaves is as it was
// sent, and the text itself where nothing in it is private.
func (s *secrets) redact(name string, raw []byte) []byte {
	switch {
	case s.hides(name):
		return []byte(withheldValue)
	case !s.hidesWithin(name):
		return raw
	}
	s.scan, s.out = scanner{buf: raw}, nil
	if s.writeValue(name) != nil {
		return []byte(withheldValue) // a text that cannot be read may hold anything
	}
	return s.out
}

// writeValue writes the value at the position.
func (s *secrets) writeValue(name string) error {
	c := s.scan.peek()
	start := s.scan.pos
	switch {
	case s.hides(name):
		s.out = append(s.out, withheldValue...)
		_, err := s.scan.skip()
		return err
	case s.hidesWithin(name) && (c == '{' || c == '['):
		return s.writeContainer(name, c)
	}
	raw, err := s.scan.skip()
	if c != 'n' && s.hidesWithin(name) {
		// A value where an object with private parts stands may be one of them.
		s.out = append(s.out, withheldValue...)
		return err
	}
	s.out = append(s.out, s.scan.buf[start:start+len(raw)]...)
	return err
}

// writeContainer writes an object or list member by member.
func (s *secrets) writeContainer(name string, open byte) error {
	from := s.scan.pos
	err := s.scan.open()
	for first := true; err == nil; first = false {
		var more bool
		if more, err = s.scan.next(open+2, first); !more || err != nil {
			break
		}
		inner := name
		if open == '{' {
			quoted, f, bad := s.scan.name()
			if bad != nil {
				return bad
			}
			plain, _ := appendText(nil, quoted, f)
			inner = joinNames(name, string(plain))
		}
		s.scan.peek()
		s.out = append(s.out, s.scan.buf[from:s.scan.pos]...)
		err = s.writeValue(inner)
		from = s.scan.pos
	}
	s.out = append(s.out, s.scan.buf[from:s.scan.pos]...)
	return err
}

// joinNames puts names in the form of a column's name.
func joinNames(names ...string) string {
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "" })
	return strings.ReplaceAll(strings.Join(names, "_"), ".", "_")
}
