package report

import (
	"slices"

	"placementsync/internal/html"
	"placementsync/internal/query"
)

// Sheets returns the questions of the report, or of the report for a client if its ID is set, as sheets of a workbook.
func Sheets(c Client) ([]query.Sheet, error) {
	headlines := panel{title: "Headlines", about: "The numbers at the top of the report.", query: "report_headlines",
		fields: []field{{column: "figure", label: "Figure"}, {column: "value", label: "Value"}, {column: "unit", label: "Unit"}}}
	sections := append([]section{{panels: []panel{headlines}}}, allSections()...)
	if c.ID != "" {
		sections = clientSections(c)
	}
	var sheets []query.Sheet
	for _, s := range sections {
		for _, p := range s.panels {
			sheet, err := p.sheet()
			if err != nil {
				return nil, err
			}
			sheets = append(sheets, sheet)
		}
	}
	return sheets, nil
}

// sheet returns the panel with all rows of its query.
func (p panel) sheet() (query.Sheet, error) {
	q, err := query.Resolve(p.query)
	s := query.Sheet{Title: p.title, About: p.about, Query: q, Values: p.params}
	add := func(column, heading string) {
		if column != "" && !slices.ContainsFunc(s.Fields, func(f query.SheetField) bool { return f.Column == column }) {
			s.Fields = append(s.Fields, query.SheetField{Column: column, Heading: heading})
		}
	}
	for _, f := range p.fields {
		add(f.column, f.label)
		add(f.sub, q.LabelOf(f.sub))
		add(f.currency, q.LabelOf(f.currency))
	}
	if p.plot == nil || len(p.plot.measures) == 0 || p.plot.newestFirst {
		return s, err
	}
	s.Chart = &query.SheetChart{IsLine: p.plot.kind == html.Lines, Category: p.plot.category, MaxRows: p.plot.limit, Same: p.plot.split}
	for _, m := range p.plot.measures {
		s.Chart.Values = append(s.Chart.Values, m.column)
	}
	return s, err
}
