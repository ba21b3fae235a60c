package explore

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"placementsync/internal/page"
	"placementsync/internal/query"
)

// mostPoints is how many places along its width a chart has room for.
const mostPoints = 400

// addChart draws a column of numbers against the first column: dates as a chart above the
// table, texts as bars in it. An answer that mixes currencies, or where a place along the
// width would have several values, gets none.
func (q *question) addChart(a answer, wanted string) {
	numbers := slices.DeleteFunc(slices.Clone(a.Columns), func(c query.Column) bool { return !c.Numeric })
	if len(a.Records) < 2 || len(numbers) == 0 || a.Columns[0].Numeric || a.Total > int64(len(a.Records)) {
		return
	}
	for _, c := range a.Columns {
		if isCurrency := c.Name == "currency" || strings.HasSuffix(c.Name, "_currency"); isCurrency && countValues(a.Records, c.Name) > 1 {
			q.view.NoChart = "No chart: the answer has several currencies."
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
		q.view.Chart = plotByTime(a, chosen)
		drawn = q.view.Chart != nil
	} else if first.Type == "VARCHAR" {
		drawn = addBars(q.view.Table, a.Records, chosen.Name)
	}
	if !drawn {
		return
	}
	for _, c := range numbers {
		q.view.Choices = append(q.view.Choices, option{c.Name, labelOf(c.Name), c.Name == chosen.Name})
	}
}

func countValues(records []record, column string) int {
	values := map[string]bool{}
	for _, r := range records {
		if v, there := r[column]; there {
			values[v.String()] = true
		}
	}
	return len(values)
}

// numberOf is a value for drawing; ok is false for NULL and what is no finite number.
func numberOf(c cell) (n float64, ok bool) {
	n, err := strconv.ParseFloat(c.Text, 64)
	return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}

// addBars puts a bar below each value of a column, as long as its share of the largest. A
// column with a value below zero gets none.
func addBars(t *tableView, records []record, column string) bool {
	largest := 0.0
	for _, r := range records {
		n, _ := numberOf(r[column])
		if n < 0 {
			return false
		}
		largest = max(largest, n)
	}
	i := slices.IndexFunc(t.Heads, func(h headView) bool { return h.Name == column })
	if largest == 0 || i < 0 {
		return false
	}
	for row, r := range records {
		if n, ok := numberOf(r[column]); ok {
			t.Rows[row][i].Bar = percent(n / largest)
		}
	}
	return true
}

// point is one value of a chart by time.
type point struct {
	at    time.Time
	n     float64
	when  string
	title string
}

// plotByTime draws a column against dates; nil: it cannot. Where dates repeat, the texts of
// the second column tell the lines apart.
func plotByTime(a answer, column query.Column) *plot {
	names, series := splitSeries(a, column)
	if len(names) == 0 || len(names) > colours {
		return nil
	}
	var values []float64
	var axis timeAxis
	places := map[time.Time]bool{}
	for _, points := range series {
		for _, p := range points {
			values, places[p.at] = append(values, p.n), true
			if axis.from.IsZero() || p.at.Before(axis.from) {
				axis.from = p.at
			}
			if p.at.After(axis.to) {
				axis.to = p.at
			}
		}
	}
	if len(places) < 2 || len(places) > mostPoints {
		return nil
	}
	s := newScale(values, len(series) == 1)
	p := &plot{Label: labelOf(column.Name) + " by " + strings.ToLower(labelOf(a.Columns[0].Name)) + ". The table below has the same values.",
		Height: plotHeight, Ticks: s.ticks()}
	if len(series) == 1 {
		p.addColumns(series[0], s)
		return p
	}
	p.Marks = axis.marks()
	for i, points := range series {
		p.Legend = append(p.Legend, swatch{names[i], i})
		p.addCurve(names[i], i, points, axis, s)
	}
	return p
}

// splitSeries gives the points by line, in the order of time. There is none where a date
// has several values in a line.
func splitSeries(a answer, column query.Column) (names []string, series [][]point) {
	second := ""
	if len(a.Columns) > 1 && a.Columns[1].Type == "VARCHAR" && countValues(a.Records, a.Columns[0].Name) < len(a.Records) {
		second = a.Columns[1].Name
	}
	names, groups := groupRecords(a.Records, func(r record) string {
		if second == "" {
			return ""
		}
		return r[second].String()
	})
	for _, name := range names {
		var points []point
		for _, r := range groups[name] {
			when := r[a.Columns[0].Name]
			at, ok := dateOf(when)
			n, isNumber := numberOf(r[column.Name])
			if ok && isNumber {
				points = append(points, point{at, n, page.Moment(when.Text), strings.TrimSpace(name + " " + page.Moment(when.Text) + ": " + page.Amount(r[column.Name].Text))})
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

func dateOf(c cell) (at time.Time, ok bool) {
	if at, err := time.Parse(time.DateOnly, c.Text); err == nil {
		return at, true
	}
	at, err := time.Parse(time.RFC3339Nano, c.Text)
	return at, err == nil
}

// addColumns draws a column for each point, standing on zero, one beside the other. Some
// of them have their date below.
func (p *plot) addColumns(points []point, s scale) {
	const filled, mostMarks = 0.7, 4
	place := 1 / float64(len(points))
	zero := s.y(0)
	for i, one := range points {
		top, bottom := min(s.y(one.n), zero), max(s.y(one.n), zero)
		left := (float64(i) + (1-filled)/2) * place
		p.Bars = append(p.Bars, bar{X: percent(left), Y: pixels(top), Width: percent(filled * place), Height: pixels(max(bottom-top, 1)), Title: one.title})
		if step := (len(points) + mostMarks - 1) / mostMarks; i%step == 0 {
			p.Marks = append(p.Marks, mark{percent(left), one.when, "start"})
		}
	}
}

// addCurve joins the points of a line.
func (p *plot) addCurve(name string, colour int, points []point, t timeAxis, s scale) {
	for i, one := range points {
		x, y := percent(t.x(one.at)), pixels(s.y(one.n))
		if i > 0 {
			before := points[i-1]
			p.Lines = append(p.Lines, line{percent(t.x(before.at)), pixels(s.y(before.n)), x, y, colour})
		}
		p.Dots = append(p.Dots, dot{x, y, fmt.Sprintf("%s: %s", name, one.title), colour})
	}
}
