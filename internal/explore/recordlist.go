package explore

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	"placementsync/internal/html"
)

// listView is a page with one table: all records of a kind, or a table from the page of a record.
type listView struct {
	Title, About string
	Record       *html.Cell // a link to the record whose page contains the table
	Table        *tableView
	AsOf         asOfView
}

// searchColumn is the last column of the query of a list. It contains the text to search.
const searchColumn = "search_text"

func showRecords(v *visit) (reply, error) {
	kind := v.route.kind
	t, err := v.openTable(v.queryOf(kind.sql.Render("list", nil)), nil, searchColumn)
	if err != nil {
		return nil, err
	}
	if v.format() != "" {
		return t.newDownload(kind.label+"s", kind.name+"s"), nil
	}
	return t.showList(listView{Title: kind.label + "s", About: kind.aboutList}, "No records found.", rootPath+"/"+kind.name+"s.")
}

// showList shows the table on a page of its own. empty is the text for a table without rows.
func (t *table) showList(view listView, empty, downloadPrefix string) (reply, error) {
	var err error
	if view.Table, _, err = t.show(view.Title, downloadPrefix); err != nil {
		return nil, err
	}
	isFiltered := len(view.Table.Chips) > 0
	if view.Table.SourceNote == "" || isFiltered { // otherwise the service may have records that were not read
		view.Table.Empty = empty
	}
	if view.AsOf, err = t.snapshotForm(); err != nil {
		return nil, err
	}
	return newPage(view.Title, "records", view), nil
}

func showSection(v *visit) (reply, error) {
	kind, id, name := v.route.kind, v.PathValue("id"), v.PathValue("section")
	i := slices.IndexFunc(kind.sections, func(s section) bool { return s.statement == name && s.layout == asTable })
	if i < 0 {
		return nil, &statusError{http.StatusNotFound, fmt.Sprintf("the page of a %s has no table %q", kind.name, name), "The page of the record links to its tables."}
	}
	s := kind.sections[i]
	head, err := v.readHead()
	if err != nil {
		return nil, err
	}
	t, err := v.openTable(v.queryByID(name), nil, "")
	if err != nil {
		return nil, err
	}
	if v.format() != "" {
		return t.newDownload(s.title, kind.name+"_"+name), nil
	}
	address := linkTo(kind.name+"s", id)
	record := &html.Cell{Text: head.Rows[0].Get("title").Text, Link: v.links().keepAsOf(address)}
	return t.showList(listView{Title: s.title, About: s.about, Record: record}, cmp.Or(s.empty, "No rows."), address+"/"+name+"/")
}
