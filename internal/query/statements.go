package query

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"strings"

	duckdb "github.com/duckdb/duckdb-go/v2"
)

// The sandbox alone is not enough. DuckDB lets SQL touch the paths of attached
// files whatever is switched off and locked: a COPY could overwrite the catalog,
// and an ATTACH after a DETACH could open it for writing. So DuckDB prepares a
// text first, which runs nothing of it, and only one statement of a kind that
// reads is run.

// statement is what DuckDB says of a text before it runs.
type statement struct {
	kind   duckdb.StmtType
	params []Param
	// storable statements can fill a table without any change of the answer.
	storable bool
	// several statements are in the text; nothing else is known of them.
	several bool
}

func prepareStatement(conn *duckdb.Conn, text string) (s statement, err error) {
	prepared, err := conn.Prepare(text)
	if err != nil {
		// The driver has no type for this error; a test holds its text.
		if strings.Contains(err.Error(), "multi-statement query") {
			return statement{several: true}, nil
		}
		return s, asRefusal(err)
	}
	stmt, ok := prepared.(*duckdb.Stmt)
	if !ok {
		return s, fmt.Errorf("prepare query: statement is %T, not DuckDB's", prepared)
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()
	if s.kind, err = stmt.StatementType(); err != nil {
		return s, err
	}
	for n := range stmt.NumInput() {
		name, err := stmt.ParamName(n + 1)
		if err != nil {
			return s, fmt.Errorf("read parameters: %w", err)
		}
		s.params = append(s.params, Param{Name: name, Type: "VARCHAR"})
	}
	s.storable, err = isStorable(stmt, s.kind)
	return s, err
}

// isStorable reports whether a statement is a SELECT whose columns differ in
// name and have a type: in a table, the others would become something else.
func isStorable(stmt *duckdb.Stmt, kind duckdb.StmtType) (bool, error) {
	if kind != duckdb.STATEMENT_TYPE_SELECT {
		return false, nil
	}
	columns, err := stmt.ColumnCount()
	seen := map[string]bool{}
	for i := range columns {
		name, nameErr := stmt.ColumnName(i)
		kind, kindErr := stmt.ColumnType(i)
		name = strings.ToLower(name)
		if nameErr != nil || kindErr != nil || seen[name] || kind == duckdb.TYPE_SQLNULL {
			return false, nil
		}
		seen[name] = true
	}
	return columns > 0, err
}

// refuseUnlessReads returns a *RefusedError unless the text of s is one statement
// that only reads. DESCRIBE, SHOW and SUMMARIZE are SELECT to DuckDB.
func refuseUnlessReads(ctx context.Context, conn *duckdb.Conn, s statement, text string, args []any) error {
	text = text[len(nothing.FindString(text)):]
	words := explainWords.FindString(text)
	switch {
	case strings.Contains(text, "\x00"):
		return &RefusedError{Reason: refuseNUL}
	case s.several && !isPivot(conn, text):
		return &RefusedError{Reason: refuseSeveral}
	case s.kind == duckdb.STATEMENT_TYPE_EXPLAIN && words != "":
		explained, err := prepareStatement(conn, text[len(words):])
		if err != nil {
			return err
		}
		return refuseUnlessReads(ctx, conn, explained, text[len(words):], args)
	case !s.several && s.kind != duckdb.STATEMENT_TYPE_SELECT:
		return &RefusedError{Reason: refusalOf(s.kind)}
	}
	return refuseActing(ctx, conn, s, text, args)
}

// gap is what may stand between two words: blanks and comments, but for those that
// could be read in two ways: nested ones, and lines that a lone \r may end.
const gap = `(?:\s|--[^\r\n]*\r?\n|/\*(?:[^*/]|/+[^*/]|\*+[^*/])*\*+/)`

var (
	// nothing may stand before the first statement.
	nothing = regexp.MustCompile(`^(?:;|` + gap + `)*`)
	// explainWords come before what an EXPLAIN explains, and with ANALYZE runs. DuckDB
	// does not say of what type that is, so only these forms are known.
	explainWords = regexp.MustCompile(`^(?i)EXPLAIN(?:` + gap + `+ANALYZE\b` + gap + `*|` + gap + `*\(\s*(?:ANALYZE|FORMAT\s+\w+)(?:\s*,\s*(?:ANALYZE|FORMAT\s+\w+))*\s*\)` + gap + `*|` + gap + `+)`)
)

func refusalOf(kind duckdb.StmtType) string {
	switch kind {
	case duckdb.STATEMENT_TYPE_COPY, duckdb.STATEMENT_TYPE_EXPORT, duckdb.STATEMENT_TYPE_ATTACH, duckdb.STATEMENT_TYPE_DETACH,
		duckdb.STATEMENT_TYPE_LOAD, statementTypeUpdateExtensions:
		return refuseFiles
	case duckdb.STATEMENT_TYPE_SET, duckdb.STATEMENT_TYPE_VARIABLE_SET, duckdb.STATEMENT_TYPE_PRAGMA:
		return refuseSetting
	case duckdb.STATEMENT_TYPE_INSERT, duckdb.STATEMENT_TYPE_UPDATE, duckdb.STATEMENT_TYPE_DELETE, statementTypeMerge, duckdb.STATEMENT_TYPE_CREATE,
		duckdb.STATEMENT_TYPE_CREATE_FUNC, duckdb.STATEMENT_TYPE_ALTER, duckdb.STATEMENT_TYPE_DROP:
		return refuseWrite
	}
	return refuseKind
}

// Types that DuckDB has and the driver does not name.
const (
	statementTypeUpdateExtensions = duckdb.StmtType(29)
	statementTypeMerge            = duckdb.StmtType(30)
)

// isPivot reports whether a text of several statements is in truth one PIVOT,
// which DuckDB turns into a CREATE TYPE for the values of its columns and a
// SELECT. In brackets no semicolon can stand between two statements.
func isPivot(conn *duckdb.Conn, text string) bool {
	s, err := prepareStatement(conn, "SELECT * FROM ("+strings.TrimRight(text, "; \t\r\n")+"\n)")
	return err == nil && s.several
}

// acting are the functions that a SELECT can call and that do more than read:
// they redirect logs and profiles, to files too, and where these are locked the
// process aborts. A test lists all others.
const acting = `enable_logging|disable_logging|enable_profiling|disable_profiling|enable_peg_parser|disable_peg_parser|` +
	`checkpoint|force_checkpoint|truncate_duckdb_logs|json_execute_serialized_sql`

var (
	// mayAct finds the texts worth a look at their plan. The function query takes
	// SQL as a text, which can be put together from parts.
	mayAct = regexp.MustCompile(`(?i)` + acting + `|\bquery\b`)
	// actingCall is a call of such a function; a name in quotes counts too.
	actingCall = regexp.MustCompile(`(?i)(?:` + acting + `)"?` + gap + `*\(`)
	// queryCall is a call of query, and plainText an argument that is one text as it stands.
	queryCall = regexp.MustCompile(`(?i)\bquery"?` + gap + `*\(`)
	plainText = regexp.MustCompile(`^` + gap + `*'((?:[^']|'')*)'` + gap + `*\)`)
	// actingStep is such a function in a plan in JSON.
	actingStep = regexp.MustCompile(`"name": "(?i:` + acting + `) *"`)
)

// callsActing reports whether a text names a call of an acting function, or hands to
// query anything but one text that does not: what is put together while it runs can be
// another text then than it was when the plan was made.
func callsActing(text string) bool {
	if actingCall.MatchString(text) {
		return true
	}
	for _, call := range queryCall.FindAllStringIndex(text, -1) {
		argument := plainText.FindStringSubmatch(text[call[1]:])
		if argument == nil || callsActing(strings.ReplaceAll(argument[1], "''", "'")) {
			return true
		}
	}
	return false
}

// refuseActing returns a *RefusedError for a text that calls one of the acting
// functions: by its words and, for what these do not show, by the plan, which names
// what would run. A PIVOT has no plan before its first part ran.
func refuseActing(ctx context.Context, conn *duckdb.Conn, s statement, text string, args []any) error {
	if !mayAct.MatchString(text) {
		return nil
	}
	if s.several {
		return &RefusedError{Reason: refusePivot}
	}
	if callsActing(text) {
		return &RefusedError{Reason: refuseFunction}
	}
	rows, err := conn.QueryContext(ctx, "EXPLAIN (FORMAT json) "+text, namedValues(args))
	if err != nil {
		return asRefusal(err)
	}
	row := make([]driver.Value, len(rows.Columns()))
	err = rows.Next(row)
	if err := errors.Join(err, rows.Close()); err != nil {
		return fmt.Errorf("read the plan of the query: %w", err)
	}
	if actingStep.MatchString(fmt.Sprint(row)) {
		return &RefusedError{Reason: refuseFunction}
	}
	return nil
}
