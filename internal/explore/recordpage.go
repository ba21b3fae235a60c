package explore

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"placementsync/internal/page"
	"placementsync/internal/plural"
	"placementsync/internal/query"
	"placementsync/internal/sqltext"
)

// recordKind is a kind of record that has a page, as data: which tables hold it and what
// is linked to it.
type recordKind struct {
	// name is that of the page in addresses, label for people.
	name, label string
	sql         sqltext.File
	// tables hold the record's own fields, the first of them the record itself.
	tables   []fieldTable
	sections []section
}

// fieldTable is a table whose rows a page shows field by field.
type fieldTable struct {
	// key is the column that names the page's record; of several rows, name tells them apart.
	table, key, title, name string
	// open tables are shown unfolded, as the first is.
	open bool
}

// section is one question of a page.
type section struct {
	// statement of the page's SQL file; also the anchor on the page.
	statement, title, about string
	// empty says what no row means; without it an empty section is left out.
	empty string
	form  sectionForm
	// bars is the column whose values get bars; empty: none.
	bars string
}

// sectionForm is how the rows of a section are shown.
type sectionForm int

const (
	asTable  sectionForm = iota
	asStays              // one value a row, with valid_from and valid_to
	asPrices             // amounts by tier and currency, with a chart
	asTalk               // comments, one below the other
)

const (
	// rowLimit is how many rows of a section a page shows.
	rowLimit = 100
	// mostVersions bounds what a page reads of a history, or of comments.
	mostVersions = 20_000
)

// recordView is the page of one record.
type recordView struct {
	Kind, Label, ID, Title string
	Facts                  []fact
	// Gone says since when the record is not there, and Evidence how that is known.
	Gone, Evidence string
	// First is the first snapshot that has the record, Begin the first of all.
	First, Begin string
	Sections     []sectionView
	Fields       []fieldsView
	AsOf         asOfView
}

// fact is one line under the title.
type fact struct {
	Label string
	page.Cell
}

// sectionView is one answered question of a page.
type sectionView struct {
	ID, Title, About string
	Table            *page.Table
	Spans            []stayView
	Prices           []priceView
	Talk             []remark
	// Empty stands in place of rows. Sources says which tables behind the answer were not
	// read, are carried or not proven.
	Empty, Sources string
	// More says that the page does not have all.
	More string
}

// recordBuilder asks what a page of a record needs.
type recordBuilder struct {
	*visit
	kind  recordKind
	id    string
	links links
}

// showRecord makes the function of the pages of a kind of record.
func showRecord(kind recordKind) func(v *visit) (reply, error) {
	return func(v *visit) (reply, error) {
		b := &recordBuilder{visit: v, kind: kind, id: v.PathValue("id"), links: v.links()}
		view, err := b.buildRecord()
		if err != nil {
			return nil, err
		}
		answer := htmlPage{Heading: view.Title, Template: "record", Data: view}
		if view.hasCharts() {
			answer.More = page.ChartScripts()
		}
		return answer, nil
	}
}

func (view recordView) hasCharts() bool {
	return slices.ContainsFunc(view.Sections, func(s sectionView) bool {
		return slices.ContainsFunc(s.Prices, func(p priceView) bool { return p.Chart != nil })
	})
}

// links are those of the page's own snapshot.
func (v *visit) links() links { return links{asOf: v.asked.Get(asOfKey)} }

// buildRecord makes the page of a record. No table may know its id.
func (b *recordBuilder) buildRecord() (recordView, error) {
	view := recordView{Kind: b.kind.name, Label: b.kind.label, ID: b.id}
	head, err := b.askOfID("head", 1)
	if err != nil {
		return view, err
	}
	if len(head.Rows) == 0 {
		return view, b.missingErr(head)
	}
	if view.Title = head.Rows[0].Get("title").Text; view.Title == "" {
		view.Title = b.kind.label + " " + b.id
	}
	view.Facts = factsOf(head, b.links)
	if view.AsOf, err = b.listSnapshots(); err != nil {
		return view, err
	}
	if err := b.addFields(&view); err != nil {
		return view, err
	}
	for _, s := range b.kind.sections {
		section, err := b.buildSection(s)
		if err != nil {
			return view, err
		}
		if section != nil {
			view.Sections = append(view.Sections, *section)
		}
	}
	return view, b.addRejects(&view)
}

// askPage runs a statement of a page. Its name says to DuckDB's errors where they are from.
func (b *recordBuilder) askPage(statement sqltext.SQL, values map[string]string) (query.Result, error) {
	return b.run(b.queryOf(statement, slices.Sorted(maps.Keys(values))...), values)
}

// queryOf is a statement of the program, with its parameters.
func (b *recordBuilder) queryOf(statement sqltext.SQL, params ...string) query.Query {
	q := query.Query{Name: "page of one " + b.kind.name, SQL: string(statement)}
	for _, name := range params {
		q.Params = append(q.Params, query.Param{Name: name, Type: "VARCHAR"})
	}
	return q
}

// askOfID asks a statement about the record, and for the tables behind the answer.
func (b *recordBuilder) askOfID(statement string, most int) (query.Result, error) {
	return b.db.Ask(b.Context(), b.queryOf(b.kind.sql.Render(statement, nil), "id"), map[string]string{"id": b.id}, most)
}

// factsOf are the values of the head, its title and what is not known left out.
func factsOf(head query.Result, l links) []fact {
	var facts []fact
	for _, r := range rolesOf(head.Columns, true) {
		d := r.showValue(head.Rows[0], l, true)
		if r.Name != "title" && !r.hidden && d.Text != page.Unknown && d.Text != "" {
			facts = append(facts, fact{labelOf(r.Name), d})
		}
	}
	return facts
}

// buildSection answers one question; nil: there is nothing to say.
func (b *recordBuilder) buildSection(s section) (*sectionView, error) {
	v := &sectionView{ID: s.statement, Title: s.title, About: s.about}
	most := mostVersions
	if s.form == asTable {
		most = rowLimit
	}
	a, err := b.askOfID(s.statement, most)
	if query.IsMissing(err) {
		v.Empty = "This snapshot lacks a table that the question reads; the next night adds it."
		return v, nil
	}
	if err != nil {
		return nil, err
	}
	v.Sources = query.DescribeSources(a.Sources)
	if len(a.Rows) == 0 {
		if v.Sources == "" { // what was not read is not none
			v.Empty = s.empty
		}
		if v.Sources == "" && v.Empty == "" {
			return nil, nil
		}
		return v, nil
	}
	if n := len(a.Rows); s.form != asTable && a.Total > int64(n) {
		v.More = fmt.Sprintf("Only %s of %s versions were read: a page holds no more.", plural.Number(n), plural.Number(a.Total))
	}
	switch s.form {
	case asStays:
		v.Spans = buildStays(a, b.links)
	case asPrices:
		v.Prices = buildPrices(a.Rows, b.snapshot.At)
	case asTalk:
		v.Talk = buildTalk(a.Rows)
	default:
		v.Table = buildTable(s.title, a, b.links, true)
		addBars(v.Table, a.Rows, s.bars)
	}
	return v, nil
}

// addRejects shows what of the record did not fit its columns.
func (b *recordBuilder) addRejects(view *recordView) error {
	var tables []string
	for _, t := range b.kind.tables {
		tables = append(tables, t.table)
	}
	a, err := b.askPage(recordSQL.Render("rejects", nil), map[string]string{"id": b.id, "tables": strings.Join(tables, ",")})
	if err != nil || len(a.Rows) == 0 {
		return err
	}
	view.Sections = append(view.Sections, sectionView{ID: "rejects", Title: "Did not fit",
		About: "Values of this record that did not fit their column in some night, as they were sent. The column is empty for as long as the value did not fit.",
		Table: buildTable("Did not fit", a, b.links, false)})
	return nil
}

// missingErr says that no table has the id, and which tables were not read or not proven.
func (b *recordBuilder) missingErr(head query.Result) error {
	return &statusError{http.StatusNotFound, fmt.Sprintf("find no %s with the id %q in this snapshot", b.kind.name, b.id),
		strings.TrimSpace("It may be of a later or an earlier snapshot. " + query.DescribeSources(head.Sources))}
}

// remark is one comment.
type remark struct {
	Author, Written, Edited, Text string
	Reply                         bool
}

func buildTalk(records []query.Record) []remark {
	var talk []remark
	for _, r := range records {
		one := remark{Author: r.Get("author").Or(page.Unknown), Written: clockOf(instantOf(r.Get("written"))), Edited: clockOf(instantOf(r.Get("edited"))),
			Text: r.Get("text").Text, Reply: r.Get("reply").Text == "true"}
		talk = append(talk, one)
	}
	return talk
}

// stayView is a value with the time in which it was so: an earlier one of a field, or an
// entry of a list such as a tag.
type stayView struct {
	Value       page.Cell
	Since, Till string
}

// buildStays shows the entries of a list: those that are in it now come first.
func buildStays(a query.Result, l links) []stayView {
	column := a.Columns[0]
	var now, was []stayView
	labels, groups := groupRecords(a.Rows, func(r query.Record) string { return r.Get(column.Name).Text })
	for _, label := range labels {
		for _, s := range staysOf(groups[label], column.Name) {
			v := stayView{buildCell(column, s.value), clockOf(s.from), clockOf(s.to)}
			if s.isOpen() {
				now = append(now, v)
			} else {
				was = append(was, v)
			}
		}
	}
	return append(now, was...)
}
