package load

import (
	"context"
	"database/sql"
	"strings"

	"placementsync/internal/dictionary"
	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

type (
	values  = sqltext.Values
	sqlText = sqltext.SQL
)

func execute(ctx context.Context, d *warehouse.Draft, statements ...sqlText) error {
	return d.Exec(ctx, textsOf(statements)...)
}

// executeAll runs statements in one transaction.
func executeAll(ctx context.Context, d *warehouse.Draft, statements []sqlText) error {
	return d.Atomically(ctx, textsOf(statements))
}

// executeIn runs statements in an open transaction.
func executeIn(ctx context.Context, tx *sql.Tx, statements ...sqlText) error {
	for _, s := range statements {
		if _, err := tx.ExecContext(ctx, string(s)); err != nil {
			return err
		}
	}
	return nil
}

// eachRow runs the union of queries and calls scanRow for each row.
func eachRow(ctx context.Context, d *warehouse.Draft, queries []sqlText, scanRow func(scan func(...any) error) error) error {
	return d.EachRow(ctx, textsOf(queries), scanRow)
}

func queryRow(ctx context.Context, d *warehouse.Draft, query sqlText) *sql.Row {
	return d.DB.QueryRowContext(ctx, string(query))
}

// queryTexts returns the rows of a query with one text column.
func queryTexts(ctx context.Context, d *warehouse.Draft, query sqlText) ([]string, error) {
	var texts []string
	return texts, eachRow(ctx, d, []sqlText{query}, func(scan func(...any) error) error {
		var text string
		err := scan(&text)
		texts = append(texts, text)
		return err
	})
}

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

// columnList lists columns, each with a prefix such as "m.".
func columnList(prefix string, names []string) sqlText {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = prefix + sqltext.Quote(n)
	}
	return sqlText(strings.Join(quoted, ", "))
}

func allColumns(def stream.Definition) sqlText { return dictionary.ColumnNames("", def) }

// joinOn is the join condition of two prefixes on key columns.
func joinOn(a, b string, key []string) sqlText {
	parts := make([]string, len(key))
	for i, k := range key {
		parts[i] = a + sqltext.Quote(k) + " = " + b + sqltext.Quote(k)
	}
	return sqlText(strings.Join(parts, " AND "))
}

// columnEach renders a statement for every column of a definition and joins the results.
func columnEach(def stream.Definition, separator string, render func(c stream.Column) sqlText) sqlText {
	parts := make([]sqlText, len(def.Columns))
	for i, c := range def.Columns {
		parts[i] = render(c)
	}
	return joinSQL(parts, separator)
}
