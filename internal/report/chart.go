package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"placementsync/internal/page"
	"placementsync/internal/query"
)

// plot specifies how a result is drawn.
type plot struct {
	kind            page.Kind
	across, stacked bool
	log             bool
	// choice is the label of the control that chooses a variant.
	choice string
	// split lists the columns of which each combination of values is a variant. Empty means a
	// single variant.
	split []string
	// variant converts the rows of one variant to series.
	variant func(a queryResult) page.Variant
	// weigh is a column. Variants are ordered by its sum, the largest first. Empty means the
	// order of the rows.
	weigh string
}

const (
	// maxVariants limits the variants of a chart and the choice of currencies, so that the page
	// is small for any number of currencies and tiers.
	maxVariants = 24
	// maxCategories limits the categories of a chart.
	maxCategories = 400
)

func (p plot) drawVariants(a queryResult) []page.Variant {
	if len(p.split) == 0 {
		return nonEmpty(p.variant(a))
	}
	label := func(row query.Record) string { return rowLabel(a, row, p.split...) }
	labels := a.distinctLabels(label)
	if p.weigh != "" {
		weights := map[string]float64{}
		for _, row := range a.Rows {
			n, _ := a.valueOf(row, p.weigh).Number()
			weights[label(row)] += n
		}
		slices.SortStableFunc(labels, func(x, y string) int { return cmp.Compare(weights[y], weights[x]) })
	}
	var all []page.Variant
	for _, l := range labels {
		rows := a.filterRows(func(row query.Record) bool { return label(row) == l })
		v := p.variant(rows)
		v.Label, v.Currency = l, a.currencyOf(rows.Rows[0])
		all = append(all, nonEmpty(v)...)
		if len(all) == maxVariants {
			break
		}
	}
	return all
}

func nonEmpty(v page.Variant) []page.Variant {
	if len(v.Categories) == 0 {
		return nil
	}
	return []page.Variant{v}
}

// rowLabel joins the values of columns. A missing value becomes "(name unknown)".
func rowLabel(a queryResult, row query.Record, columns ...string) string {
	parts := make([]string, len(columns))
	for i, name := range columns {
		c := a.valueOf(row, name)
		switch {
		case name == "currency":
			parts[i] = clipText(unitName(c))
		case c.Null || c.Text == "":
			parts[i] = "(" + strings.ReplaceAll(name, "_", " ") + " unknown)"
		default:
			parts[i] = clipText(c.Text)
		}
	}
	return strings.Join(parts, " \u00b7 ")
}

// measure is a column that is drawn as one series.
type measure struct {
	column, name string
	colour       int
	// below draws the values below the axis, such as withdrawn listings.
	below bool
	as    shape
}

// seriesByMeasure converts each measure to a series and each row to a category. It uses at most
// most rows.
func seriesByMeasure(category func(a queryResult, row query.Record) string, most int, measures ...measure) func(queryResult) page.Variant {
	return func(a queryResult) page.Variant {
		var v page.Variant
		a = a.filterRows(func(row query.Record) bool {
			return slices.ContainsFunc(measures, func(m measure) bool { return !a.valueOf(row, m.column).Null })
		})
		rows := a.Rows[:min(len(a.Rows), most)]
		for _, row := range rows {
			v.Categories = append(v.Categories, category(a, row))
		}
		for _, m := range measures {
			s := page.Series{Name: m.name, Colour: m.colour}
			for _, row := range rows {
				m.addTo(&s, a.valueOf(row, m.column))
			}
			v.Series = append(v.Series, s)
		}
		return v
	}
}

func (m measure) addTo(s *page.Series, c query.Value) {
	if m.as == asText {
		m.as = asNumber
	}
	s.Add(c.Text, field{as: m.as}.formatCell(c))
	if n, ok := s.Values[len(s.Values)-1].(float64); ok && m.below {
		s.Values[len(s.Values)-1] = -n
	}
}

// seriesByValue converts rows of (category, series, value) to one series for each value of the
// column series, in the order of the rows. It returns at most most series.
func seriesByValue(category func(a queryResult, row query.Record) string, series, value string, most int) func(queryResult) page.Variant {
	return func(a queryResult) page.Variant {
		name := func(row query.Record) string { return rowLabel(a, row, series) }
		categories := a.distinctLabels(func(row query.Record) string { return category(a, row) })
		categories = categories[:min(len(categories), maxCategories)]
		v := page.Variant{Categories: categories}
		for i, n := range a.distinctLabels(name) {
			if i == most {
				break
			}
			at := map[string]query.Value{}
			for _, row := range a.Rows {
				if name(row) == n {
					at[category(a, row)] = a.valueOf(row, value)
				}
			}
			s := page.Series{Name: n, Colour: i}
			for _, c := range categories {
				cell, known := at[c]
				measure{}.addTo(&s, query.Value{Text: cell.Text, Null: !known || cell.Null})
			}
			v.Series = append(v.Series, s)
		}
		return v
	}
}

// boxByRow converts each row to a box of five columns: minimum, quartiles and maximum. It skips
// rows with a missing value.
func boxByRow(category func(a queryResult, row query.Record) string, most int, five [5]string) func(queryResult) page.Variant {
	return func(a queryResult) page.Variant {
		s := page.Series{Name: "prices"}
		var v page.Variant
		for _, row := range a.Rows[:min(len(a.Rows), most)] {
			box, texts, whole := [5]float64{}, [5]string{}, true
			for i, column := range five {
				c := a.valueOf(row, column)
				n, ok := c.Number()
				box[i], texts[i], whole = n, page.Decimal(c.Text), whole && ok
			}
			if !whole {
				continue
			}
			v.Categories = append(v.Categories, category(a, row))
			s.Values = append(s.Values, box)
			s.Texts = append(s.Texts, fmt.Sprintf("median %s, half of them %s to %s, all %s to %s",
				texts[2], texts[1], texts[3], texts[0], texts[4]))
		}
		v.Series = []page.Series{s}
		return v
	}
}

// byColumns returns a function that labels rows by columns.
func byColumns(columns ...string) func(a queryResult, row query.Record) string {
	return func(a queryResult, row query.Record) string { return rowLabel(a, row, columns...) }
}

func byMonth(a queryResult, row query.Record) string { return formatMonth(rowLabel(a, row, "month")) }

// oldestFirst is seriesByMeasure for rows that are sorted newest first. It skips rows in which
// known is NULL: in the first night all rows are new, so that its bar would dwarf the others.
func oldestFirst(known string, category func(a queryResult, row query.Record) string, measures ...measure) func(queryResult) page.Variant {
	return func(a queryResult) page.Variant {
		a = a.filterRows(func(row query.Record) bool { return !a.valueOf(row, known).Null })
		slices.Reverse(a.Rows)
		return seriesByMeasure(category, len(a.Rows), measures...)(a)
	}
}
