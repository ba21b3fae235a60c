package report

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"placementsync/internal/html"
	"placementsync/internal/humanize"
	"placementsync/internal/ledger"
	"placementsync/internal/query"
)

// section specifies one subject of the page.
type section struct {
	id, title, lead string
	streams         []string // from which the numbers are computed
	panels          []panel
}

// panel specifies one query, and the chart and the table of its result.
type panel struct {
	id, title, about string
	query            string
	params           map[string]string
	rowLimit         int
	plot             *plot
	fields           []field
	wide             bool
	// needs lists the tables that must have been read. If one of them was not read, the panel shows no
	// numbers. Nil means all tables that the query reads.
	needs    []string
	compares bool   // the query compares snapshots, so that it has no result for the first snapshot
	empty    string // shown for a result without rows
}

func (b *builder) buildSection(s section) (Section, error) {
	out := Section{ID: s.id, Title: s.title, Lead: s.lead}
	var missing []ledger.Problem
	for _, p := range s.panels {
		built, err := b.buildPanel(p)
		if err != nil {
			return out, err
		}
		out.Panels = append(out.Panels, built)
		missing = append(missing, built.Missing...)
	}
	hasNumbers := slices.ContainsFunc(out.Panels, func(p Panel) bool { return len(p.Missing) == 0 })
	if !hasNumbers {
		out.Panels, out.Empty = nil, b.notReadText(missing)
	}
	return out, nil
}

func (b *builder) notReadText(missing []ledger.Problem) string {
	if b.opts.Client.ID != "" {
		return "No numbers: the data could not be read."
	}
	return "No numbers: " + ledger.DescribeProblems(missing) + "."
}

func (b *builder) buildPanel(p panel) (Panel, error) {
	q := QuerySpec{Query: p.query, Params: p.params}
	out := Panel{ID: p.id, Title: p.title, About: p.about, Wide: p.wide, Command: b.commandOf(q)}
	result, ok, err := b.ask(b.ctx, q)
	if err != nil {
		return out, err
	}
	var others []ledger.Problem
	out.Missing, others = splitProblems(result, p.needs)
	switch {
	case !ok:
		out.Empty = "This snapshot lacks a table that the query reads. The next night adds it."
		return out, nil
	case len(out.Missing) > 0:
		out.Empty = b.notReadText(out.Missing)
		return out, nil
	case p.compares && len(b.snapshots.compared) == 0:
		out.Empty = "This is the first snapshot. Changes are shown from the second one on."
		return out, nil
	}
	b.problems = append(b.problems, others...)
	if b.opts.Client.ID == "" {
		out.Note = ledger.DescribeProblems(others)
	}
	// An unused stream needs no attention, so its rows are left out.
	used := filterRows(result.Rows, func(row query.Record) bool { return !b.isUnusedStream(row.Get("stream").Text) })
	result.Total -= int64(len(result.Rows) - len(used))
	result.Rows = used
	if p.query == "stream_grades" && len(b.unused) > 0 {
		out.Unused = "Not in use: " + ledger.DescribeProblems(b.unused) + "."
	}
	if len(result.Rows) == 0 {
		out.Empty = p.empty
		return out, nil
	}
	if out.Chart = p.buildChart(result); out.Chart != nil {
		if err := b.markUnfinished(out.Chart, p.plot.category); err != nil {
			return out, err
		}
	}
	out.Table = p.buildTable(result, out.Chart != nil)
	if out.Table.More != "" && out.Command.Text != "" {
		out.Table.More += " The query below returns all."
	}
	b.addCurrencies(result)
	return out, nil
}

func (b *builder) isUnusedStream(name string) bool {
	return slices.ContainsFunc(b.unused, func(p ledger.Problem) bool { return p.Name == name })
}

// addCurrencies collects the currencies of the page. The currency with the most prices is first, because the
// first panel sorts by it.
func (b *builder) addCurrencies(result query.Result) {
	for _, row := range result.Rows {
		currency := currencyOf(row)
		if currency != "" && !slices.Contains(b.currencies, currency) && len(b.currencies) < maxVariants {
			b.currencies = append(b.currencies, currency)
		}
	}
}

func (p panel) buildChart(result query.Result) *html.Chart {
	if p.plot == nil {
		return nil
	}
	c := &html.Chart{
		Title: p.title, Kind: p.plot.kind, Horizontal: p.plot.horizontal, Stacked: p.plot.stacked,
		LogScale: p.plot.logScale, Variants: p.plot.drawVariants(result.Rows),
	}
	if len(c.Variants) == 0 {
		return nil
	}
	if len(c.Variants) > 1 {
		c.ChoiceLabel = p.plot.choiceLabel
	}
	return c
}

// markUnfinished marks the month or week of the snapshot in a chart by months or weeks: its numbers are smaller than
// those of whole periods.
func (b *builder) markUnfinished(c *html.Chart, column string) error {
	location, err := time.LoadLocation(b.opts.Timezone)
	if err != nil {
		return err
	}
	at := b.snapshots.at.In(location)
	period := at.Format("2006-01")
	if column == "week" {
		daysSinceMonday := (int(at.Weekday()) + 6) % 7
		period = at.AddDate(0, 0, -daysSinceMonday).Format(time.DateOnly)
	}
	for i := range c.Variants {
		v := &c.Variants[i]
		if last := len(v.Categories) - 1; v.Categories[last] == period {
			v.Categories[last] += html.SoFar
			v.Unfinished = true
		}
	}
	return nil
}

func (p panel) buildTable(result query.Result, folded bool) *html.Table {
	t := &html.Table{Caption: p.title, Folded: folded}
	for _, f := range p.fields {
		t.Heads = append(t.Heads, html.Head{Label: f.label, About: f.about, Numeric: f.isNumeric()})
	}
	for _, row := range result.Rows[:min(len(result.Rows), p.rowLimit)] {
		cells := make([]html.Cell, len(p.fields))
		for i, f := range p.fields {
			cells[i] = f.tableCell(row)
		}
		t.Rows = append(t.Rows, html.Row{Cells: cells, Currency: currencyOf(row)})
	}
	if shown := int64(len(t.Rows)); result.Total > shown {
		t.More = fmt.Sprintf("%d of %s rows.", shown, humanize.Number(result.Total))
	}
	return t
}

// commandOf returns no command for the report of a client, who cannot run it.
func (b *builder) commandOf(q QuerySpec) Command {
	if b.opts.Client.ID != "" {
		return Command{}
	}
	text := b.opts.Program
	params := url.Values{}
	if q.AsOf.IsZero() && b.opts.Earlier {
		q.AsOf = b.snapshots.at
	}
	if !q.AsOf.IsZero() {
		at := q.AsOf.UTC().Format(momentLayout)
		text += " --as-of " + at
		params.Set("as_of", at)
	}
	text += " " + q.Query
	for _, name := range slices.Sorted(maps.Keys(q.Params)) {
		text += " --param " + html.ShellWord(name+"="+q.Params[name])
		params.Set("p."+name, q.Params[name])
	}
	if b.opts.QueryPages == "" {
		return Command{Text: text}
	}
	return Command{Text: text, Address: strings.TrimSuffix(b.opts.QueryPages+q.Query+"?"+params.Encode(), "?")}
}

// momentLayout has microseconds, like the times valid_from and valid_to.
const momentLayout = "2006-01-02T15:04:05.999999Z07:00"
