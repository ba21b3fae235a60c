package query

import (
	"cmp"
	"fmt"
	"strings"
)

// Query is SQL to run. Named queries state their parameters, and so may a file; the other
// parameters of a text are the $names in it, each bound as VARCHAR.
type Query struct {
	// Name is the name of the file, without its ending. Empty for a text of the user.
	Name string
	// File is where an own query or a text was read; empty for the built-in queries and
	// for what the user wrote on the command line.
	File string
	// Subject is what the query is about, in a word: lists are grouped by it.
	Subject string
	// Title, Grain and About say what the answer shows, what a row is and what to
	// know about the numbers. Own queries may lack all but the title.
	Title, Grain, About string
	// Params are the parameters that the header declares.
	Params []Param
	// SQL is the text, header included.
	SQL string
	// Severity is hold or warn. Only checks have one, see [LoadChecks].
	Severity string
	// Each makes a check a pattern, see [Query.Expand].
	Each string

	// long answers are read piece by piece; those of stored tables, whose SQL
	// is SELECT columns FROM table, without being spooled first.
	long, stored bool
	// spooled answers may be of any length: they are read as long ones where
	// their SQL allows it.
	spooled bool
	// isCheck admits the header words of checks.
	isCheck bool
}

// IsOwn reports whether a user wrote the query. Such a query is only run if it reads.
func (q Query) IsOwn() bool { return q.Name == "" || q.File != "" }

// Param finds a parameter by its name.
func (q Query) Param(name string) (Param, bool) {
	for _, p := range q.Params {
		if p.Name == name {
			return p, true
		}
	}
	return Param{}, false
}

func (q Query) ofAnyLength(yes bool) Query {
	q.spooled = yes && !q.long
	return q
}

// wrapErr says which query an error is about.
func (q Query) wrapErr(err error) error {
	switch {
	case q.Name == "" && q.File == "":
		return fmt.Errorf("run query: %w", err)
	case q.File != "":
		return fmt.Errorf("run query %q: %w", q.File, err)
	}
	return fmt.Errorf("run query %q: %w", q.Name, err)
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
	// Type is VARCHAR, BIGINT, COUNT (a BIGINT that is not negative), BOOLEAN,
	// DATE, TIMESTAMPTZ, TIMEZONE (the name of one), DECIMAL, or the texts to
	// choose from, with bars between them; the last three are bound as text.
	Type string
	// Nullable parameters take NULL, which means any or all; so do those whose
	// default it is. In the header their type ends with a question mark.
	Nullable bool
	// Default is the value when none is given; "NULL" stands for NULL, and empty means
	// that one must be given. A DATE may count back from the newest snapshot:
	// "snapshot-7d".
	Default string
	About   string
	// Values is a SELECT whose first column is the values that the data has; empty: any
	// value may be asked. See [DB.ParamValues].
	Values string
}

// TakesNull reports whether NULL is a value of the parameter.
func (p Param) TakesNull() bool { return p.Nullable || p.Default == nullText }

// String is the parameter as a list shows it.
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

// Choices are the values of a parameter that its type alone says; none for others.
func (p Param) Choices() []string {
	if choices := strings.Split(p.Type, "|"); len(choices) > 1 {
		return choices
	}
	if p.Type == "BOOLEAN" {
		return []string{"true", "false"}
	}
	return nil
}

// Text is SQL of the user's own.
func Text(sql string) Query { return Query{SQL: sql} }
