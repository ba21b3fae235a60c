package query

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"placementsync/internal/sqltext"
)

// createCatalogViews creates the views of all tables in catalogDB. Views and macros are created from their
// definitions in the file, which another program version may have written.
func (db *DB) createCatalogViews(ctx context.Context, selectRows func(storedTable) sqltext.SQL) error {
	tables, err := db.storedTables(ctx, db.stored)
	if err != nil {
		return err
	}
	if err := db.createViews(ctx, catalogDB, tables, selectRows); err != nil {
		return err
	}
	var definition sqltext.SQL
	var definitions []sqltext.SQL
	err = db.scanRows(ctx, catalogSQL.Render("definitions", sqltext.Values{"database": db.stored}), []any{&definition},
		func() { definitions = append(definitions, definition) })
	if err != nil {
		return err
	}
	return db.execInAnyOrder(ctx, definitions)
}

func (db *DB) createViews(ctx context.Context, database string, tables []storedTable, selectRows func(storedTable) sqltext.SQL) error {
	var statements []sqltext.SQL
	for _, schema := range []string{"past", "history", "meta", "mart"} {
		statements = append(statements, sqltext.Fill("CREATE SCHEMA {database}.{schema}",
			sqltext.Values{"database": sqltext.Name(database), "schema": sqltext.Name(schema)}))
	}
	for _, t := range tables {
		statements = append(statements, sqltext.Fill("CREATE VIEW {database}.{schema}.{name} AS {rows}", sqltext.Values{
			"database": sqltext.Name(database), "schema": sqltext.Name(t.schema), "name": sqltext.Name(t.name), "rows": selectRows(t)}))
	}
	return db.execAll(ctx, "BEGIN", sqltext.JoinSQL(statements, ";\n"), "COMMIT")
}

type storedTable struct {
	database, schema, name string
	columns                []string
}

func (db *DB) storedTables(ctx context.Context, database string) ([]storedTable, error) {
	var tables []storedTable
	var schema, name string
	var columns []any
	err := db.scanRows(ctx, catalogSQL.Render("stored_tables", sqltext.Values{"database": database}), []any{&schema, &name, &columns}, func() {
		t := storedTable{database: database, schema: schema, name: name}
		for _, c := range columns {
			t.columns = append(t.columns, fmt.Sprint(c))
		}
		tables = append(tables, t)
	})
	return tables, err
}

// scanRows scans each row of a query into the variables and then calls use.
func (db *DB) scanRows(ctx context.Context, query sqltext.SQL, variables []any, use func()) error {
	rows, err := db.conn.QueryContext(ctx, string(query))
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
func (t storedTable) selectSQL(s Snapshot, hidden []string) sqltext.SQL {
	has := func(column string) bool { return slices.Contains(t.columns, column) }
	columns := t.columnList(hidden)
	switch {
	case t.schema == "main" && has("valid_from"):
		return catalogSQL.Render("rows_at", sqltext.Values{"columns": columns, "main": t.qualifiedName("main"), "past": t.qualifiedName("past"), "at": s.At})
	case t.schema == "past":
		return catalogSQL.Render("rows_closed_until", sqltext.Values{"columns": columns, "past": t.qualifiedName("past"), "at": s.At})
	case t.schema == "meta" && has("run_id"):
		return t.selectOfRuns("run_id", columns, s)
	case t.schema == "meta" && has("first_run"):
		return t.selectOfRuns("first_run", columns, s)
	}
	return t.selectAll(hidden)
}

// selectOfRuns returns a SELECT of the rows whose run is not later than a snapshot. run is the column with its id.
func (t storedTable) selectOfRuns(run string, columns sqltext.SQL, s Snapshot) sqltext.SQL {
	return catalogSQL.Render("rows_of_runs", sqltext.Values{"columns": columns, "table": t.qualifiedName(t.schema), "run": sqltext.Name(run),
		"database": sqltext.Name(t.database), "at": s.At})
}

func (t storedTable) selectAll(hidden []string) sqltext.SQL {
	return sqltext.Fill("SELECT {columns} FROM {table}", sqltext.Values{"columns": t.columnList(hidden), "table": t.qualifiedName(t.schema)})
}

func (t storedTable) qualifiedName(schema string) sqltext.SQL {
	return sqltext.Fill("{database}.{schema}.{name}",
		sqltext.Values{"database": sqltext.Name(t.database), "schema": sqltext.Name(schema), "name": sqltext.Name(t.name)})
}

// columnList returns the columns for a SELECT. Hidden columns are NULL of the same type.
func (t storedTable) columnList(hidden []string) sqltext.SQL {
	return sqltext.Join(t.columns, ", ", func(column string) sqltext.SQL {
		text := "{column}"
		if t.schema != "meta" && slices.Contains(hidden, t.name+"."+column) {
			text = "CASE WHEN FALSE THEN {column} END AS {column}"
		}
		return sqltext.Fill(text, sqltext.Values{"column": sqltext.Name(column)})
	})
}

// execInAnyOrder executes statements that may need objects of later statements.
func (db *DB) execInAnyOrder(ctx context.Context, statements []sqltext.SQL) error {
	for len(statements) > 0 {
		var failed []sqltext.SQL
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
