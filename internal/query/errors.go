package query

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	duckdb "github.com/duckdb/duckdb-go/v2"
)

// UsageError reports a mistake of the caller, such as an unknown query, an unknown parameter or
// a value of the wrong type.
type UsageError struct {
	Problem string
	// Params contains the affected parameter, or all parameters of the query.
	Params []Param
}

func (e *UsageError) Error() string {
	var b strings.Builder
	b.WriteString(e.Problem)
	switch len(e.Params) {
	case 0:
	case 1:
		b.WriteString("; parameter:")
	default:
		b.WriteString("; parameters:")
	}
	for _, p := range e.Params {
		b.WriteString("\n  " + p.String())
	}
	return b.String()
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

// IsUnreadable reports whether an error indicates a damaged file rather than a mistake in the
// query.
func IsUnreadable(err error) bool {
	if e, ok := errors.AsType[*StatementError](err); ok {
		return e.Unreadable
	}
	return hasType(err, duckdb.ErrorTypeIO, duckdb.ErrorTypeInternal,
		duckdb.ErrorTypeFatal, duckdb.ErrorTypeSerialization, duckdb.ErrorTypeInvalid)
}

// IsMissing reports whether DuckDB could not resolve a name in a query, in most cases because the
// catalog of an older program version lacks a table, view or column.
func IsMissing(err error) bool {
	return hasType(err, duckdb.ErrorTypeCatalog, duckdb.ErrorTypeBinder)
}

func hasType(err error, types ...duckdb.ErrorType) bool {
	de, ok := errors.AsType[*duckdb.Error](err)
	return ok && slices.Contains(types, de.Type)
}
