package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"placementsync/internal/dictionary"
	"placementsync/internal/sqltext"
)

// The catalog has one name in the instance, for any time. For an earlier snapshot,
// the file is attached as newest, and home is a database in memory whose views show
// the tables as they were. A query that names home, or no database, reads these.
const (
	home   = "catalog"
	newest = "newest"
)

// goBack fills home with the catalog as it was when a snapshot was the newest.
// Tables become views that leave out what was not known yet; views and macros
// are made again from their own definitions, so that an old file is asked with
// the views that it has, and shows them of that time.
func (db *DB) goBack(ctx context.Context, s Snapshot) error {
	tables, err := db.storedTables(ctx, newest)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, schema := range []string{"past", "history", "meta", "mart"} {
		fmt.Fprintf(&text, "CREATE SCHEMA IF NOT EXISTS %s.%s;\n", home, schema)
	}
	for _, t := range tables {
		text.WriteString(t.asOf(s))
	}
	if err := db.execAll(ctx, "BEGIN", text.String(), "COMMIT"); err != nil {
		return err
	}
	derived, err := db.readStatements(ctx, derivedSQL())
	if err != nil {
		return err
	}
	if err := db.runInAnyOrder(ctx, derived); err != nil {
		return err
	}
	comments, err := db.readStatements(ctx, viewCommentsSQL())
	if err != nil {
		return err
	}
	return db.execAll(ctx, comments...)
}

// storedTable is a table of the file. A column holds its name and its comment.
type storedTable struct {
	database, schema, name, comment string
	columns                         [][2]string
}

func (db *DB) storedTables(ctx context.Context, database string) ([]storedTable, error) {
	const query = `SELECT c.schema_name, c.table_name, coalesce(t.comment, ''), c.column_name, coalesce(c.comment, '')
		FROM duckdb_columns() c JOIN duckdb_tables() t USING (database_name, schema_name, table_name)
		WHERE database_name = ? ORDER BY c.schema_name, c.table_name, c.column_index`
	var tables []storedTable
	t := storedTable{database: database}
	var column [2]string
	err := db.scanRows(ctx, query, []any{database}, []any{&t.schema, &t.name, &t.comment, &column[0], &column[1]}, func() {
		if n := len(tables); n == 0 || tables[n-1].schema != t.schema || tables[n-1].name != t.name {
			tables = append(tables, t)
		}
		last := &tables[len(tables)-1]
		last.columns = append(last.columns, column)
	})
	return tables, err
}

// scanRows scans each row of a query into variables and then calls each.
func (db *DB) scanRows(ctx context.Context, query string, args, into []any, each func()) error {
	rows, err := db.conn.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		each()
	}
	return rows.Err()
}

// asOf is the table as a view of home, with its comments. Views of past
// get none: theirs are those of main, and writing them would double the time.
func (t storedTable) asOf(s Snapshot) string {
	var b strings.Builder
	name := home + "." + sqltext.Quote(t.schema) + "." + sqltext.Quote(t.name)
	fmt.Fprintf(&b, "CREATE VIEW %s AS %s;\n", name, t.rowsKnownAt(s, nil))
	if t.schema == "past" {
		return b.String()
	}
	if t.comment != "" {
		fmt.Fprintf(&b, "COMMENT ON VIEW %s IS %s;\n", name, sqltext.Literal(t.comment))
	}
	for _, c := range t.columns {
		if c[1] != "" {
			fmt.Fprintf(&b, "COMMENT ON COLUMN %s.%s IS %s;\n", name, sqltext.Quote(c[0]), sqltext.Literal(c[1]))
		}
	}
	return b.String()
}

// rowsKnownAt selects the rows that the table had. What is in main now was in it
// then if it had begun; what has left it since is in past. Hidden columns are NULL.
func (t storedTable) rowsKnownAt(s Snapshot, hidden []string) string {
	at := instantLiteral(s.At)
	switch {
	case t.schema == "main" && t.hasColumn("valid_from"):
		return fmt.Sprintf("SELECT %[1]s FROM %[2]s WHERE valid_from <= %[3]s UNION ALL SELECT %[1]s FROM %[4]s WHERE valid_from <= %[3]s AND valid_to > %[3]s",
			t.columnList(hidden), t.qualified("main"), at, t.qualified("past"))
	case t.schema == "past":
		return fmt.Sprintf("SELECT %s FROM %s WHERE valid_to <= %s", t.columnList(hidden), t.qualified("past"), at)
	}
	return fmt.Sprintf("SELECT %s FROM %s%s", t.columnList(nil), t.qualified(t.schema), t.metaFilter(at))
}

// metaFilter leaves out what meta did not hold yet. A table whose rows are
// updated in place (details, drift) shows those that existed, with the values
// that they have now.
func (t storedTable) metaFilter(at string) string {
	published := " IN (SELECT run_id FROM " + t.database + ".meta.runs WHERE snapshot_at <= " + at + ")"
	switch {
	case t.schema != "meta":
		return ""
	case t.hasColumn("read_at"):
		return " WHERE read_at <= " + at
	case t.hasColumn("run_id"):
		return " WHERE run_id" + published
	case t.hasColumn("first_run"):
		return " WHERE first_run" + published
	case t.hasColumn("received_at"):
		return " WHERE received_at <= " + at
	}
	return ""
}

func (t storedTable) hasColumn(column string) bool {
	return slices.ContainsFunc(t.columns, func(c [2]string) bool { return c[0] == column })
}

// qualified is the name of the table in a schema of its file.
func (t storedTable) qualified(schema string) string {
	return t.database + "." + sqltext.Quote(schema) + "." + sqltext.Quote(t.name)
}

// columnList lists the columns. Hidden ones, as table.column, are NULL of their type.
func (t storedTable) columnList(hidden []string) string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = sqltext.Quote(c[0])
		if t.schema != "meta" && slices.Contains(hidden, t.name+"."+c[0]) {
			names[i] = "CASE WHEN FALSE THEN " + names[i] + " END AS " + names[i]
		}
	}
	return strings.Join(names, ", ")
}

func instantLiteral(t time.Time) string {
	return "TIMESTAMPTZ " + sqltext.Literal(t.UTC().Format("2006-01-02 15:04:05.000000")+"+00")
}

// derivedSQL gives the statements that make the views and macros of the file
// again. Their texts name no database and so mean the one in use. Macros that
// compare two times are left out: they would bind every table once more, and the
// newest catalog answers them for any time.
func derivedSQL() string {
	return `SELECT sql FROM duckdb_views() WHERE database_name = $1 AND NOT internal
		UNION ALL SELECT concat('CREATE MACRO ', ` + sqltext.QuoteSQL("schema_name") + `, '.', ` + sqltext.QuoteSQL("function_name") + `,
			'(', array_to_string(parameters, ', '), ') AS ', CASE function_type WHEN 'table_macro' THEN 'TABLE ' ELSE '' END, macro_definition)
		FROM duckdb_functions() WHERE database_name = $1 AND NOT internal AND function_type IN ('macro', 'table_macro')
			AND function_name <> 'changes' AND NOT ends_with(function_name, ` + sqltext.Literal(dictionary.ChangesSuffix) + `)`
}

// viewCommentsSQL gives the statements that make the comments which a view's
// text lacks.
func viewCommentsSQL() string {
	view := sqltext.QuoteSQL("schema_name") + `, '.', ` + sqltext.QuoteSQL("view_name")
	return `SELECT concat('COMMENT ON VIEW ', ` + view + `, ' IS ', ` + sqltext.LiteralSQL("comment") + `)
		FROM duckdb_views() WHERE database_name = $1 AND NOT internal AND comment IS NOT NULL
		UNION ALL SELECT concat('COMMENT ON COLUMN ', ` + view + `, '.', ` + sqltext.QuoteSQL("column_name") + `, ' IS ', ` + sqltext.LiteralSQL("c.comment") + `)
		FROM duckdb_columns() c JOIN duckdb_views() v USING (database_name, schema_name)
		WHERE database_name = $1 AND v.view_name = c.table_name AND NOT v.internal AND c.comment IS NOT NULL`
}

// readStatements reads SQL that the file's own catalog has.
func (db *DB) readStatements(ctx context.Context, query string) (statements []string, err error) {
	var one string
	err = db.scanRows(ctx, query, []any{newest}, []any{&one}, func() { statements = append(statements, one) })
	return statements, err
}

// runInAnyOrder runs statements that may need one another: it tries the failed ones
// again as long as a round runs any of them.
func (db *DB) runInAnyOrder(ctx context.Context, statements []string) error {
	for len(statements) > 0 {
		var failed []string
		var problems []error
		for _, s := range statements {
			if err := db.execAll(ctx, s); err != nil {
				failed, problems = append(failed, s), append(problems, err)
			}
		}
		if len(failed) == len(statements) {
			return errors.Join(problems...)
		}
		statements = failed
	}
	return nil
}
