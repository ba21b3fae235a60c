package report

import (
	"fmt"
	"time"

	"placementsync/internal/page"
)

// moments are the snapshots that the page is about.
type moments struct {
	// at is the time of the newest snapshot; previous and week are zero where
	// there is none.
	at, previous, week time.Time
	run, outcome       string
}

// snapshotsKept is enough to find last week among hourly snapshots.
const snapshotsKept = 400

// readMoments finds the newest snapshot, the one before, and the newest of
// those a week older. Nights do not begin on the second, so that a week may be
// half a day short.
func (b *builder) readMoments() (moments, error) {
	q := Question{Query: "snapshots", Params: map[string]string{"top": fmt.Sprint(snapshotsKept)}, Rows: snapshotsKept}
	a, ok, err := b.ask(b.ctx, q)
	if err != nil {
		return moments{}, err
	}
	if !ok || len(a.Rows) == 0 {
		return moments{}, fmt.Errorf("read the snapshots: the warehouse has none")
	}
	first := a.Rows[0]
	m := moments{run: first.Get("run_id").Text, outcome: first.Get("outcome").Text}
	const week, slack = 7 * 24 * time.Hour, 12 * time.Hour
	for i, row := range a.Rows {
		at, err := time.Parse(time.RFC3339Nano, row.Get("snapshot_at").Text)
		switch {
		case err != nil:
			return moments{}, fmt.Errorf("read the snapshots: %w", err)
		case i == 0:
			m.at = at
		case i == 1:
			m.previous = at
		}
		if m.week.IsZero() && !at.After(m.at.Add(slack-week)) {
			m.week = at
		}
	}
	return m, nil
}

// comparedSnapshots lists what the newest snapshot is compared with.
func (m moments) comparedSnapshots() []Earlier {
	var list []Earlier
	if !m.previous.IsZero() {
		list = append(list, Earlier{"the last snapshot", page.Clock(m.previous)})
	}
	if !m.week.IsZero() {
		list = append(list, Earlier{"last week", page.Clock(m.week)})
	}
	return list
}
