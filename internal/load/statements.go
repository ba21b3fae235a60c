package load

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/duckdb/duckdb-go/v2"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
	"placementsync/schema"
)

type (
	values  = sqltext.Values
	sqlText = sqltext.SQL
)

func queryRow(ctx context.Context, d *warehouse.Draft, query sqlText) *sql.Row {
	return d.DB.QueryRowContext(ctx, string(query))
}

func queryColumn[V any](ctx context.Context, d *warehouse.Draft, query sqlText) ([]V, error) {
	var column []V
	err := d.EachRow(ctx, []sqlText{query}, func(scan func(...any) error) error {
		var value V
		err := scan(&value)
		column = append(column, value)
		return err
	})
	return column, err
}

// queryMap returns the rows of queries with two columns as a map: the first column, a text, is the key,
// and the second column is the value. Each text must occur only once.
func queryMap[V any](ctx context.Context, d *warehouse.Draft, queries ...sqlText) (map[string]V, error) {
	valueOf := map[string]V{}
	return valueOf, d.EachRow(ctx, queries, func(scan func(...any) error) error {
		var text string
		var value V
		err := scan(&text, &value)
		valueOf[text] = value
		return err
	})
}

func queryTextSet(ctx context.Context, d *warehouse.Draft, query sqlText) (map[string]bool, error) {
	texts, err := queryColumn[string](ctx, d, query)
	set := make(map[string]bool, len(texts))
	for _, text := range texts {
		set[text] = true
	}
	return set, err
}

// queryBatches passes the rows of a query to read, which must not keep a batch.
func queryBatches(ctx context.Context, d *warehouse.Draft, query sqlText, read func(arrow.RecordBatch)) (err error) {
	conn, err := d.Connect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	a, err := duckdb.NewArrowFromConn(conn)
	if err != nil {
		return err
	}
	reader, err := a.QueryContext(ctx, string(query))
	if err != nil {
		return err
	}
	defer reader.Release()
	for reader.Next() {
		read(reader.RecordBatch())
	}
	return reader.Err()
}

func unionAll(queries []sqlText) sqlText { return sqltext.JoinSQL(queries, " UNION ALL ") }

func prefixed(prefix string, names []string) sqlText {
	return sqltext.Join(names, ", ", func(name string) string { return prefix + sqltext.Quote(name) })
}

func allColumns(def stream.Definition) sqlText { return schema.ColumnNames("", def) }

func joinOn(a, b string, key []string) sqlText { return joinColumns(a, key, b, key) }

func joinColumns(a string, columns []string, b string, others []string) sqlText {
	parts := make([]string, len(columns))
	for i, column := range columns {
		parts[i] = a + sqltext.Quote(column) + " = " + b + sqltext.Quote(others[i])
	}
	return sqlText(strings.Join(parts, " AND "))
}
