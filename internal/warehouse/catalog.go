package warehouse

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"placementsync/internal/stream"
)

// ensureCatalog brings the attached file to the state that schema/ describes:
// schemas, tables, columns, comments, history views and as-of macros. It is
// idempotent; a column that is new in schema/ is added, anything else that
// differs is refused by addColumns.
func (w *Warehouse) ensureCatalog(ctx context.Context, in *Instance) error {
	if err := in.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS past", "CREATE SCHEMA IF NOT EXISTS history",
		"CREATE SCHEMA IF NOT EXISTS meta", "CREATE SCHEMA IF NOT EXISTS mart"); err != nil {
		return err
	}
	for _, t := range w.cfg.Tables {
		if err := w.ensureTable(ctx, in, w.defs[t.Name]); err != nil {
			return err
		}
	}
	for _, def := range w.meta {
		if err := ensureColumns(ctx, in, "meta", def, def.Columns); err != nil {
			return err
		}
	}
	return nil
}

func (w *Warehouse) ensureTable(ctx context.Context, in *Instance, def stream.Definition) error {
	current := slices.Concat(def.Columns, systemColumns())
	if err := ensureColumns(ctx, in, "main", def, current); err != nil {
		return err
	}
	if err := ensureColumns(ctx, in, "past", def, slices.Concat(current, closedColumns())); err != nil {
		return err
	}
	return in.Exec(ctx, historyView(def), asOfMacro(def))
}

// historyView unites current and closed rows: what users of type 2 history
// expect, valid_to NULL for the current ones.
func historyView(def stream.Definition) string {
	cols, name := Columns("", def), Quote(def.Name)
	return fmt.Sprintf(`CREATE OR REPLACE VIEW history.%[2]s AS
		SELECT %[1]s, valid_from, NULL::TIMESTAMPTZ AS valid_to FROM main.%[2]s
		UNION ALL SELECT %[1]s, valid_from, valid_to FROM past.%[2]s`, cols, name)
}

// asOfMacro gives the rows of a table as they were at a time.
func asOfMacro(def stream.Definition) string {
	return fmt.Sprintf(`CREATE OR REPLACE MACRO %s(at_time) AS TABLE
		SELECT * FROM history.%s
		WHERE valid_from <= at_time::TIMESTAMPTZ AND (valid_to IS NULL OR valid_to > at_time::TIMESTAMPTZ)`,
		Quote(def.Name+"_at"), Quote(def.Name))
}

// ensureColumns creates a table, or adds the columns that an existing one
// lacks, and writes the comments.
func ensureColumns(ctx context.Context, in *Instance, schema string, def stream.Definition, cols []stream.Column) error {
	table := Quote(schema) + "." + Quote(def.Name)
	if err := in.Exec(ctx, createTable(table, cols)); err != nil {
		return err
	}
	have, err := readColumns(ctx, in, schema, def.Name)
	if err != nil {
		return err
	}
	if err := compatible(schema+"."+def.Name, have, cols); err != nil {
		return err
	}
	statements := []string{fmt.Sprintf("COMMENT ON TABLE %s IS %s", table, Literal(def.Comment))}
	for _, c := range cols {
		old, ok := have[c.Name]
		if !ok {
			statements = append(statements, fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s %s", table, Quote(c.Name), c.Type))
		}
		if !ok || old.Comment != c.Comment {
			statements = append(statements,
				fmt.Sprintf("COMMENT ON COLUMN %s.%s IS %s", table, Quote(c.Name), Literal(c.Comment)))
		}
	}
	return in.Exec(ctx, statements...)
}

func createTable(table string, cols []stream.Column) string {
	lines := make([]string, len(cols))
	for i, c := range cols {
		lines[i] = Quote(c.Name) + " " + string(c.Type)
		if c.NotNull {
			lines[i] += " NOT NULL"
		}
	}
	return fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (%s)", table, strings.Join(lines, ", "))
}

// SchemaError says that the warehouse and this program disagree about a table
// in a way that adding a column cannot mend.
type SchemaError struct{ Table, Column, Have, Want string }

func (e *SchemaError) Error() string {
	return fmt.Sprintf("open the catalog: %s.%s is %s in the warehouse and %s in this program; nothing was changed: "+
		"use the program version that wrote it, or run \"placementsync rebuild\"", e.Table, e.Column, e.Have, e.Want)
}

// compatible refuses a column that is gone from schema/ or has another type.
func compatible(table string, have map[string]stream.Column, want []stream.Column) error {
	for name, old := range have {
		i := slices.IndexFunc(want, func(c stream.Column) bool { return c.Name == name })
		if i < 0 {
			return &SchemaError{table, name, string(old.Type), "absent"}
		}
		if old.Type != want[i].Type {
			return &SchemaError{table, name, string(old.Type), string(want[i].Type)}
		}
	}
	return nil
}

// readColumns reads a table's columns from DuckDB's own catalogue.
func readColumns(ctx context.Context, in *Instance, schema, table string) (map[string]stream.Column, error) {
	rows, err := in.DB.QueryContext(ctx, `SELECT column_name, data_type, NOT is_nullable, coalesce(comment, '')
		FROM duckdb_columns() WHERE database_name = current_database() AND schema_name = ? AND table_name = ?`, schema, table)
	if err != nil {
		return nil, fmt.Errorf("read columns of %s.%s: %w", schema, table, err)
	}
	defer rows.Close()
	found := map[string]stream.Column{}
	for rows.Next() {
		var c stream.Column
		var duck string
		if err := rows.Scan(&c.Name, &duck, &c.NotNull, &c.Comment); err != nil {
			return nil, err
		}
		c.Type = stream.Type(strings.Replace(duck, "TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ", 1))
		found[c.Name] = c
	}
	return found, rows.Err()
}
