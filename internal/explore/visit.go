package explore

import (
	"context"
	"embed"
	"fmt"
	"math"
	"net/http"
	"net/url"

	"placementsync/internal/page"
	"placementsync/internal/query"
)

//go:embed sql
var statements embed.FS

// mostRecords bounds what a page holds of one answer, whatever its SQL asks for.
const mostRecords = 1000

// visit is one request: its address, and the snapshot that answers it.
type visit struct {
	*http.Request
	route route
	// asked are the keys of the address.
	asked    url.Values
	pool     *pool
	snapshot *snapshot
	db       *query.DB
	program  string
	library  func() (query.Library, error)
}

// answer is what a query returned. Total counts all records, also those beyond
// mostRecords.
type answer struct {
	Columns []query.Column
	Records []record
	Total   int64
}

// record is one row by the names of its columns.
type record map[string]cell

// cell is one value: its exact text, as CSV has it.
type cell struct {
	Text string
	Null bool
}

// String is the value for people: a dash for NULL.
func (c cell) String() string {
	if c.Null {
		return page.Unknown
	}
	return c.Text
}

// askNamed runs a query of the folder queries.
func (v *visit) askNamed(name string, values map[string]string) (answer, error) {
	q, err := query.Resolve(name)
	if err != nil {
		return answer{}, err
	}
	return v.run(q, values)
}

// run runs a query and collects its answer.
func (v *visit) run(q query.Query, values map[string]string) (answer, error) {
	return collect(v.Context(), v.db, q, values)
}

// runWhole is run without a bound on the records, for statements that have one.
func (v *visit) runWhole(q query.Query, values map[string]string) (answer, error) {
	return collectUpTo(v.Context(), v.db, q, values, math.MaxInt)
}

func collect(ctx context.Context, db *query.DB, q query.Query, values map[string]string) (answer, error) {
	return collectUpTo(ctx, db, q, values, mostRecords)
}

// collectUpTo is collect where an answer may hold more records.
func collectUpTo(ctx context.Context, db *query.DB, q query.Query, values map[string]string, most int) (answer, error) {
	c := collector{most: most}
	total, err := db.Run(ctx, q, values, &c)
	if err != nil {
		return answer{}, fmt.Errorf("read the snapshot: %w", err)
	}
	c.Total = total
	return c.answer, nil
}

// collector is a query.Writer that keeps the first records.
type collector struct {
	answer
	most int
}

// Begin is called before the first row.
func (c *collector) Begin(columns []query.Column) error {
	c.Columns = columns
	return nil
}

// Row is called for each row.
func (c *collector) Row(r query.Row) error {
	if len(c.Records) == c.most {
		return nil
	}
	one := make(record, len(c.Columns))
	for i, column := range c.Columns {
		one[column.Name] = cell{Text: string(r.AppendText(nil, i)), Null: r.IsNull(i)}
	}
	c.Records = append(c.Records, one)
	return nil
}

// End is called after the last row.
func (c *collector) End() error { return nil }
