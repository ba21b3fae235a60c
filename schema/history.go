package schema

import (
	"fmt"
	"slices"
	"strings"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// AsOfSuffix and ChangesSuffix follow a table's name in the names of its macros.
const (
	AsOfSuffix    = "_at"
	ChangesSuffix = "_changes"
)

// HistoryStatements returns the statements that create the history view and the macros of a table.
func HistoryStatements(def stream.Definition, key []string) []sqltext.SQL {
	table := sqltext.Name(def.Name)
	unmoved, compared := sqltext.SQL(""), sqltext.Name("versions")
	if slices.Contains(key, "position") {
		unmoved, compared = historySQL.Render("unmoved", sqltext.Values{"content": itemContent(def)}), "compared"
	}
	return []sqltext.SQL{
		historySQL.Render("history_view", sqltext.Values{"table": table, "columns": ColumnNames("", def)}),
		historySQL.Render("as_of_macro", sqltext.Values{"table": table, "macro": table + AsOfSuffix}),
		historySQL.Render("changes_macro", sqltext.Values{"table": table, "macro": table + ChangesSuffix,
			"version_columns": versionColumns(def, key), "record": recordText(def), "fields": comparedFields(def, key), "same_key": sameKey(def, key),
			"unmoved": unmoved, "compared": compared}),
	}
}

// AllChangesStatement returns the statement that creates the macro with the changes of all tables.
func AllChangesStatement(tables []stream.Table) sqltext.SQL {
	selects := sqltext.Join(tables, "\nUNION ALL ", func(t stream.Table) sqltext.SQL {
		return historySQL.Render("changes_of_table", sqltext.Values{"name": t.Name, "macro": sqltext.Name(t.Name + ChangesSuffix)})
	})
	return historySQL.Render("all_changes_macro", sqltext.Values{"selects": selects})
}

// versionColumns returns a SELECT list: row_hash, row_key, and the columns as JSON texts named c0, c1, ...
func versionColumns(def stream.Definition, key []string) sqltext.SQL {
	parts := []string{"row_hash"}
	if len(key) == 1 {
		parts = append(parts, sqltext.Quote(key[0])+"::VARCHAR AS row_key")
	} else {
		parts = append(parts, "concat_ws('/', "+string(sqltext.Names(key))+") AS row_key")
	}
	for i, c := range def.Columns {
		parts = append(parts, fmt.Sprintf("%s AS c%d", jsonText(c), i))
	}
	return sqltext.SQL(strings.Join(parts, ", "))
}

// jsonText returns the expression that converts a column to JSON text. to_json would turn decimals
// into doubles and drop the zone of a time.
func jsonText(c stream.Column) string {
	name := sqltext.Quote(c.Name)
	switch c.Type {
	case stream.Text:
		return "to_json(" + name + ")::VARCHAR"
	case stream.Instant:
		return fmt.Sprintf(`'"' || replace(strftime(make_timestamp(epoch_us(%s)), '%%Y-%%m-%%dT%%H:%%M:%%S.%%fZ'), '.000000Z', 'Z') || '"'`, name)
	}
	return name + "::VARCHAR"
}

// recordText returns the expression of a JSON object with the columns c0, c1, ..., without NULLs.
func recordText(def stream.Definition) sqltext.SQL {
	parts := make([]string, len(def.Columns))
	for i, c := range def.Columns {
		parts[i] = fmt.Sprintf(`'"%s":' || c%d`, c.Name, i)
	}
	return sqltext.SQL("'{' || concat_ws(',', " + strings.Join(parts, ", ") + ") || '}'")
}

func comparedFields(def stream.Definition, key []string) sqltext.SQL {
	var parts []string
	for i, c := range def.Columns {
		if !slices.Contains(key, c.Name) {
			parts = append(parts, fmt.Sprintf("{'field': %s, 'old': a.c%d, 'new': b.c%[2]d}", sqltext.Literal(c.Name), i))
		}
	}
	if len(parts) == 0 {
		return "{'field': NULL::VARCHAR, 'old': NULL::VARCHAR, 'new': NULL::VARCHAR}"
	}
	return sqltext.SQL(strings.Join(parts, ", "))
}

// itemContent returns the columns c0, c1, ... of an item of a list that are compared, without its position.
func itemContent(def stream.Definition) sqltext.SQL {
	var parts []string
	for i, c := range def.Columns {
		if c.Name != "position" {
			parts = append(parts, fmt.Sprintf("c%d", i))
		}
	}
	return sqltext.SQL(strings.Join(parts, ", "))
}

// sameKey returns the condition that the versions a and b have the same key. It compares JSON texts, which
// are equal exactly if the values are.
func sameKey(def stream.Definition, key []string) sqltext.SQL {
	var parts []string
	for i, c := range def.Columns {
		if slices.Contains(key, c.Name) {
			parts = append(parts, fmt.Sprintf("a.c%d = b.c%[1]d", i))
		}
	}
	return sqltext.SQL(strings.Join(parts, " AND "))
}
