package explore

import (
	"placementsync/internal/query"
)

// listView is a list of all records of a kind.
type listView struct {
	Title, About string
	Table        *tableView
	AsOf         asOfView
}

// searchColumn is the column of a list with the text to search.
const searchColumn = "search_text"

// openList opens the list of a kind of record.
func (v *visit) openList(kind recordKind) (*table, error) {
	b := &recordBuilder{visit: v, kind: kind, links: v.links()}
	return v.openTable(b.queryOf(kind.sql.Render("list", nil)), nil, searchColumn)
}

// showRecords returns the handler for the list of a kind of record.
func showRecords(kind recordKind) func(v *visit) (reply, error) {
	return func(v *visit) (reply, error) {
		t, err := v.openList(kind)
		if err != nil {
			return nil, err
		}
		view := listView{Title: kind.label + "s", About: kind.order}
		if view.Table, _, err = t.show(view.Title, base+"/"+kind.name+"s."); err != nil {
			return nil, err
		}
		if view.Table.Empty = "No records found."; view.Table.Sources != "" && len(view.Table.Chips) == 0 {
			view.Table.Empty = "" // unread records may exist
		}
		if view.AsOf, err = v.listSnapshots(); err != nil {
			return nil, err
		}
		return htmlPage{Heading: view.Title, Template: "records", Data: view}, nil
	}
}

// sendRecords returns the handler that sends the list of a kind of record as a file.
func sendRecords(kind recordKind, f query.Format) func(v *visit) (reply, error) {
	return func(v *visit) (reply, error) {
		t, err := v.openList(kind)
		if err != nil {
			return nil, err
		}
		q, values := t.whole()
		return download{Query: q, Values: values, Name: kind.name + "s", Format: f}, nil
	}
}
