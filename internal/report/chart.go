package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"placementsync/internal/html"
	"placementsync/internal/query"
)

// plot specifies how a result is drawn: as boxes, with a series for each measure, or with a series for
// each value of one column.
type plot struct {
	kind html.Kind
	// horizontal, stacked, logScale and choiceLabel are described in html.Chart.
	horizontal, stacked, logScale bool
	choiceLabel                   string
	unit                          string // shown above the chart
	// split lists columns. Each combination of their values is a variant of the chart.
	split []string
	// weight is a column. The variant with the largest sum of this column is first. Without weight, the
	// variants are in the order of the rows.
	weight   string
	category string // a column; each of its values is a category
	limit    int    // the maximum number of categories, or of series if series is set

	measures []measure
	// series is a column. If it is set, each value of this column has its own series in the chart, and
	// value names the column with the numbers.
	series, value string
	newestFirst   bool   // the result is sorted newest first; the rows are drawn oldest first
	skipIfNull    string // a column; rows in which it is NULL are not drawn
}

const (
	// maxVariants limits the variants of a chart and the currencies of the page, so that the page stays
	// small for any number of currencies and tiers.
	maxVariants = 24
	// maxCategories limits the categories of a chart with a series for each value.
	maxCategories = 400
)

func (p plot) drawVariants(rows []query.Record) []html.Variant {
	labels, groups := query.GroupRecords(rows, func(row query.Record) string { return rowLabel(row, p.split...) })
	if p.weight != "" {
		weights := map[string]float64{}
		for label, group := range groups {
			for _, row := range group {
				n, _ := row.Get(p.weight).Number()
				weights[label] += n
			}
		}
		slices.SortStableFunc(labels, func(x, y string) int { return cmp.Compare(weights[y], weights[x]) })
	}
	var all []html.Variant
	for _, label := range labels {
		all = append(all, p.drawVariant(groups[label], label)...)
		if len(all) == maxVariants {
			break
		}
	}
	return all
}

// drawVariant returns no variant if no row has a value.
func (p plot) drawVariant(rows []query.Record, label string) []html.Variant {
	var v html.Variant
	switch {
	case p.kind == html.Boxes:
		v = p.drawBoxes(rows)
	case p.series != "":
		v = p.drawValues(rows)
	default:
		v = p.drawMeasures(rows)
	}
	if len(v.Categories) == 0 {
		return nil
	}
	if label != "" {
		v.Label, v.Currency = label, currencyOf(rows[0])
	}
	v.Heading = strings.Join(slices.DeleteFunc([]string{label, p.unit}, func(part string) bool { return part == "" }), separator)
	if p.kind != html.Boxes {
		v.CutOutliers(p.stacked)
	}
	return []html.Variant{v}
}

// categoryOf returns the label of the category of a row. rows contains all rows of the chart.
func (p plot) categoryOf(rows []query.Record, row query.Record) string {
	switch p.category {
	case "price_from":
		return priceBand(row)
	case "snapshot_at": // the day, and also the time if the day has several snapshots
		at := html.Moment(row.Get("snapshot_at").Text)
		day := at[:min(len(time.DateOnly), len(at))]
		sameDay := filterRows(rows, func(r query.Record) bool { return strings.HasPrefix(r.Get("snapshot_at").Text, day) })
		if len(sameDay) > 1 {
			return at
		}
		return day
	}
	return rowLabel(row, p.category)
}

const separator = " \u00b7 "

// rowLabel joins the values of columns. A missing value becomes a text such as "(writer name unknown)".
func rowLabel(row query.Record, columns ...string) string {
	parts := make([]string, len(columns))
	for i, name := range columns {
		c := textOf(row, name)
		switch {
		case name == "currency":
			parts[i] = clipText(currencyName(c))
		case name == "month" && !c.Null:
			parts[i] = formatMonth(c.Text)
		case c.Null || c.Text == "":
			parts[i] = "(" + strings.ReplaceAll(name, "_", " ") + " unknown)"
		default:
			parts[i] = clipText(c.Text)
		}
	}
	return strings.Join(parts, separator)
}

// Colours of series. Their values are the numbers of the variables --c0 to --c7 in page.css.
const (
	blue      = 0 // if no colour is set
	orange    = 1
	green     = 2
	pink      = 3
	grey      = 5
	lightBlue = 7
)

// measure is a column whose values are drawn as one series with this name and colour, see html.Series.
type measure struct {
	column, name string
	colour       int
	below        bool        // drawn below the axis, for example withdrawn listings
	as           valueFormat // of the tooltip; asNumber if not set
}

// drawMeasures skips rows in which all measures, or the column p.skipIfNull, are NULL.
func (p plot) drawMeasures(rows []query.Record) html.Variant {
	var v html.Variant
	total := len(rows)
	known := filterRows(rows, func(row query.Record) bool {
		if p.skipIfNull != "" && row.Get(p.skipIfNull).Null {
			return false
		}
		return slices.ContainsFunc(p.measures, func(m measure) bool { return !row.Get(m.column).Null })
	})
	rows = known[:min(len(known), p.limit)]
	if len(rows) < len(known) {
		v.Note = describeCut(len(rows), total, "rows")
	}
	if p.newestFirst {
		slices.Reverse(rows)
	}
	for _, row := range rows {
		v.Categories = append(v.Categories, p.categoryOf(known, row))
	}
	for _, m := range p.measures {
		s := html.Series{Name: m.name, Colour: m.colour}
		for _, row := range rows {
			m.addTo(&s, row.Get(m.column))
		}
		v.Series = append(v.Series, s)
	}
	return v
}

func (m measure) addTo(s *html.Series, c query.Value) {
	digits := c.Text
	if n, ok := c.Number(); ok && m.below {
		digits = strconv.FormatFloat(-n, 'g', -1, 64)
	}
	s.Add(digits, field{as: cmp.Or(m.as, asNumber)}.formatCell(c))
}

// drawValues returns one series for each value of the column p.series, in the order of the rows.
func (p plot) drawValues(rows []query.Record) html.Variant {
	categories, _ := query.GroupRecords(rows, func(row query.Record) string { return p.categoryOf(rows, row) })
	categories = categories[:min(len(categories), maxCategories)]
	v := html.Variant{Categories: categories}
	names, groups := query.GroupRecords(rows, func(row query.Record) string { return rowLabel(row, p.series) })
	v.Note = describeCut(min(len(names), p.limit), len(names), "series")
	for i, n := range names[:min(len(names), p.limit)] {
		byCategory := map[string]query.Value{}
		for _, row := range groups[n] {
			byCategory[p.categoryOf(rows, row)] = row.Get(p.value)
		}
		s := html.Series{Name: n, Colour: i}
		for _, c := range categories {
			value, known := byCategory[c]
			measure{}.addTo(&s, query.Value{Text: value.Text, Null: !known || value.Null})
		}
		v.Series = append(v.Series, s)
	}
	return v
}

// describeCut returns a note if a chart does not show everything, and otherwise an empty text.
func describeCut(shown, total int, noun string) string {
	if shown >= total {
		return ""
	}
	return fmt.Sprintf("The chart shows %d of %d %s.", shown, total, noun)
}

func boxColumns() [5]string {
	return [5]string{"min_price", "p25_price", "median_price", "p75_price", "max_price"}
}

// drawBoxes skips rows in which one of the five numbers is missing.
func (p plot) drawBoxes(rows []query.Record) html.Variant {
	s := html.Series{Name: "prices"}
	var v html.Variant
	for _, row := range rows[:min(len(rows), p.limit)] {
		var box [5]float64
		var texts [5]string
		complete := true
		for i, column := range boxColumns() {
			c := row.Get(column)
			n, ok := c.Number()
			box[i], texts[i] = n, html.Decimal(c.Text)
			complete = complete && ok
		}
		if !complete {
			continue
		}
		v.Categories = append(v.Categories, p.categoryOf(rows, row))
		s.Values = append(s.Values, box)
		s.Texts = append(s.Texts, fmt.Sprintf("median %s, middle half %s to %s, all prices %s to %s",
			texts[2], texts[1], texts[3], texts[0], texts[4]))
	}
	v.Series, v.Note = []html.Series{s}, describeCut(len(v.Categories), len(rows), "rows")
	return v
}
