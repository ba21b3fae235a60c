package explore

import (
	"maps"
	"slices"

	"placementsync/internal/page"
	"placementsync/internal/query"
	"placementsync/internal/sqltext"
)

type asOfView struct {
	Options []option
	// OtherParams are the parameters of the address besides as_of. The form keeps them.
	OtherParams []pair
}

// pair is a key with its value: a parameter of an address, or the label and the address of a download.
type pair struct{ Key, Value string }

// snapshotForm returns the form with the newest snapshots. It also contains snapshots that are later
// than the snapshot of the page.
func (v *visit) snapshotForm() (asOfView, error) {
	const maxSnapshots = 1000
	database := sqltext.Name("catalog")
	if v.snapshot.Earlier {
		database = "newest" // "catalog" then contains only the runs up to the earlier snapshot
	}
	result, err := v.run(query.Query{Name: "list of snapshots", SQL: string(recordSQL.Render("snapshots", sqltext.Values{"database": database, "most": maxSnapshots}))}, nil)
	if err != nil {
		return asOfView{}, err
	}
	view := asOfView{Options: []option{{"", "newest", !v.snapshot.Earlier}}}
	for i, r := range result.Rows {
		if i == 0 {
			view.Options[0].Label = "newest, " + page.Moment(r.Get("snapshot_at").Text)
			continue
		}
		run := r.Get("run_id").Text
		view.Options = append(view.Options, option{run, page.Moment(r.Get("snapshot_at").Text), v.snapshot.Earlier && run == v.snapshot.Run})
	}
	for _, key := range slices.Sorted(maps.Keys(v.params)) {
		for _, value := range v.params[key] {
			if key != asOfKey {
				view.OtherParams = append(view.OtherParams, pair{key, value})
			}
		}
	}
	return view, nil
}
