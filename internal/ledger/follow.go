package ledger

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"
)

// BeginFollowUp returns the ledger line of a follow-up that starts at the time now.
func BeginFollowUp(kind, program string, now time.Time) Run {
	now = now.UTC()
	return Run{ID: now.Format("20060102T150405Z") + "-" + kind, Kind: kind, StartedAt: now, Program: program}
}

// EndFollowUp returns the line with its end time and outcome. An error counts as an interruption if ctx
// has ended.
func (r Run) EndFollowUp(ctx context.Context, now time.Time, err error) Run {
	r.EndedAt, r.Outcome = now.UTC(), Complete
	if err != nil {
		r.Error, r.Outcome = err.Error(), Failed
		if ctx.Err() != nil {
			r.Outcome = Interrupted
		}
	}
	r.ExitCode = r.Outcome.ExitCode()
	return r
}

// FollowUp is the state of one kind of follow-up, such as backups.
type FollowUp struct {
	// Last is the newest line.
	Last Run
	// SucceededAt is the end of the last complete attempt. Zero means that no attempt was complete.
	SucceededAt time.Time
	// Failures counts the failed and partial attempts after SucceededAt. Since is the start of the
	// first of these attempts.
	Failures int
	Since    time.Time
}

// IsBehind reports whether an attempt failed or was partial since the last complete attempt. An
// interrupted attempt does not count, because the next attempt continues it.
func (f FollowUp) IsBehind() bool { return f.Failures > 0 }

// FollowUps returns the state of each kind of follow-up in the lines of a ledger, sorted by kind.
func FollowUps(lines []Run) []FollowUp {
	byKind := map[string]FollowUp{}
	for _, r := range lines {
		if !r.IsFollowUp() {
			continue
		}
		f := byKind[r.Kind]
		f.Last = r
		switch r.Outcome {
		case Complete:
			f.SucceededAt, f.Failures, f.Since = r.EndedAt, 0, time.Time{}
		case Interrupted: // the next attempt continues it
		default:
			f.Failures++
			if f.Failures == 1 {
				f.Since = r.StartedAt
			}
		}
		byKind[r.Kind] = f
	}
	all := slices.Collect(maps.Values(byKind))
	slices.SortFunc(all, func(a, b FollowUp) int { return strings.Compare(a.Last.Kind, b.Last.Kind) })
	return all
}
