package lake

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/apache/iceberg-go/table"

	"placementsync/internal/warehouse"
)

// Status describes the lake and its newest night.
type Status struct {
	// Location is the location of the tables, or the address of the catalog server.
	Location  string `json:"warehouse"`
	Namespace string `json:"namespace"`
	// Run is the newest night. It is empty before the first publish.
	Run        string    `json:"run_id"`
	SnapshotAt time.Time `json:"snapshot_at,omitzero"`
	// Nights are the nights that readers can select by tag in every table of the night, oldest first.
	Nights []string      `json:"nights"`
	Rows   int64         `json:"rows"`
	Tables []StatusTable `json:"tables"`
	// Latest is the newest published night of the warehouse. Behind is true if any table of
	// the lake does not show Latest. OutOfOrder is true if Latest cannot be published because it is not
	// later than Run, for example after a rollback or a rebuild. The lake then keeps Run, therefore the name
	// in JSON is "kept". The lake is updated by the next night that is later than Run.
	Latest     string `json:"latest"`
	Behind     bool   `json:"behind"`
	OutOfOrder bool   `json:"kept"`
}

// StatusTable is the state of one table.
type StatusTable struct {
	Table string `json:"table"`
	Run   string `json:"run_id"`
	// OnMain is true if the current snapshot belongs to Run.
	OnMain    bool   `json:"on_main"`
	Rows      int64  `json:"rows"`
	Files     int    `json:"files"`
	Snapshots int    `json:"snapshots"`
	Location  string `json:"location"`
}

// Status reads the state of the lake.
func (l *Lake) Status(ctx context.Context) (Status, error) {
	s := Status{Location: cmp.Or(l.cfg.Warehouse, l.cfg.REST.URI), Namespace: l.cfg.Namespace, Nights: []string{}, Tables: []StatusTable{}}
	lakeTables, states, err := l.loadStates(ctx)
	if err != nil {
		return s, err
	}
	shownState := newestState(states)
	s.Run, s.SnapshotAt = shownState.run, shownState.at
	nights := map[string]bool{}
	for n, t := range lakeTables {
		s.Tables = append(s.Tables, StatusTable{l.cfg.namespace(n.part) + "." + n.table, states[n].run, states[n].onMain, states[n].rows, states[n].files,
			len(t.Metadata().Snapshots()), t.Location()})
		s.Rows += states[n].rows
		for _, run := range taggedNights(t) {
			nights[run] = true
		}
	}
	slices.SortFunc(s.Tables, func(a, b StatusTable) int { return strings.Compare(a.Table, b.Table) })
	// Readers can select a night only if every table that existed in that night has its tag.
	for n, t := range lakeTables {
		newest := states[n].run
		if newest == "" {
			continue // the table was never published
		}
		first, tagged := firstRun(t), taggedNights(t)
		for run := range nights {
			existed := first <= run && run <= newest // sorted run ids are in chronological order
			if existed && !slices.Contains(tagged, run) {
				delete(nights, run)
			}
		}
	}
	s.Nights = slices.AppendSeq(s.Nights, maps.Keys(nights))
	slices.Sort(s.Nights)
	return s, nil
}

// firstRun returns the earliest night of a published table, from its properties, its tags and its snapshots.
func firstRun(t *table.Table) string {
	first := t.Properties()[runProperty]
	for _, run := range taggedNights(t) {
		first = min(first, run)
	}
	for _, s := range t.Metadata().Snapshots() {
		if s.Summary != nil && s.Summary.Properties[runProperty] != "" {
			first = min(first, s.Summary.Properties[runProperty])
		}
	}
	return first
}

// Compare sets Latest, Behind and OutOfOrder. run is the newest published night of the warehouse.
func (s *Status) Compare(wh *warehouse.Warehouse, run string) error {
	m, err := wh.Versions.ReadManifest(run)
	if err != nil {
		return err
	}
	s.Latest = run
	s.Behind = s.Run != run
	s.OutOfOrder = !mayFollow(s.Run, s.SnapshotAt, run, m.SnapshotAt)
	shows := map[string]bool{}
	for _, t := range s.Tables {
		shows[t.Table] = t.Run == run && t.OnMain
	}
	compareTable := func(part, name string, isRequired bool) {
		isShown, exists := shows[s.Namespace+"_"+part+"."+name]
		if !isShown && (exists || isRequired) {
			s.Behind = true
		}
	}
	for _, t := range m.Tables {
		compareTable(current, t.Name, true)
		compareTable(past, t.Name, false)
	}
	for _, def := range wh.Schema.MetaDefinitions {
		compareTable(meta, def.Name, false)
	}
	return nil
}
