package explore

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"placementsync/internal/query"
	"placementsync/internal/sqltext"
)

// table is a query result that the user can sort, filter and read page by page. The query becomes a
// subquery. All values are bound.
type table struct {
	*visit
	inner  query.Query
	values map[string]string // the values of the parameters of inner
	roles  []columnRole
	state  tableState
	// textColumn is the last column of the query, if that column contains the text to search. It is not
	// shown. If textColumn is empty, all text columns are searched.
	textColumn string
}

type tableRows struct {
	query.Result // Total counts the rows of all pages
	Sums         []currencySums
	// Choices contains the values of each column with a selection, also from rows that do not match
	// the filters.
	Choices [][]string
}

// currencySums are the totals in one currency, in the order of the summed columns.
type currencySums struct {
	Currency string    `json:"currency"`
	Sums     []*string `json:"sums"`
}

const tablePageRows = 100

// positionColumn contains the position of a row in the result of the query. Every ORDER BY clause ends
// with positionColumn, so that rows with equal values also have a defined order.
const positionColumn = `"row of the query"`

func (v *visit) openTable(q query.Query, values map[string]string, textColumn string) (*table, error) {
	t := &table{visit: v, inner: q, values: values, textColumn: textColumn}
	outer := q
	outer.SQL = "SELECT * FROM (\n" + t.innerSQL() + "\n) LIMIT 0"
	result, err := v.run(outer, values)
	if err != nil {
		return nil, err
	}
	if textColumn != "" { // the last column
		result.Columns = result.Columns[:len(result.Columns)-1]
	}
	t.roles = rolesOf(result.Columns)
	setLabels(t.roles, q.LabelOf)
	t.state, err = readTableState(v.params, result.Columns)
	return t, err
}

func (t *table) innerSQL() string { return strings.TrimRight(t.inner.SQL, "; \t\r\n") }

func (t *table) where(b *binder) string {
	searched := sqltext.Quote(t.textColumn)
	if t.textColumn == "" {
		var columns []string
		for _, r := range t.roles {
			if r.Type == "VARCHAR" {
				columns = append(columns, sqltext.Quote(r.Name))
			}
		}
		searched = "concat_ws(chr(10), NULL, " + strings.Join(append(columns, "NULL"), ", ") + ")"
	}
	all := b.containsWords("lower("+searched+")", t.state.Search)
	for _, f := range t.state.Filters {
		column := sqltext.Quote(f.column.Name)
		switch {
		case f.prefix == equalPrefix:
			all = append(all, b.anyOf("CAST("+column+" AS VARCHAR)", []choice{decodeChoice(f.text)}))
		case f.prefix == minPrefix && isTime(f.column):
			all = append(all, column+" >= CAST("+b.bind(f.text)+" AS DATE)")
		case f.prefix == maxPrefix && isTime(f.column):
			all = append(all, column+" < CAST("+b.bind(f.text)+" AS DATE) + INTERVAL 1 DAY")
		case f.prefix == minPrefix:
			all = append(all, column+" >= CAST("+b.bind(f.text)+" AS DECIMAL(18, 6))")
		default:
			all = append(all, column+" <= CAST("+b.bind(f.text)+" AS DECIMAL(18, 6))")
		}
	}
	return whereAll(all)
}

// orderBy sorts amounts within their currency.
func (t *table) orderBy() string {
	text := " ORDER BY "
	for _, r := range t.roles {
		if r.Name == t.state.Sort {
			if r.unitColumn != "" {
				text += sqltext.Quote(r.unitColumn) + " NULLS LAST, "
			}
			text += sqltext.Quote(r.Name) + map[bool]string{true: " DESC", false: ""}[t.state.Descending] + " NULLS LAST, "
		}
	}
	return text + positionColumn
}

func (t *table) outerQuery(text string, b *binder) (query.Query, map[string]string) {
	outer, values := b.query(text)
	q := t.inner
	q.SQL, q.Params = text, slices.Concat(q.Params, outer.Params)
	all := map[string]string{}
	maps.Copy(all, t.values)
	maps.Copy(all, values)
	return q, all
}

func (t *table) downloadQuery() (query.Query, map[string]string) {
	b := &binder{}
	where := t.where(b)
	if where == "" && t.state.Sort == "" && t.textColumn == "" {
		return t.inner, t.values
	}
	return t.outerQuery("SELECT * EXCLUDE "+t.excludedColumns(positionColumn)+" FROM (SELECT row_number() OVER () AS "+positionColumn+", * FROM (\n"+t.innerSQL()+"\n))"+where+t.orderBy(), b)
}

func (t *table) sendFile(title, name string) download {
	q, values := t.downloadQuery()
	return download{Query: q, Values: values, Title: title, Name: name, Format: t.format()}
}

// read reads one page of the table, its totals and its choices with one statement.
func (t *table) read() (tableRows, error) {
	b := &binder{}
	// Without a search, the column with the text to search is excluded, so DuckDB does not compute it.
	resultExclude, pageExclude := "", t.excludedColumns(positionColumn)
	if t.textColumn != "" && t.state.Search == "" {
		resultExclude, pageExclude = " EXCLUDE "+t.excludedColumns(), "("+positionColumn+")"
	}
	text := "WITH result AS MATERIALIZED (SELECT *" + resultExclude + " FROM (\n" + t.innerSQL() + "\n)),\nmatching_rows AS MATERIALIZED (SELECT row_number() OVER () AS " + positionColumn + ", * FROM result" + t.where(b) + "),\n" +
		"summary AS (SELECT (SELECT count(*) FROM matching_rows), " + t.sumsSQL() + ", " + t.choicesSQL() + "),\n" +
		fmt.Sprintf("page_rows AS (SELECT * FROM matching_rows%s LIMIT %d OFFSET %d)\n", t.orderBy(), tablePageRows, (t.state.Page-1)*tablePageRows) +
		"SELECT summary.*, " + positionColumn + ", page_rows.* EXCLUDE " + pageExclude + " FROM summary LEFT JOIN page_rows ON true" + t.orderBy()
	result, err := t.run(t.outerQuery(text, b))
	if err != nil {
		return tableRows{}, err
	}
	const leadingColumns = 4 // the columns before those of the table: the count, the totals, the choices and the position
	r := tableRows{Result: query.Result{Columns: result.Columns[leadingColumns:]}}
	first := result.Rows[0].Values
	if r.Total, err = strconv.ParseInt(first[0].Text, 10, 64); err != nil {
		return r, fmt.Errorf("count the rows of the table: %w", err)
	}
	if err := json.Unmarshal([]byte(first[1].Or("[]")), &r.Sums); err != nil {
		return r, fmt.Errorf("read the totals of the table: %w", err)
	}
	if err := json.Unmarshal([]byte(first[2].Text), &r.Choices); err != nil {
		return r, fmt.Errorf("read the choices of the table: %w", err)
	}
	for _, row := range result.Rows {
		if !row.Values[leadingColumns-1].Null {
			r.Rows = append(r.Rows, query.Record{Columns: r.Columns, Values: row.Values[leadingColumns:]})
		}
	}
	return r, nil
}

func (t *table) excludedColumns(columns ...string) string {
	if t.textColumn != "" {
		columns = append(columns, sqltext.Quote(t.textColumn))
	}
	return "(" + strings.Join(columns, ", ") + ")"
}

func (t *table) sumsSQL() string {
	currency, group := "''", ""
	var sums []string
	for _, r := range t.roles {
		if r.unitColumn != "" {
			currency, group = "coalesce(CAST("+sqltext.Quote(r.unitColumn)+" AS VARCHAR), '')", " GROUP BY ALL ORDER BY currency"
		}
		if r.summed {
			sums = append(sums, "CAST(sum("+sqltext.Quote(r.Name)+") AS VARCHAR)")
		}
	}
	if len(sums) == 0 {
		return "NULL"
	}
	return "(SELECT list({'currency': currency, 'sums': sums} ORDER BY currency) FROM (SELECT " + currency + " AS currency, [" + strings.Join(sums, ", ") + "] AS sums FROM matching_rows" + group + "))"
}

func (t *table) choicesSQL() string {
	const maxOptions = 100
	var lists []string
	for _, r := range t.roles {
		if r.hasSelection() {
			column := sqltext.Quote(r.Name)
			lists = append(lists, fmt.Sprintf("(SELECT coalesce(list(value ORDER BY value), []) FROM (SELECT DISTINCT CAST(%s AS VARCHAR) AS value FROM result WHERE %[1]s IS NOT NULL LIMIT %d))", column, maxOptions))
		}
	}
	return "CAST([" + strings.Join(lists, ", ") + "] AS VARCHAR[][])"
}
