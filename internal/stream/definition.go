package stream

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Type is the SQL type of a column.
type Type string

// Types of columns that schema files may use and the decoder supports.
const (
	Text    Type = "VARCHAR"
	Bool    Type = "BOOLEAN"
	Int32   Type = "INTEGER"
	Int64   Type = "BIGINT"
	Money   Type = "DECIMAL(18,6)"
	Instant Type = "TIMESTAMPTZ"
	JSON    Type = "JSON"
)

// Types returns all types of columns.
func Types() []Type { return []Type{Text, Bool, Int32, Int64, Money, Instant, JSON} }

// Column is a column of a schema file.
type Column struct {
	Name string
	Type Type
	// A row without a value in a NotNull column is rejected.
	NotNull bool
	Comment string // meaning, unit and section of the spec
	// FieldID identifies the column in Parquet files and in the lake, also after it is renamed. An id is
	// unique within the table and never reused. The line in the schema file ends with "-- field 3".
	FieldID int
	// References is the column of another table whose values this column contains, or the zero value.
	// The line in the schema file ends with "-- field 3, references outlets.id".
	References Reference
	// OtherNames are dotted paths in the object of the row under which the service also sends the column. If the
	// field with the column's own name has a value, that value is used.
	// The line in the schema file ends with "-- field 3, also google_drive_link".
	OtherNames []string
}

// Reference names a column of a table in the same schema. The referenced row can be
// missing: the service may name records that it does not list.
type Reference struct{ Table, Column string }

// firstSystemFieldID is the first field id of columns that are not in schema files.
const firstSystemFieldID = 10_001

// SystemColumns returns the columns of every table of main that are not in its schema file.
// In Parquet files row_hash is a BIGINT with the same bits, because many readers lack
// unsigned integers.
func SystemColumns() []Column {
	return []Column{
		{Name: ValidFrom, Type: Instant, NotNull: true, FieldID: firstSystemFieldID,
			Comment: "Time of the snapshot that first contained this version of the row."},
		{Name: RowHash, Type: "UBIGINT", NotNull: true, FieldID: firstSystemFieldID + 1,
			Comment: "Fingerprint of the row's values, stable across program versions: equal means unchanged."},
	}
}

// ClosedColumns returns the columns that only tables of past have.
func ClosedColumns() []Column {
	return []Column{
		{Name: ValidTo, Type: Instant, NotNull: true, FieldID: firstSystemFieldID + 2,
			Comment: "Time of the snapshot that no longer contained this version of the row (exclusive)."},
		{Name: "run_id", Type: Text, NotNull: true, FieldID: firstSystemFieldID + 3, Comment: "Run that closed this version."},
	}
}

// listedPath matches the end of the comment on a column whose field the spec lists.
var listedPath = regexp.MustCompile(`Spec [0-9.]+ [A-Z]\w*\.(\w+(?:\.\w+)*)\.$`)

// Path returns the dotted path of the field within its record, taken from the comment. It is
// empty if the spec does not list the field.
func (c Column) Path() string {
	if m := listedPath.FindStringSubmatch(c.Comment); m != nil {
		return m[1]
	}
	return ""
}

// Definition is the table definition of a schema file.
type Definition struct {
	Name    string
	Comment string   // COMMENT ON TABLE
	Columns []Column // in file order
	// Key are the columns after "Key:" in the header of the file. It is used only for tables of meta,
	// because the stream literals contain the keys of tables in main.
	Key []string
	// ItemKeys identify an item of a list when the list comes in another order. The first list of columns that
	// finds a stored item counts. A line of the header states them: "An item keeps its position between nights if
	// these columns are equal: id, or else name."
	ItemKeys [][]string
}

// Column returns a column by name.
func (d Definition) Column(name string) (Column, bool) {
	i := slices.IndexFunc(d.Columns, func(c Column) bool { return c.Name == name })
	if i < 0 {
		return Column{}, false
	}
	return d.Columns[i], true
}

// WithOtherNames returns definitions in which columns have further names. names contains the names by
// table.column.
func WithOtherNames(defs map[string]Definition, names map[string]string) map[string]Definition {
	defs = maps.Clone(defs)
	for column, name := range names {
		table, column, _ := strings.Cut(column, ".")
		d := defs[table]
		d.Columns = slices.Clone(d.Columns)
		for i, c := range d.Columns {
			if c.Name == column {
				d.Columns[i].OtherNames = append(slices.Clone(c.OtherNames), name)
			}
		}
		defs[table] = d
	}
	return defs
}

// Schema files have one column per line, which keeps this parser simple. A test of
// internal/warehouse compares its result with DuckDB's.
var (
	keyLine     = regexp.MustCompile(`^--.*\bKey: (\w+(?:, \w+)*)\.`)
	itemsLine   = regexp.MustCompile(`^-- An item keeps its position between nights if these columns are equal: (\w+(?:, \w+)*?)(?:, or else (\w+))?\.$`)
	createLine  = regexp.MustCompile(`^CREATE TABLE (\w+) \($`)
	columnLine  = regexp.MustCompile(`^\s+(\w+)\s+([A-Z]+(?:\(\d+,\d+\))?)( NOT NULL)?,?(?:\s*-- field (\d+)(?:, references (\w+)\.(\w+))?((?:, also \w+)*))?$`)
	commentLine = regexp.MustCompile(`^COMMENT ON (TABLE|COLUMN) (\w+)(?:\.(\w+))? IS '((?:[^']|'')*)';$`)
)

// ParseDefinition parses a schema file: a CREATE TABLE with one column per line, then
// COMMENT ON the table and each column, one per line. Errors name the file.
func ParseDefinition(name, sql string) (Definition, error) {
	d := Definition{}
	for n, line := range strings.Split(sql, "\n") {
		if err := d.readLine(strings.TrimRight(line, " ")); err != nil {
			return Definition{}, fmt.Errorf("read schema %s, line %d: %w", name, n+1, err)
		}
	}
	if d.Comment == "" { // a COMMENT without a CREATE TABLE is an error of its line
		return d, fmt.Errorf("read schema %s: no CREATE TABLE or no COMMENT ON TABLE", name)
	}
	for _, c := range d.Columns {
		if c.Comment == "" {
			return d, fmt.Errorf("read schema %s: column %q has no COMMENT", name, c.Name)
		}
	}
	return d, nil
}

func (d *Definition) readLine(line string) error {
	if m := keyLine.FindStringSubmatch(line); m != nil {
		d.Key = strings.Split(m[1], ", ")
	}
	if m := itemsLine.FindStringSubmatch(line); m != nil {
		d.ItemKeys = append(d.ItemKeys, strings.Split(m[1], ", "))
		if m[2] != "" {
			d.ItemKeys = append(d.ItemKeys, []string{m[2]})
		}
	}
	switch {
	case line == "" || line == ");" || strings.HasPrefix(strings.TrimSpace(line), "--"):
		return nil
	case createLine.MatchString(line):
		d.Name = createLine.FindStringSubmatch(line)[1]
		return nil
	case commentLine.MatchString(line):
		return d.addComment(commentLine.FindStringSubmatch(line))
	case columnLine.MatchString(line):
		return d.addColumn(columnLine.FindStringSubmatch(line))
	}
	return fmt.Errorf("unexpected text %q: use one column or one COMMENT a line", line)
}

func (d *Definition) addColumn(m []string) error {
	c := Column{Name: m[1], Type: Type(m[2]), NotNull: m[3] != "", References: Reference{m[5], m[6]}}
	c.FieldID, _ = strconv.Atoi(m[4])
	if m[7] != "" {
		c.OtherNames = strings.Split(m[7], ", also ")[1:]
	}
	if !slices.Contains(Types(), c.Type) {
		return fmt.Errorf("column %q has type %s, which the decoder does not support", c.Name, c.Type)
	}
	if _, dup := d.Column(c.Name); dup {
		return fmt.Errorf("column %q is defined twice", c.Name)
	}
	if c.FieldID < 1 || c.FieldID >= firstSystemFieldID {
		return fmt.Errorf("column %q has no field id from 1 to %d: end its line with an id that the table has never used, such as -- field 3", c.Name, firstSystemFieldID-1)
	}
	if i := slices.IndexFunc(d.Columns, func(other Column) bool { return other.FieldID == c.FieldID }); i >= 0 {
		return fmt.Errorf("columns %q and %q have the same field id %d", d.Columns[i].Name, c.Name, c.FieldID)
	}
	d.Columns = append(d.Columns, c)
	return nil
}

func (d *Definition) addComment(m []string) error {
	text := strings.ReplaceAll(m[4], "''", "'")
	if m[2] != d.Name {
		return fmt.Errorf("comment on table %q in the schema file of %q", m[2], d.Name)
	}
	if m[1] == "TABLE" {
		d.Comment = text
		return nil
	}
	i := slices.IndexFunc(d.Columns, func(c Column) bool { return c.Name == m[3] })
	if i < 0 {
		return fmt.Errorf("comment on column %q, which the table does not have", m[3])
	}
	d.Columns[i].Comment = text
	return nil
}
