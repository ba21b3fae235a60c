package query

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Query is SQL with parameters. The header of a file declares parameters with their types. Each
// undeclared $name in the SQL is a parameter of type VARCHAR.
type Query struct {
	Name string // of the file, without its extension; empty for SQL that is not in a library
	// File is the path of a user's file. It is empty for built-in queries and for SQL from the
	// command line.
	File    string
	Subject string // a word by which lists of queries are grouped
	// Title describes the result. Grain describes one row. About explains the numbers. In a
	// user's query, only Title is required.
	Title, Grain, About string
	// Also lists further words for a search, such as synonyms, separated by commas.
	Also string
	// Replacement is the query, with its parameters, that replaces this one. The next release removes a
	// replaced query.
	Replacement string
	Chart       *Chart // nil means that the result has no chart
	// First lists the most important columns, which a narrow terminal hides last.
	First []string
	// Headings are the headings of columns whose name is not enough, see [Query.LabelOf].
	Headings map[string]string
	Params   []Param // as declared in the header
	SQL      string  // the whole text of the file, including the header
	// Only checks have a severity, which is hold or warn. If the field Each is set, the check is a pattern
	// for several queries, see [Query.Expand].
	Severity, Each string

	isCheck bool
	maxRows int // 0 means no limit
}

// IsUserDefined reports whether the user wrote the query. Such a query must only read.
func (q Query) IsUserDefined() bool { return q.Name == "" || q.File != "" }

// Param returns a declared parameter.
func (q Query) Param(name string) (Param, bool) {
	for _, p := range q.Params {
		if p.Name == name {
			return p, true
		}
	}
	return Param{}, false
}

// DescribeCut says that the parameter "top" may have cut a result of so many rows. It returns an empty text if the
// query has no such limit, or if the result is below it.
func (q Query) DescribeCut(values map[string]string, rows int64) string {
	p, _ := q.Param("top")
	value, isGiven := values[p.Name]
	if !isGiven {
		value = p.Default
	}
	limit, err := strconv.ParseInt(value, 10, 64)
	if err != nil || rows < limit {
		return ""
	}
	return fmt.Sprintf("There may be more rows: the parameter top is %d (%s).", limit, p.About)
}

func (q Query) wrapErr(err error) error {
	if name := cmp.Or(q.File, q.Name); name != "" {
		return fmt.Errorf("run query %q: %w", name, err)
	}
	return fmt.Errorf("run query: %w", err)
}

func (q Query) errPrefix() string {
	if name := cmp.Or(q.Name, q.File); name != "" {
		return fmt.Sprintf("query %q: ", name)
	}
	return ""
}

// Param is one parameter of a query.
type Param struct {
	Name string
	// Type is VARCHAR, BIGINT, COUNT (a BIGINT from 0 on), BOOLEAN, DATE, TIMESTAMPTZ, TIMEZONE
	// (the name of a time zone), STATUSES (separated by commas), DECIMAL, or a choice of texts such
	// as buy|sell. Values of TIMEZONE, STATUSES, DECIMAL and a choice are bound as VARCHAR.
	Type string
	// Nullable is true if the type in the header ends with a question mark. The parameter then
	// accepts NULL, which means any or all. A default of NULL has the same effect.
	Nullable bool
	// Default is used if the user gives no value. "NULL" means NULL. If it is empty, the parameter
	// is required. A DATE may be relative to the selected snapshot, as in "snapshot-7d". A TIMEZONE
	// and STATUSES may be the key of a setting, see [Settings].
	Default string
	About   string
	// Values is the SELECT in the line "values" of the header, if there is one. Its first column
	// contains the values in the data. See [DB.ParamValues].
	Values string
}

// TakesNull reports whether the parameter accepts NULL.
func (p Param) TakesNull() bool { return p.Nullable || p.Default == nullText }

// String describes the parameter in one line.
func (p Param) String() string {
	kind := p.Type
	if p.Nullable {
		kind += " or NULL"
	}
	switch {
	case p.About == "":
		return p.Name + " " + kind
	case p.Default == "":
		return fmt.Sprintf("%s %s (required): %s", p.Name, kind, p.About)
	}
	return fmt.Sprintf("%s %s (default %s): %s", p.Name, kind, p.Default, p.About)
}

// Choices returns the values of a choice or a BOOLEAN. It returns nil for other types.
func (p Param) Choices() []string {
	if choices := strings.Split(p.Type, "|"); len(choices) > 1 {
		return choices
	}
	if p.Type == "BOOLEAN" {
		return []string{"true", "false"}
	}
	return nil
}

// Text returns a query that runs SQL of the user.
func Text(sql string) Query { return Query{SQL: sql} }
