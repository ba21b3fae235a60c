package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"placementsync/internal/page"
	"placementsync/internal/query"
)

// plot says how to draw an answer: which chart, and how rows become series.
type plot struct {
	kind            page.Kind
	across, stacked bool
	log             bool
	// choice names what the variants differ in.
	choice string
	// split are the columns whose values make the variants; none: one variant.
	split []string
	// variants turns the rows of one variant into series.
	variant func(a answer) page.Variant
	// weigh is the column by whose sum the variants are ordered, the heaviest
	// first; none: as the rows are.
	weigh string
}

// variantsKept bounds the choices of a chart, so that a page stays small with any
// number of currencies and tiers.
const variantsKept = 24

// categoriesKept is how many categories a chart has room for.
const categoriesKept = 400

func (p plot) drawVariants(a answer) []page.Variant {
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
		if len(all) == variantsKept {
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

// rowLabel joins the values of columns; a missing value says that it is unknown.
func rowLabel(a answer, row query.Record, columns ...string) string {
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
	// below draws the values downward: what leaves against what comes.
	below bool
	as    shape
}

// seriesByMeasure makes a series of each measure, a category of each row.
func seriesByMeasure(category func(a answer, row query.Record) string, most int, measures ...measure) func(answer) page.Variant {
	return func(a answer) page.Variant {
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

// seriesByValue makes a series of each value of a column: rows are (category, series,
// value). At most so many series are drawn, in the order of the rows.
func seriesByValue(category func(a answer, row query.Record) string, series, value string, most int) func(answer) page.Variant {
	return func(a answer) page.Variant {
		name := func(row query.Record) string { return rowLabel(a, row, series) }
		categories := a.distinctLabels(func(row query.Record) string { return category(a, row) })
		categories = categories[:min(len(categories), categoriesKept)]
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

// boxByRow makes a box of each row, of the five columns given.
func boxByRow(category func(a answer, row query.Record) string, most int, five [5]string) func(answer) page.Variant {
	return func(a answer) page.Variant {
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

// byColumns is the label of a row by columns, for categories.
func byColumns(columns ...string) func(a answer, row query.Record) string {
	return func(a answer, row query.Record) string { return rowLabel(a, row, columns...) }
}

// byMonth is the month of a row.
func byMonth(a answer, row query.Record) string { return formatMonth(rowLabel(a, row, "month")) }

// oldestFirst is wide for rows that come newest first. Rows whose value of
// known is NULL are left out: of the first night everything is new, and it
// would dwarf the others.
func oldestFirst(known string, category func(a answer, row query.Record) string, measures ...measure) func(answer) page.Variant {
	return func(a answer) page.Variant {
		a = a.filterRows(func(row query.Record) bool { return !a.valueOf(row, known).Null })
		slices.Reverse(a.Rows)
		return seriesByMeasure(category, len(a.Rows), measures...)(a)
	}
}
