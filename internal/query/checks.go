package query

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"placementsync/internal/dictionary"
	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/queries"
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
	// and {column} are replaced by the referring column, {target} and {target_column} by the
	// referenced column, and {name} and {target_name} by string literals of the form table.column.
	EachReference = "reference"
)

// FailedChecksSQL selects the checks that failed or did not run, in the open snapshot. Checks with the
// severity hold come before checks with warn. If the newest run skipped a check, for example because
// a refresh did not read its tables, the check has the result of the latest run that did not skip it.
// Checks that the newest run does not contain are left out.
const FailedChecksSQL = `SELECT check_name AS "check", run_id AS run, severity, outcome, rows, reason, sample
FROM (SELECT c.*, r.snapshot_at FROM meta.checks AS c JOIN meta.runs AS r USING (run_id)
	WHERE r.snapshot_at IS NOT NULL AND c.outcome <> 'skipped' AND c.check_name IN (SELECT check_name FROM meta.checks
		WHERE run_id = (SELECT arg_max(run_id, snapshot_at) FROM meta.runs WHERE snapshot_at IS NOT NULL))
	QUALIFY row_number() OVER (PARTITION BY c.check_name ORDER BY r.snapshot_at DESC) = 1)
WHERE outcome IN ('failed', 'not run')
ORDER BY severity, check_name`

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
	if kind, _ := q.splitEach(); !slices.Contains([]string{"", EachTable, EachReference}, kind) {
		faults = append(faults, fault{1, fmt.Sprintf("%q is not a value of \"each\": use %s or %s", q.Each, EachTable, EachReference)})
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

func (q Query) withoutHeader() string { return q.SQL[len(leadingGap.FindString(q.SQL)):] }

func (q Query) splitEach() (kind string, tables []string) {
	words := strings.Fields(q.Each)
	if len(words) == 0 {
		return "", nil
	}
	return words[0], words[1:]
}

// Expand returns a query for each of the given tables, or for each reference from or to these tables, see
// EachTable and EachReference. For a check without the field Each, it returns only q. References from or to
// a private column, and references of nested rows to their own record, are left out. The names in private
// have the form table.column.
func (q Query) Expand(tables, private []string) (parts []Query) {
	kind, listed := q.splitEach()
	if kind == "" {
		return []Query{q}
	}
	mainTables, _ := dictionary.Definitions()
	pattern := strings.TrimRight(q.withoutHeader(), "; \t\r\n")
	add := func(names ...string) {
		part := q
		part.SQL = strings.NewReplacer(names...).Replace(pattern)
		parts = append(parts, part)
	}
	for _, t := range stream.Tables(stream.All()) {
		if kind == EachTable {
			if slices.Contains(tables, t.Name) && (len(listed) == 0 || slices.Contains(listed, t.Name)) {
				add("{table}", sqltext.Quote(t.Name), "{name}", sqltext.Literal(t.Name))
			}
			continue
		}
		for _, c := range mainTables[t.Name].Columns {
			to := c.References
			name, target := t.Name+"."+c.Name, to.Table+"."+to.Column
			if to.Table == "" || slices.Contains(t.Parents, c.Name) || !slices.Contains(tables, t.Name) && !slices.Contains(tables, to.Table) ||
				slices.Contains(private, name) || slices.Contains(private, target) {
				continue
			}
			add("{table}", sqltext.Quote(t.Name), "{column}", sqltext.Quote(c.Name),
				"{target}", sqltext.Quote(to.Table), "{target_column}", sqltext.Quote(to.Column),
				"{name}", sqltext.Literal(name), "{target_name}", sqltext.Literal(target))
		}
	}
	return parts
}

// UnionParts returns one query with the rows of all parts of a check. The query needs as much
// memory as all parts together.
func UnionParts(parts []Query) Query {
	q := parts[0]
	if len(parts) > 1 {
		var selects []string
		for _, part := range parts {
			selects = append(selects, "("+part.SQL+"\n)")
		}
		q.SQL = strings.Join(selects, "\nUNION ALL\n")
	}
	return q
}
