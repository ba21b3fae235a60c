package explore

import (
	"slices"
	"strings"
	"time"

	"placementsync/internal/page"
	"placementsync/internal/query"
)

// maxPoints is the maximum number of dates in a chart.
const maxPoints = 400

// addChart draws a numeric column: as a chart if the first column contains dates, or as bars in
// the table if it contains texts. Results with several currencies are not drawn.
func (q *question) addChart(a query.Result, wanted string) {
	numbers := slices.DeleteFunc(slices.Clone(a.Columns), func(c query.Column) bool { return !c.Numeric })
	if len(a.Rows) < 2 || len(numbers) == 0 || a.Columns[0].Numeric || a.Total > int64(len(a.Rows)) {
		return
	}
	for _, c := range a.Columns {
		if isCurrency := c.Name == "currency" || strings.HasSuffix(c.Name, "_currency"); isCurrency && countValues(a.Rows, c.Name) > 1 {
			q.view.NoChart = "No chart: the result has several currencies."
			return
		}
	}
	chosen := numbers[0]
	for _, c := range numbers {
		if c.Name == wanted {
			chosen = c
		}
	}
	first := a.Columns[0]
	drawn := false
	if first.Type == "DATE" || first.Type == "TIMESTAMPTZ" {
		q.view.Chart = chartByTime(a, chosen)
		drawn = q.view.Chart != nil
	} else if first.Type == "VARCHAR" {
		drawn = addBars(q.view.Table.Table, a.Rows, chosen.Name)
	}
	if !drawn {
		return
	}
	for _, c := range numbers {
		q.view.Choices = append(q.view.Choices, option{c.Name, labelOf(c.Name), c.Name == chosen.Name})
	}
}

func countValues(records []query.Record, column string) int {
	values := map[query.Value]bool{}
	for _, r := range records {
		values[r.Get(column)] = true
	}
	return len(values)
}

// addBars adds a bar to each value of a column, with a length relative to the largest value. It
// returns false without adding bars if a value is negative.
func addBars(t *page.Table, records []query.Record, column string) bool {
	largest := 0.0
	for _, r := range records {
		n, _ := r.Get(column).Number()
		if n < 0 {
			return false
		}
		largest = max(largest, n)
	}
	i := slices.IndexFunc(t.Heads, func(h page.Head) bool { return h.Name == column })
	if largest == 0 || i < 0 {
		return false
	}
	for row, r := range records {
		if n, ok := r.Get(column).Number(); ok {
			t.Rows[row].Cells[i].Bar = page.Percent(n / largest)
		}
	}
	return true
}

// point is one value of a time chart.
type point struct {
	at time.Time
	// value is the exact value.
	value string
	// date is the formatted date.
	date string
}

// chartByTime draws a column against dates. If dates repeat, each text of the second column is a
// line. It returns nil if the result cannot be drawn.
func chartByTime(a query.Result, column query.Column) *page.Chart {
	names, series := splitSeries(a, column)
	if len(names) == 0 || len(names) > page.MostSeries {
		return nil
	}
	dates := map[time.Time]bool{}
	for _, points := range series {
		for _, p := range points {
			dates[p.at] = true
		}
	}
	if len(dates) < 2 || len(dates) > maxPoints {
		return nil
	}
	c := &page.Chart{Kind: page.Lines, Title: labelOf(column.Name) + " by " + strings.ToLower(labelOf(a.Columns[0].Name))}
	var v page.Variant
	for i, points := range series {
		s := page.Series{Name: names[i], Colour: i}
		for _, p := range points {
			if len(series) == 1 { // one bar per date
				v.Categories = append(v.Categories, p.date)
				s.Add(p.value, page.Decimal(p.value))
			} else {
				s.AddAt(p.at, p.value, p.date+": "+page.Decimal(p.value))
			}
		}
		v.Series = append(v.Series, s)
	}
	if len(series) == 1 {
		c.Kind = page.Bars
	}
	c.Variants = []page.Variant{v}
	return c
}

// splitSeries returns the points of each line, sorted by time. It returns nil if a line has
// several values for a date.
func splitSeries(a query.Result, column query.Column) (names []string, series [][]point) {
	second := ""
	if len(a.Columns) > 1 && a.Columns[1].Type == "VARCHAR" && countValues(a.Rows, a.Columns[0].Name) < len(a.Rows) {
		second = a.Columns[1].Name
	}
	names, groups := groupRecords(a.Rows, func(r query.Record) string {
		if second == "" {
			return ""
		}
		return r.Get(second).Or(page.Unknown)
	})
	for _, name := range names {
		var points []point
		for _, r := range groups[name] {
			when := r.Get(a.Columns[0].Name)
			at, ok := dateOf(when)
			value := r.Get(column.Name)
			if _, isNumber := value.Number(); ok && isNumber {
				points = append(points, point{at, value.Text, page.Moment(when.Text)})
			}
		}
		slices.SortStableFunc(points, func(a, b point) int { return a.at.Compare(b.at) })
		for i := 1; i < len(points); i++ {
			if points[i].at.Equal(points[i-1].at) {
				return nil, nil
			}
		}
		series = append(series, points)
	}
	return names, series
}

func dateOf(c query.Value) (at time.Time, ok bool) {
	if at, err := time.Parse(time.DateOnly, c.Text); err == nil {
		return at, true
	}
	at, err := time.Parse(time.RFC3339Nano, c.Text)
	return at, err == nil
}
