package query

import (
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/queries"
	"placementsync/schema"
)

// The severities of a check.
const (
	Hold = "hold" // the night is not published
	Warn = "warn" // the night is published, and the rows are reported
)

// The values of the first word in [Query.Each].
const (
	// EachTable repeats a check for every table, or for the tables listed after the word. In the
	// SQL, {table} is replaced by the quoted name of the table, and {name} by a string literal of
	// the name.
	EachTable = "table"
	// EachReference repeats a check for every reference that schema/ declares. In the SQL, {table}
	// and {column} are replaced by the names of the referring column and its table, {target} and {target_column}
	// by those of the referenced column, and {name} and {target_name} by string literals of the form table.column.
	EachReference = "reference"
	// EachColumn repeats a check for every column of the type listed after the word. Keys are left out.
	// In the SQL, {column} is replaced by the name of the column, {table} by its table, {key} by the key of the
	// table, and {name} and {column_name} by string literals. {currency} is replaced by the column currency, and
	// {labels} by the columns currency and pricing_tier. In a table without a currency, {currency} is replaced by NULL
	// and {labels} by an empty text.
	EachColumn = "column"
	// EachType repeats a check for every pair of a table and a type that at least two columns of the table
	// have. Keys and flags are left out. In the SQL, {columns} is replaced by a list of the columns, and
	// {column_names} by a list of string literals. {table}, {key} and {name} are as for EachColumn.
	EachType = "type"
	// EachUnknownField repeats a check for every table with unknown fields in the records of the night. {table} and
	// {name} are as for EachTable.
	EachUnknownField = "unknown_field"
	// EachRewritten is like EachTable, for the tables of which most rows changed in each of the last three nights.
	EachRewritten = "rewritten"
)

// FailedChecksSQL returns the query for the checks that failed or did not run, in the open snapshot. Checks with the
// severity hold come before checks with warn. If the newest run skipped a check, for example because
// a refresh did not read its tables, the check has the result of the latest run that did not skip it.
// Checks that the newest run does not contain are left out.
func FailedChecksSQL() string { return string(catalogSQL.Render("failed_checks", nil)) }

// LoadChecks is like [Load] for checks. A check is a query for the violating rows; its header also has a
// severity.
func LoadChecks(dir string) (Library, error) {
	files, _ := fs.Sub(queries.Checks, "checks") // the folder is embedded
	return queryKind{files: files, folder: "queries/checks", key: "checks.dir", isCheck: true}.load(dir)
}

func (q Query) faultsOfCheck() (faults []fault) {
	if q.Severity != Hold && q.Severity != Warn {
		faults = append(faults, fault{1, "needs a severity: write -- severity: hold or -- severity: warn"})
	}
	kind, words := q.splitEach()
	kinds := []string{EachTable, EachReference, EachColumn, EachType, EachUnknownField, EachRewritten}
	if kind != "" && !slices.Contains(kinds, kind) {
		faults = append(faults, fault{1, fmt.Sprintf("%q is not a value of \"each\": use one of %s", q.Each, strings.Join(kinds, ", "))})
	}
	var types []string
	for _, t := range stream.Types() {
		types = append(types, string(t))
	}
	hasType := len(words) == 1 && slices.Contains(types, words[0])
	if kind == EachColumn && !hasType {
		faults = append(faults, fault{1, fmt.Sprintf("%q needs one type after %q: %s", q.Each, EachColumn, strings.Join(types, ", "))})
	}
	for _, p := range q.Params {
		if p.Default == "" {
			faults = append(faults, fault{1, fmt.Sprintf("parameter %q needs a default: a check runs with the defaults of its parameters", p.Name)})
		}
	}
	return faults
}

var (
	beforeName      = regexp.MustCompile(`(?i)\b` + beforeDB + `\.`)
	previousRejects = regexp.MustCompile(`(?i)\b` + beforeDB + `\.meta\.rejects\b`)
)

func (q Query) withoutHeader() string { return cutLeadingComments(q.SQL) }

// splitEach returns the first word of the field Each, and the tables or the type after it.
func (q Query) splitEach() (kind string, words []string) {
	all := strings.Fields(q.Each)
	if len(all) == 0 {
		return "", nil
	}
	return all[0], all[1:]
}

// ChangedTables are the tables of a snapshot that a check may compare with the previous snapshot.
type ChangedTables struct {
	// Changed are the tables with new, changed or gone rows. MuchChanged are the tables in which at least a
	// tenth of the rows is new, changed or gone.
	Changed, MuchChanged []string
	// WithUnknownFields are the tables with unknown fields in the records of the night.
	WithUnknownFields []string
	// Rewritten are the tables of which most rows changed in each of the last three nights.
	Rewritten []string
}

// Expand returns the queries of a check, see EachTable and the constants after it. The kinds
// table, column, type and reference have queries only for much changed tables; one of the two tables of a reference is
// enough. Columns with amounts have queries for all changed tables, because the prices of one currency can be a small
// part of a table. For a check without the field Each, Expand returns only q. References from or to a
// private column, and references of nested rows to their own record, are left out. The names in private have the form
// table.column.
func (q Query) Expand(tables ChangedTables, private []string) (parts []Query) {
	kind, words := q.splitEach()
	if kind == "" {
		return []Query{q}
	}
	definitions, _ := schema.Definitions()
	pattern := strings.TrimRight(q.withoutHeader(), "; \t\r\n")
	add := func(all sqltext.Values) {
		used := maps.Clone(all) // Fill refuses values that the check does not use
		maps.DeleteFunc(used, func(name string, _ any) bool { return !strings.Contains(pattern, "{"+name+"}") })
		part := q
		part.SQL = string(sqltext.Fill(pattern, used))
		parts = append(parts, part)
	}
	isMuchChanged := func(table string) bool { return slices.Contains(tables.MuchChanged, table) }
	for _, t := range stream.Tables(stream.All()) {
		def := definitions[t.Name]
		names := sqltext.Values{"table": sqltext.Name(t.Name), "name": t.Name, "key": sqltext.Names(t.Key)}
		switch kind {
		case EachTable:
			isListed := len(words) == 0 || slices.Contains(words, t.Name)
			if isListed && isMuchChanged(t.Name) {
				add(names)
			}
		case EachRewritten:
			if slices.Contains(tables.Rewritten, t.Name) {
				add(names)
			}
		case EachColumn:
			columnType := stream.Type(words[0])
			isAmount := columnType == stream.Money && slices.Contains(tables.Changed, t.Name)
			if !isAmount && !isMuchChanged(t.Name) {
				continue
			}
			names["currency"], names["labels"] = sqltext.SQL("NULL"), sqltext.SQL("")
			if _, isPrice := def.Column("currency"); isPrice {
				names["currency"], names["labels"] = sqltext.SQL("currency"), sqltext.SQL("currency, pricing_tier")
			}
			for _, c := range comparedColumns(t, def, columnType) {
				names["column"], names["column_name"] = sqltext.Name(c), c
				add(names)
			}
		case EachUnknownField:
			if slices.Contains(tables.WithUnknownFields, t.Name) {
				add(names)
			}
		case EachType:
			if !isMuchChanged(t.Name) {
				continue
			}
			for _, columnType := range stream.Types() {
				columns := comparedColumns(t, def, columnType)
				if len(columns) < 2 || columnType == stream.Bool {
					continue
				}
				names["columns"], names["column_names"] = sqltext.Names(columns), columns
				add(names)
			}
		case EachReference:
			for _, c := range def.Columns {
				to := c.References
				if to.Table == "" {
					continue
				}
				if slices.Contains(t.Parents, c.Name) {
					continue // a nested row always has its record
				}
				if !isMuchChanged(t.Name) && !isMuchChanged(to.Table) {
					continue
				}
				name, target := t.Name+"."+c.Name, to.Table+"."+to.Column
				if slices.Contains(private, name) || slices.Contains(private, target) {
					continue
				}
				add(sqltext.Values{"table": sqltext.Name(t.Name), "column": sqltext.Name(c.Name), "name": name,
					"target": sqltext.Name(to.Table), "target_column": sqltext.Name(to.Column), "target_name": target})
			}
		}
	}
	return parts
}

// comparedColumns returns the names of the columns of a type, without keys.
func comparedColumns(t stream.Table, def stream.Definition, columnType stream.Type) (names []string) {
	for _, c := range def.Columns {
		if c.Type == columnType && !slices.Contains(t.Key, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// UnionParts returns one query with the rows of all parts of a check. The query needs as much
// memory as all parts together.
func UnionParts(parts []Query) Query {
	q := parts[0]
	if len(parts) > 1 {
		q.SQL = string(sqltext.Join(parts, "\nUNION ALL\n", func(part Query) sqltext.SQL { return inBrackets(part.SQL) }))
	}
	return q
}
