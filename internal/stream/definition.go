package stream

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Type is the SQL type of a column. The decoder knows these and no others.
type Type string

// The types that schema files may use.
const (
	Text    Type = "VARCHAR"
	Bool    Type = "BOOLEAN"
	Int32   Type = "INTEGER"
	Int64   Type = "BIGINT"
	Money   Type = "DECIMAL(18,6)"
	Instant Type = "TIMESTAMPTZ"
	JSON    Type = "JSON"
)

// Column is one column as its schema file states it.
type Column struct {
	// Name is lower case, words joined by underscores.
	Name string
	Type Type
	// NotNull columns have a value in every row; a row without one is refused.
	NotNull bool
	// Comment states meaning, unit and the section of the spec.
	Comment string
	// FieldID is the number of the column in files, unique within a table and never
	// another, whatever becomes of the names: readers know columns by it. The line in the
	// schema file ends with "-- field 3".
	FieldID int
	// Untracked columns open no new version in history when they change. Their line in
	// the schema file ends with "-- field 3, untracked".
	Untracked bool
	// References is the column that the values of this one name; its zero value means none.
	// The line in the schema file ends with "-- field 3, references outlets.id".
	References Reference
}

// Reference is a column of a table in the same schema. A value that it lacks is possible:
// the service may name records that it does not list.
type Reference struct{ Table, Column string }

// firstSystemField is where the field ids of columns begin that no schema file states.
const firstSystemField = 10_001

// SystemColumns are the columns that every table of main has besides those of its schema
// file. Parquet has no unsigned integers in common with its readers: there, row_hash is
// the BIGINT with the same bits.
func SystemColumns() []Column {
	return []Column{
		{Name: ValidFrom, Type: Instant, NotNull: true, FieldID: firstSystemField,
			Comment: "Time of the snapshot that first showed this version of the row."},
		{Name: RowHash, Type: "UBIGINT", NotNull: true, FieldID: firstSystemField + 1,
			Comment: "Fingerprint of the row's values, stable across program versions: equal means unchanged."},
	}
}

// ClosedColumns are the columns that every table of past has besides those of main.
func ClosedColumns() []Column {
	return []Column{
		{Name: ValidTo, Type: Instant, NotNull: true, FieldID: firstSystemField + 2,
			Comment: "Time of the snapshot that no longer showed this version of the row (exclusive)."},
		{Name: "run_id", Type: Text, NotNull: true, FieldID: firstSystemField + 3, Comment: "Run that closed this version."},
	}
}

// listedPath is what a comment ends with where the spec lists the field.
var listedPath = regexp.MustCompile(`Spec [0-9.]+ [A-Z]\w*\.(\w+(?:\.\w+)*)\.$`)

// Path is where the spec lists the field within its record, dotted, as the comment
// says; empty where it does not list it.
func (c Column) Path() string {
	if m := listedPath.FindStringSubmatch(c.Comment); m != nil {
		return m[1]
	}
	return ""
}

// Definition is one table as its schema file states it, columns in order.
type Definition struct {
	// Name is the table's name.
	Name string
	// Comment is the COMMENT ON TABLE.
	Comment string
	// Columns are in the order of the file.
	Columns []Column
	// Key are the columns that the header of the file names behind "Key:". Only those
	// of tables of meta are used: stream literals state the keys of main.
	Key []string
}

// Column returns the column of that name.
func (d Definition) Column(name string) (Column, bool) {
	i := slices.IndexFunc(d.Columns, func(c Column) bool { return c.Name == name })
	if i < 0 {
		return Column{}, false
	}
	return d.Columns[i], true
}

// The schema files keep to one column a line so that this reader stays
// trivial; a test of internal/warehouse compares what it reads with what
// DuckDB makes of the same file.
var (
	keyLine     = regexp.MustCompile(`^--.*\bKey: (\w+(?:, \w+)*)\.`)
	createLine  = regexp.MustCompile(`^CREATE TABLE (\w+) \($`)
	columnLine  = regexp.MustCompile(`^\s+(\w+)\s+([A-Z]+(?:\(\d+,\d+\))?)( NOT NULL)?,?(?:\s*-- field (\d+)(, untracked)?(?:, references (\w+)\.(\w+))?)?$`)
	commentLine = regexp.MustCompile(`^COMMENT ON (TABLE|COLUMN) (\w+)(?:\.(\w+))? IS '((?:[^']|'')*)';$`)
)

// ParseDefinition reads one schema file: a CREATE TABLE with one column a
// line, then one COMMENT ON a line for the table and each column. Anything
// else is an error that names the line.
func ParseDefinition(name, sql string) (Definition, error) {
	d := Definition{}
	for n, line := range strings.Split(sql, "\n") {
		if err := d.readLine(strings.TrimRight(line, " ")); err != nil {
			return Definition{}, fmt.Errorf("read schema %s, line %d: %w", name, n+1, err)
		}
	}
	if d.Name == "" || d.Comment == "" {
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
	c := Column{Name: m[1], Type: Type(m[2]), NotNull: m[3] != "", Untracked: m[5] != "", References: Reference{m[6], m[7]}}
	c.FieldID, _ = strconv.Atoi(m[4])
	if !slices.Contains([]Type{Text, Bool, Int32, Int64, Money, Instant, JSON}, c.Type) {
		return fmt.Errorf("column %q has type %s, which the decoder does not know", c.Name, c.Type)
	}
	if _, dup := d.Column(c.Name); dup {
		return fmt.Errorf("column %q is stated twice", c.Name)
	}
	if c.FieldID < 1 || c.FieldID >= firstSystemField {
		return fmt.Errorf("column %q has no field id from 1 to %d: end its line with one that the table never had, such as -- field 3", c.Name, firstSystemField-1)
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
		return fmt.Errorf("comment names table %q in the file of %q", m[2], d.Name)
	}
	if m[1] == "TABLE" {
		d.Comment = text
		return nil
	}
	i := slices.IndexFunc(d.Columns, func(c Column) bool { return c.Name == m[3] })
	if i < 0 {
		return fmt.Errorf("comment names column %q, which the table has not", m[3])
	}
	d.Columns[i].Comment = text
	return nil
}
