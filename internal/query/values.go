package query

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"placementsync/internal/nearest"
)

// ParamValues lists the values of a parameter. If the header of the query has a line "values", these
// are the first values in the data, up to limit; more is true if the data has further values. Otherwise these are
// the values that the type of the parameter allows. The list is empty if any value is accepted.
func (db *DB) ParamValues(ctx context.Context, p Param, limit int) (values []string, more bool, err error) {
	if p.Values == "" {
		return p.Choices(), false, nil
	}
	r, err := db.readValues(ctx, p, fmt.Sprintf("IS NOT NULL ORDER BY value LIMIT %d", limit+1), nil)
	if err != nil {
		return nil, false, err
	}
	for _, row := range r.Rows[:min(len(r.Rows), limit)] {
		values = append(values, row.Values[0].Text)
	}
	return values, len(r.Rows) > limit, nil
}

func (db *DB) readValues(ctx context.Context, p Param, condition string, args map[string]string) (Result, error) {
	text := "SELECT DISTINCT value FROM " + inBrackets(p.Values) + " AS listed(value) WHERE value " + condition
	r, err := db.Collect(ctx, Text(text), args, math.MaxInt)
	if err != nil {
		err = fmt.Errorf("list the values of parameter %q: %w", p.Name, err)
	}
	return r, err
}

// DescribeUnknownValues returns a sentence for each given value that does not exist in the data, which
// may explain an empty result. It checks only parameters with a line "values" in the header.
func (db *DB) DescribeUnknownValues(ctx context.Context, q Query, values map[string]string) ([]string, error) {
	const limit = 30
	var unknown []string
	for _, p := range q.Params {
		value, given := values[p.Name]
		if p.Values == "" || !given || value == nullText && p.TakesNull() {
			continue
		}
		known, more, err := db.ParamValues(ctx, p, limit)
		if err != nil {
			return nil, err
		}
		if slices.Contains(known, value) {
			continue
		}
		if more {
			r, err := db.readValues(ctx, p, "::VARCHAR = $value LIMIT 1", map[string]string{"value": value})
			if err != nil {
				return nil, err
			}
			if r.Total > 0 {
				continue
			}
		}
		text := fmt.Sprintf("parameter %q: the data has no value %q; it has ", p.Name, value) + strings.Join(known, ", ")
		if more {
			text += " and others"
		}
		if len(known) == 0 {
			text += "no values at all"
		}
		if similar := nearest.FindNear(known, value); len(similar) > 0 {
			text += " (did you mean " + strings.Join(similar, " or ") + "?)"
		}
		unknown = append(unknown, text)
	}
	return unknown, nil
}
