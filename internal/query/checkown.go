package query

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	duckdb "github.com/duckdb/duckdb-go/v2"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// CheckOwn validates the user's queries and checks. It returns a *FilesError for queries that do
// not parse, do more than read, or name a table or column that the catalog does not have. Before
// the first night, db is nil; the names of tables and columns are then not validated.
func (l Library) CheckOwn(ctx context.Context, db *DB) (err error) {
	hasCatalog := db != nil
	if !hasCatalog {
		if db, err = startInstance(ctx, Options{}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
	}
	var problems []string
	err = db.conn.Raw(func(raw any) error {
		conn := raw.(*duckdb.Conn)
		for _, q := range l.queries {
			if q.File == "" {
				continue
			}
			bind := hasCatalog
			if q.isCheck {
				// Without an earlier snapshot there is no database "before".
				bind = bind && (db.hasBefore || !q.ReadsBefore())
				parts, err := q.Expand(tableNames(), nil)
				if err != nil {
					return err
				}
				if len(parts) > 0 { // a check has no parts if "each" names no existing table
					q = parts[0]
				}
			}
			if problem := checkText(ctx, conn, q.SQL, bind); problem != "" {
				problems = append(problems, q.File+problem)
			}
			for _, p := range q.Params {
				if problem := checkText(ctx, conn, p.Values, hasCatalog); p.Values != "" && problem != "" {
					problems = append(problems, q.File+": the values of parameter "+p.Name+problem)
				}
			}
		}
		return nil
	})
	if len(problems) > 0 {
		return errors.Join(err, &FilesError{problems})
	}
	return err
}

func tableNames() (names []string) {
	for _, t := range stream.Tables(stream.All()) {
		names = append(names, t.Name)
	}
	return names
}

// checkText returns the first problem of a query as ":line:column: problem", or an empty string
// for a valid query. If bind is true, its tables and columns must exist.
func checkText(ctx context.Context, conn *duckdb.Conn, text string, bind bool) string {
	s, err := prepareStatement(conn, text)
	de, isDuckDB := errors.AsType[*duckdb.Error](err)
	switch {
	case isDuckDB && de.Type == duckdb.ErrorTypeParser:
		return describeSyntaxError(ctx, conn, text, err)
	case err != nil && !bind && IsMissing(err):
		return ""
	case err != nil:
		return describeError(err)
	case s.several && !isPivot(conn, text):
		return ": " + refusedSeveral
	case !s.several && s.kind != duckdb.STATEMENT_TYPE_SELECT && s.kind != duckdb.STATEMENT_TYPE_EXPLAIN:
		return ": " + refusalOf(s.kind)
	}
	return ""
}

// errorLine finds the line number in an error of DuckDB.
var errorLine = regexp.MustCompile(`\nLINE (\d+):`)

// describeError returns the first line of an error of DuckDB as ":line: problem", or
// ": problem" if the error has no line number.
func describeError(err error) string {
	problem, _, _ := strings.Cut(err.Error(), "\n")
	if m := errorLine.FindStringSubmatch(err.Error()); m != nil {
		return ":" + m[1] + ": " + problem
	}
	return ": " + problem
}

// describeSyntaxError returns parseErr as ":line:column: problem". The position is read from the
// result of json_serialize_sql. If that result has no position, describeError is used.
func describeSyntaxError(ctx context.Context, conn *duckdb.Conn, text string, parseErr error) string {
	var result struct {
		Type     string `json:"error_type"`
		Message  string `json:"error_message"`
		Position string `json:"position"`
	}
	// The argument must be a constant, so it cannot be a parameter.
	serialized, err := queryValue(ctx, conn, "SELECT CAST(json_serialize_sql("+sqltext.Literal(text)+") AS VARCHAR)", nil)
	if err == nil {
		err = json.Unmarshal([]byte(fmt.Sprint(serialized)), &result)
	}
	at, numberErr := strconv.Atoi(result.Position)
	characters := []rune(text)
	if err != nil || numberErr != nil || result.Type != "parser" || at > len(characters) {
		return describeError(parseErr)
	}
	before := string(characters[:at])
	column := at - len([]rune(before[:strings.LastIndex(before, "\n")+1])) + 1
	return fmt.Sprintf(":%d:%d: %s", 1+strings.Count(before, "\n"), column, result.Message)
}
