package explore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"placementsync/internal/html"
	"placementsync/internal/humanize"
	"placementsync/internal/query"
)

// addChart draws the column that the address chooses. The default is the first column of amounts, or else the first of
// numbers. If the first column of the result contains dates or months, a chart is drawn. If it contains texts, the table
// gets bars. result can contain the rows of all pages of the table, rowsInTable contains those of the shown page.
func (q *question) addChart(result query.Result, rowsInTable []query.Record) {
	shown := slices.DeleteFunc(rolesOf(result.Columns), func(r columnRole) bool { return r.hidden })
	numbers := slices.DeleteFunc(slices.Clone(shown), func(r columnRole) bool { return !r.Numeric })
	if len(result.Rows) == 0 || len(numbers) == 0 || shown[0].Numeric {
		return
	}
	isPresentAmount := func(r columnRole) bool { return r.isAmount && !hasWord(r.Name, "old") }
	column := numbers[max(0, slices.IndexFunc(numbers, isPresentAmount))]
	for _, r := range numbers {
		if r.Name == q.params.Get(chartKey) {
			column = r
		}
	}
	if q.view.NoChartReason = q.draw(result, rowsInTable, shown[0], column); q.view.NoChartReason != "" {
		q.view.NoChartReason = "No chart: " + q.view.NoChartReason
	}
	for _, r := range numbers {
		q.view.ChartColumns = append(q.view.ChartColumns, option{r.Name, labelOf(r.Name), r.Name == column.Name})
	}
}

// draw returns the reason if the column cannot be drawn.
func (q *question) draw(result query.Result, rowsInTable []query.Record, first, column columnRole) (reason string) {
	for _, c := range result.Columns {
		values, _ := groupRecords(result.Rows, func(r query.Record) string { return r.Get(c.Name).Text })
		if isCurrency := c.Name == "currency" || strings.HasSuffix(c.Name, "_currency"); isCurrency && len(values) > 1 {
			return "the result has several currencies. Choose one."
		}
	}
	if !slices.ContainsFunc(result.Rows, func(r query.Record) bool { n, ok := r.Get(column.Name).Number(); return ok && n != 0 }) {
		return strings.ToLower(labelOf(column.Name)) + " has no value other than 0."
	}
	isDated := isTime(first.Column) || !slices.ContainsFunc(result.Rows, func(r query.Record) bool { _, ok := dateOf(r.Get(first.Name)); return !ok })
	switch {
	case result.Total > int64(len(result.Rows)) && isDated:
		return "the result has more than " + humanize.Number(maxRows) + " rows. Filter it."
	case len(result.Rows) < 2:
		return "the result has one row."
	case isDated:
		q.view.Chart, reason = q.drawDates(result, first, column)
		return reason
	case first.Type != "VARCHAR":
		return "the first column is neither a date nor a text."
	case !addBars(q.view.Table.Table, rowsInTable, column.Name):
		return strings.ToLower(labelOf(column.Name)) + " has negative values."
	}
	return ""
}

// addBars adds bars, whose lengths are relative to the largest value. If a value is negative, it returns false and
// adds no bars.
func addBars(t *html.Table, records []query.Record, column string) bool {
	largest := 0.0
	for _, r := range records {
		n, _ := r.Get(column).Number()
		if n < 0 {
			return false
		}
		largest = max(largest, n)
	}
	i := slices.IndexFunc(t.Heads, func(h html.Head) bool { return h.Name == column })
	if largest == 0 || i < 0 {
		return true
	}
	for row, r := range records {
		if n, ok := r.Get(column).Number(); ok {
			t.Rows[row].Cells[i].Bar = html.Percent(n / largest)
		}
	}
	return true
}

// drawDates draws a column by the dates of the first column. If a date has several rows, each value of
// the second column becomes a line. If the result cannot be drawn, drawDates returns the reason.
func (q *question) drawDates(result query.Result, first, column columnRole) (_ *html.Chart, reason string) {
	const maxDates = 400
	var second columnRole
	values, _ := groupRecords(result.Rows, func(r query.Record) string { return r.Get(first.Name).Text })
	next := 1 + slices.IndexFunc(result.Columns, func(c query.Column) bool { return c.Name == first.Name })
	if next < len(result.Columns) && result.Columns[next].Type == "VARCHAR" && len(values) < len(result.Rows) {
		second = rolesOf(result.Columns)[next]
	}
	names, groups := groupRecords(result.Rows, func(r query.Record) string {
		if second.Name == "" {
			return ""
		}
		return second.buildCell(r.Get(second.Name)).Text
	})
	var v html.Variant
	dates := map[time.Time]bool{}
	for i, name := range names {
		s := html.Series{Name: name, Colour: i}
		rows := groups[name]
		slices.SortStableFunc(rows, func(a, b query.Record) int {
			aDate, _ := dateOf(a.Get(first.Name))
			bDate, _ := dateOf(b.Get(first.Name))
			return aDate.Compare(bDate)
		})
		var last time.Time
		for _, r := range rows {
			date, value := r.Get(first.Name), r.Get(column.Name)
			at, ok := dateOf(date)
			if _, isNumber := value.Number(); !ok || !isNumber {
				continue
			}
			if at.Equal(last) {
				return nil, "a date has several rows."
			}
			last, dates[at] = at, true
			shownDate, text := first.buildCell(date).Text, column.buildCell(value).Text
			if len(names) == 1 { // one bar per date
				v.Categories = append(v.Categories, shownDate)
				s.Add(value.Text, text)
			} else {
				s.AddAt(at, value.Text, shownDate+": "+text)
			}
			if q.view.Name != "" { // the page of typed SQL has no filters for the rows of a value
				s.Links = append(s.Links, q.linkToRows(first, second, r))
			}
		}
		v.Series = append(v.Series, s)
	}
	if len(names) > html.MaxSeries {
		return nil, fmt.Sprintf("the result has more than %d groups. Filter it.", html.MaxSeries)
	}
	if len(dates) < 2 || len(dates) > maxDates {
		return nil, fmt.Sprintf("the result has fewer than 2 or more than %d dates.", maxDates)
	}
	c := &html.Chart{Kind: html.Lines, Title: labelOf(column.Name) + " by " + strings.ToLower(labelOf(first.Name)), Unit: result.Rows[0].Get(column.unitColumn).Text, Variants: []html.Variant{v}}
	if len(names) == 1 {
		c.Kind = html.Bars
	}
	return c, ""
}

func (q *question) linkToRows(first, second columnRole, row query.Record) string {
	date := row.Get(first.Name).Text
	filters := []pair{{equalPrefix + first.Name, date}}
	if isTime(first.Column) {
		day := date[:min(len(date), len(time.DateOnly))]
		filters = []pair{{minPrefix + first.Name, day}, {maxPrefix + first.Name, day}}
	}
	if second.Name != "" {
		v := row.Get(second.Name)
		filters = append(filters, pair{equalPrefix + second.Name, choice{v.Text, v.Null}.encode()})
	}
	return q.addressWith(filters...) + "#table"
}

func dateOf(v query.Value) (at time.Time, ok bool) {
	for _, layout := range []string{time.DateOnly, "2006-01", time.RFC3339Nano} {
		if at, err := time.Parse(layout, v.Text); err == nil {
			return at, true
		}
	}
	return at, false
}
