// Package sqltext writes SQL: statements from .sql files, and SQL of one line, with their parameters filled in.
// No other package quotes values. The values of a query that a person wrote or chose are not written into its SQL:
// they are parameters of DuckDB, see package query.
//
// The package must not know the tables of this program, or how a statement is run.
package sqltext

import (
	"fmt"
	"regexp"
	"strconv"
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

// File is the text of an .sql file. A line "-- name: x" begins the statement x, or a part of a
// statement. Other lines that begin with "--" are comments. Parameters are written {parameter}.
type File string

// SQL is a statement or a part of one.
type SQL string

// Name is an identifier; see [Quote].
type Name string

// Values contains the values of the parameters of a statement. A string becomes a string literal. A
// Name becomes an identifier. A []string becomes a list of string literals. A time.Time becomes a
// TIMESTAMPTZ. SQL, numbers and booleans are written as they are.
type Values map[string]any

var parameterPattern = regexp.MustCompile(`\{[a-z_]+\}`)

// Render returns a statement of the file with its parameters filled in. If the statement does not
// exist, or parameters and values do not match, Render returns a description of the mistake in place of the
// SQL. The description is not valid SQL, so DuckDB rejects every statement that contains it.
func (f File) Render(name string, values Values) SQL {
	text, ok := f.find(name)
	if !ok {
		return SQL(fmt.Sprintf("render %s: there is no such statement", name))
	}
	filled, err := fill(text, values)
	if err != nil {
		return SQL(fmt.Sprintf("render %s: %v", name, err))
	}
	return filled
}

// Fill returns text with its parameters filled in, as in a statement of a File. It is meant for SQL of one
// line. A mistake has the same effect as in [File.Render].
func Fill(text string, values Values) SQL {
	filled, err := fill(text, values)
	if err != nil {
		return SQL(fmt.Sprintf("render %q: %v", text, err))
	}
	return filled
}

func fill(text string, values Values) (SQL, error) {
	var mistake error
	used := map[string]bool{}
	text = parameterPattern.ReplaceAllStringFunc(text, func(placeholder string) string {
		key := placeholder[1 : len(placeholder)-1]
		value, err := renderValue(values[key])
		if err != nil {
			mistake = fmt.Errorf("%s: %w", placeholder, err)
		}
		used[key] = true
		return value
	})
	for key := range values {
		if !used[key] {
			mistake = fmt.Errorf("{%s}: the value is not used", key)
		}
	}
	return SQL(text), mistake
}

// find returns the text of a statement without its comment lines and the semicolon at its end.
func (f File) find(name string) (string, bool) {
	const mark = "-- name: "
	_, text, ok := strings.Cut("\n"+string(f), "\n"+mark+name+"\n")
	text, _, _ = strings.Cut(text, "\n"+mark)
	var lines []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "--") {
			lines = append(lines, line)
		}
	}
	return strings.TrimSuffix(strings.TrimSpace(strings.Join(lines, "")), ";"), ok
}

func renderValue(value any) (string, error) {
	switch v := value.(type) {
	case SQL:
		return string(v), nil
	case Name:
		return Quote(string(v)), nil
	case string:
		return Literal(v), nil
	case []string:
		texts := make([]string, len(v))
		for i, text := range v {
			texts[i] = Literal(text)
		}
		return strings.Join(texts, ", "), nil
	case int, int64, bool:
		return fmt.Sprint(v), nil
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	case time.Time:
		return timeLiteral(v), nil
	case nil:
		return "", fmt.Errorf("the value is missing")
	}
	return "", fmt.Errorf("values of type %T are not supported", value)
}
