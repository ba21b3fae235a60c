package query

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	duckdb "github.com/duckdb/duckdb-go/v2"
)

// UsageError says that a query was asked for wrongly: an unknown name, an unknown
// parameter, a value of the wrong type. Its text lists what would be right.
type UsageError struct {
	// Problem says what is wrong.
	Problem string
	// Params are the parameters that the problem is about: one, or all of the query.
	Params []Param
	// Names are the queries to choose from, when the name was unknown, and Nearest those
	// of them that may have been meant: only these are said then.
	Names, Nearest []string
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
	switch {
	case len(e.Nearest) > 0:
		b.WriteString(" (did you mean " + strings.Join(e.Nearest, " or ") + "?)")
	case len(e.Names) > 0:
		b.WriteString("; queries: " + strings.Join(e.Names, ", "))
	}
	return b.String()
}

// RefusedError says that a statement would do more than read the catalog.
type RefusedError struct {
	// Reason is what is refused and why, verb first.
	Reason string
	// Err is DuckDB's error; nil when the program refused.
	Err error
}

func (e *RefusedError) Error() string {
	if e.Reason == refuseFiles {
		return e.describe("; save an answer with -o FILE")
	}
	return e.Plain()
}

// Plain is the text without advice for the command line.
func (e *RefusedError) Plain() string { return e.describe("") }

func (e *RefusedError) describe(advice string) string {
	if e.Err == nil {
		return e.Reason + advice
	}
	line, _, _ := strings.Cut(e.Err.Error(), "\n")
	return fmt.Sprintf("%s%s (DuckDB: %s)", e.Reason, advice, line)
}

func (e *RefusedError) Unwrap() error { return e.Err }

const (
	refuseWrite    = "refuse to write: query opens the catalog read only"
	refuseFiles    = "refuse to touch files, extensions or the network: query reads the catalog only"
	refuseSetting  = "refuse to change a setting: the settings of query are fixed"
	refuseSeveral  = "refuse to run several statements: a query is one statement; run one query for each"
	refuseKind     = "refuse to run this kind of statement: query runs SELECT, FROM, WITH, VALUES, PIVOT, DESCRIBE, SHOW, SUMMARIZE, and EXPLAIN [ANALYZE] of these"
	refuseFunction = "refuse to call a function that changes logs, profiles, the parser or files: query only reads"
	refuseNUL      = "refuse a text with a NUL character: DuckDB reads nothing behind it"
	refusePivot    = "refuse a PIVOT that may call a function which changes logs, profiles or files: list its values with IN"
)

// asRefusal turns DuckDB's refusals into RefusedError. The texts are DuckDB's;
// a test holds each of them.
func asRefusal(err error) error {
	de, ok := errors.AsType[*duckdb.Error](err)
	if !ok {
		return err
	}
	switch {
	case strings.Contains(de.Msg, "read-only mode"):
		return &RefusedError{Reason: refuseWrite, Err: err}
	case strings.Contains(de.Msg, "configuration has been locked"):
		return &RefusedError{Reason: refuseSetting, Err: err}
	case de.Type == duckdb.ErrorTypePermission:
		return &RefusedError{Reason: refuseFiles, Err: err}
	}
	return err
}

// IsUnreadable reports whether a query failed in a way that a damaged file explains,
// and a mistake in the query does not.
func IsUnreadable(err error) bool {
	return hasType(err, duckdb.ErrorTypeIO, duckdb.ErrorTypeInternal,
		duckdb.ErrorTypeFatal, duckdb.ErrorTypeSerialization, duckdb.ErrorTypeInvalid)
}

// IsMissing reports whether a query failed because the catalog lacks a table,
// a view or a column that it reads, as one that an earlier program wrote may.
func IsMissing(err error) bool {
	return hasType(err, duckdb.ErrorTypeCatalog, duckdb.ErrorTypeBinder)
}

func hasType(err error, types ...duckdb.ErrorType) bool {
	de, ok := errors.AsType[*duckdb.Error](err)
	return ok && slices.Contains(types, de.Type)
}
