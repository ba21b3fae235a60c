package ledger

import (
	"context"
	"log/slog"
	"slices"
	"time"
)

// LogEnd logs the end of a night. The level is error if the run failed, warn if it is partial, and info
// otherwise. err is the error of the night, or nil: the ledger contains only its summary.
func (r Run) LogEnd(log *slog.Logger, err error) {
	level, reason := slog.LevelInfo, ""
	switch r.Outcome {
	case Failed:
		level = slog.LevelError
	case Partial:
		level, reason = slog.LevelWarn, r.Why()
	}
	log = log.With("run", r.ID, "outcome", string(r.Outcome), "version", r.VisibleVersion())
	if r.IsPublished() { // otherwise the row counts are unknown, not zero
		log = log.With("rows", r.Rows, "new", r.New, "changed", r.Changed, "gone", r.Gone)
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	log.Log(context.Background(), level, "night ended", "requests", r.Requests, "retries", r.Retries, "took", r.Took(),
		"reason", reason, "error", text)
}

// Streak counts the consecutive nights with the outcome of r, up to and including r. since is the start
// of the first of them. Interrupted and killed nights are ignored. runs are the runs up to r, with or
// without r.
func (r Run) Streak(runs []Run) (nights int, since time.Time) {
	nights, since = 1, r.StartedAt
	for _, run := range slices.Backward(runs) {
		switch {
		case run.ID == r.ID, !run.IsNight(), run.Outcome == Interrupted, run.Outcome == Killed:
		case run.Outcome != r.Outcome:
			return nights, since
		default:
			nights, since = nights+1, run.StartedAt
		}
	}
	return nights, since
}

// NewestSnapshotTime returns the snapshot time of the newest published run. Zero means that no run was
// published.
func NewestSnapshotTime(runs []Run) time.Time {
	for _, r := range slices.Backward(runs) {
		if r.IsPublished() {
			return r.SnapshotAt
		}
	}
	return time.Time{}
}
