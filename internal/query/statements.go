package query

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"strings"

	duckdb "github.com/duckdb/duckdb-go/v2"

	"placementsync/internal/sqltext"
)

// DuckDB's sandbox is not sufficient. Even with external access disabled, SQL can access the
// paths of attached files: COPY can overwrite the catalog, and ATTACH after DETACH can open it
// for writing. Therefore SQL of the user is first prepared, and run only if it is a single statement
// of a kind that reads.

type statement struct {
	kind   duckdb.StmtType
	params []Param
	// storable is true if CREATE TABLE AS keeps the names and types of the result.
	storable bool
	// several is true if the SQL contains several statements. The other fields are then not set.
	several bool
}

func prepareStatement(conn *duckdb.Conn, text string) (s statement, err error) {
	prepared, err := conn.Prepare(text)
	if err != nil {
		// The driver has no type for this error.
		if strings.Contains(err.Error(), "multi-statement query") {
			return statement{several: true}, nil
		}
		return s, asRefusal(err)
	}
	stmt := prepared.(*duckdb.Stmt)
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

// isStorable reports whether a statement is a SELECT without duplicate column names and without
// columns of type NULL. CREATE TABLE AS would rename equal names, and give a type to NULL.
func isStorable(stmt *duckdb.Stmt, kind duckdb.StmtType) (bool, error) {
	if kind != duckdb.STATEMENT_TYPE_SELECT {
		return false, nil
	}
	columnCount, err := stmt.ColumnCount()
	seen := map[string]bool{}
	for i := range columnCount {
		name, nameErr := stmt.ColumnName(i)
		columnType, typeErr := stmt.ColumnType(i)
		name = strings.ToLower(name)
		if nameErr != nil || typeErr != nil || seen[name] || columnType == duckdb.TYPE_SQLNULL {
			return false, nil
		}
		seen[name] = true
	}
	return columnCount > 0, err
}

// checkReadOnly returns a *RefusedError unless s only reads. DuckDB classifies DESCRIBE, SHOW and SUMMARIZE as
// SELECT.
func checkReadOnly(ctx context.Context, conn *duckdb.Conn, s statement, text string, args []any) error {
	text = cutLeadingComments(text)
	explain := explainStart.FindString(text)
	switch {
	case strings.Contains(text, "\x00"):
		return &RefusedError{Reason: refusedNUL}
	case s.several && !isPivot(conn, text):
		return &RefusedError{Reason: refusedSeveral}
	case s.kind == duckdb.STATEMENT_TYPE_EXPLAIN && explain != "":
		explained, err := prepareStatement(conn, text[len(explain):])
		if err != nil {
			return err
		}
		return checkReadOnly(ctx, conn, explained, text[len(explain):], args)
	case !s.several && s.kind != duckdb.STATEMENT_TYPE_SELECT:
		return &RefusedError{Reason: refusalOf(s.kind)}
	}
	return refuseSideEffects(ctx, conn, s, text, args)
}

// gap matches a space or a comment between two words. It excludes ambiguous comments: nested
// ones, and line comments that contain \r without \n.
const gap = `(?:\s|--[^\r\n]*\r?\n|/\*(?:[^*/]|/+[^*/]|\*+[^*/])*\*+/)`

const explainOption = `(?:ANALYZE|FORMAT\s+\w+)`

var (
	leadingComments = regexp.MustCompile(`^(?:;|` + gap + `)*`)
	// explainStart matches the words before the explained statement, which EXPLAIN ANALYZE runs.
	// DuckDB does not return the type of that statement, so other forms of EXPLAIN are refused.
	explainStart = regexp.MustCompile(`^(?i)EXPLAIN(?:` +
		gap + `+ANALYZE\b` + gap + `*|` +
		gap + `*\(\s*` + explainOption + `(?:\s*,\s*` + explainOption + `)*\s*\)` + gap + `*|` +
		gap + `+)`)
)

// cutLeadingComments returns a text from its first word on.
func cutLeadingComments(text string) string { return text[len(leadingComments.FindString(text)):] }

func refusalOf(kind duckdb.StmtType) string {
	switch kind {
	case duckdb.STATEMENT_TYPE_COPY, duckdb.STATEMENT_TYPE_EXPORT, duckdb.STATEMENT_TYPE_ATTACH, duckdb.STATEMENT_TYPE_DETACH,
		duckdb.STATEMENT_TYPE_LOAD, statementTypeUpdateExtensions:
		return refusedFiles
	case duckdb.STATEMENT_TYPE_SET, duckdb.STATEMENT_TYPE_VARIABLE_SET, duckdb.STATEMENT_TYPE_PRAGMA:
		return refusedSetting
	case duckdb.STATEMENT_TYPE_INSERT, duckdb.STATEMENT_TYPE_UPDATE, duckdb.STATEMENT_TYPE_DELETE, statementTypeMerge, duckdb.STATEMENT_TYPE_CREATE,
		duckdb.STATEMENT_TYPE_CREATE_FUNC, duckdb.STATEMENT_TYPE_ALTER, duckdb.STATEMENT_TYPE_DROP:
		return refusedWrite
	}
	return refusedKind
}

// Statement types without a name in the driver.
const (
	statementTypeUpdateExtensions = duckdb.StmtType(29)
	statementTypeMerge            = duckdb.StmtType(30)
)

// isPivot reports whether a text that DuckDB counts as several statements is a single PIVOT.
// DuckDB expands a PIVOT to a CREATE TYPE for the column values and a SELECT. isPivot puts the
// text in brackets, where several statements would be a syntax error.
func isPivot(conn *duckdb.Conn, text string) bool {
	s, err := prepareStatement(conn, string(selectFrom(text)))
	return err == nil && s.several
}

// inBrackets returns a statement as a subquery. The last line break ends a comment at the end of the statement. The
// first one keeps the columns in DuckDB's errors correct, see findPosition.
func inBrackets(text string) sqltext.SQL {
	return sqltext.Fill("(\n{statement}\n)", sqltext.Values{"statement": sqltext.SQL(strings.TrimRight(text, "; \t\r\n"))})
}

func selectFrom(text string) sqltext.SQL {
	return sqltext.Fill("SELECT * FROM {statement}", sqltext.Values{"statement": inBrackets(text)})
}

// sideEffects lists the functions that do more than read and can be called in a SELECT. Most of them
// redirect logs or profiling output, even to files. With locked settings, some abort the process.
const sideEffects = `enable_logging|disable_logging|enable_profiling|disable_profiling|enable_peg_parser|disable_peg_parser|` +
	`checkpoint|force_checkpoint|truncate_duckdb_logs|json_execute_serialized_sql`

var (
	// mayHaveSideEffect matches SQL whose plan must be checked. It also matches the function
	// "query", which runs the SQL in its argument.
	mayHaveSideEffect = regexp.MustCompile(`(?i)` + sideEffects + `|\bquery\b`)
	// The name of a called function may be quoted.
	sideEffectCall  = regexp.MustCompile(`(?i)(?:` + sideEffects + `)"?` + gap + `*\(`)
	queryCall       = regexp.MustCompile(`(?i)\bquery"?` + gap + `*\(`)
	literalArgument = regexp.MustCompile(`^` + gap + `*'((?:[^']|'')*)'` + gap + `*\)`)
	sideEffectStep  = regexp.MustCompile(`"name": "(?i:` + sideEffects + `) *"`)
)

// callsSideEffect reports whether a text contains a call of a function with side effects. The function "query" runs
// its argument, so the argument is checked too. An argument that is not a literal counts as such a call, because an
// expression can have another value at run time than in the plan.
func callsSideEffect(text string) bool {
	if sideEffectCall.MatchString(text) {
		return true
	}
	for _, call := range queryCall.FindAllStringIndex(text, -1) {
		argument := literalArgument.FindStringSubmatch(text[call[1]:])
		if argument == nil || callsSideEffect(strings.ReplaceAll(argument[1], "''", "'")) {
			return true
		}
	}
	return false
}

// refuseSideEffects returns a *RefusedError for a text that calls a function with side effects. It
// checks the text and then the plan, which also contains calls in views and macros. A PIVOT without
// IN has no plan, so a mention of such a function is enough to refuse it.
func refuseSideEffects(ctx context.Context, conn *duckdb.Conn, s statement, text string, args []any) error {
	if !mayHaveSideEffect.MatchString(text) {
		return nil
	}
	if s.several {
		return &RefusedError{Reason: refusedPivot}
	}
	if callsSideEffect(text) {
		return &RefusedError{Reason: refusedFunction}
	}
	plan, err := queryValue(ctx, conn, explainJSON+text, args)
	if err != nil {
		return asRefusal(err)
	}
	if sideEffectStep.MatchString(fmt.Sprint(plan)) {
		return &RefusedError{Reason: refusedFunction}
	}
	return nil
}

const explainJSON = "EXPLAIN (FORMAT json) "

// queryValue returns the last value of the first row of a result.
func queryValue(ctx context.Context, conn *duckdb.Conn, text string, args []any) (driver.Value, error) {
	rows, err := conn.QueryContext(ctx, text, namedValues(args))
	if err != nil {
		return nil, err
	}
	row := make([]driver.Value, len(rows.Columns()))
	err = rows.Next(row)
	return row[len(row)-1], errors.Join(err, rows.Close())
}

// RefusedError reports a statement that would do more than read the catalog.
type RefusedError struct {
	Reason string
	// Err is DuckDB's error. Nil means that this package refused the statement.
	Err error
}

func (e *RefusedError) Error() string {
	if e.Reason == refusedFiles {
		return e.describe("; save a result with -o FILE")
	}
	return e.Plain()
}

// Plain returns the text without advice for the command line.
func (e *RefusedError) Plain() string { return e.describe("") }

func (e *RefusedError) describe(advice string) string {
	if e.Err == nil {
		return e.Reason + advice
	}
	line, _, _ := strings.Cut(e.Err.Error(), "\n")
	return fmt.Sprintf("%s%s (DuckDB: %s)", e.Reason, advice, line)
}

func (e *RefusedError) Unwrap() error { return e.Err }

// Reasons of a RefusedError.
const (
	refusedWrite    = "the SQL is refused: it writes, but the catalog is open read-only"
	refusedFiles    = "the SQL is refused: it uses files, extensions or the network, but can read only the catalog"
	refusedSetting  = "the SQL is refused: it changes a setting, but settings cannot be changed"
	refusedSeveral  = "the SQL is refused: it contains several statements: run one at a time"
	refusedKind     = "the SQL is refused: this kind of statement is not allowed: use SELECT, FROM, WITH, VALUES, PIVOT, DESCRIBE, SHOW, SUMMARIZE, and EXPLAIN [ANALYZE] of these"
	refusedFunction = "the SQL is refused: it calls a function that changes logging, profiling, the parser or files"
	refusedNUL      = "the SQL is refused: it contains a NUL character, and DuckDB ignores the text after it: remove the character"
	refusedPivot    = "the SQL is refused: its PIVOT may call a function that changes logging, profiling or files: list the values of the PIVOT with IN"
)

// asRefusal converts errors of DuckDB's sandbox to RefusedError, and returns other errors unchanged.
func asRefusal(err error) error {
	de, ok := errors.AsType[*duckdb.Error](err)
	if !ok {
		return err
	}
	switch {
	case strings.Contains(de.Msg, "read-only mode"):
		return &RefusedError{Reason: refusedWrite, Err: err}
	case strings.Contains(de.Msg, "configuration has been locked"):
		return &RefusedError{Reason: refusedSetting, Err: err}
	case de.Type == duckdb.ErrorTypePermission:
		return &RefusedError{Reason: refusedFiles, Err: err}
	}
	return err
}
