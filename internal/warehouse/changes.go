package warehouse

import (
	"fmt"
	"slices"
	"strings"

	"placementsync/internal/stream"
)

// ChangesSuffix follows a table's name in the name of the macro that gives its
// changes between two times.
const ChangesSuffix = "_changes"

// changesMacro gives what differs in a table between two times, from history
// alone: only versions that began or ended between the two are read. Its rows
// are key (columns joined by a slash), kind (new, gone or changed), field, old
// and new. A changed record has a row for each field, a new or vanished one a
// single row whose new or old is the whole record. Values are JSON with all
// their digits. What the warehouse adds to a row and untracked columns are no
// fields.
//
// The text keeps to what DuckDB 1.0 knows, since any reader may call it: no
// lambdas, and no conversion that only an extension has.
func changesMacro(def stream.Definition, key []string) string {
	return fmt.Sprintf(`CREATE OR REPLACE MACRO %[1]s(from_time, to_time) AS TABLE
		WITH earlier AS (
			SELECT %[2]s FROM past.%[3]s WHERE valid_from <= from_time::TIMESTAMPTZ
				AND valid_to > from_time::TIMESTAMPTZ AND valid_to <= to_time::TIMESTAMPTZ),
		later AS (
			SELECT %[2]s FROM main.%[3]s WHERE valid_from > from_time::TIMESTAMPTZ AND valid_from <= to_time::TIMESTAMPTZ
			UNION ALL SELECT %[2]s FROM past.%[3]s WHERE valid_from > from_time::TIMESTAMPTZ
				AND valid_from <= to_time::TIMESTAMPTZ AND valid_to > to_time::TIMESTAMPTZ),
		paired AS (
			SELECT coalesce(a.row_key, b.row_key) AS "key",
				CASE WHEN a.row_hash IS NULL THEN 'new' WHEN b.row_hash IS NULL THEN 'gone' ELSE 'changed' END AS kind,
				unnest(CASE WHEN a.row_hash IS NULL OR b.row_hash IS NULL THEN [%[4]s] ELSE [%[5]s] END) AS f
			FROM earlier a FULL JOIN later b ON %[6]s
			WHERE a.row_hash IS DISTINCT FROM b.row_hash)
		SELECT "key", kind, f.field AS field, f.old::JSON AS "old", f.new::JSON AS "new"
		FROM paired WHERE f.old IS DISTINCT FROM f.new`,
		Quote(def.Name+ChangesSuffix), rowVersion(def, key), Quote(def.Name), wholeRecord(def), changedFields(def, key), sameKey(def, key))
}

// rowVersion selects one version of a record: every column as JSON text.
func rowVersion(def stream.Definition, key []string) string {
	parts := []string{"row_hash"}
	if len(key) == 1 {
		parts = append(parts, Quote(key[0])+"::VARCHAR AS row_key")
	} else {
		parts = append(parts, "concat_ws('/', "+quoteAll(key)+") AS row_key")
	}
	for i, c := range def.Columns {
		parts = append(parts, fmt.Sprintf("%s AS c%d", jsonText(c), i))
	}
	return strings.Join(parts, ", ")
}

func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = Quote(n)
	}
	return strings.Join(quoted, ", ")
}

// jsonText writes a value as JSON. to_json would send decimals through a
// double, and a time without its zone.
func jsonText(c stream.Column) string {
	name := Quote(c.Name)
	switch c.Type {
	case stream.Text:
		return "to_json(" + name + ")::VARCHAR"
	case stream.Instant:
		return fmt.Sprintf(`'"' || replace(strftime(make_timestamp(epoch_us(%s)), '%%Y-%%m-%%dT%%H:%%M:%%S.%%fZ'), '.000000Z', 'Z') || '"'`, name)
	}
	return name + "::VARCHAR"
}

// wholeRecord is the change of a record that is new or gone: the whole of it, NULLs
// left out.
func wholeRecord(def stream.Definition) string {
	object := func(from string) string {
		parts := make([]string, len(def.Columns))
		for i, c := range def.Columns {
			parts[i] = fmt.Sprintf(`'"%s":' || %s.c%d`, c.Name, from, i)
		}
		return fmt.Sprintf("CASE WHEN %s.row_hash IS NOT NULL THEN '{' || concat_ws(',', %s) || '}' END", from, strings.Join(parts, ", "))
	}
	return fmt.Sprintf("{'field': NULL::VARCHAR, 'old': %s, 'new': %s}", object("a"), object("b"))
}

// changedFields are the fields of a record that stayed, changed or not.
func changedFields(def stream.Definition, key []string) string {
	var parts []string
	for i, c := range def.Columns {
		if !c.Untracked && !slices.Contains(key, c.Name) {
			parts = append(parts, fmt.Sprintf("{'field': %s, 'old': a.c%d, 'new': b.c%[2]d}", Literal(c.Name), i))
		}
	}
	if len(parts) == 0 {
		return "{'field': NULL::VARCHAR, 'old': NULL::VARCHAR, 'new': NULL::VARCHAR}"
	}
	return strings.Join(parts, ", ")
}

// sameKey compares the texts of the key's columns, which are equal exactly
// when the columns are.
func sameKey(def stream.Definition, key []string) string {
	var parts []string
	for i, c := range def.Columns {
		if slices.Contains(key, c.Name) {
			parts = append(parts, fmt.Sprintf("a.c%d = b.c%[1]d", i))
		}
	}
	return strings.Join(parts, " AND ")
}

// allChanges unites the changes of all tables under their names. A filter on
// table_name leaves the other tables unread.
func allChanges(tables []stream.Table) string {
	parts := make([]string, len(tables))
	for i, t := range tables {
		parts[i] = fmt.Sprintf("SELECT %s AS table_name, * FROM %s(from_time, to_time)", Literal(t.Name), Quote(t.Name+ChangesSuffix))
	}
	return "CREATE OR REPLACE MACRO changes(from_time, to_time) AS TABLE\n" + strings.Join(parts, "\nUNION ALL ")
}
