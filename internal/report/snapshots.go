package report

import (
	"fmt"
	"time"

	"placementsync/internal/page"
)

// snapshots contains the snapshot of the report, and the times of the snapshots with which it is compared.
type snapshots struct {
	// at is the time of the snapshot of the report. previous is the time of the snapshot before it. week
	// is the time of the newest snapshot that is at least six and a half days older than the report's.
	// previous is zero if there is no earlier snapshot, and week is zero if no snapshot is that old.
	at, previous, week time.Time
	// run and outcome describe the snapshot of the report.
	run, outcome string
}

// maxSnapshots limits the snapshots that are read. A week of hourly snapshots has 168.
const maxSnapshots = 400

// readSnapshots finds the snapshots to compare. Nights do not start at the same time each day, so six and
// a half days count as a week.
func (b *builder) readSnapshots() (snapshots, error) {
	q := QuerySpec{Query: "snapshots", Params: map[string]string{"top": fmt.Sprint(maxSnapshots)}}
	result, ok, err := b.ask(b.ctx, q)
	if err != nil {
		return snapshots{}, err
	}
	if !ok || len(result.Rows) == 0 {
		return snapshots{}, fmt.Errorf("read the snapshots: the warehouse has none")
	}
	newest := result.Rows[0]
	s := snapshots{run: newest.Get("run_id").Text, outcome: newest.Get("outcome").Text}
	const week, slack = 7 * 24 * time.Hour, 12 * time.Hour
	for i, row := range result.Rows {
		at, err := time.Parse(time.RFC3339Nano, row.Get("snapshot_at").Text)
		switch {
		case err != nil:
			return snapshots{}, fmt.Errorf("read the snapshots: %w", err)
		case i == 0:
			s.at = at
		case i == 1:
			s.previous = at
		}
		if s.week.IsZero() && !at.After(s.at.Add(slack-week)) {
			s.week = at
		}
	}
	return s, nil
}

// comparedSnapshots lists the snapshots with which the report's snapshot is compared.
func (s snapshots) comparedSnapshots() []ComparedSnapshot {
	var list []ComparedSnapshot
	if !s.previous.IsZero() {
		list = append(list, ComparedSnapshot{"the previous snapshot", page.Clock(s.previous)})
	}
	if !s.week.IsZero() {
		list = append(list, ComparedSnapshot{"last week", page.Clock(s.week)})
	}
	return list
}
