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

// Names of attached databases. Queries always read catalogDB. For the newest snapshot, the file
// is attached as catalogDB. For an earlier snapshot, the file is attached as newestDB, and
// catalogDB is an in-memory database with views of the tables at that time.
const (
	catalogDB = "catalog"
	newestDB  = "newest"
)

// createSnapshotViews creates the catalog of an earlier snapshot in catalogDB. Each table
// becomes a view of the rows that existed then. Views and macros are created from their
// definitions in the file, because an older program version may have written other definitions.
func (db *DB) createSnapshotViews(ctx context.Context, s Snapshot) error {
	tables, err := db.storedTables(ctx, newestDB)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, schema := range []string{"past", "history", "meta", "mart"} {
		fmt.Fprintf(&text, "CREATE SCHEMA IF NOT EXISTS %s.%s;\n", catalogDB, schema)
	}
	for _, t := range tables {
		text.WriteString(t.viewSQL(s))
	}
	if err := db.execAll(ctx, "BEGIN", text.String(), "COMMIT"); err != nil {
		return err
	}
	definitions, err := db.readStatements(ctx, definitionsSQL())
	if err != nil {
		return err
	}
	if err := db.execInAnyOrder(ctx, definitions); err != nil {
		return err
	}
	comments, err := db.readStatements(ctx, viewCommentsSQL())
	if err != nil {
		return err
	}
	return db.execAll(ctx, comments...)
}

// storedTable is a table of the file. columns are pairs of name and comment.
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

// scanRows scans each row of a query into the variables and then calls use.
func (db *DB) scanRows(ctx context.Context, query string, args, variables []any, use func()) error {
	rows, err := db.conn.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(variables...); err != nil {
			return err
		}
		use()
	}
	return rows.Err()
}

// viewSQL returns the statements that create the view of the table and its comments. Views in
// the schema past get no comments: their columns are described in the schema main, and creating the
// comments again would double the time.
func (t storedTable) viewSQL(s Snapshot) string {
	var b strings.Builder
	name := catalogDB + "." + sqltext.Quote(t.schema) + "." + sqltext.Quote(t.name)
	fmt.Fprintf(&b, "CREATE VIEW %s AS %s;\n", name, t.selectSQL(s, nil))
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

// selectSQL returns a SELECT of the rows that the table had at a snapshot. These rows are in the
// schema main or, if a later night changed or removed them, in the schema past. Hidden columns are NULL.
func (t storedTable) selectSQL(s Snapshot, hidden []string) string {
	at := timeLiteral(s.At)
	switch {
	case t.schema == "main" && t.hasColumn("valid_from"):
		return fmt.Sprintf("SELECT %[1]s FROM %[2]s WHERE valid_from <= %[3]s UNION ALL SELECT %[1]s FROM %[4]s WHERE valid_from <= %[3]s AND valid_to > %[3]s",
			t.columnList(hidden), t.qualifiedName("main"), at, t.qualifiedName("past"))
	case t.schema == "past":
		return fmt.Sprintf("SELECT %s FROM %s WHERE valid_to <= %s", t.columnList(hidden), t.qualifiedName("past"), at)
	}
	return fmt.Sprintf("SELECT %s FROM %s%s", t.columnList(nil), t.qualifiedName(t.schema), t.metaFilter(at))
}

// metaFilter returns a WHERE clause for the rows of a table in the schema meta that existed
// at a time. Tables whose rows are updated in place ("details", "drift") show their current values.
func (t storedTable) metaFilter(at string) string {
	inPublishedRuns := " IN (SELECT run_id FROM " + t.database + ".meta.runs WHERE snapshot_at <= " + at + ")"
	switch {
	case t.schema != "meta":
		return ""
	case t.hasColumn("read_at"):
		return " WHERE read_at <= " + at
	case t.hasColumn("run_id"):
		return " WHERE run_id" + inPublishedRuns
	case t.hasColumn("first_run"):
		return " WHERE first_run" + inPublishedRuns
	case t.hasColumn("received_at"):
		return " WHERE received_at <= " + at
	}
	return ""
}

func (t storedTable) hasColumn(column string) bool {
	return slices.ContainsFunc(t.columns, func(c [2]string) bool { return c[0] == column })
}

// qualifiedName returns the name of the table in a schema of its file.
func (t storedTable) qualifiedName(schema string) string {
	return t.database + "." + sqltext.Quote(schema) + "." + sqltext.Quote(t.name)
}

// columnList returns the columns for a SELECT. Each column whose name, as table.column, is in
// hidden is replaced by NULL of the same type.
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

func timeLiteral(t time.Time) string {
	return "TIMESTAMPTZ " + sqltext.Literal(t.UTC().Format("2006-01-02 15:04:05.000000")+"+00")
}

// definitionsSQL returns a query for the statements that create the views and macros of the file.
// These statements name no database, so they refer to the current one. The macros that compare two
// snapshots are left out: creating them takes long, and comparisons use the newest catalog.
func definitionsSQL() string {
	return `SELECT sql FROM duckdb_views() WHERE database_name = $1 AND NOT internal
		UNION ALL SELECT concat('CREATE MACRO ', ` + sqltext.QuoteSQL("schema_name") + `, '.', ` + sqltext.QuoteSQL("function_name") + `,
			'(', array_to_string(parameters, ', '), ') AS ', CASE function_type WHEN 'table_macro' THEN 'TABLE ' ELSE '' END, macro_definition)
		FROM duckdb_functions() WHERE database_name = $1 AND NOT internal AND function_type IN ('macro', 'table_macro')
			AND function_name <> 'changes' AND NOT ends_with(function_name, ` + sqltext.Literal(dictionary.ChangesSuffix) + `)`
}

// viewCommentsSQL returns a query for the statements that create the comments of views. The
// definition of a view does not contain its comments.
func viewCommentsSQL() string {
	view := sqltext.QuoteSQL("schema_name") + `, '.', ` + sqltext.QuoteSQL("view_name")
	return `SELECT concat('COMMENT ON VIEW ', ` + view + `, ' IS ', ` + sqltext.LiteralSQL("comment") + `)
		FROM duckdb_views() WHERE database_name = $1 AND NOT internal AND comment IS NOT NULL
		UNION ALL SELECT concat('COMMENT ON COLUMN ', ` + view + `, '.', ` + sqltext.QuoteSQL("column_name") + `, ' IS ', ` + sqltext.LiteralSQL("c.comment") + `)
		FROM duckdb_columns() c JOIN duckdb_views() v USING (database_name, schema_name)
		WHERE database_name = $1 AND v.view_name = c.table_name AND NOT v.internal AND c.comment IS NOT NULL`
}

// readStatements runs a query that selects statements from the file's system tables.
func (db *DB) readStatements(ctx context.Context, query string) (statements []string, err error) {
	var text string
	err = db.scanRows(ctx, query, []any{newestDB}, []any{&text}, func() { statements = append(statements, text) })
	return statements, err
}

// execInAnyOrder executes statements that may depend on each other in an unknown order. It
// retries the failed statements until all succeed. If all of them fail again, it returns their
// errors.
func (db *DB) execInAnyOrder(ctx context.Context, statements []string) error {
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
