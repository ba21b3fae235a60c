package query

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	duckdb "github.com/duckdb/duckdb-go/v2"
)

// bindValues makes the arguments of a query from the values given as text. Values
// travel as prepared parameters and never become part of the SQL.
func bindValues(ctx context.Context, conn *duckdb.Conn, q Query, params []Param, values map[string]string) ([]any, error) {
	if err := checkNames(q, params, values); err != nil {
		return nil, err
	}
	args := make([]any, 0, len(params))
	for _, p := range params {
		text, err := p.givenText(values)
		if err != nil {
			return nil, &UsageError{Problem: q.errPrefix() + err.Error(), Params: []Param{p}}
		}
		if back := backText.FindStringSubmatch(text); p.Type == "DATE" && back != nil {
			if text, err = snapshotDate(ctx, conn, back[1]); err != nil {
				return nil, q.wrapErr(err)
			}
		}
		arg, err := p.bindText(text)
		if err != nil {
			return nil, &UsageError{Problem: q.errPrefix() + err.Error(), Params: []Param{p}}
		}
		args = append(args, sql.Named(p.Name, arg))
	}
	return args, nil
}

// usedParams are the parameters that a statement of a user asks for, as its header declares
// them; those that it does not declare are texts.
func usedParams(declared, used []Param) []Param {
	params := slices.Clone(used)
	for i, p := range used {
		if at := slices.IndexFunc(declared, func(d Param) bool { return d.Name == p.Name }); at >= 0 {
			params[i] = declared[at]
		}
	}
	return params
}

func checkNames(q Query, params []Param, values map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if slices.ContainsFunc(params, func(p Param) bool { return p.Name == name }) {
			continue
		}
		problem := fmt.Sprintf("%sunknown parameter %q", q.errPrefix(), name)
		if len(params) == 0 {
			problem += "; the query has none"
		}
		return &UsageError{Problem: problem, Params: params}
	}
	return nil
}

// givenText is the value of the parameter as it was given, or its default.
func (p Param) givenText(values map[string]string) (string, error) {
	text, given := values[p.Name]
	if !given {
		text = p.Default
	}
	if text == "" && !given {
		return "", fmt.Errorf("parameter %q has no value", p.Name)
	}
	// Where a query does not ask for NULL, it would answer with nothing.
	if declared := p.Default != ""; declared && text == nullText && !p.TakesNull() {
		return "", fmt.Errorf("parameter %q: it cannot be NULL", p.Name)
	}
	return text, nil
}

// bindText gives a value the type that the query declares.
func (p Param) bindText(text string) (any, error) {
	if declared := p.Default != ""; declared && text == nullText {
		return nil, nil
	}
	// DuckDB ends the process over invalid UTF-8.
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("parameter %q: %q is not UTF-8", p.Name, text)
	}
	arg, err := parseValue(p.Type, text)
	if err != nil {
		return nil, fmt.Errorf("parameter %q: %w", p.Name, err)
	}
	return arg, nil
}

// nullText stands for NULL as the value of a declared parameter.
const nullText = "NULL"

// decimalText is what DECIMAL(18,6) holds, or rounds.
var decimalText = regexp.MustCompile(`^[+-]?\d{1,12}(\.\d{1,20})?$`)

// switches are the texts of a BOOLEAN.
var switches = map[string]bool{"true": true, "yes": true, "false": false, "no": false}

func parseValue(typ, text string) (any, error) {
	var (
		value any = text
		kind      = duckdb.TYPE_VARCHAR
		want  string
		err   error
	)
	choices := strings.Split(typ, "|")
	switch {
	case len(choices) > 1:
		want = strings.Join(choices, " or ")
		if !slices.Contains(choices, text) {
			err = strconv.ErrSyntax
		}
	case typ == "BIGINT":
		kind, want = duckdb.TYPE_BIGINT, "a whole number such as 10"
		value, err = strconv.ParseInt(text, 10, 64)
	case typ == "COUNT":
		kind, want = duckdb.TYPE_BIGINT, "a whole number from 0 on"
		var n int64
		if n, err = strconv.ParseInt(text, 10, 32); n < 0 {
			err = strconv.ErrRange
		}
		value = n
	case typ == "BOOLEAN":
		kind, want = duckdb.TYPE_BOOLEAN, "true or false"
		var known bool
		if value, known = switches[strings.ToLower(text)]; !known {
			err = strconv.ErrSyntax
		}
	case typ == "DATE":
		kind, want = duckdb.TYPE_DATE, "a date such as 2026-11-01 or snapshot-7d"
		value, err = time.Parse(time.DateOnly, text)
	case typ == "TIMESTAMPTZ":
		kind, want = duckdb.TYPE_TIMESTAMP_TZ, "a time such as 2026-11-01T02:00:00Z, or a date, taken as UTC"
		if value, err = time.Parse(time.RFC3339Nano, text); err != nil {
			value, err = time.Parse(time.DateOnly, text)
		}
	case typ == "TIMEZONE":
		want = "a time zone such as UTC or America/New_York"
		// "" and Local have a meaning only in Go.
		if _, err = time.LoadLocation(text); text == "" || text == "Local" {
			err = strconv.ErrSyntax
		}
	case typ == "DECIMAL" && !decimalText.MatchString(text):
		want, err = "a number such as 12.50", strconv.ErrSyntax
	}
	if err != nil {
		return nil, fmt.Errorf("%q is not %s", text, want)
	}
	return duckdb.Typed(value, kind), nil
}

// backText is a date that counts back from the snapshot.
var backText = regexp.MustCompile(`^snapshot-(\d{1,5})d$`)

// snapshotDate is the day, in UTC, so many days before the newest snapshot, or
// nullText before the first. A query gets it as a value rather than finding it
// itself, since DuckDB carries only a value down into a view over history.
func snapshotDate(ctx context.Context, conn *duckdb.Conn, daysBack string) (string, error) {
	days, err := strconv.Atoi(daysBack)
	if err != nil {
		return "", err
	}
	rows, err := conn.QueryContext(ctx, "SELECT snapshot_at FROM mart.snapshot", nil)
	if err != nil {
		return "", fmt.Errorf("find the newest snapshot: %w", err)
	}
	row := make([]driver.Value, 1)
	if err := errors.Join(rows.Next(row), rows.Close()); err != nil {
		return "", fmt.Errorf("find the newest snapshot: %w", err)
	}
	at, ok := row[0].(time.Time)
	if !ok {
		return nullText, nil
	}
	return at.UTC().AddDate(0, 0, -days).Format(time.DateOnly), nil
}
