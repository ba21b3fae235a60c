package query

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"placementsync/internal/sqltext"
)

// Snapshot identifies one published state of all tables.
type Snapshot struct {
	// Run is the id of the run that published the state.
	Run string `json:"run_id"`
	// At is the time of the snapshot, as in the columns valid_from and valid_to.
	At time.Time `json:"snapshot_at"`
}

func (s Snapshot) String() string { return s.Run + " of " + s.At.UTC().Format(time.RFC3339Nano) }

// Snapshots lists the snapshots in the catalog, oldest first. For a catalog without history, the list
// is empty.
func (db *DB) Snapshots(ctx context.Context) ([]Snapshot, error) {
	snapshots, err := db.readSnapshots(ctx, catalogDB)
	if err != nil {
		return nil, fmt.Errorf("list snapshots: %w", err)
	}
	return snapshots, nil
}

// SelectedSnapshot returns the snapshot that queries read: the snapshot that Options.AsOf chose, or the
// newest. For a catalog without history, the snapshot is zero.
func (db *DB) SelectedSnapshot(ctx context.Context) (Snapshot, error) {
	all, err := db.Snapshots(ctx)
	if err != nil || len(all) == 0 {
		return Snapshot{}, err
	}
	return all[len(all)-1], nil // Options.AsOf hides later snapshots
}

func (db *DB) readSnapshots(ctx context.Context, database string) ([]Snapshot, error) {
	var hasHistory bool
	err := db.scanRows(ctx, catalogSQL.Render("has_snapshots", sqltext.Values{"database": database}), []any{&hasHistory}, func() {})
	if err != nil || !hasHistory {
		return nil, err
	}
	var snapshots []Snapshot
	var s Snapshot
	err = db.scanRows(ctx, catalogSQL.Render("snapshots", sqltext.Values{"database": sqltext.Name(database)}),
		[]any{&s.Run, &s.At}, func() { snapshots = append(snapshots, Snapshot{s.Run, s.At.UTC()}) })
	return snapshots, err
}

// findSnapshot returns the snapshot for a text of the user, which is a run id, a time or a date. A time
// means the newest snapshot at that time. A date means the newest snapshot at the end of that day (UTC).
// If no snapshot is found, findSnapshot returns a *UsageError.
func findSnapshot(all []Snapshot, text string) (Snapshot, error) {
	if len(all) == 0 {
		return Snapshot{}, &UsageError{Problem: "the catalog has no snapshot"}
	}
	if i := slices.IndexFunc(all, func(s Snapshot) bool { return s.Run == text }); i >= 0 {
		return all[i], nil
	}
	at, ok := parseTimeOrDate(text)
	switch {
	case !ok && runID.MatchString(text):
		const shown = 5
		var newest []string
		for _, s := range all[max(0, len(all)-shown):] {
			newest = append(newest, s.Run)
		}
		slices.Reverse(newest)
		return Snapshot{}, &UsageError{Problem: fmt.Sprintf("run %q is not in the catalog; the newest runs are %s", text, strings.Join(newest, ", "))}
	case !ok:
		return Snapshot{}, &UsageError{
			Problem: fmt.Sprintf("%q is not a time such as 2026-11-01T02:00:00Z, a date such as 2026-11-01 or the id of a run", text)}
	}
	for _, s := range slices.Backward(all) {
		if !s.At.After(at) {
			return s, nil
		}
	}
	return Snapshot{}, &UsageError{Problem: fmt.Sprintf("%q is before the first snapshot, %s: name a later time", text, all[0])}
}

var runID = regexp.MustCompile(`^\d{8}T\d{6}`)

// parseTimeOrDate parses a time or a date. A time without a zone is in UTC. A date means the end of that
// day.
func parseTimeOrDate(text string) (at time.Time, ok bool) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day.AddDate(0, 0, 1).Add(-time.Microsecond), true
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return at, false
}
