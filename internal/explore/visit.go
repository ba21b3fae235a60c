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
	pool     *pool
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
		v.pool.release(v.snapshot, v.db)
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
	result, err := v.run(query.Query{Name: "list of snapshots", SQL: string(sql)}, nil)
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
		view.Options = append(view.Options, option{run, moment, v.snapshot.AsOf != "" && run == v.snapshot.Run})
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
