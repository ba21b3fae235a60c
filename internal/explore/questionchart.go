package explore

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"placementsync/internal/html"
	"placementsync/internal/humanize"
	"placementsync/internal/query"
)

// addChart draws the chart that the header of the query states. Bars by date, and lines, are a chart above the table.
// Bars by name are drawn in the rows of the table. result can contain the rows of all pages of the table, rowsInTable
// contains those of the shown page.
func (q *question) addChart(result query.Result, rowsInTable []query.Record) {
	if q.view.Query.Chart == nil || len(result.Rows) == 0 {
		return
	}
	d := chartDrawing{question: q, Chart: *q.view.Query.Chart, roles: map[string]columnRole{}, result: result}
	isDated := slices.ContainsFunc(result.Rows, func(r query.Record) bool { _, ok := dateOf(r.Get(d.X)); return ok })
	d.inTable = d.Kind == query.ChartBars && !isDated
	reason := d.draw(rowsInTable, isDated)
	switch {
	case reason != "" && d.inTable:
		q.view.NoChartReason = "No bars in the table: " + reason
	case reason != "":
		q.view.NoChartReason = "No chart: " + reason
	}
}

// chartDrawing draws the chart of one result. roles are the columns of the result by name. inTable is set if the chart
// is bars in the rows of the table.
type chartDrawing struct {
	*question
	query.Chart
	roles   map[string]columnRole
	result  query.Result
	inTable bool
}

// draw returns the reason if the chart cannot be drawn.
func (d chartDrawing) draw(rowsInTable []query.Record, isDated bool) (reason string) {
	for _, r := range rolesOf(d.result.Columns) {
		r.label = d.view.Query.LabelOf(r.Name)
		d.roles[r.Name] = r
	}
	for _, name := range d.Columns() {
		if _, ok := d.roles[name]; !ok {
			return fmt.Sprintf("the result has no column %q.", name)
		}
	}
	if d.hasSeveralCurrencies() {
		return "the result has several currencies. Choose one."
	}
	if !slices.ContainsFunc(d.result.Rows, d.hasValue) {
		return d.labelsOf(d.Y) + " has no value other than 0."
	}
	if d.inTable {
		if !addBars(d.view.Table.Table, rowsInTable, d.Y[0]) {
			return d.labelsOf(d.Y[:1]) + " has negative values."
		}
		return ""
	}
	if !isDated {
		return fmt.Sprintf("%s is neither a date nor a month.", d.labelsOf([]string{d.X}))
	}
	if d.result.Total > int64(len(d.result.Rows)) {
		return "the result has too many rows. Filter it."
	}
	d.view.Chart, reason = d.drawDates()
	return reason
}

func (d chartDrawing) hasSeveralCurrencies() bool {
	if !slices.ContainsFunc(d.Y, func(y string) bool { return d.roles[y].isAmount }) {
		return false
	}
	return slices.ContainsFunc(d.result.Columns, func(c query.Column) bool {
		isCurrency := c.Name == "currency" || strings.HasSuffix(c.Name, "_currency")
		hasOwnSeries := slices.Contains(d.By, c.Name)
		if !isCurrency || hasOwnSeries {
			return false
		}
		values, _ := query.GroupRecords(d.result.Rows, func(r query.Record) string { return r.Get(c.Name).Text })
		return len(values) > 1
	})
}

func (d chartDrawing) hasValue(r query.Record) bool {
	return slices.ContainsFunc(d.Y, func(y string) bool { n, ok := r.Get(y).Number(); return ok && n != 0 })
}

// labelsOf returns the labels of columns in lower case.
func (d chartDrawing) labelsOf(columns []string) string {
	labels := make([]string, len(columns))
	for i, c := range columns {
		labels[i] = humanize.LowerFirst(d.roles[c].label)
	}
	return strings.Join(labels, ", ")
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

// chartPoint is the sum of the values of a series at one date. record is one of its rows.
type chartPoint struct {
	sum    *big.Rat // nil if the last value ends at this date
	digits string   // of the only value, or the sum
	record query.Record
}

// chartSeries contains the points of a series by date.
type chartSeries struct {
	name   string
	column columnRole // with the values
	points map[time.Time]chartPoint
}

// drawDates returns the reason if the result cannot be drawn.
func (d chartDrawing) drawDates() (_ *html.Chart, reason string) {
	const maxDates = 400
	all := d.collectSeries()
	if len(all) > html.MaxSeries {
		return nil, fmt.Sprintf("the result has more than %d groups. Filter it.", html.MaxSeries)
	}
	known := map[time.Time]bool{}
	for _, s := range all {
		for at := range s.points {
			known[at] = true
		}
	}
	x := d.roles[d.X]
	end := d.lastTime()
	if !isPeriod(x) && !end.IsZero() {
		known[end] = true
	}
	dates := slices.SortedFunc(maps.Keys(known), time.Time.Compare)
	if len(dates) < 2 || len(dates) > maxDates {
		return nil, fmt.Sprintf("the result has fewer than 2 or more than %d dates.", maxDates)
	}
	kind := map[query.ChartKind]html.Kind{query.ChartBars: html.Bars, query.ChartLines: html.Lines, query.ChartSteps: html.Steps}[d.Kind]
	unit := ""
	if column := all[0].column.unitColumn; column != "" && !slices.Contains(d.By, column) {
		unit = d.result.Rows[0].Get(column).Text
	}
	by := " by " + d.labelsOf([]string{d.X})
	if x.Type == "TIMESTAMPTZ" {
		by = " over time"
	}
	c := &html.Chart{Kind: kind, Title: humanize.UpperFirst(d.labelsOf(d.Y)) + by, Unit: unit}
	if kind == html.Bars || isPeriod(x) {
		c.Variants = []html.Variant{d.drawCategories(all, x, dates)}
	} else {
		c.Variants = []html.Variant{d.drawTimes(all, x, dates, end)}
	}
	return c, ""
}

// collectSeries adds up the values with the same date. Rows without a date are left out.
func (d chartDrawing) collectSeries() []chartSeries {
	var all []chartSeries
	for _, y := range d.Y {
		names, groups := query.GroupRecords(d.result.Rows, func(r query.Record) string {
			var parts []string
			for _, by := range d.By {
				parts = append(parts, d.roles[by].buildCell(r.Get(by)).Text)
			}
			return strings.Join(parts, " · ")
		})
		for _, name := range names {
			s := chartSeries{name: name, column: d.roles[y], points: map[time.Time]chartPoint{}}
			if len(d.Y) > 1 {
				s.name = d.roles[y].label
			}
			for _, r := range groups[name] {
				at, isDate := dateOf(r.Get(d.X))
				value, isNumber := new(big.Rat).SetString(r.Get(y).Text)
				isEnd := !isNumber && d.Kind == query.ChartSteps
				if !isDate || !isNumber && !isEnd {
					continue
				}
				p, isRepeated := s.points[at]
				if isEnd {
					s.points[at] = p
					continue
				}
				if !isRepeated || p.sum == nil {
					s.points[at] = chartPoint{value, r.Get(y).Text, r}
					continue
				}
				const places = 6
				p.sum = value.Add(value, p.sum)
				p.digits = p.sum.FloatString(places)
				if p.sum.IsInt() {
					p.digits = p.sum.FloatString(0)
				}
				s.points[at] = p
			}
			all = append(all, s)
		}
	}
	return all
}

// isPeriod reports whether a column contains the first days of months or weeks.
func isPeriod(x columnRole) bool {
	return x.Type != "TIMESTAMPTZ" && x.HasWord("month", "week", "group")
}

// drawCategories draws the values at equal distances. Months without values have a gap.
func (d chartDrawing) drawCategories(all []chartSeries, x columnRole, dates []time.Time) html.Variant {
	var v html.Variant
	isMonth := !slices.ContainsFunc(dates, func(at time.Time) bool { return at.Day() != 1 }) && x.Type != "TIMESTAMPTZ"
	if isMonth {
		for at := dates[0]; !at.After(dates[len(dates)-1]); at = at.AddDate(0, 1, 0) {
			if !slices.Contains(dates, at) {
				dates = append(dates, at)
			}
		}
		slices.SortFunc(dates, time.Time.Compare)
	}
	now := d.localSnapshot()
	for i, at := range dates {
		label := at.Format(time.DateOnly)
		end := at.AddDate(0, 0, 7)
		switch {
		case isMonth && isPeriod(x):
			label, end = at.Format("2006-01"), at.AddDate(0, 1, 0)
		case x.Type == "TIMESTAMPTZ":
			label = html.Clock(at)
		}
		if isPeriod(x) && i == len(dates)-1 && !at.After(now) && end.After(now) {
			label += html.SoFar
			v.Unfinished = true
		}
		v.Categories = append(v.Categories, label)
	}
	for i, s := range all {
		drawn := html.Series{Name: s.name, Colour: i}
		for _, at := range dates {
			p := s.points[at]
			text := ""
			if p.sum != nil {
				text = s.column.buildCell(query.Value{Text: p.digits}).Text
			}
			drawn.Add(p.digits, text)
			d.addLink(&drawn, p)
		}
		v.Series = append(v.Series, drawn)
	}
	return v
}

// localSnapshot returns the time of the snapshot on the clock of the time zone in which the periods of the query begin.
func (d chartDrawing) localSnapshot() time.Time {
	zone := d.values["timezone"]
	if zone == "" || zone == query.ScheduleTimezone {
		zone = d.explorer.cfg.Settings[query.ScheduleTimezone]
	}
	at := d.snapshot.At.UTC()
	location, err := time.LoadLocation(zone)
	if err != nil { // running the query has already reported the unknown time zone
		return at
	}
	_, offset := at.In(location).Zone()
	return at.Add(time.Duration(offset) * time.Second)
}

// lastTime returns the time to which the last value of steps is valid: that of the snapshot or, if it is earlier, of the
// parameter "until". It is zero for other charts, and if the table is filtered, because changes can be missing then.
func (d chartDrawing) lastTime() time.Time {
	if d.Kind != query.ChartSteps || len(d.view.Table.Chips) > 0 {
		return time.Time{}
	}
	p, _ := d.view.Param("until")
	until, err := time.Parse(time.DateOnly, d.shownValue(p, d.values["until"]))
	if err == nil && until.Before(d.snapshot.At) {
		return until
	}
	return d.snapshot.At.UTC()
}

// drawTimes draws the values at their times. The last value of a series goes on to end, if it is set.
func (d chartDrawing) drawTimes(all []chartSeries, x columnRole, dates []time.Time, end time.Time) html.Variant {
	var v html.Variant
	for i, s := range all {
		drawn := html.Series{Name: s.name, Colour: i}
		digits := "" // of the value before a date
		for _, at := range dates {
			p, hasPoint := s.points[at]
			hasEnded := hasPoint && p.sum == nil
			if digits != "" && (hasEnded || at.Equal(end)) { // a line without a mark
				drawn.AddAt(at, digits, "")
				d.addLink(&drawn, chartPoint{})
			}
			if !hasPoint {
				continue
			}
			text := ""
			if !hasEnded {
				text = x.buildCell(p.record.Get(d.X)).Text + ": " + s.column.buildCell(query.Value{Text: p.digits}).Text
			}
			drawn.AddAt(at, p.digits, text)
			d.addLink(&drawn, p)
			digits = p.digits
		}
		v.Series = append(v.Series, drawn)
	}
	return v
}

// addLink links a value to its rows. The page of typed SQL has no filters for them.
func (d chartDrawing) addLink(s *html.Series, p chartPoint) {
	if d.view.Name == "" {
		return
	}
	link := ""
	if p.sum != nil {
		link = d.linkToRows(p.record)
	}
	s.Links = append(s.Links, link)
}

func (d chartDrawing) linkToRows(row query.Record) string {
	date := row.Get(d.X).Text
	filters := []pair{{equalPrefix + d.X, date}}
	if isTime(d.roles[d.X].Column) {
		day := date[:min(len(date), len(time.DateOnly))]
		filters = []pair{{minPrefix + d.X, day}, {maxPrefix + d.X, day}}
	}
	for _, by := range d.By {
		v := row.Get(by)
		filters = append(filters, pair{equalPrefix + by, choice{v.Text, v.Null}.encode()})
	}
	return d.addressWith(filters...) + "#table"
}

func dateOf(v query.Value) (at time.Time, ok bool) {
	for _, layout := range []string{time.DateOnly, "2006-01", time.RFC3339Nano} {
		if at, err := time.Parse(layout, v.Text); err == nil {
			return at, true
		}
	}
	return at, false
}
