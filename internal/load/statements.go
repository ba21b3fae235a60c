package load

import (
	"context"
	"database/sql"
	_ "embed" // the SQL files below
	"errors"
	"strings"
	"sync"

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

// The SQL of a night, in the order of its phases, and the SQL of a rebuild.
var (
	//go:embed sql/10-stage.sql
	stageSQL sqltext.File
	//go:embed sql/40-plan.sql
	planSQL sqltext.File
	//go:embed sql/70-merge.sql
	mergeSQL sqltext.File
	//go:embed sql/80-meta.sql
	metaSQL sqltext.File
	//go:embed sql/90-files.sql
	filesSQL sqltext.File
	//go:embed sql/95-rebuild.sql
	rebuildSQL sqltext.File
)

// Names of databases, schemas and tables. No table in schema/ has a "$" in its name.
const (
	planName         = "$plan"
	requestedName    = "$requested"     // the requested ids of a detail stream, with outcomes
	unchangedName    = "$unchanged"     // the keys of the unchanged records of a list
	maybeChangedName = "$maybe_changed" // the keys of the other records in main, which may be changed or deleted
	outdatedName     = "$outdated"      // the keys of unchanged records with staged copies
	exceptionsName   = "$exceptions"    // the row ids of the stored records with a changed copy or without a copy
	// decodedRowsSuffix is added to the name of a staging table when a view takes the name of the table.
	// The view shows the rows of the table and the stored rows of unchanged records.
	decodedRowsSuffix = "$decoded"
	reorderedName     = "$reordered" // the parents of the rows of a list that may be in another order
	knownName         = "$known"     // the stored items of these lists
	positionsName     = "$positions" // the new positions of staged items
	// maybeChangedRowsSuffix is added to the name of a table for its stored rows of the records in $maybe_changed.
	maybeChangedRowsSuffix = "$maybe_changed"
	extraPrefix            = "$extra "      // merged unknown fields
	desiredSchema          = "desired"      // rows that main must contain after the merge
	changedKeysSchema      = "changed_keys" // the keys of new, changed and deleted rows
	maybeEqualName         = "$maybe_equal" // changed rows whose values may mean the same as the stored values
	replacedSuffix         = "$replaced"    // added to the name of a table, for the keys of rows with new values and no new version
	equalName              = "$equal"       // the row ids of changed keys without a change
	stageName              = "stage"
	catalogName            = "catalog" // of the draft
)

func stagedTable(streamName, table string) sqlText {
	return sqlText(stageName + "." + sqltext.Quote(streamName) + "." + sqltext.Quote(table))
}

func planTable(streamName string) sqlText { return stagedTable(streamName, planName) }

func requestedTable(streamName string) sqlText { return stagedTable(streamName, requestedName) }

func unchangedTable(streamName string) sqlText { return stagedTable(streamName, unchangedName) }

func maybeChangedTable(streamName string) sqlText { return stagedTable(streamName, maybeChangedName) }

func outdatedTable(streamName string) sqlText { return stagedTable(streamName, outdatedName) }

func desiredTable(table string) sqlText { return stagedTable(desiredSchema, table) }

func changedKeysTable(table string) sqlText { return stagedTable(changedKeysSchema, table) }

func replacedTable(table string) sqlText { return stagedTable(changedKeysSchema, table+replacedSuffix) }

func extraTable(table string) sqlText { return stagedTable(desiredSchema, extraPrefix+table) }

func decodedRowsTable(streamName, table string) sqlText {
	return stagedTable(streamName, table+decodedRowsSuffix)
}

func maybeChangedRowsTable(streamName, table string) sqlText {
	return stagedTable(streamName, table+maybeChangedRowsSuffix)
}

func mainTable(table string) sqlText { return sqlText("main." + sqltext.Quote(table)) }

func pastTable(table string) sqlText { return sqlText("past." + sqltext.Quote(table)) }

func metaTable(table string) sqlText { return sqlText("meta." + sqltext.Quote(table)) }

type nameSet struct{ set sync.Map }

func (n *nameSet) add(name string) { n.set.Store(name, true) }

func (n *nameSet) has(name string) bool {
	_, ok := n.set.Load(name)
	return ok
}

// tablesOf omits duplicates: a record and its child rows may be in one table.
func tablesOf(st stream.Stream) []stream.Table { return stream.Tables([]stream.Stream{st}) }

func queryRow(ctx context.Context, d *warehouse.Draft, query sqlText) *sql.Row {
	return d.DB.QueryRowContext(ctx, string(query))
}

func hasRows(ctx context.Context, d *warehouse.Draft, table sqlText) (ok bool, err error) {
	err = queryRow(ctx, d, stageSQL.Render("has_rows", values{"table": table})).Scan(&ok)
	return ok, err
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
	err := d.EachRow(ctx, queries, func(scan func(...any) error) error {
		var text string
		var value V
		err := scan(&text, &value)
		valueOf[text] = value
		return err
	})
	return valueOf, err
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

// sources returns the streams that fill a table. detail is the detail stream that completes a list of the
// table, or the zero value. streams are all others, at least one: lists, events, and details that complete no list.
func (s *Stage) sources(table string) (streams []stream.Stream, detail stream.Stream) {
	for _, name := range stream.FilledBy(s.streams, table) {
		st, _ := stream.Find(s.streams, name)
		if st.Completes != "" {
			detail = st
		} else {
			streams = append(streams, st)
		}
	}
	return streams, detail
}

// knownRows returns SQL that selects columns of the staged and stored rows of a table. A table that
// no stream fills has no rows.
func (s *Stage) knownRows(table string, columnNames ...string) sqlText {
	streams := stream.FilledBy(s.streams, table)
	if len(streams) == 0 {
		var nulls []sqlText
		for _, name := range columnNames {
			c, _ := s.draft.Schema.Definitions[table].Column(name)
			nulls = append(nulls, planSQL.Render("null_column", values{"type": sqlText(c.Type), "column": sqltext.Name(name)}))
		}
		return planSQL.Render("no_rows", values{"columns": sqltext.JoinSQL(nulls, ", ")})
	}
	columns := sqltext.Names(columnNames)
	parts := []sqlText{planSQL.Render("known_rows", values{"columns": columns, "table": mainTable(table)})}
	for _, name := range streams {
		parts = append(parts, planSQL.Render("known_rows", values{"columns": columns, "table": stagedTable(name, table)}))
	}
	return unionAll(parts)
}
