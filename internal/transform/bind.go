package transform

import (
	"slices"
	"strings"

	"placementsync/internal/stream"
)

// Bind compiles the binding of a stream, and makes its private columns private. See [Binding.Protect].
func Bind(s stream.Stream, definitions map[string]stream.Definition, p Privacy) (*Binding, error) {
	binding, err := Compile(s, definitions)
	if err != nil {
		return nil, err
	}
	return binding, binding.Protect(privacyOf(s, definitions[s.Root().Name], p))
}

// privacyOf returns the private columns of a stream. root is its first table. For a stream of events, they are
// derived from the private columns of its table and of the tables with records of the same kind.
func privacyOf(s stream.Stream, root stream.Definition, configured Privacy) Privacy {
	if !s.IsEvents() {
		return configured
	}
	drop := privateEventColumns(s, root, configured.Drop)
	privacy := Privacy{Key: configured.Key}
	for _, column := range privateEventColumns(s, root, configured.Hash) {
		switch c, _ := root.Column(column); {
		case slices.Contains(drop, column):
		case c.Type == stream.Text:
			privacy.Hash = append(privacy.Hash, root.Name+"."+column)
		default: // only text columns can be hashed
			drop = append(drop, column)
		}
	}
	for _, column := range drop {
		privacy.Drop = append(privacy.Drop, root.Name+"."+column)
	}
	return privacy
}

// privateEventColumns returns the private columns of the table of an event stream. configured contains private
// columns as table.column. They also apply to tables with records of the same kind. If the table
// of the event stream lacks such a column, its column extra is private, because it may contain the value. If
// the plain text or the rich text of a comment is private, both are private.
func privateEventColumns(s stream.Stream, def stream.Definition, configured []string) []string {
	var columns []string
	for _, private := range configured {
		table, column, _ := strings.Cut(private, ".")
		if table != def.Name && !slices.Contains(stream.SameKind(s.SameKindAs), table) {
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
