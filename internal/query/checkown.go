package query

import (
	"context"
	"database/sql/driver"
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

// CheckOwn finds the own queries and checks that cannot be asked: those that do not parse, that would
// do more than read or, with a catalog, that name a table or column which it lacks. The
// error is a *FilesError. db is nil before the first night.
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
		conn, ok := raw.(*duckdb.Conn)
		if !ok {
			return fmt.Errorf("check queries: connection is %T, not DuckDB's", raw)
		}
		for _, q := range l.queries {
			if q.File == "" {
				continue
			}
			bind := hasCatalog
			if q.isCheck {
				// A first snapshot has no tables in before.
				bind = bind && (db.hasBefore || !q.ReadsBefore())
				var err error
				if q, _, err = q.Expand(tableNames(), nil); err != nil {
					return err
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

// checkText says what is wrong with a text, as ":line:column: problem"; empty means that it
// can be asked.
func checkText(ctx context.Context, conn *duckdb.Conn, text string, hasCatalog bool) string {
	s, err := prepareStatement(conn, text)
	de, isDuckDB := errors.AsType[*duckdb.Error](err)
	switch {
	case isDuckDB && de.Type == duckdb.ErrorTypeParser:
		return findSyntaxError(ctx, conn, text, err)
	case err != nil && !hasCatalog && IsMissing(err):
		return ""
	case err != nil:
		line, _, _ := strings.Cut(err.Error(), "\n")
		return statedLine(err) + ": " + line
	case s.several && !isPivot(conn, text):
		return ": " + refuseSeveral
	case !s.several && s.kind != duckdb.STATEMENT_TYPE_SELECT && s.kind != duckdb.STATEMENT_TYPE_EXPLAIN:
		return ": " + refusalOf(s.kind)
	}
	return ""
}

// lineOfError is how DuckDB shows where in the text the error is.
var lineOfError = regexp.MustCompile(`\nLINE (\d+):`)

func statedLine(err error) string {
	if m := lineOfError.FindStringSubmatch(err.Error()); m != nil {
		return ":" + m[1]
	}
	return ""
}

// findSyntaxError says where a text does not parse. DuckDB gives the position as a number
// only here, and for a few errors not at all.
func findSyntaxError(ctx context.Context, conn *duckdb.Conn, text string, parseErr error) string {
	var found struct {
		Type     string `json:"error_type"`
		Message  string `json:"error_message"`
		Position string `json:"position"`
	}
	// It takes no parameter: the text must be a constant.
	rows, err := conn.QueryContext(ctx, "SELECT CAST(json_serialize_sql("+sqltext.Literal(text)+") AS VARCHAR)", nil)
	if err == nil {
		row := make([]driver.Value, 1)
		err = rows.Next(row)
		if err = errors.Join(err, rows.Close()); err == nil {
			err = json.Unmarshal([]byte(fmt.Sprint(row[0])), &found)
		}
	}
	at, numberErr := strconv.Atoi(found.Position)
	characters := []rune(text)
	if err != nil || numberErr != nil || found.Type != "parser" || at > len(characters) {
		line, _, _ := strings.Cut(parseErr.Error(), "\n")
		return statedLine(parseErr) + ": " + line
	}
	before := string(characters[:at])
	column := at - len([]rune(before[:strings.LastIndex(before, "\n")+1])) + 1
	return fmt.Sprintf(":%d:%d: %s", 1+strings.Count(before, "\n"), column, found.Message)
}
