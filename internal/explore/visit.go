package explore

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"placementsync/internal/html"
	"placementsync/internal/query"
	"placementsync/internal/sqltext"
)

const maxRows = 1000 // of one result on a page

// visit is a request with its snapshot.
type visit struct {
	*http.Request
	route    route
	params   url.Values
	explorer *Explorer
	snapshot *openSnapshot
	db       *query.DB
}

// format returns the format of a download. It is empty for a page.
func (v *visit) format() query.Format {
	return query.Format(cmp.Or(v.PathValue("format"), strings.TrimPrefix(path.Ext(v.URL.Path), ".")))
}

func (v *visit) runNamed(name string, values map[string]string) (query.Result, error) {
	q, err := query.Resolve(name)
	if err != nil {
		return query.Result{}, err
	}
	return v.run(q, values)
}

func (v *visit) run(q query.Query, values map[string]string) (query.Result, error) {
	return v.db.Collect(v.Context(), q, values, maxRows)
}

// free gives the snapshot back to the pool. A page can call it before work that does not read the snapshot.
func (v *visit) free() {
	if v.db != nil {
		v.explorer.pool.giveBack(v.snapshot, v.db)
		v.db = nil
	}
}

type asOfView struct {
	Options     []option
	OtherParams []pair // the parameters of the address besides as_of
}

// pair is a key with its value: a parameter of an address, or the label and the address of a download.
type pair struct{ Key, Value string }

// snapshotForm lists all snapshots, also those that are later than the snapshot of the page.
func (v *visit) snapshotForm() (asOfView, error) {
	const maxSnapshots = 1000
	database := sqltext.Name("catalog")
	if v.snapshot.AsOf != "" {
		database = "newest" // "catalog" then contains only the runs up to the earlier snapshot
	}
	sql := recordSQL.Render("snapshots", sqltext.Values{"database": database, "most": maxSnapshots})
	result, err := v.runStatement(sql)
	if err != nil {
		return asOfView{}, err
	}
	view := asOfView{Options: []option{{"", "newest", v.snapshot.AsOf == ""}}}
	for i, r := range result.Rows {
		run, moment := r.Get("run_id").Text, html.Moment(r.Get("snapshot_at").Text)
		if i == 0 {
			view.Options[0].Label = "newest, " + moment
			continue
		}
		view.Options = append(view.Options, option{run, moment, run == v.snapshot.Run})
	}
	for _, key := range slices.Sorted(maps.Keys(v.params)) {
		if key == asOfKey {
			continue
		}
		for _, value := range v.params[key] {
			view.OtherParams = append(view.OtherParams, pair{key, value})
		}
	}
	return view, nil
}

// links creates links to pages that show the snapshot of the current page.
type links struct{ AsOf string }

func (v *visit) links() links { return links{v.params.Get(asOfKey)} }

func (l links) linkRecord(kind, id string) string { return l.keepAsOf(linkTo(kind+"s", id)) }

// keepAsOf adds as_of to an address. The catalog and the report show only the newest snapshot, so their
// addresses are unchanged.
func (l links) keepAsOf(address string) string {
	if l.AsOf == "" || address == catalogPath || address == reportPath {
		return address
	}
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	return address + separator + url.Values{asOfKey: {l.AsOf}}.Encode()
}

// linkTo returns the address of a record or query in a folder such as outlets. The id can be any text
// and is escaped as one segment of the path. The dots of an id such as ".." are escaped too: a browser
// would resolve them as a relative path.
func linkTo(folder, id string) string {
	segment := url.PathEscape(id)
	if strings.Trim(segment, ".") == "" {
		segment = strings.ReplaceAll(segment, ".", "%2E")
	}
	return rootPath + "/" + folder + "/" + segment
}
