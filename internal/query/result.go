package query

import (
	"context"
	"errors"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/array"
)

// Result is the result of a query in memory: its columns, its first rows and its source tables.
// Web pages, messages and the tools of an assistant use it, because they show a limited number of
// rows. Longer results are written to a Writer, see [DB.Run].
type Result struct {
	Columns []Column
	// Rows are the first rows, up to the limit of the caller. Total counts all rows.
	Rows  []Record
	Total int64
	// Sources are the source tables, the worst grade first. NoPlan is true if they could not be determined,
	// see ErrNoPlan. Only Ask sets these fields.
	Sources []Source
	NoPlan  bool
}

// Record is one row of a Result. Its Values are in the order of the Columns of the Result.
type Record struct {
	Columns []Column
	Values  []Value
}

// Get returns the value of a column, or NULL if the column does not exist.
func (r Record) Get(column string) Value {
	for i, c := range r.Columns {
		if c.Name == column {
			return r.Values[i]
		}
	}
	return Value{Null: true}
}

// GroupRecords groups records by a label. It returns the labels in the order of the records.
func GroupRecords(records []Record, label func(r Record) string) (labels []string, groups map[string][]Record) {
	groups = map[string][]Record{}
	for _, r := range records {
		l := label(r)
		if groups[l] == nil {
			labels = append(labels, l)
		}
		groups[l] = append(groups[l], r)
	}
	return labels, groups
}

// Collect is like Run, but returns the first rows, up to the limit.
func (db *DB) Collect(ctx context.Context, q Query, values map[string]string, limit int) (Result, error) {
	ctx, cancel := db.WithTimeout(ctx) // of both steps together
	defer cancel()
	a, err := db.admit(ctx, q, values, false)
	if err != nil {
		return Result{}, err
	}
	return a.collect(ctx, limit)
}

// collect keeps few rows, so a temporary table would take longer than the query.
func (a Admitted) collect(ctx context.Context, limit int) (Result, error) {
	c := collector{limit: limit}
	err := a.readResult(ctx, false, func(r array.RecordReader) (err error) {
		c.Total, err = copyRows(r, &c)
		return err
	})
	if err != nil {
		return Result{}, err
	}
	return c.Result, nil
}

// Ask is like Collect, and also determines the sources.
func (db *DB) Ask(ctx context.Context, q Query, values map[string]string, limit int) (Result, error) {
	a, err := db.admit(ctx, q, values, false)
	if err != nil {
		return Result{}, err
	}
	r, err := a.collect(ctx, limit)
	if err != nil {
		return r, err
	}
	r.Sources, err = a.Sources(ctx)
	r.NoPlan = errors.Is(err, ErrNoPlan)
	if r.NoPlan {
		err = nil
	}
	return r, err
}

// Describe returns the columns of the result of a query without running it. It returns an error
// for SQL that cannot be a subquery, such as several statements.
func (db *DB) Describe(ctx context.Context, q Query, values map[string]string) ([]Column, error) {
	q.SQL = string(selectFrom(q.withoutHeader()) + " LIMIT 0")
	r, err := db.Collect(ctx, q, values, 0)
	return r.Columns, err
}

type collector struct {
	Result
	limit int
}

func (c *collector) Begin(columns []Column) error {
	c.Columns = columns
	return nil
}

func (c *collector) Row(values []Value) error {
	if len(c.Rows) < c.limit {
		c.Rows = append(c.Rows, Record{c.Columns, slices.Clone(values)})
	}
	return nil
}

func (c *collector) End() error { return nil }
