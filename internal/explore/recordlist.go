package explore

import (
	"strings"

	"placementsync/internal/page"
	"placementsync/internal/query"
)

// listView is a list of all records of a kind.
type listView struct {
	Title, About, Search string
	Table                *page.Table
	// Sources is a note if the records are not proven.
	Sources string
	AsOf    asOfView
}

// listLimit is the maximum number of records in a list.
const listLimit = 200

// searchKey is the parameter of the address with the search text.
const searchKey = "q"

// showRecords returns the handler for the list of a kind of record.
func showRecords(kind recordKind, about string) func(v *visit) (reply, error) {
	return func(v *visit) (reply, error) {
		b := &recordBuilder{visit: v, kind: kind, links: v.links()}
		view := listView{Title: kind.label + "s", About: about, Search: strings.TrimSpace(v.params.Get(searchKey))}
		values := map[string]string{"search": view.Search}
		statement := b.queryOf(kind.sql.Render("list", nil), "search")
		a, err := b.db.Ask(v.Context(), statement, values, listLimit)
		if err != nil {
			return nil, err
		}
		view.Sources = query.DescribeSources(a.Sources)
		view.Table = buildTable(view.Title, a, b.links, true)
		if view.Table.Empty = "No records found."; view.Sources != "" && view.Search == "" {
			view.Table.Empty = "" // unread records may exist
		}
		if view.AsOf, err = v.listSnapshots(); err != nil {
			return nil, err
		}
		return htmlPage{Heading: view.Title, Template: "records", Data: view}, nil
	}
}
