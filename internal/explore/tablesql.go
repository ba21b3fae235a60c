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
// subquery.
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
const positionColumn = "row of the query"

func (v *visit) openTable(q query.Query, values map[string]string, textColumn string) (*table, error) {
	t := &table{visit: v, inner: q, values: values, textColumn: textColumn}
	outer := q
	outer.SQL = string(tableSQL.Render("columns", sqltext.Values{"query": t.innerSQL()}))
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

func (t *table) innerSQL() sqltext.SQL {
	return sqltext.SQL(strings.TrimRight(t.inner.SQL, "; \t\r\n"))
}

// filterValues contains the values of filters by parameter. They are parameters like the values of the
// query, and not part of the SQL: the SQL of a user's query is checked as a text, and a filter must not
// change the result of that check.
type filterValues map[string]string

// add returns the parameter of a value.
func (f filterValues) add(value string) sqltext.SQL {
	name := fmt.Sprintf("table_p%d", len(f)) // differs from the parameters of the named queries
	f[name] = value
	return sqltext.SQL("$" + name)
}

func (t *table) conditions(values filterValues) sqltext.SQL {
	var all []sqltext.SQL
	searched := t.searchedText()
	for word := range strings.FieldsSeq(t.state.Search) {
		all = append(all, containsWord(searched, values.add(word)))
	}
	for _, f := range t.state.Filters {
		all = append(all, f.condition(values))
	}
	return allOf(all)
}

func (t *table) searchedText() sqltext.SQL {
	if t.textColumn != "" {
		return sqltext.Names([]string{t.textColumn})
	}
	names := []string{}
	for _, r := range t.roles {
		if r.Type == "VARCHAR" {
			names = append(names, r.Name)
		}
	}
	if len(names) == 0 {
		return "NULL::VARCHAR"
	}
	return sqltext.Fill("concat_ws(chr(10), {columns})", sqltext.Values{"columns": sqltext.Names(names)})
}

func (f columnFilter) condition(values filterValues) sqltext.SQL {
	var text string
	value := f.text
	switch {
	case f.prefix == equalPrefix:
		c := decodeChoice(f.text)
		if c.Null {
			return sqltext.Fill("{column} IS NULL", sqltext.Values{"column": sqltext.Name(f.column.Name)})
		}
		text, value = "CAST({column} AS VARCHAR) = {value}", c.Text
	case f.prefix == minPrefix && isTime(f.column):
		text = "{column} >= CAST({value} AS DATE)"
	case f.prefix == maxPrefix && isTime(f.column):
		text = "{column} < CAST({value} AS DATE) + INTERVAL 1 DAY"
	case f.prefix == minPrefix:
		text = "{column} >= CAST({value} AS DECIMAL(18, 6))"
	default:
		text = "{column} <= CAST({value} AS DECIMAL(18, 6))"
	}
	return sqltext.Fill(text, sqltext.Values{"column": sqltext.Name(f.column.Name), "value": values.add(value)})
}

// order sorts amounts within their currency.
func (t *table) order() sqltext.SQL {
	var all []sqltext.SQL
	direction := sqltext.SQL("ASC")
	if t.state.Descending {
		direction = "DESC"
	}
	for _, r := range t.roles {
		if r.Name != t.state.Sort {
			continue
		}
		if r.unitColumn != "" {
			all = append(all, sqltext.Fill("{column} NULLS LAST", sqltext.Values{"column": sqltext.Name(r.unitColumn)}))
		}
		all = append(all, sqltext.Fill("{column} {direction} NULLS LAST", sqltext.Values{"column": sqltext.Name(r.Name), "direction": direction}))
	}
	return sqltext.JoinSQL(append(all, sqltext.Names([]string{positionColumn})), ", ")
}

// outerQuery returns the query of a statement that contains the query of the table, with the values of both.
func (t *table) outerQuery(statement sqltext.SQL, filters filterValues) (query.Query, map[string]string) {
	q := t.inner
	q.SQL, q.Params = string(statement), slices.Clone(q.Params)
	for _, name := range slices.Sorted(maps.Keys(filters)) {
		q.Params = append(q.Params, query.Param{Name: name, Type: "VARCHAR"})
	}
	values := map[string]string{}
	maps.Copy(values, t.values)
	maps.Copy(values, filters)
	return q, values
}

func (t *table) downloadQuery() (query.Query, map[string]string) {
	filters := filterValues{}
	conditions := t.conditions(filters)
	if conditions == noCondition && t.state.Sort == "" && t.textColumn == "" {
		return t.inner, t.values
	}
	return t.outerQuery(tableSQL.Render("download", sqltext.Values{"hidden": t.hiddenColumns(), "query": t.innerSQL(),
		"conditions": conditions, "order": t.order()}), filters)
}

func (t *table) newDownload(title, name string) download {
	q, values := t.downloadQuery()
	return download{Query: q, Values: values, Title: title, Name: name, Format: t.format()}
}

// read reads one page of the table, its totals and its choices with one statement.
func (t *table) read() (tableRows, error) {
	// Without a search, the column with the text to search is excluded, so DuckDB does not compute it.
	resultColumns, hidden := sqltext.SQL("*"), t.hiddenColumns()
	if t.textColumn != "" && t.state.Search == "" {
		resultColumns = sqltext.Fill("* EXCLUDE ({column})", sqltext.Values{"column": sqltext.Name(t.textColumn)})
		hidden = sqltext.Names([]string{positionColumn})
	}
	filters := filterValues{}
	statement := tableSQL.Render("page", sqltext.Values{"result_columns": resultColumns, "query": t.innerSQL(), "conditions": t.conditions(filters),
		"sums": t.sumsSQL(), "choices": t.choicesSQL(), "counts": t.countsSQL(),
		"order": t.order(), "rows": tablePageRows, "offset": (t.state.Page - 1) * tablePageRows, "hidden": hidden})
	result, err := t.run(t.outerQuery(statement, filters))
	if err != nil {
		return tableRows{}, err
	}
	const leadingColumns = 5 // the columns before those of the table: the count, the totals, the choices, the counts and the position
	rows := tableRows{Result: query.Result{Columns: result.Columns[leadingColumns:]}}
	first := result.Rows[0].Values
	if rows.Total, err = strconv.ParseInt(first[0].Text, 10, 64); err != nil {
		return rows, fmt.Errorf("count the rows of the table: %w", err)
	}
	if err := json.Unmarshal([]byte(first[1].Or("[]")), &rows.Sums); err != nil {
		return rows, fmt.Errorf("read the totals of the table: %w", err)
	}
	if err := json.Unmarshal([]byte(first[2].Text), &rows.Choices); err != nil {
		return rows, fmt.Errorf("read the choices of the table: %w", err)
	}
	var counts []int64
	if err := json.Unmarshal([]byte(first[3].Text), &counts); err != nil {
		return rows, fmt.Errorf("read the counts of the table: %w", err)
	}
	t.markBlank(counts)
	for _, row := range result.Rows {
		if !row.Values[leadingColumns-1].Null {
			rows.Rows = append(rows.Rows, query.Record{Columns: rows.Columns, Values: row.Values[leadingColumns:]})
		}
	}
	return rows, nil
}

// markBlank marks the columns that are empty on all pages. counts are the numbers of values of the columns. A cell
// without a name shows the id, so a column with an idColumn is blank only if the ids are missing too.
func (t *table) markBlank(counts []int64) {
	for i := range t.roles {
		role := &t.roles[i]
		hasValues := counts[i] > 0
		id := slices.IndexFunc(t.roles, func(other columnRole) bool { return other.Name == role.idColumn })
		hasIDs := id >= 0 && counts[id] > 0
		role.blank = !hasValues && !hasIDs
	}
}

// hiddenColumns returns the columns of a statement that are not columns of the table.
func (t *table) hiddenColumns() sqltext.SQL {
	if t.textColumn == "" {
		return sqltext.Names([]string{positionColumn})
	}
	return sqltext.Names([]string{positionColumn, t.textColumn})
}

func (t *table) sumsSQL() sqltext.SQL {
	currency, grouping := sqltext.SQL("''"), sqltext.SQL("")
	var sums []sqltext.SQL
	for _, r := range t.roles {
		if r.unitColumn != "" {
			currency = sqltext.Fill("coalesce(CAST({column} AS VARCHAR), '')", sqltext.Values{"column": sqltext.Name(r.unitColumn)})
			grouping = "GROUP BY ALL ORDER BY currency"
		}
		if r.summed {
			sums = append(sums, sqltext.Fill("CAST(sum({column}) AS VARCHAR)", sqltext.Values{"column": sqltext.Name(r.Name)}))
		}
	}
	if len(sums) == 0 {
		return "NULL"
	}
	return tableSQL.Render("sums", sqltext.Values{"currency": currency, "sums": sqltext.JoinSQL(sums, ", "), "grouping": grouping})
}

func (t *table) countsSQL() sqltext.SQL {
	counts := make([]sqltext.SQL, len(t.roles))
	for i, r := range t.roles {
		counts[i] = sqltext.Fill("count({column})", sqltext.Values{"column": sqltext.Name(r.Name)})
	}
	return sqltext.JoinSQL(counts, ", ")
}

func (t *table) choicesSQL() sqltext.SQL {
	const maxOptions = 100
	var lists []sqltext.SQL
	for _, r := range t.roles {
		if r.hasSelection() {
			lists = append(lists, tableSQL.Render("choices", sqltext.Values{"column": sqltext.Name(r.Name), "most": maxOptions}))
		}
	}
	return sqltext.JoinSQL(lists, ", ")
}
