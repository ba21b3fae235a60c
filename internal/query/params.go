package query

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"math"
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
			return nil, &UsageError{Problem: q.errPrefix() + err.Error(), Params: params}
		}
		if days, ok := daysBack(p.Type, text); ok {
			if text, err = snapshotDate(ctx, conn, days); err != nil {
				return nil, q.wrapErr(err)
			}
		}
		arg, err := p.bindText(text)
		if err != nil {
			return nil, &UsageError{Problem: q.errPrefix() + err.Error(), Params: params}
		}
		args = append(args, sql.Named(p.Name, arg))
	}
	return args, nil
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

func (q Query) errPrefix() string {
	if q.Name == "" {
		return ""
	}
	return fmt.Sprintf("query %q: ", q.Name)
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
	if declared := p.Default != ""; declared && text == nullText && p.Default != nullText && !p.Nullable {
		return "", fmt.Errorf("parameter %q: it cannot be NULL", p.Name)
	}
	return text, nil
}

// bindText gives a value the type that the query declares.
func (p Param) bindText(text string) (any, error) {
	if declared := p.Default != ""; declared && text == nullText {
		return nil, nil
	}
	// DuckDB ends the process over a text that is none.
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

func parseValue(typ, text string) (any, error) {
	if choices := strings.Split(typ, "|"); len(choices) > 1 {
		return parseChoice(choices, text)
	}
	switch typ {
	case "BIGINT":
		n, err := strconv.ParseInt(text, 10, 64)
		return typedValue(n, duckdb.TYPE_BIGINT, err, text, "a whole number such as 10")
	case "COUNT":
		n, err := strconv.ParseInt(text, 10, 64)
		if n < 0 || n > math.MaxInt32 {
			err = strconv.ErrRange
		}
		return typedValue(n, duckdb.TYPE_BIGINT, err, text, "a whole number from 0 on")
	case "BOOLEAN":
		b, err := parseBool(text)
		return typedValue(b, duckdb.TYPE_BOOLEAN, err, text, "true or false")
	case "DATE":
		d, err := time.Parse(time.DateOnly, text)
		return typedValue(d, duckdb.TYPE_DATE, err, text, "a date such as 2026-11-01 or snapshot-7d")
	case "TIMESTAMPTZ":
		t, err := parseInstant(text)
		return typedValue(t, duckdb.TYPE_TIMESTAMP_TZ, err, text, "a time such as 2026-11-01T02:00:00Z, or a date, taken as UTC")
	case "TIMEZONE":
		return typedValue(text, duckdb.TYPE_VARCHAR, checkZone(text), text, "a time zone such as UTC or America/New_York")
	case "DECIMAL":
		var err error
		if !decimalText.MatchString(text) {
			err = strconv.ErrSyntax
		}
		return typedValue(text, duckdb.TYPE_VARCHAR, err, text, "a number such as 12.50")
	}
	return duckdb.Typed(text, duckdb.TYPE_VARCHAR), nil
}

func parseChoice(choices []string, text string) (any, error) {
	var err error
	if !slices.Contains(choices, text) {
		err = strconv.ErrSyntax
	}
	return typedValue(text, duckdb.TYPE_VARCHAR, err, text, strings.Join(choices, " or "))
}

func typedValue(v any, t duckdb.Type, err error, text, want string) (any, error) {
	if err != nil {
		return nil, fmt.Errorf("%q is not %s", text, want)
	}
	return duckdb.Typed(v, t), nil
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "yes":
		return true, nil
	case "false", "no":
		return false, nil
	}
	return false, strconv.ErrSyntax
}

func parseInstant(text string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t, nil
	}
	return time.ParseInLocation(time.DateOnly, text, time.UTC)
}

// checkZone refuses what is no name of the time zone database; "" and Local
// mean a zone to Go alone.
func checkZone(text string) error {
	if text == "" || text == "Local" {
		return strconv.ErrSyntax
	}
	_, err := time.LoadLocation(text)
	return err
}

var backText = regexp.MustCompile(`^snapshot-(\d{1,5})d$`)

// daysBack reads a date that counts back from the snapshot.
func daysBack(typ, text string) (days int, ok bool) {
	m := backText.FindStringSubmatch(text)
	if typ != "DATE" || m == nil {
		return 0, false
	}
	days, err := strconv.Atoi(m[1])
	return days, err == nil
}

// snapshotDate is the day, in UTC, so many days before the newest snapshot, or
// nullText before the first. A query gets it as a value rather than finding it
// itself, since DuckDB carries only a value down into a view over history.
func snapshotDate(ctx context.Context, conn *duckdb.Conn, days int) (string, error) {
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
