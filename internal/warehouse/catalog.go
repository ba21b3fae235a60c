package warehouse

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"placementsync/internal/stream"
)

// Catalog is what the schema files and the configuration say of the tables and
// views of a catalog.
type Catalog struct {
	tables []stream.Table // of main, in the order of the configuration
	defs   map[string]stream.Definition
	meta   []stream.Definition
	mart   []MartView
}

// ensureTables brings the attached file to the state that schema/ describes:
// schemas, tables, columns, comments, history views and as-of macros. It is
// idempotent; a column that is new in schema/ is added, anything else that
// differs is refused. All of it is one transaction, since a commit for each of
// some hundred statements would take a second of every night.
//
// base is the manifest of the catalogue that the file is a copy of.
func (c *Catalog) ensureTables(ctx context.Context, in *Instance, base Manifest) error {
	have, err := readColumns(ctx, in)
	if err == nil {
		err = c.checkCompatible(have, base.Program)
	}
	if err != nil {
		return err
	}
	schemas := []string{"CREATE SCHEMA IF NOT EXISTS past", "CREATE SCHEMA IF NOT EXISTS history",
		"CREATE SCHEMA IF NOT EXISTS meta", "CREATE SCHEMA IF NOT EXISTS mart"}
	var statements []string
	for _, t := range c.storedTables() {
		statements = append(statements, t.ensureStatements(have[t.qualifiedName()])...)
	}
	// Views and macros are made anew only where they could be other ones.
	changed := len(statements) > 0 || base.Schema != SchemaVersion()
	for _, t := range c.tables {
		if def := c.defs[t.Name]; changed || have["history."+def.Name] == nil {
			statements = append(statements, historyView(def), asOfMacro(def), changesMacro(def, t.Key))
		}
	}
	if len(statements) > 0 {
		statements = append(statements, allChanges(c.tables))
	}
	statements = append(statements, c.martStatements(have, changed)...)
	return in.Atomically(ctx, append(schemas, statements...))
}

// storedTable is a table as it stands in one schema of the catalogue.
type storedTable struct {
	schema  string
	def     stream.Definition
	columns []stream.Column
}

func (t storedTable) qualifiedName() string { return t.schema + "." + t.def.Name }

// storedTables lists every stored table: current, closed and meta.
func (c *Catalog) storedTables() []storedTable {
	var all []storedTable
	for _, t := range c.tables {
		def := c.defs[t.Name]
		current := slices.Concat(def.Columns, systemColumns())
		all = append(all, storedTable{"main", def, current},
			storedTable{"past", def, slices.Concat(current, closedColumns())})
	}
	for _, def := range c.meta {
		all = append(all, storedTable{"meta", def, def.Columns})
	}
	return all
}

// historyView unites current and closed rows: what users of type 2 history
// expect, valid_to NULL for the current ones.
func historyView(def stream.Definition) string {
	cols, name := Columns("", def), Quote(def.Name)
	return fmt.Sprintf(`CREATE OR REPLACE VIEW history.%[2]s AS
		SELECT %[1]s, valid_from, NULL::TIMESTAMPTZ AS valid_to FROM main.%[2]s
		UNION ALL SELECT %[1]s, valid_from, valid_to FROM past.%[2]s`, cols, name)
}

// generatedVersion counts the forms that the generated views and macros have
// had, so that a warehouse whose schema files are the same gets the new ones.
const generatedVersion = 2

// asOfMacro gives the rows of a table as they were at a time.
func asOfMacro(def stream.Definition) string {
	return fmt.Sprintf(`CREATE OR REPLACE MACRO %s(at_time) AS TABLE
		SELECT * FROM history.%s
		WHERE valid_from <= at_time::TIMESTAMPTZ AND (valid_to IS NULL OR valid_to > at_time::TIMESTAMPTZ)`,
		Quote(def.Name+"_at"), Quote(def.Name))
}

// ensureStatements gives the statements that create a table, or add the columns that an
// existing one lacks, and write the comments that differ.
func (t storedTable) ensureStatements(have map[string]stream.Column) []string {
	table := Quote(t.schema) + "." + Quote(t.def.Name)
	var statements []string
	if have == nil {
		statements = append(statements, createTable(table, t.columns),
			fmt.Sprintf("COMMENT ON TABLE %s IS %s", table, Literal(t.def.Comment)))
	}
	for _, c := range t.columns {
		old, ok := have[c.Name]
		if !ok && have != nil {
			statements = append(statements, fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s %s", table, Quote(c.Name), c.Type))
		}
		if old.Comment != c.Comment {
			statements = append(statements,
				fmt.Sprintf("COMMENT ON COLUMN %s.%s IS %s", table, Quote(c.Name), Literal(c.Comment)))
		}
	}
	return statements
}

func createTable(table string, cols []stream.Column) string {
	lines := make([]string, len(cols))
	for i, c := range cols {
		lines[i] = Quote(c.Name) + " " + string(c.Type)
		if c.NotNull {
			lines[i] += " NOT NULL"
		}
	}
	return fmt.Sprintf("CREATE TABLE %s (%s)", table, strings.Join(lines, ", "))
}

// SchemaError says that the warehouse and this program disagree about a table
// in a way that adding a column cannot mend. Column is empty when this program
// lacks the whole table. Program is the version that wrote the warehouse.
type SchemaError struct{ Table, Column, Have, Want, Program string }

func (e *SchemaError) Error() string {
	return fmt.Sprintf("open the catalog: %s is %s in the warehouse and %s in this program; nothing was changed: "+
		"use the program that wrote it (version %s), or run \"placementsync rebuild\"",
		strings.TrimSuffix(e.Table+"."+e.Column, "."), e.Have, e.Want, cmp.Or(e.Program, "unknown"))
}

// checkCompatible refuses a catalogue that has what this program lacks or reads
// otherwise: carried along unread it would grow stale without a word.
func (c *Catalog) checkCompatible(have map[string]map[string]stream.Column, program string) error {
	var refused *SchemaError
	for table := range have {
		schema, name, _ := strings.Cut(table, ".")
		_, main := c.defs[name]
		meta := slices.ContainsFunc(c.meta, func(def stream.Definition) bool { return def.Name == name })
		if (schema == "main" || schema == "past") && !main || schema == "meta" && !meta {
			refused = &SchemaError{Table: table, Have: "a table", Want: "absent"}
		}
	}
	for _, t := range c.storedTables() {
		if err := differingColumn(t.qualifiedName(), have[t.qualifiedName()], t.columns); err != nil {
			refused = err
		}
	}
	if refused == nil {
		return nil
	}
	refused.Program = program
	return refused
}

// differingColumn finds a column that is gone from schema/ or has another type.
func differingColumn(table string, have map[string]stream.Column, want []stream.Column) *SchemaError {
	for name, old := range have {
		i := slices.IndexFunc(want, func(c stream.Column) bool { return c.Name == name })
		if i < 0 {
			return &SchemaError{Table: table, Column: name, Have: string(old.Type), Want: "absent"}
		}
		if old.Type != want[i].Type {
			return &SchemaError{Table: table, Column: name, Have: string(old.Type), Want: string(want[i].Type)}
		}
	}
	return nil
}

// readColumns reads the columns of all tables from DuckDB's own catalogue, by
// "schema.table" and column name.
func readColumns(ctx context.Context, in *Instance) (map[string]map[string]stream.Column, error) {
	return readColumnsOf(ctx, in, "")
}

// readColumnsOf reads those of an attached catalog; "": of the one in use.
func readColumnsOf(ctx context.Context, in *Instance, database string) (map[string]map[string]stream.Column, error) {
	rows, err := in.DB.QueryContext(ctx, `SELECT schema_name || '.' || table_name, column_name,
		replace(data_type, 'TIMESTAMP WITH TIME ZONE', 'TIMESTAMPTZ'), NOT is_nullable, coalesce(comment, '')
		FROM duckdb_columns() WHERE database_name = coalesce(nullif(?, ''), current_database())`, database)
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	defer rows.Close()
	found := map[string]map[string]stream.Column{}
	for rows.Next() {
		var table string
		var c stream.Column
		if err := rows.Scan(&table, &c.Name, &c.Type, &c.NotNull, &c.Comment); err != nil {
			return nil, fmt.Errorf("read the catalog: %w", err)
		}
		if found[table] == nil {
			found[table] = map[string]stream.Column{}
		}
		found[table][c.Name] = c
	}
	return found, rows.Err()
}

// MetaDefinitions are the definitions of the tables of meta.
func (c *Catalog) MetaDefinitions() []stream.Definition { return c.meta }

// Tables are the tables of main, in the order of the configuration.
func (c *Catalog) Tables() []stream.Table { return c.tables }

// Definition gives the columns of a table of main.
func (c *Catalog) Definition(table string) stream.Definition { return c.defs[table] }

// Definitions gives the columns of all tables of main by name.
func (c *Catalog) Definitions() map[string]stream.Definition { return c.defs }

func (c *Catalog) firstKey(table string) (string, error) {
	for _, t := range c.tables {
		if t.Name == table {
			return t.Key[0], nil
		}
	}
	return "", fmt.Errorf("find the key of table %q: no stream fills it", table)
}

// keyColumns lists a table's key for SQL, each column behind a prefix.
func (c *Catalog) keyColumns(prefix, table string) string {
	var quoted []string
	for _, t := range c.tables {
		if t.Name == table {
			for _, k := range t.Key {
				quoted = append(quoted, prefix+Quote(k))
			}
		}
	}
	return strings.Join(quoted, ", ")
}
