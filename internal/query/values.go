package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"placementsync/internal/nearest"
)

// ParamValues lists the values that the data has for a parameter, sorted, or those that its
// type allows. It is empty where any value may be asked; more reports that there are
// others besides the most that were asked for.
func (db *DB) ParamValues(ctx context.Context, p Param, most int) (values []string, more bool, err error) {
	if p.Values == "" {
		return p.Choices(), false, nil
	}
	found := &valueList{most: most}
	if err := found.fill(ctx, db, p); err != nil {
		return nil, false, err
	}
	return found.values, found.more, nil
}

// UnknownValue is a value that was given for a parameter and that the data does not have.
type UnknownValue struct {
	Param, Value string
	// Known are values that the data has, not all of them when More; Nearest are those
	// that may have been meant.
	Known, Nearest []string
	More           bool
}

// String says what exists.
func (u UnknownValue) String() string {
	text := fmt.Sprintf("parameter %q: the data has no %q", u.Param, u.Value)
	if len(u.Known) == 0 {
		return text + ", and no other value"
	}
	text += "; it has " + strings.Join(u.Known, ", ")
	if u.More {
		text += " and others"
	}
	if len(u.Nearest) > 0 {
		text += " (did you mean " + strings.Join(u.Nearest, " or ") + "?)"
	}
	return text
}

// UnknownValues finds the given values that the data does not have: why an answer may be
// empty. Parameters whose header names no source of values are not looked at.
func (db *DB) UnknownValues(ctx context.Context, q Query, values map[string]string) ([]UnknownValue, error) {
	const most = 30
	var unknown []UnknownValue
	for _, p := range q.Params {
		value, given := values[p.Name]
		if p.Values == "" || !given || value == nullText && p.TakesNull() {
			continue
		}
		found := &valueList{most: most, wanted: value, seeks: true}
		if err := found.fill(ctx, db, p); err != nil {
			return nil, err
		}
		if found.has {
			continue
		}
		u := UnknownValue{Param: p.Name, Value: value, Known: found.values, More: found.more}
		for _, known := range found.values {
			if _, near := nearest.CountEdits(strings.ToLower(known), value); near {
				u.Nearest = append(u.Nearest, known)
			}
		}
		unknown = append(unknown, u)
	}
	return unknown, nil
}

// errEnough ends an answer of which no more is wanted.
var errEnough = errors.New("enough was read")

// valueList is a Writer that takes the first column of an answer.
type valueList struct {
	most   int
	values []string
	// more reports that there are more values than most.
	more bool
	// wanted is looked for among all values where seeks says so; has reports that it is there.
	wanted     string
	seeks, has bool
}

// fill reads the values of a parameter.
func (l *valueList) fill(ctx context.Context, db *DB, p Param) error {
	_, err := db.Run(ctx, Text(p.Values), nil, l)
	if err != nil && !errors.Is(err, errEnough) {
		return fmt.Errorf("list the values of parameter %q: %w", p.Name, err)
	}
	slices.Sort(l.values)
	return nil
}

func (l *valueList) Begin([]Column) error { return nil }

func (l *valueList) Row(r Row) error {
	if r.IsNull(0) {
		return nil
	}
	value := string(r.AppendText(nil, 0))
	switch {
	case l.seeks && value == l.wanted:
		l.has = true
		return errEnough
	case slices.Contains(l.values, value):
	case len(l.values) < l.most:
		l.values = append(l.values, value)
	case !l.seeks:
		l.more = true
		return errEnough
	default:
		l.more = true
	}
	return nil
}

func (l *valueList) End() error { return nil }
