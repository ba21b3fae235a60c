package explore

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"placementsync/internal/html"
	"placementsync/internal/humanize"
	"placementsync/internal/query"
	"placementsync/internal/sqltext"
)

type recordKind struct {
	name, label string // in addresses, and on pages
	sql         sqltext.File
	aboutList   string // describes the list of all records; empty means that the kind has no list
	tables      []fieldTable
	sections    []section
}

// fieldTable is a table whose rows a page shows with the history of their fields.
type fieldTable struct {
	// idColumn is the column with the id of the page's record. nameColumn is a column that
	// distinguishes the rows if a record has several.
	table, idColumn, title, nameColumn string
	open                               bool // the table is not folded; the first table is never folded
}

type section struct {
	// statement is the name of the statement in sql, and the anchor on the page.
	statement, title, about string
	// empty is shown for a result without rows. If empty is not set, a section without rows is left out.
	// If the tables that the query reads may lack rows, a note that names these tables is shown instead.
	empty     string
	layout    sectionLayout
	barColumn string // the column whose values get bars
}

type sectionLayout int

const (
	asTable    sectionLayout = iota
	asPeriods                // a list of values with their periods
	asPrices                 // amounts by tier and currency, with a chart
	asComments               // threads of comments
)

type recordView struct {
	Label, ID, Title string
	Facts            []fact
	// DeletedAt is the time when the record was deleted. Evidence is the reason why the record counts
	// as deleted.
	DeletedAt, Evidence string
	// FirstSeen is the time of the first snapshot with the record. It is empty if the
	// record has no row of its own. FirstSnapshot is the time of the first snapshot in the catalog.
	FirstSeen, FirstSnapshot string
	Sections                 []sectionView
	Fields                   []fieldsView
	AsOf                     asOfView
}

type fact struct {
	Label string
	html.Cell
}

type sectionView struct {
	ID, Title, About string
	Table            *html.Table
	Link             string // the page on which the table can be sorted and filtered
	Periods          []periodView
	Prices           []priceView
	Comments         []comment
	Empty            string // shown if there are no rows
	SourceNote       string // names the source tables in which rows may be missing
	More             string // a note if the page does not show all rows
}

func showRecord(v *visit) (reply, error) {
	kind := v.route.kind
	view := recordView{Label: kind.label, ID: v.PathValue("id")}
	head, err := v.readHead()
	if err != nil {
		return nil, err
	}
	view.Title = head.Rows[0].Get("title").Text
	roles := rolesOf(head.Columns)
	if err := v.nameRecords(roles, head.Rows); err != nil {
		return nil, err
	}
	for _, r := range roles {
		cell := r.showValue(head.Rows[0], v.links())
		if r.Name != "title" && !r.hidden && cell.Text != html.Unknown && cell.Text != "" {
			view.Facts = append(view.Facts, fact{r.label, cell})
		}
	}
	if view.AsOf, err = v.snapshotForm(); err != nil {
		return nil, err
	}
	if err := v.addFields(&view); err != nil {
		return nil, err
	}
	var scripts []string
	for _, s := range kind.sections {
		built, err := v.buildSection(s)
		if err != nil {
			return nil, err
		}
		if built == nil {
			continue
		}
		view.Sections = append(view.Sections, *built)
		if len(built.Prices) > 0 {
			scripts = html.ChartScripts()
		}
	}
	if err := v.addRejects(&view); err != nil {
		return nil, err
	}
	return newPage(view.Title, "record", view, scripts...), nil
}

// readHead reads the title and the facts of the record. It returns an error if no table contains the id.
func (v *visit) readHead() (head query.Result, err error) {
	if utf8.ValidString(v.PathValue("id")) { // DuckDB has no other texts
		if head, err = v.askByID("head", 1); err != nil {
			return head, err
		}
	}
	if len(head.Rows) == 0 {
		return head, &statusError{http.StatusNotFound, fmt.Sprintf("this snapshot has no %s with the id %q", v.route.kind.name, v.PathValue("id")),
			strings.TrimSpace("A later or an earlier snapshot may contain it. " + query.DescribeSources(head.Sources))}
	}
	titleIndex := slices.IndexFunc(head.Columns, func(c query.Column) bool { return c.Name == "title" })
	title := &head.Rows[0].Values[titleIndex]
	if title.Text == "" {
		title.Text = v.route.kind.label + " " + v.PathValue("id")
	}
	return head, nil
}

func (v *visit) runStatement(statement sqltext.SQL) (query.Result, error) {
	return v.run(v.queryOf(statement), nil)
}

// queryOf returns the query of a statement of the program.
func (v *visit) queryOf(statement sqltext.SQL) query.Query {
	return query.Query{Name: "page " + v.URL.Path, SQL: string(statement)}
}

// queryByID returns the query of a statement about the record of the page.
func (v *visit) queryByID(statement string) query.Query {
	return v.queryOf(v.route.kind.sql.Render(statement, sqltext.Values{"id": v.PathValue("id")}))
}

// askByID returns a result with its source tables.
func (v *visit) askByID(statement string, limit int) (query.Result, error) {
	return v.db.Ask(v.Context(), v.queryByID(statement), nil, limit)
}

// buildSection runs the query of a section. It returns nil if the section is left out.
func (v *visit) buildSection(s section) (*sectionView, error) {
	view := &sectionView{ID: s.statement, Title: s.title, About: s.about}
	const maxTableRows, maxHistoryRows = 100, 20_000
	limit := maxHistoryRows
	if s.layout == asTable {
		limit = maxTableRows
	}
	result, err := v.askByID(s.statement, limit)
	if query.IsMissing(err) {
		view.Empty = "This snapshot lacks a table that the query reads. The next night adds it."
		return view, nil
	}
	if err != nil {
		return nil, err
	}
	view.SourceNote = query.DescribeSources(result.Sources)
	if len(result.Rows) == 0 {
		if view.SourceNote == "" { // all source tables were read, so there are no rows
			view.Empty = s.empty
		}
		if view.SourceNote == "" && view.Empty == "" {
			return nil, nil
		}
		return view, nil
	}
	if n := len(result.Rows); s.layout != asTable && result.Total > int64(n) {
		view.More = fmt.Sprintf("Only %s of %s rows of the history are shown.", humanize.Number(n), humanize.Number(result.Total))
	}
	switch s.layout {
	case asPeriods:
		view.Periods = buildPeriods(result)
	case asPrices:
		view.Prices = buildPrices(result.Rows, v.snapshot.At)
	case asComments:
		for _, r := range result.Rows {
			view.Comments = append(view.Comments, comment{Author: r.Get("author").Or(html.Unknown), WrittenAt: html.Moment(r.Get("written").Text),
				EditedAt: html.Moment(r.Get("edited").Text), Text: r.Get("text").Text, IsReply: r.Get("reply").Text == "true"})
		}
	default:
		roles := rolesOf(result.Columns)
		if err := v.nameRecords(roles, result.Rows); err != nil {
			return nil, err
		}
		view.Table = buildTable(s.title, roles, result, v.links())
		addBars(view.Table, result.Rows, s.barColumn)
		if len(view.Table.Rows) < 2 {
			break
		}
		address := linkTo(v.route.kind.name+"s", v.PathValue("id")) + "/" + view.ID
		view.Link = v.links().keepAsOf(address)
		for i := range view.Table.Heads { // each header links to the page of the table, sorted by its column
			h := &view.Table.Heads[i]
			r := roles[slices.IndexFunc(roles, func(r columnRole) bool { return r.Name == h.Name })]
			h.Link = v.links().keepAsOf(address + "?" + url.Values{sortKey: {r.usualOrder()}}.Encode())
		}
	}
	return view, nil
}

func (v *visit) addRejects(view *recordView) error {
	var tables []string
	for _, t := range v.route.kind.tables {
		tables = append(tables, t.table)
	}
	result, err := v.runStatement(recordSQL.Render("rejects", sqltext.Values{"id": v.PathValue("id"), "tables": tables}))
	if err != nil || len(result.Rows) == 0 {
		return err
	}
	view.Sections = append(view.Sections, sectionView{ID: "rejects", Title: "Rejected values",
		About: "Original values of this record that did not fit their column in a night. The column is NULL as long as the value does not fit.",
		Table: buildTable("Rejected values", rolesOf(result.Columns), result, v.links())})
	return nil
}

type comment struct {
	Author, Text        string
	WrittenAt, EditedAt string
	IsReply             bool
}

type periodView struct {
	Value       html.Cell
	Since, Till string
}

// buildPeriods returns current values first.
func buildPeriods(result query.Result) []periodView {
	column := result.Columns[0]
	role := columnRole{Column: column, isEnum: column.IsEnum()}
	var current, former []periodView
	labels, groups := query.GroupRecords(result.Rows, func(r query.Record) string { return r.Get(column.Name).Text })
	for _, label := range labels {
		for _, p := range periodsOf(groups[label], valuesOf(groups[label], column.Name)) {
			v := periodView{role.buildCell(p.value), clockOf(p.from), clockOf(p.to)}
			if p.isOpen() {
				current = append(current, v)
			} else {
				former = append(former, v)
			}
		}
	}
	return append(current, former...)
}
