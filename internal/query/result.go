package query

import (
	"context"
	"errors"
	"math"
	"strconv"

	"placementsync/internal/ledger"
)

// Result is a collected answer: its columns, its first rows and the tables behind them.
// Pages, messages and assistants show a bounded number of rows, and filter, group and
// draw them more than once, so a Result holds its rows and has no iterator. An answer of
// any length goes row by row to a Writer instead, see [DB.Run].
type Result struct {
	Columns []Column
	// Rows are the first rows, at most as many as were asked for.
	Rows []Record
	// Total counts all rows of the answer.
	Total int64
	// Sources are the tables behind the rows, the least sure first. Only Ask reads them.
	Sources []Source
	// NoPlan reports that Ask could not find the sources, see ErrNoPlan.
	NoPlan bool
}

// Problems are the sources that are not proven.
func (r Result) Problems() []ledger.Problem { return FindProblems(r.Sources) }

// Record is one row of a Result.
type Record struct {
	// Columns are those of the Result; Values are in the same order.
	Columns []Column
	Values  []Value
}

// Get returns the value of a column; NULL for a column that the answer does not have.
func (r Record) Get(column string) Value {
	for i, c := range r.Columns {
		if c.Name == column {
			return r.Values[i]
		}
	}
	return Value{Null: true}
}

// IsNull implements Row.
func (r Record) IsNull(column int) bool { return r.Values[column].Null }

// Value implements Row.
func (r Record) Value(column int) Value { return r.Values[column] }

// AppendText implements Row.
func (r Record) AppendText(dst []byte, column int) []byte {
	return append(dst, r.Values[column].Text...)
}

// AppendJSON implements Row.
func (r Record) AppendJSON(dst []byte, column int) []byte {
	if r.Values[column].Null {
		return append(dst, "null"...)
	}
	return r.Columns[column].codec.form.append(dst, []byte(r.Values[column].Text))
}

// Value is one value as text, with all its digits, as CSV has it. The text of NULL is empty.
type Value struct {
	Text string
	Null bool
}

// Or returns the text, or a substitute for NULL.
func (v Value) Or(substitute string) string {
	if v.Null {
		return substitute
	}
	return v.Text
}

// Number is the value for drawing; ok is false for NULL and for a text that is no finite
// number.
func (v Value) Number() (n float64, ok bool) {
	n, err := strconv.ParseFloat(v.Text, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, false
	}
	return n, true
}

// Collect runs a query and keeps the first rows of its answer. Errors are those of Run.
func (db *DB) Collect(ctx context.Context, q Query, values map[string]string, most int) (Result, error) {
	c := collector{most: most}
	total, err := db.Run(ctx, q, values, &c)
	if err != nil {
		return Result{}, err // an abandoned query may still write to the collector
	}
	c.Total = total
	return c.Result, nil
}

// Ask is Collect with the sources of the answer.
func (db *DB) Ask(ctx context.Context, q Query, values map[string]string, most int) (Result, error) {
	r, err := db.Collect(ctx, q, values, most)
	if err != nil {
		return r, err
	}
	r.Sources, err = db.Sources(ctx, q, values)
	if r.NoPlan = errors.Is(err, ErrNoPlan); r.NoPlan {
		err = nil
	}
	return r, err
}

// collector is the Writer of Collect.
type collector struct {
	Result
	most int
}

func (c *collector) Begin(columns []Column) error {
	c.Columns = columns
	return nil
}

func (c *collector) Row(r Row) error {
	if len(c.Rows) == c.most {
		return nil
	}
	kept := Record{c.Columns, make([]Value, len(c.Columns))}
	for i := range c.Columns {
		kept.Values[i] = r.Value(i)
	}
	c.Rows = append(c.Rows, kept)
	return nil
}

func (c *collector) End() error { return nil }
