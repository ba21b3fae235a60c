package pipeline

import (
	"slices"
	"strings"

	"placementsync/internal/stream"
	"placementsync/internal/transform"
)

// privacyOf returns the privacy rules of a stream. For events they are those of their
// table and of the table which describes the same things, so that what is private
// there is private here.
func (n *night) privacyOf(s stream.Stream) transform.Privacy {
	if !s.IsEvents() {
		return n.cfg.Privacy
	}
	drop := n.privateColumns(s, n.cfg.Privacy.Drop)
	own := transform.Privacy{Key: n.cfg.Privacy.Key}
	for _, column := range n.privateColumns(s, n.cfg.Privacy.Hash) {
		switch c, _ := n.wh.Catalog.Definition(s.Root().Name).Column(column); {
		case slices.Contains(drop, column):
		case c.Type == stream.Text:
			own.Hash = append(own.Hash, s.Root().Name+"."+column)
		default: // only texts can be hashed
			drop = append(drop, column)
		}
	}
	for _, column := range drop {
		own.Drop = append(own.Drop, s.Root().Name+"."+column)
	}
	return own
}

// privateColumns are the columns of a stream of events that rules hold for. A rule about
// a column that only the other table has withholds the unknown fields, where the
// value could be. The text of a comment and its rich form are one value.
func (n *night) privateColumns(s stream.Stream, rules []string) []string {
	def := n.wh.Catalog.Definition(s.Root().Name)
	var columns []string
	for _, rule := range rules {
		table, column, _ := strings.Cut(rule, ".")
		if table != def.Name && !slices.Contains(stream.Kind(s.Like), table) {
			continue
		}
		if _, ok := def.Column(column); !ok {
			column = "extra"
		}
		columns = append(columns, column)
		if column == "content" || column == "content_text" {
			columns = append(columns, "content", "content_text")
		}
	}
	slices.Sort(columns)
	return slices.Compact(columns)
}

// isPrivate reports whether a body of a stream of events may hold private values.
func (n *night) isPrivate(s stream.Stream) bool {
	return len(n.privateColumns(s, n.cfg.Privacy.Drop))+len(n.privateColumns(s, n.cfg.Privacy.Hash)) > 0
}
