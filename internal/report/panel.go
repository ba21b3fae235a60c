package report

import (
	"fmt"
	"strings"
)

// section states one subject of the page as data.
type section struct {
	id, title, lead string
	// streams are those whose absence explains an empty section.
	streams []string
	panels  []panel
}

// panel states one question: what to ask, how to draw it, what to list.
type panel struct {
	id, title, about string
	query            string
	params           []Param
	// read is how many rows are read for the chart, shown how many the table
	// lists. The page must stay small for any warehouse.
	read, shown int
	plot        *plot
	fields      []field
	wide        bool
	// empty is what an answer without rows means.
	empty string
}

func (b *builder) buildSection(s section) (Section, error) {
	out := Section{ID: s.id, Title: s.title, Lead: s.lead}
	rows := 0
	for _, p := range s.panels {
		panel, n, err := b.buildPanel(p)
		if err != nil {
			return out, err
		}
		out.Panels = append(out.Panels, panel)
		rows += n
	}
	var reasons []string
	for _, stream := range s.streams {
		if reason, ok := b.skipped[stream]; ok {
			reasons = append(reasons, fmt.Sprintf("%s: %s", stream, reason))
		}
	}
	if rows == 0 && len(reasons) > 0 {
		out.Panels, out.Empty = nil, "No data: not read. "+strings.Join(reasons, "; ")+"."
	}
	return out, nil
}

func (b *builder) buildPanel(p panel) (Panel, int, error) {
	q := Question{Query: p.query, Params: p.params, Rows: max(p.read, p.shown)}
	out := Panel{ID: p.id, Title: p.title, About: p.about, Wide: p.wide, Source: b.sourceOf(q)}
	a, ok, err := b.askIfPresent(q)
	switch {
	case err != nil:
		return out, 0, err
	case !ok:
		out.Empty = "This snapshot lacks a table that the query reads; the next night adds it."
		return out, 0, nil
	case len(a.Rows) == 0:
		out.Empty = p.empty
		return out, 0, nil
	}
	if p.plot != nil {
		b.addChart(&out, p, a)
	}
	out.Table = p.buildTable(a, out.HasChart)
	return out, len(a.Rows), a.missingColumnsErr(p.query)
}

func (b *builder) addChart(out *Panel, p panel, a Answer) {
	variants := p.plot.drawVariants(a)
	if len(variants) == 0 {
		return
	}
	out.HasChart = true
	for _, v := range variants {
		out.Choices = append(out.Choices, v.Label)
	}
	if len(variants) == 1 {
		out.Choices = nil
	}
	out.Choice = p.plot.choice
	b.charts = append(b.charts, Chart{ID: p.id, Kind: p.plot.kind, Label: p.title, Across: p.plot.across,
		Stacked: p.plot.stacked, Log: p.plot.log, Variants: variants})
}

func (p panel) buildTable(a Answer, folded bool) *Table {
	if len(p.fields) == 0 {
		return nil
	}
	t := &Table{Caption: p.title, Folded: folded}
	for _, f := range p.fields {
		t.Heads = append(t.Heads, Head{Label: f.label, About: f.about, Numeric: f.isNumeric()})
	}
	for _, row := range a.Rows[:min(len(a.Rows), p.shown)] {
		cells := make([]Datum, len(p.fields))
		for i, f := range p.fields {
			cells[i] = f.tableCell(a, row)
		}
		t.Rows = append(t.Rows, cells)
	}
	if shown := int64(len(t.Rows)); a.Total > shown {
		t.More = fmt.Sprintf("%d of %s rows. The query below returns all.", shown, groupDigits(fmt.Sprint(a.Total)))
	}
	return t
}

// sourceOf is the command that gives an answer again.
func (b *builder) sourceOf(q Question) Source {
	command := b.opts.Program
	if !q.AsOf.IsZero() {
		command += " --as-of " + q.AsOf.UTC().Format(momentLayout)
	}
	command += " " + q.Query
	for _, p := range q.Params {
		command += " --param " + shellWord(p.Name+"="+p.Value)
	}
	return Source{Command: command}
}

// momentLayout is exact to the microsecond, as history is.
const momentLayout = "2006-01-02T15:04:05.999999Z07:00"

// shellWord quotes what a shell would take apart.
func shellWord(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.,:/=+@%"
	if strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
