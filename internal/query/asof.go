package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"placementsync/internal/sqltext"
)

// Names of attached databases. Queries always read catalogDB. Without Options.AsOf, and without earlier values of
// hidden columns, the file is attached as catalogDB. Otherwise the file is attached as DB.stored, and catalogDB is an in-memory
// database with views of the rows at the time of the chosen snapshot. DB.stored is newestDB, or with
// Options.Before a random name, so that no check can read the file itself.
const (
	catalogDB = "catalog"
	newestDB  = "newest"
)

// createCatalogViews creates the views of all tables in catalogDB. Views and macros are created from their
// definitions in the file, which another program version may have written.
func (db *DB) createCatalogViews(ctx context.Context, selectRows func(storedTable) string) error {
	tables, err := db.storedTables(ctx, db.stored)
	if err != nil {
		return err
	}
	if err := db.createViews(ctx, catalogDB, tables, selectRows); err != nil {
		return err
	}
	definitionsSQL := catalogSQL.Render("definitions", sqltext.Values{"database": db.stored,
		"quoted_schema": sqltext.SQL(sqltext.QuoteValue("schema_name")), "quoted_function": sqltext.SQL(sqltext.QuoteValue("function_name"))})
	var definition string
	var definitions []string
	err = db.scanRows(ctx, string(definitionsSQL), nil, []any{&definition}, func() { definitions = append(definitions, definition) })
	if err != nil {
		return err
	}
	return db.execInAnyOrder(ctx, definitions)
}

func (db *DB) createViews(ctx context.Context, database string, tables []storedTable, selectRows func(storedTable) string) error {
	var createSQL strings.Builder
	for _, schema := range []string{"past", "history", "meta", "mart"} {
		fmt.Fprintf(&createSQL, "CREATE SCHEMA %s.%s;\n", database, schema)
	}
	for _, t := range tables {
		fmt.Fprintf(&createSQL, "CREATE VIEW %s.%s.%s AS %s;\n", database, sqltext.Quote(t.schema), sqltext.Quote(t.name), selectRows(t))
	}
	return db.execAll(ctx, "BEGIN", createSQL.String(), "COMMIT")
}

type storedTable struct {
	database, schema, name string
	columns                []string
}

func (db *DB) storedTables(ctx context.Context, database string) ([]storedTable, error) {
	const query = `SELECT schema_name, table_name, list(c.column_name ORDER BY c.column_index)
		FROM duckdb_columns() c JOIN duckdb_tables() t USING (database_name, schema_name, table_name)
		WHERE database_name = ? GROUP BY ALL ORDER BY ALL`
	var tables []storedTable
	var schema, name string
	var columns []any
	err := db.scanRows(ctx, query, []any{database}, []any{&schema, &name, &columns}, func() {
		t := storedTable{database: database, schema: schema, name: name}
		for _, c := range columns {
			t.columns = append(t.columns, fmt.Sprint(c))
		}
		tables = append(tables, t)
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

// selectSQL returns a SELECT of the rows that the table had at a snapshot. These rows are in the
// schema main or, if a later night changed or removed them, in the schema past. Tables in the schema
// meta whose rows are updated in place ("details", "drift") show their current values. Hidden columns
// are NULL.
func (t storedTable) selectSQL(s Snapshot, hidden []string) string {
	at := sqltext.Time(s.At)
	has := func(column string) bool { return slices.Contains(t.columns, column) }
	inRunsUntilThen := " IN (SELECT run_id FROM " + t.database + ".meta.runs WHERE snapshot_at <= " + at + ")"
	where := ""
	switch {
	case t.schema == "main" && has("valid_from"):
		return fmt.Sprintf("SELECT %[1]s FROM %[2]s WHERE valid_from <= %[3]s UNION ALL SELECT %[1]s FROM %[4]s WHERE valid_from <= %[3]s AND valid_to > %[3]s",
			t.columnList(hidden), t.qualifiedName("main"), at, t.qualifiedName("past"))
	case t.schema == "past":
		where = " WHERE valid_to <= " + at
	case t.schema != "meta":
	case has("run_id"):
		where = " WHERE run_id" + inRunsUntilThen
	case has("first_run"):
		where = " WHERE first_run" + inRunsUntilThen
	}
	return t.selectAll(hidden) + where
}

func (t storedTable) selectAll(hidden []string) string {
	return "SELECT " + t.columnList(hidden) + " FROM " + t.qualifiedName(t.schema)
}

func (t storedTable) qualifiedName(schema string) string {
	return t.database + "." + sqltext.Quote(schema) + "." + sqltext.Quote(t.name)
}

// columnList returns the columns for a SELECT. Hidden columns are NULL of the same type.
func (t storedTable) columnList(hidden []string) string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = sqltext.Quote(c)
		if t.schema != "meta" && slices.Contains(hidden, t.name+"."+c) {
			names[i] = "CASE WHEN FALSE THEN " + names[i] + " END AS " + names[i]
		}
	}
	return strings.Join(names, ", ")
}

// execInAnyOrder executes statements that may need objects of later statements.
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
