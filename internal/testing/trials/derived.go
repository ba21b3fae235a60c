package trials

import (
	"io/fs"
	"slices"
	"strings"

	"placementsync/internal/stream"
	"placementsync/schema"
)

// derivedTables derives specifications from the schema files, for tables that are not in handWritten.
// Each column is expected to contain the field of the same name. So the trials also compare a new
// endpoint whose table is not yet described in tables.go. Tables with a dotted At or several
// Parents, and tables of streams with Completes or Query, are not derived. The comment of the type
// TableSpec explains the notation of columns.
func derivedTables(handWritten []TableSpec) []TableSpec {
	var all []TableSpec
	for _, s := range stream.All() {
		for _, t := range s.Tables {
			isThisTable := func(spec TableSpec) bool { return spec.Table == t.Name }
			if slices.ContainsFunc(handWritten, isThisTable) || s.Completes != "" || s.Query != "" || strings.Contains(t.At, ".") || len(t.Parents) > 1 {
				continue
			}
			if spec, ok := derivedTable(s, t); ok {
				all = append(all, spec)
			}
		}
	}
	return all
}

func derivedTable(s stream.Stream, t stream.Table) (TableSpec, bool) {
	sql, err := fs.ReadFile(schema.FS, t.Name+".sql")
	if err != nil {
		return TableSpec{}, false
	}
	def, err := stream.ParseDefinition(t.Name+".sql", string(sql))
	if err != nil {
		return TableSpec{}, false
	}
	spec := TableSpec{Table: t.Name, Key: strings.Join(t.Key, " "), path: s.Path, list: s.List, At: t.At, bare: t.Value, keyOnly: t.Link}
	for _, ref := range s.IDColumns {
		spec.IDs += " " + ref.Table + "." + ref.Column
	}
	columnsByType := map[stream.Type]*string{
		stream.Text: &spec.Text, stream.Bool: &spec.flag, stream.Int32: &spec.integer, stream.Int64: &spec.integer,
		stream.Money: &spec.money, stream.Instant: &spec.instant, stream.JSON: &spec.json,
	}
	for _, c := range def.Columns {
		column := c.Name
		switch {
		case c.Name == "extra":
			continue
		case slices.Contains(t.Parents, c.Name):
			column += "=/id"
		case c.Name == "position" && t.At != "":
			column += "=#1"
		case c.Name == s.Param && t.At == "" && s.Envelope != stream.Object:
			column += "=" + c.Name + "|?"
		}
		*columnsByType[c.Type] += " " + column
	}
	return spec, true
}
