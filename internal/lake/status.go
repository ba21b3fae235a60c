package lake

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Status is what the lake shows.
type Status struct {
	Warehouse string `json:"warehouse"`
	Namespace string `json:"namespace"`
	// Run is the newest night; empty: none.
	Run        string    `json:"run_id"`
	SnapshotAt time.Time `json:"snapshot_at,omitzero"`
	// Nights are those that every table of the newest night has a tag for, oldest first.
	Nights []string      `json:"nights"`
	Rows   int64         `json:"rows"`
	Tables []StatusTable `json:"tables"`
	// Latest is what the warehouse shows, Behind whether the lake lacks it.
	Latest string `json:"latest"`
	Behind bool   `json:"behind"`
}

// StatusTable is what the lake shows of one table.
type StatusTable struct {
	Table     string `json:"table"`
	Run       string `json:"run_id"`
	Rows      int64  `json:"rows"`
	Files     int    `json:"files"`
	Snapshots int    `json:"snapshots"`
	Location  string `json:"location"`
}

// Status reads what the lake shows.
func (l *Lake) Status(ctx context.Context) (Status, error) {
	s := Status{Warehouse: l.cfg.Warehouse, Namespace: l.cfg.Namespace, Nights: []string{}, Tables: []StatusTable{}}
	have, err := l.catalog.load(ctx)
	if err != nil {
		return s, err
	}
	all, err := readAllShown(have)
	if err != nil {
		return s, err
	}
	last := newest(all)
	s.Run, s.SnapshotAt = last.run, last.at
	nights := map[string]int{}
	for n, t := range have {
		s.Tables = append(s.Tables, StatusTable{l.cfg.namespace(n.part) + "." + n.name, all[n].run, all[n].rows, all[n].files,
			len(t.Metadata().Snapshots()), t.Location()})
		s.Rows += all[n].rows
		for name := range t.Metadata().Refs() {
			if run, ok := strings.CutPrefix(name, tagOf("")); ok {
				nights[run]++
			}
		}
	}
	slices.SortFunc(s.Tables, func(a, b StatusTable) int { return strings.Compare(a.Table, b.Table) })
	s.Nights = append(s.Nights, mapKeys(nights)...)
	return s, nil
}
