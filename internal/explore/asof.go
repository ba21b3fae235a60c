package explore

import (
	"maps"
	"net/url"
	"slices"

	"placementsync/internal/page"
	"placementsync/internal/query"
	"placementsync/internal/sqltext"
)

// asOfView is the choice of the snapshot that a page shows.
type asOfView struct {
	Options []option
	// Others are the other keys of the address, which the choice keeps.
	Others []pair
}

// pair is one key of an address with its value.
type pair struct{ Key, Value string }

// mostSnapshots is how many snapshots the choice offers, the newest ones.
const mostSnapshots = 1000

// listSnapshots offers all snapshots, later ones too when the page shows an earlier one.
func (v *visit) listSnapshots() (asOfView, error) {
	database := sqltext.Name("catalog")
	if v.snapshot.Earlier {
		database = "newest"
	}
	a, err := v.run(query.Query{Name: "list of snapshots", SQL: string(recordSQL.Render("snapshots", sqltext.Values{"database": database, "most": mostSnapshots}))}, nil)
	if err != nil {
		return asOfView{}, err
	}
	view := asOfView{Options: []option{{"", "newest", !v.snapshot.Earlier}}}
	for i, r := range a.Rows {
		if i == 0 {
			view.Options[0].Label = "newest, " + page.Moment(r.Get("snapshot_at").Text)
			continue
		}
		run := r.Get("run_id").Text
		view.Options = append(view.Options, option{run, page.Moment(r.Get("snapshot_at").Text), v.snapshot.Earlier && run == v.snapshot.Run})
	}
	view.Others = othersOf(v.asked)
	return view, nil
}

// newestAddress is that of the page in the newest snapshot.
func (v *visit) newestAddress() string {
	asked := maps.Clone(v.asked)
	asked.Del(asOfKey)
	return "?" + asked.Encode()
}

// othersOf are the keys of an address without that of the snapshot, in a fixed order.
func othersOf(asked url.Values) []pair {
	var others []pair
	for _, key := range slices.Sorted(maps.Keys(asked)) {
		if key == asOfKey {
			continue
		}
		for _, value := range asked[key] {
			others = append(others, pair{key, value})
		}
	}
	return others
}
