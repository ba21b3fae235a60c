package warehouse

import (
	"fmt"
	"slices"
	"strings"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// ChangesSuffix follows a table's name in the name of its changes macro.
const ChangesSuffix = "_changes"

// historyStatements creates the view and the macros of the history of a table.
func historyStatements(def stream.Definition, key []string) []string {
	table := sqltext.Name(def.Name)
	return []string{
		string(viewsSQL.Render("history_view", sqltext.Values{"table": table, "columns": sqltext.SQL(Columns("", def))})),
		string(viewsSQL.Render("as_of_macro", sqltext.Values{"table": table, "macro": table + "_at"})),
		string(viewsSQL.Render("changes_macro", sqltext.Values{"table": table, "macro": table + ChangesSuffix, "version": sqltext.SQL(rowVersion(def, key)),
			"record": sqltext.SQL(wholeRecord(def)), "fields": sqltext.SQL(changedFields(def, key)), "same_key": sqltext.SQL(sameKey(def, key))})),
	}
}

// rowVersion selects one version of a record: every column as JSON text.
func rowVersion(def stream.Definition, key []string) string {
	parts := []string{"row_hash"}
	if len(key) == 1 {
		parts = append(parts, sqltext.Quote(key[0])+"::VARCHAR AS row_key")
	} else {
		parts = append(parts, "concat_ws('/', "+string(quoteNames(key))+") AS row_key")
	}
	for i, c := range def.Columns {
		parts = append(parts, fmt.Sprintf("%s AS c%d", jsonText(c), i))
	}
	return strings.Join(parts, ", ")
}

// jsonText is a column as JSON text. to_json would turn decimals into doubles and drop
// the zone of a time.
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

// wholeRecord is a version as one JSON text: all its fields but NULLs.
func wholeRecord(def stream.Definition) string {
	parts := make([]string, len(def.Columns))
	for i, c := range def.Columns {
		parts[i] = fmt.Sprintf(`'"%s":' || c%d`, c.Name, i)
	}
	return "'{' || concat_ws(',', " + strings.Join(parts, ", ") + ") || '}'"
}

// changedFields lists the tracked fields of a record that is there at both times; the
// macro filters those that differ.
func changedFields(def stream.Definition, key []string) string {
	var parts []string
	for i, c := range def.Columns {
		if !c.Untracked && !slices.Contains(key, c.Name) {
			parts = append(parts, fmt.Sprintf("{'field': %s, 'old': a.c%d, 'new': b.c%[2]d}", sqltext.Literal(c.Name), i))
		}
	}
	if len(parts) == 0 {
		return "{'field': NULL::VARCHAR, 'old': NULL::VARCHAR, 'new': NULL::VARCHAR}"
	}
	return strings.Join(parts, ", ")
}

// sameKey compares the key columns as texts: they are equal exactly when the values are.
func sameKey(def stream.Definition, key []string) string {
	var parts []string
	for i, c := range def.Columns {
		if slices.Contains(key, c.Name) {
			parts = append(parts, fmt.Sprintf("a.c%d = b.c%[1]d", i))
		}
	}
	return strings.Join(parts, " AND ")
}

func allChanges(tables []stream.Table) string {
	parts := joinEach(tables, "\nUNION ALL ", func(t stream.Table) string {
		return string(viewsSQL.Render("changes_of_table", sqltext.Values{"name": t.Name, "macro": sqltext.Name(t.Name + ChangesSuffix)}))
	})
	return string(viewsSQL.Render("all_changes_macro", sqltext.Values{"tables": sqltext.SQL(parts)}))
}
