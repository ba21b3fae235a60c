package warehouse

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/schema"
)

// Schema describes the tables and views that the DuckDB file of a version must have.
type Schema struct {
	// Tables are the tables of the schema main, in the order of the configuration.
	Tables []stream.Table
	// Definitions are the definitions of the tables of the schema main by name.
	Definitions map[string]stream.Definition
	// MetaDefinitions are the definitions of the tables of the schema meta.
	MetaDefinitions []stream.Definition
	mart            []schema.MartView
}

// ensureTables creates the missing schemas, tables, columns and comments of the attached file, and
// replaces its views and macros. Any other difference of a table is an error. It runs in one transaction: a
// commit for each of the hundreds of statements would take seconds. program is the release that wrote the file.
func (s *Schema) ensureTables(ctx context.Context, in *Instance, program string) error {
	existing, err := in.Columns(ctx, "catalog")
	if err == nil {
		err = s.checkCompatible(existing, program)
	}
	if err != nil {
		return err
	}
	statements := []sqltext.SQL{catalogSQL.Render("create_schemas", nil)}
	for _, t := range s.StoredTables() {
		statements = append(statements, t.ensureStatements(existing[t.QualifiedName()])...)
	}
	for _, t := range s.Tables {
		statements = append(statements, schema.HistoryStatements(s.Definitions[t.Name], t.Key)...)
	}
	statements = append(statements, schema.AllChangesStatement(s.Tables))
	statements = append(statements, s.martStatements(existing)...)
	return in.Atomically(ctx, statements)
}

// martStatements returns the statements that replace all views of the schema mart. The views are
// replaced together, because a view stores the columns of the views that it reads. A view is left out
// if a table that it reads is not configured, or a view that it reads is left out.
func (s *Schema) martStatements(existing map[string]map[string]stream.Column) []sqltext.SQL {
	var statements []sqltext.SQL
	for _, table := range slices.Sorted(maps.Keys(existing)) {
		if name, ok := strings.CutPrefix(table, "mart."); ok {
			statements = append(statements, sqltext.Fill("DROP VIEW mart.{name}", sqltext.Values{"name": sqltext.Name(name)}))
		}
	}
	isCreated := map[string]bool{}
	isMissing := func(name string) bool {
		if strings.HasPrefix(name, "mart.") {
			return !isCreated[name]
		}
		return !strings.HasPrefix(name, "meta.") && s.tableKey(name) == nil
	}
	for _, v := range s.mart {
		if slices.ContainsFunc(v.Reads, isMissing) {
			continue
		}
		isCreated["mart."+v.Name] = true
		statements = append(statements, sqltext.SQL(v.SQL))
	}
	return statements
}

// isSchemaOf reports whether a version has exactly the tables and views of s. The draft then skips
// ensureTables, because listing all columns takes as long as reading the file.
func (s *Schema) isSchemaOf(m Manifest) bool {
	return m.Schema == schema.SchemaVersion() && slices.EqualFunc(s.Tables, m.Tables, func(t stream.Table, published ManifestTable) bool {
		return t.Name == published.Name
	})
}

// StoredTable is a table in one schema of the catalog.
type StoredTable struct {
	Schema     string
	Definition stream.Definition
	// Columns are the columns of the definition and the system columns of the schema. In past, only the columns
	// that main lacks have a comment. A comment costs a statement.
	Columns []stream.Column
}

func (t StoredTable) QualifiedName() string { return t.Schema + "." + t.Definition.Name }

// StoredTables returns all tables of the schemas main, past and meta.
func (s *Schema) StoredTables() []StoredTable {
	var all []StoredTable
	for _, t := range s.Tables {
		def := s.Definitions[t.Name]
		current := slices.Concat(def.Columns, stream.SystemColumns())
		past := slices.Clone(current)
		for i := range past {
			past[i].Comment = ""
		}
		all = append(all, StoredTable{"main", def, current},
			StoredTable{"past", def, slices.Concat(past, stream.ClosedColumns())})
	}
	for _, def := range s.MetaDefinitions {
		all = append(all, StoredTable{"meta", def, def.Columns})
	}
	return all
}

// RecreateTable replaces an empty table of main. The new table has an additional column. methods contains the
// compression methods of columns. For the other columns DuckDB tries all methods on each row group.
func (d *Draft) RecreateTable(ctx context.Context, name string, additional stream.Column, methods map[string]string) error {
	def := d.Schema.Definitions[name]
	t := StoredTable{"main", def, slices.Concat(def.Columns, stream.SystemColumns(), []stream.Column{additional})}
	for i, c := range t.Columns {
		if method := methods[c.Name]; method != "" {
			t.Columns[i].Type += stream.Type(" USING COMPRESSION " + method)
		}
	}
	return d.Atomically(ctx, t.ensureStatements(nil))
}

// existing are the columns of the table in the file. Nil means that there is no table.
func (t StoredTable) ensureStatements(existing map[string]stream.Column) []sqltext.SQL {
	var statements []sqltext.SQL
	add := func(name string, values sqltext.Values) {
		values["schema"], values["table"] = sqltext.Name(t.Schema), sqltext.Name(t.Definition.Name)
		statements = append(statements, catalogSQL.Render(name, values))
	}
	if existing == nil {
		columns := sqltext.Join(t.Columns, ", ", func(c stream.Column) string {
			definition := sqltext.Quote(c.Name) + " " + string(c.Type)
			if c.NotNull {
				definition += " NOT NULL"
			}
			return definition
		})
		add("create_table", sqltext.Values{"columns": columns})
		add("comment_on_table", sqltext.Values{"comment": t.Definition.Comment})
	}
	for _, c := range t.Columns {
		existingColumn, ok := existing[c.Name]
		if !ok && existing != nil {
			add("add_column", sqltext.Values{"column": sqltext.Name(c.Name), "type": sqltext.SQL(c.Type)})
		}
		if c.Comment != "" && existingColumn.Comment != c.Comment {
			add("comment_on_column", sqltext.Values{"column": sqltext.Name(c.Name), "comment": c.Comment})
		}
	}
	return statements
}

// checkCompatible returns an error if the catalog has an unknown table or column, or a column of another type.
// Otherwise every night would copy the table or column and never update it. program is the release that wrote the catalog.
func (s *Schema) checkCompatible(existing map[string]map[string]stream.Column, program string) error {
	mismatchErr := func(name, inWarehouse, inProgram string) error {
		return fmt.Errorf("open the catalog: %s is %s in the warehouse and %s in this program; nothing was changed: "+
			"use the program that wrote it (version %s), or run \"placementsync rebuild\"", name, inWarehouse, inProgram, cmp.Or(program, "unknown"))
	}
	for _, table := range slices.Sorted(maps.Keys(existing)) {
		schemaName, name, _ := strings.Cut(table, ".")
		isKnown := true
		switch schemaName {
		case "main", "past":
			_, isKnown = s.Definitions[name]
		case "meta":
			isKnown = slices.ContainsFunc(s.MetaDefinitions, func(def stream.Definition) bool { return def.Name == name })
		}
		if !isKnown {
			return mismatchErr(table, "a table", "absent")
		}
	}
	for _, t := range s.StoredTables() {
		columns := existing[t.QualifiedName()]
		for _, name := range slices.Sorted(maps.Keys(columns)) {
			want := firstOf(t.Columns, func(c stream.Column) bool { return c.Name == name }).Type
			if columns[name].Type != want {
				return mismatchErr(t.QualifiedName()+"."+name, string(columns[name].Type), cmp.Or(string(want), "absent"))
			}
		}
	}
	return nil
}

// Columns returns the columns of all tables of a database, by "schema.table" and column name.
func (in *Instance) Columns(ctx context.Context, database string) (map[string]map[string]stream.Column, error) {
	rows, err := in.DB.QueryContext(ctx, string(catalogSQL.Render("columns", sqltext.Values{"database": database})))
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	defer rows.Close()
	columns := map[string]map[string]stream.Column{}
	for rows.Next() {
		var table string
		var c stream.Column
		if err := rows.Scan(&table, &c.Name, &c.Type, &c.NotNull, &c.Comment); err != nil {
			return nil, fmt.Errorf("read the catalog: %w", err)
		}
		if columns[table] == nil {
			columns[table] = map[string]stream.Column{}
		}
		columns[table][c.Name] = c
	}
	return columns, rows.Err()
}

// tableKey returns the key of a table of the schema main. It is nil for any other table.
func (s *Schema) tableKey(name string) []string {
	return firstOf(s.Tables, func(t stream.Table) bool { return t.Name == name }).Key
}

// firstOf returns the zero value if no item matches.
func firstOf[T any](items []T, matches func(T) bool) (first T) {
	if i := slices.IndexFunc(items, matches); i >= 0 {
		first = items[i]
	}
	return first
}
