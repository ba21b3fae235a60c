// Package sqltext writes SQL: statements from .sql files, and SQL of one line, with their parameters filled in.
// No other package quotes values. The values of a query that a person wrote or chose are not written into its SQL:
// they are parameters of DuckDB, see package query.
//
// The package must not know the tables of this program, or how a statement is run.
package sqltext

import (
	"strings"
	"time"
)

// Quote returns a name as an SQL identifier.
func Quote(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// Literal returns text as an SQL string literal, as [File.Render] writes it. DuckDB ends a statement at a NUL, so a
// text with a NUL becomes an expression.
func Literal(text string) string {
	literal := "'" + strings.ReplaceAll(text, "'", "''") + "'"
	if strings.Contains(text, "\x00") {
		return "(" + strings.ReplaceAll(literal, "\x00", "' || chr(0) || '") + ")"
	}
	return literal
}

// timeLiteral returns a time as an SQL literal of the type TIMESTAMPTZ.
func timeLiteral(t time.Time) string {
	return "TIMESTAMPTZ " + Literal(t.UTC().Format("2006-01-02 15:04:05.000000")+"+00")
}

// Names returns names as a list of SQL identifiers.
func Names(names []string) SQL { return Join(names, ", ", Quote) }

// Join converts items to text and joins them with a separator.
func Join[T any, S ~string](items []T, separator string, toText func(T) S) SQL {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = string(toText(item))
	}
	return SQL(strings.Join(texts, separator))
}

// JoinSQL joins parts with a separator.
func JoinSQL(parts []SQL, separator string) SQL {
	return Join(parts, separator, func(part SQL) SQL { return part })
}
