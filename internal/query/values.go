package query

import (
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"placementsync/internal/nearest"
	"placementsync/internal/sqltext"
)

// ParamValues lists the values of a parameter. If the header of the query has a line "values", these
// are the first values in the data, up to limit; more is true if the data has further values. Otherwise these are
// the values that the type of the parameter allows. The list is empty if any value is accepted.
func (db *DB) ParamValues(ctx context.Context, p Param, limit int) (values []string, more bool, err error) {
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
// "Acme & Sons". notes has a sentence for each replaced value. Only parameters with a line "values" in the header
// have known names.
func (db *DB) ResolveNames(ctx context.Context, q Query, values map[string]string) (resolved map[string]string, notes []string, err error) {
	resolved = maps.Clone(values)
	for _, p := range q.Params {
		value, given := values[p.Name]
		if p.Values == "" || !given || value == nullText && p.TakesNull() {
			continue
		}
		if exists, err := db.hasValue(ctx, p, value); err != nil || exists {
			if err != nil && !IsMissing(err) { // running the query reports a missing table or column
				return nil, nil, err
			}
			continue
		}
		names, areExact, err := db.findNames(ctx, p, value)
		if err != nil {
			return nil, nil, err
		}
		if areExact && len(names) == 1 {
			resolved[p.Name] = names[0]
			notes = append(notes, fmt.Sprintf("%s: %q stands for %q", p.Name, value, names[0]))
		}
	}
	return resolved, notes, nil
}

// hasValue reports whether the data has a value. A value with commas can be a list, see hasListedValues.
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

// findNames returns the values that contain the words of a text, or near words. Ids are left out.
func (db *DB) findNames(ctx context.Context, p Param, text string) (names []string, areExact bool, err error) {
	const maxNames = 200_000 // of listings, which have the most names
	all, _, err := db.ParamValues(ctx, p, maxNames)
	if err != nil {
		return nil, false, err
	}
	names, areExact = nearest.FindByWords(withoutIDs(all), text)
	return names, areExact, nil
}

var uuidText = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// withoutIDs removes the ids from a list of names and ids.
func withoutIDs(values []string) []string {
	return slices.DeleteFunc(slices.Clone(values), uuidText.MatchString)
}

// DescribeUnknownValues returns a sentence for each given value that does not exist in the data, which
// may explain an empty result. It checks only parameters with a line "values" in the header.
func (db *DB) DescribeUnknownValues(ctx context.Context, q Query, values map[string]string) ([]string, error) {
	var unknown []string
	for _, p := range q.Params {
		value, given := values[p.Name]
		if p.Values == "" || !given || value == nullText && p.TakesNull() {
			continue
		}
		exists, err := db.hasValue(ctx, p, value)
		if err == nil && !exists && strings.Contains(value, ",") {
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
	const maxListed, maxProposed, maxRead = 10, 5, 60
	text := fmt.Sprintf("parameter %q: the data has no value %q", p.Name, value)
	similar, _, err := db.findNames(ctx, p, value)
	if err != nil {
		return "", err
	}
	known, more, err := db.ParamValues(ctx, p, maxRead)
	if err != nil {
		return "", err
	}
	if names := withoutIDs(known); len(names) > 0 {
		known = names
	}
	if len(similar) == 0 {
		similar = nearest.FindNear(known, value)
	}
	hasMore := more || len(known) > maxListed
	switch {
	case len(known) == 0:
		text += "; it has no values at all"
	case len(similar) > 0 && hasMore: // the proposals say more than a part of the list
	default:
		text += "; it has " + strings.Join(known[:min(len(known), maxListed)], ", ")
	}
	if len(similar) > 0 {
		proposed := strings.Join(similar[:min(len(similar), maxProposed)], " or ")
		if len(similar) > maxProposed {
			proposed += " or others"
		}
		return text + " (did you mean " + proposed + "?)", nil
	}
	if hasMore {
		text += " and others"
	}
	return text, nil
}
