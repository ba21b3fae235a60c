package query

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Snapshot is one published state of all tables.
type Snapshot struct {
	// Run is the id of the run that published it.
	Run string
	// At is its time: the boundary that history carries.
	At time.Time
}

// String is the run and the time, for people.
func (s Snapshot) String() string { return s.Run + " of " + s.At.UTC().Format(time.RFC3339Nano) }

// Snapshots lists what the catalog knows of snapshots, oldest first. It is
// empty for a catalog without history, such as one that was made by hand.
func (db *DB) Snapshots(ctx context.Context) ([]Snapshot, error) {
	found, err := db.readSnapshots(ctx, home)
	if err != nil {
		return nil, fmt.Errorf("list snapshots: %w", err)
	}
	return found, nil
}

func (db *DB) readSnapshots(ctx context.Context, database string) ([]Snapshot, error) {
	var known bool
	err := db.conn.QueryRowContext(ctx, `SELECT count(*) > 0 FROM duckdb_columns()
		WHERE database_name = ? AND schema_name = 'meta' AND table_name = 'runs' AND column_name = 'snapshot_at'`, database).Scan(&known)
	if err != nil || !known {
		return nil, err
	}
	rows, err := db.conn.QueryContext(ctx, "SELECT run_id, snapshot_at FROM "+database+
		".meta.runs WHERE snapshot_at IS NOT NULL ORDER BY snapshot_at, run_id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []Snapshot
	for rows.Next() {
		var s Snapshot
		if err := rows.Scan(&s.Run, &s.At); err != nil {
			return nil, err
		}
		found = append(found, s)
	}
	return found, rows.Err()
}

// Find reads what a user calls a snapshot: the id of its run; a time, which
// stands for the snapshot that was the newest then; or a date, which stands for
// the newest of that day (UTC), like snapshot_date in the Parquet series. It is
// a *UsageError when there is none.
func Find(all []Snapshot, text string) (Snapshot, error) {
	if len(all) == 0 {
		return Snapshot{}, &UsageError{Problem: "the catalog has no snapshot"}
	}
	if i := slices.IndexFunc(all, func(s Snapshot) bool { return s.Run == text }); i >= 0 {
		return all[i], nil
	}
	at, err := parseMoment(text)
	if err != nil {
		return Snapshot{}, &UsageError{Problem: unknownMoment(all, text)}
	}
	for _, s := range slices.Backward(all) {
		if !s.At.After(at) {
			return s, nil
		}
	}
	return Snapshot{}, &UsageError{Problem: fmt.Sprintf("%q is before the first snapshot, %s", text, all[0])}
}

var errMoment = errors.New("no time")

// parseMoment reads a time; one without a zone is UTC.
func parseMoment(text string) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day.AddDate(0, 0, 1).Add(-time.Microsecond), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, errMoment
}

var runID = regexp.MustCompile(`^\d{8}T\d{6}`)

func unknownMoment(all []Snapshot, text string) string {
	if !runID.MatchString(text) {
		return fmt.Sprintf("%q is not a time such as 2026-11-01T02:00:00Z, a date such as 2026-11-01 or the id of a run", text)
	}
	const most = 5
	var newest []string
	for _, s := range slices.Backward(all) {
		if newest = append(newest, s.Run); len(newest) == most {
			break
		}
	}
	return fmt.Sprintf("run %q is not in the catalog; the newest are %s", text, strings.Join(newest, ", "))
}
