package query

import (
	"cmp"
	"context"
	"database/sql"
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

	"placementsync/internal/nearest"
	"placementsync/internal/sqltext"
)

func bindValues(ctx context.Context, conn *duckdb.Conn, q Query, params []Param, values map[string]string, settings Settings) ([]any, error) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if slices.ContainsFunc(params, func(p Param) bool { return p.Name == name }) {
			continue
		}
		problem := fmt.Sprintf("%sunknown parameter %q", q.errPrefix(), name)
		if key := ReplacingKey(name); key != "" && !q.IsUserDefined() {
			problem += "; set " + key + " in the configuration instead"
		} else if len(params) == 0 {
			problem += "; the query has none"
		}
		return nil, &UsageError{Problem: problem, Params: params}
	}
	args := make([]any, 0, len(params))
	for _, p := range params {
		text, err := p.valueOrDefault(values)
		if err != nil {
			return nil, &UsageError{Problem: q.errPrefix() + err.Error(), Params: []Param{p}}
		}
		if daysBack, isRelative := p.RelativeDays(text); isRelative {
			text, err = snapshotDate(ctx, conn, daysBack)
			if err != nil {
				return nil, q.wrapErr(err)
			}
		}
		text = settings.Value(p, text)
		isMissingSetting := p.Type == "STATUSES" && slices.Contains(statusSettings, text) // Value has not replaced the name
		if isMissingSetting {
			problem := fmt.Sprintf("%sparameter %q: there is no configuration that sets %s", q.errPrefix(), p.Name, text)
			return nil, &UsageError{Problem: problem, Params: []Param{p}}
		}
		arg, err := p.bindText(text)
		if err != nil {
			return nil, &UsageError{Problem: q.errPrefix() + err.Error(), Params: []Param{p}}
		}
		args = append(args, sql.Named(p.Name, arg))
	}
	return args, nil
}

// ReplacingKey returns the key of the configuration that replaced a parameter of built-in queries and
// checks, or "".
func ReplacingKey(param string) string {
	if slices.Contains([]string{"published", "ended", "revision"}, param) {
		return "statuses." + param
	}
	return ""
}

func (p Param) valueOrDefault(values map[string]string) (string, error) {
	if text, isGiven := values[p.Name]; isGiven {
		return text, nil
	}
	if p.Default == "" {
		return "", fmt.Errorf("parameter %q has no value", p.Name)
	}
	return p.Default, nil
}

// CheckValue returns an error if a value is invalid for the parameter.
func (p Param) CheckValue(text string) error {
	if _, isRelative := p.RelativeDays(text); isRelative {
		return nil
	}
	_, err := p.bindText(text)
	return err
}

func (p Param) bindText(text string) (any, error) {
	if p.isNull(text) {
		if !p.TakesNull() { // a query that does not test for NULL would return no rows
			return nil, fmt.Errorf("parameter %q cannot be NULL", p.Name)
		}
		return nil, nil
	}
	// DuckDB aborts the process on invalid UTF-8.
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("parameter %q: %q is not UTF-8", p.Name, text)
	}
	arg, err := parseValue(p.Type, text)
	if err != nil {
		return nil, fmt.Errorf("parameter %q: %w", p.Name, err)
	}
	return arg, nil
}

const nullText = "NULL"

// isNull reports whether a value means NULL. For a required parameter that does not accept NULL, such as the name of a
// record, "NULL" is an ordinary text.
func (p Param) isNull(text string) bool {
	isRequired := p.Default == ""
	return text == nullText && (p.Nullable || !isRequired)
}

// decimalText matches numbers in the range of DECIMAL(18,6).
var decimalText = regexp.MustCompile(`^[+-]?\d{1,12}(\.\d{1,20})?$`)

var booleans = map[string]bool{"true": true, "yes": true, "false": false, "no": false}

func parseValue(typ, text string) (any, error) {
	var value any = text
	kind, want, isValid := duckdb.TYPE_VARCHAR, "", true
	switch typ {
	case "BIGINT":
		kind, want = duckdb.TYPE_BIGINT, "a whole number such as 10"
		n, err := strconv.ParseInt(text, 10, 64)
		value, isValid = n, err == nil
	case "COUNT":
		kind, want = duckdb.TYPE_BIGINT, "a whole number from 0 on"
		n, err := strconv.ParseInt(text, 10, 32)
		value, isValid = n, err == nil && n >= 0
	case "BOOLEAN":
		kind, want = duckdb.TYPE_BOOLEAN, "true or false"
		value, isValid = booleans[strings.ToLower(text)]
	case "DATE":
		kind, want = duckdb.TYPE_DATE, "a date such as 2026-11-01 or snapshot-7d, or a month such as 2026-11"
		day, err := time.Parse(time.DateOnly, text)
		if err != nil {
			day, err = time.Parse("2006-01", text)
		}
		value, isValid = day, err == nil
	case "TIMESTAMPTZ":
		kind, want = duckdb.TYPE_TIMESTAMP_TZ, "a time such as 2026-11-01T02:00:00Z, or a date (in UTC)"
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			at, err = time.Parse(time.DateOnly, text)
		}
		value, isValid = at, err == nil
	case "TIMEZONE":
		want = "a time zone such as UTC or America/New_York"
		isSetting := text == ScheduleTimezone // bindValues has replaced this name, but parseParam and CheckValue have not
		isKnownToDuckDB := text != "" && text != "Local"
		_, err := time.LoadLocation(text)
		isValid = isSetting || err == nil && isKnownToDuckDB
	case "STATUSES":
		want = "a list such as cancelled,refunded, or " + strings.Join(statusSettings, " or ")
		isValid = !strings.HasPrefix(text, "statuses.") || slices.Contains(statusSettings, text)
	case "DECIMAL":
		want = "a number such as 12.50"
		isValid = decimalText.MatchString(text)
	default:
		if choices := strings.Split(typ, "|"); len(choices) > 1 {
			want = strings.Join(choices, " or ")
			isValid = slices.Contains(choices, text)
		}
	}
	if !isValid {
		return nil, fmt.Errorf("%q is not %s", text, want)
	}
	return duckdb.Typed(value, kind), nil
}

// ScheduleTimezone is the value of a TIMEZONE parameter that means the time zone of the configuration.
const ScheduleTimezone = "schedule.timezone"

// statusSettings are the values of a STATUSES parameter that mean a list of the configuration.
var statusSettings = []string{"statuses.orders_fulfilled", "statuses.orders_ended", "statuses.campaigns_ended"}

// Settings are values of the configuration that parameters may name, by their keys. The items of a list are
// separated by commas.
type Settings map[string]string

// Value returns the value of the setting that text names, if p is of a type that may name one, or else text.
// The time zone defaults to UTC.
func (s Settings) Value(p Param, text string) string {
	switch {
	case p.Type == "TIMEZONE" && text == ScheduleTimezone:
		return cmp.Or(s[text], "UTC")
	case p.Type == "STATUSES" && slices.Contains(statusSettings, text):
		if list, isSet := s[text]; isSet {
			return list
		}
	}
	return text
}

// RelativeDays returns the days of a date relative to the snapshot, such as 7 for snapshot-7d.
func (p Param) RelativeDays(text string) (days int, isRelative bool) {
	m := relativeDate.FindStringSubmatch(text)
	if p.Type != "DATE" || m == nil {
		return 0, false
	}
	days, _ = strconv.Atoi(m[1]) // m[1] has at most five digits
	return days, true
}

var relativeDate = regexp.MustCompile(`^snapshot-(\d{1,5})d$`)

// snapshotDate returns the date, in UTC, that is daysBack days before the selected snapshot. Without
// a snapshot, it returns nullText. The date is computed here and not by an expression in the query,
// because DuckDB pushes only constant filters down into views over history.
func snapshotDate(ctx context.Context, conn *duckdb.Conn, daysBack int) (string, error) {
	snapshotAt, err := queryValue(ctx, conn, "SELECT snapshot_at FROM mart.snapshot", nil)
	if err != nil {
		return "", fmt.Errorf("find the selected snapshot: %w", err)
	}
	at, ok := snapshotAt.(time.Time)
	if !ok {
		return nullText, nil
	}
	return at.UTC().AddDate(0, 0, -daysBack).Format(time.DateOnly), nil
}

// ParamValues lists the values of a parameter. If the header of the query has a line "values", ParamValues returns
// the first values in the data, up to limit, and hasMore reports whether the data has further values. Otherwise it
// returns [Param.Choices].
func (db *DB) ParamValues(ctx context.Context, p Param, limit int) (values []string, hasMore bool, err error) {
	if p.Values == "" {
		return p.Choices(), false, nil
	}
	r, err := db.readValues(ctx, p, sqltext.Fill("IS NOT NULL ORDER BY value LIMIT {most}", sqltext.Values{"most": limit + 1}), nil)
	if err != nil {
		return nil, false, err
	}
	for _, row := range r.Rows[:min(len(r.Rows), limit)] {
		values = append(values, row.Values[0].Text)
	}
	return values, len(r.Rows) > limit, nil
}

func (db *DB) readValues(ctx context.Context, p Param, condition sqltext.SQL, values map[string]string) (Result, error) {
	text := sqltext.Fill("SELECT DISTINCT value FROM {listed} AS listed(value) WHERE value {condition}",
		sqltext.Values{"listed": inBrackets(p.Values), "condition": condition})
	r, err := db.Collect(ctx, Text(string(text)), values, math.MaxInt)
	if err != nil {
		err = fmt.Errorf("list the values of parameter %q: %w", p.Name, err)
	}
	return r, err
}

// ResolveNames replaces names that do not exist in the data by the only name that contains all their words: "acme" by
// "Acme & Sons". notes has a sentence for each replaced value. Only values of parameters with a line "values" in the
// header can be replaced.
func (db *DB) ResolveNames(ctx context.Context, q Query, values map[string]string) (resolved map[string]string, notes []string, err error) {
	resolved = maps.Clone(values)
	for _, p := range q.Params {
		value, isGiven := p.listedValue(values)
		if !isGiven {
			continue
		}
		exists, err := db.hasValue(ctx, p, value)
		if exists || IsMissing(err) { // running the query reports a missing table or column
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		known, _, err := db.ParamValues(ctx, p, maxNames)
		if err != nil {
			return nil, nil, err
		}
		names, areExact := nearest.FindByWords(withoutIDs(known), value)
		if areExact && len(names) == 1 {
			resolved[p.Name] = names[0]
			notes = append(notes, fmt.Sprintf("%s: %q stands for %q", p.Name, value, names[0]))
		}
	}
	return resolved, notes, nil
}

// listedValue returns the given value of a parameter with a line "values" in the header. isGiven is false for other
// parameters, and if the value is NULL.
func (p Param) listedValue(values map[string]string) (value string, isGiven bool) {
	if p.Values == "" {
		return "", false
	}
	value, isGiven = values[p.Name]
	return value, isGiven && !p.isNull(value)
}

// hasValue reports whether the data has a value.
func (db *DB) hasValue(ctx context.Context, p Param, value string) (bool, error) {
	r, err := db.readValues(ctx, p, "::VARCHAR = $value LIMIT 1", map[string]string{"value": value})
	return r.Total > 0, err
}

// hasListedValues reports whether the data has each part of a list such as "paid,pending", in upper or lower case.
func (db *DB) hasListedValues(ctx context.Context, p Param, list string) (bool, error) {
	for part := range strings.SplitSeq(list, ",") {
		r, err := db.readValues(ctx, p, "::VARCHAR ILIKE $value LIMIT 1", map[string]string{"value": strings.TrimSpace(part)})
		if err != nil || r.Total == 0 {
			return false, err
		}
	}
	return true, nil
}

const maxNames = 200_000 // of listings, which have the most names

var uuidText = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// IsUUID reports whether a text is an id of a record.
func IsUUID(text string) bool { return uuidText.MatchString(text) }

// withoutIDs removes the ids from a list of names and ids.
func withoutIDs(values []string) []string {
	return slices.DeleteFunc(slices.Clone(values), IsUUID)
}

// DescribeUnknownValues returns a sentence for each given value that does not exist in the data, which
// may explain an empty result. It checks only parameters with a line "values" in the header.
func (db *DB) DescribeUnknownValues(ctx context.Context, q Query, values map[string]string) ([]string, error) {
	var unknown []string
	for _, p := range q.Params {
		value, isGiven := p.listedValue(values)
		if !isGiven {
			continue
		}
		exists, err := db.hasValue(ctx, p, value)
		mayBeList := !exists && strings.Contains(value, ",")
		if err == nil && mayBeList {
			exists, err = db.hasListedValues(ctx, p, value)
		}
		if err != nil {
			return nil, err
		}
		if exists {
			continue
		}
		text, err := db.describeUnknownValue(ctx, p, value)
		if err != nil {
			return nil, err
		}
		unknown = append(unknown, text)
	}
	return unknown, nil
}

func (db *DB) describeUnknownValue(ctx context.Context, p Param, value string) (string, error) {
	const maxListed, maxProposed = 10, 5
	text := fmt.Sprintf("parameter %q: the data has no value %q", p.Name, value)
	known, hasMore, err := db.ParamValues(ctx, p, maxNames)
	if err != nil {
		return "", err
	}
	if len(known) == 0 {
		return text + "; it has no values at all", nil
	}
	names := withoutIDs(known)
	if len(names) > 0 {
		known = names
	}
	similar, _ := nearest.FindByWords(names, value)
	if len(similar) == 0 {
		similar = nearest.FindNear(known, value)
	}
	if len(known) > maxListed {
		known, hasMore = known[:maxListed], true
	}
	if len(similar) == 0 || !hasMore { // similar values are more useful than a part of the list
		text += "; it has " + strings.Join(known, ", ")
	}
	if len(similar) == 0 && hasMore {
		text += " and others"
	}
	if len(similar) > maxProposed {
		similar = append(similar[:maxProposed], "others")
	}
	if len(similar) > 0 {
		text += " (did you mean " + strings.Join(similar, " or ") + "?)"
	}
	return text, nil
}
