package load

import (
	"context"
	"database/sql"
	_ "embed" // the statements below
	"slices"
	"strings"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// The SQL of a night, in the order in which it runs.
var (
	//go:embed sql/10-stage.sql
	stageSQL warehouse.SQLFile
	//go:embed sql/20-first-night.sql
	firstNightSQL warehouse.SQLFile
	//go:embed sql/21-stored-rows.sql
	storedRowsSQL warehouse.SQLFile
	//go:embed sql/22-copies.sql
	copiesSQL warehouse.SQLFile
	//go:embed sql/30-events.sql
	eventsSQL warehouse.SQLFile
	//go:embed sql/40-live.sql
	liveSQL warehouse.SQLFile
	//go:embed sql/41-plan.sql
	planSQL warehouse.SQLFile
	//go:embed sql/60-unite.sql
	uniteSQL warehouse.SQLFile
	//go:embed sql/70-compare.sql
	compareSQL warehouse.SQLFile
	//go:embed sql/71-merge.sql
	mergeSQL warehouse.SQLFile
	//go:embed sql/72-held.sql
	heldSQL warehouse.SQLFile
	//go:embed sql/80-meta.sql
	metaSQL warehouse.SQLFile
	//go:embed sql/90-parquet.sql
	parquetSQL warehouse.SQLFile
	//go:embed sql/91-meta-file.sql
	metaFileSQL warehouse.SQLFile
	//go:embed sql/95-rebuild.sql
	rebuildSQL warehouse.SQLFile
)

// values fill the placeholders of a statement, sqlText is one or a part of one.
type (
	values  = warehouse.Values
	sqlText = warehouse.SQL
)

func execute(ctx context.Context, d *warehouse.Draft, statements ...sqlText) error {
	return d.Exec(ctx, textsOf(statements)...)
}

// executeAll runs statements in one transaction.
func executeAll(ctx context.Context, d *warehouse.Draft, statements []sqlText) error {
	return d.Atomically(ctx, textsOf(statements))
}

// executeIn runs statements in a transaction that is open.
func executeIn(ctx context.Context, tx *sql.Tx, statements ...sqlText) error {
	for _, s := range statements {
		if _, err := tx.ExecContext(ctx, string(s)); err != nil {
			return err
		}
	}
	return nil
}

// eachRow runs queries as one and hands over its rows.
func eachRow(ctx context.Context, d *warehouse.Draft, queries []sqlText, scanRow func(scan func(...any) error) error) error {
	return d.EachRow(ctx, textsOf(queries), scanRow)
}

func queryRow(ctx context.Context, d *warehouse.Draft, query sqlText) *sql.Row {
	return d.DB.QueryRowContext(ctx, string(query))
}

// queryTexts reads a query of one column of texts.
func queryTexts(ctx context.Context, d *warehouse.Draft, query sqlText) ([]string, error) {
	var texts []string
	return texts, eachRow(ctx, d, []sqlText{query}, func(scan func(...any) error) error {
		var text string
		err := scan(&text)
		texts = append(texts, text)
		return err
	})
}

// queryTextSet reads a query of one column of texts as a set.
func queryTextSet(ctx context.Context, d *warehouse.Draft, query sqlText) (map[string]bool, error) {
	texts, err := queryTexts(ctx, d, query)
	set := make(map[string]bool, len(texts))
	for _, text := range texts {
		set[text] = true
	}
	return set, err
}

func textsOf(statements []sqlText) []string {
	texts := make([]string, len(statements))
	for i, s := range statements {
		texts[i] = string(s)
	}
	return texts
}

func joinSQL(parts []sqlText, separator string) sqlText {
	return sqlText(strings.Join(textsOf(parts), separator))
}

func unionAll(queries []sqlText) sqlText { return joinSQL(queries, " UNION ALL ") }

// columnList lists names, each behind a prefix such as "m.".
func columnList(prefix string, names []string) sqlText {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = prefix + warehouse.Quote(n)
	}
	return sqlText(strings.Join(quoted, ", "))
}

// allColumns lists the columns of a schema file.
func allColumns(def stream.Definition) sqlText { return sqlText(warehouse.Columns("", def)) }

// joinOn is the join condition of two prefixes on key columns.
func joinOn(a, b string, key []string) sqlText {
	parts := make([]string, len(key))
	for i, k := range key {
		parts[i] = a + warehouse.Quote(k) + " = " + b + warehouse.Quote(k)
	}
	return sqlText(strings.Join(parts, " AND "))
}

// columnEach renders a statement for every column of a definition and joins the results.
func columnEach(def stream.Definition, separator string, render func(c stream.Column) sqlText) sqlText {
	parts := make([]sqlText, len(def.Columns))
	for i, c := range slices.All(def.Columns) {
		parts[i] = render(c)
	}
	return joinSQL(parts, separator)
}
