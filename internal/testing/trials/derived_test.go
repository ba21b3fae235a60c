package trials_test

import (
	"io/fs"
	"slices"
	"strings"

	"placementsync/internal/stream"
	"placementsync/schema"
)

// derivedTables returns the tables that are not in handWritten, of streams without Completes, Query or
// nested objects. Each column of these tables is expected to contain the field of the same name. So the
// trials also compare a new endpoint whose table is not yet described in tables_test.go. The comment of
// the type tableSpec explains the notation of columns.
func derivedTables(handWritten []tableSpec) []tableSpec {
	var all []tableSpec
	for _, s := range stream.All() {
		for _, t := range s.Tables {
			isThisTable := func(e tableSpec) bool { return e.table == t.Name }
			if slices.ContainsFunc(handWritten, isThisTable) || s.Completes != "" || s.Query != "" || strings.Contains(t.At, ".") || len(t.Parents) > 1 {
				continue
			}
			if e, ok := derivedTable(s, t); ok {
				all = append(all, e)
			}
		}
	}
	return all
}

func derivedTable(s stream.Stream, t stream.Table) (tableSpec, bool) {
	sql, err := fs.ReadFile(schema.FS, t.Name+".sql")
	if err != nil {
		return tableSpec{}, false
	}
	def, err := stream.ParseDefinition(t.Name+".sql", string(sql))
	if err != nil {
		return tableSpec{}, false
	}
	e := tableSpec{table: t.Name, key: strings.Join(t.Key, " "), path: s.Path, list: s.List, at: t.At, bare: t.Value, keyOnly: t.Link}
	for _, ref := range s.Parents {
		e.ids += " " + ref.Table + "." + ref.Column
	}
	kinds := map[stream.Type]*string{
		stream.Text: &e.text, stream.Bool: &e.flag, stream.Int32: &e.integer, stream.Int64: &e.integer,
		stream.Money: &e.money, stream.Instant: &e.instant, stream.JSON: &e.json,
	}
	for _, c := range def.Columns {
		spec := c.Name
		switch {
		case c.Name == "extra":
			continue
		case slices.Contains(t.Parents, c.Name):
			spec += "=/id"
		case c.Name == "position" && t.At != "":
			spec += "=#1"
		case c.Name == s.Param && t.At == "" && s.Envelope != stream.Object:
			spec += "=" + c.Name + "|?"
		}
		*kinds[c.Type] += " " + spec
	}
	return e, true
}
