package query

import (
	"context"
	"errors"
	"fmt"
	"strings"

	duckdb "github.com/duckdb/duckdb-go/v2"

	"placementsync/internal/stream"
)

// ValidateUserFiles validates the user's queries and checks. It returns a *FilesError for queries that
// do not parse, do more than read, or name a table or column that the catalog does not have. Before
// the first night, db is nil; the names of tables and columns are then not validated. In a check that
// reads the database "before", they are validated only if [DB.WhyNotComparable] returns no reason.
func (l Library) ValidateUserFiles(ctx context.Context, db *DB) (err error) {
	hasCatalog := db != nil
	if !hasCatalog {
		if db, err = startInstance(ctx, Options{}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
	}
	var tables, problems []string
	for _, t := range stream.Tables(stream.All()) {
		tables = append(tables, t.Name)
	}
	err = db.conn.Raw(func(raw any) error {
		conn := raw.(*duckdb.Conn)
		for _, q := range l.queries {
			if q.File == "" {
				continue
			}
			validateNames := hasCatalog
			if q.isCheck {
				validateNames = validateNames && db.WhyNotComparable(q) == ""
				if parts := q.Expand(ChangedTables{Changed: tables, MuchChanged: tables}, nil); len(parts) > 0 { // a check has no parts if "each" names no existing table
					q = parts[0]
				}
			}
			if problem := validateSQL(conn, q.SQL, validateNames); problem != "" {
				problems = append(problems, q.File+problem)
			}
			for _, p := range q.Params {
				if problem := validateSQL(conn, p.Values, hasCatalog); p.Values != "" && problem != "" {
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

// validateSQL returns the first problem of a query as ":line:column: problem" or, without a known
// position, ": problem". It returns "" for a valid query.
func validateSQL(conn *duckdb.Conn, text string, validateNames bool) string {
	s, err := prepareStatement(conn, text)
	switch {
	case err != nil && !validateNames && IsMissing(err):
		return ""
	case err != nil:
		problem, _, _ := strings.Cut(err.Error(), "\n")
		problem = ": " + strings.TrimPrefix(problem, "Parser Error: ")
		if line, column := findPosition(text, err.Error()); line > 0 {
			return fmt.Sprintf(":%d:%d%s", line, column, problem)
		}
		return problem
	case s.several && !isPivot(conn, text):
		return ": " + refusedSeveral
	case !s.several && s.kind != duckdb.STATEMENT_TYPE_SELECT && s.kind != duckdb.STATEMENT_TYPE_EXPLAIN:
		return ": " + refusalOf(s.kind)
	}
	return ""
}
