package ledger

import (
	"context"
	"slices"
	"strings"
	"time"
)

// BeginFollow is the entry of work that follows a publish and begins now.
func BeginFollow(kind, program string, now time.Time) Run {
	now = now.UTC()
	return Run{ID: now.Format("20060102T150405Z") + "-" + kind, Kind: kind, StartedAt: now, Program: program}
}

// EndFollow completes the entry of work that ends now, whether it failed or, if ctx has
// ended, was interrupted.
func (r Run) EndFollow(ctx context.Context, now time.Time, err error) Run {
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

// Follow is how far one kind of work that follows publishes has come.
type Follow struct {
	// Last is the newest entry.
	Last Run
	// Succeeded is when the newest one that left nothing out ended; zero: none has.
	Succeeded time.Time
	// Failures counts the attempts since then that failed or left something out, Since is
	// when the first of them began.
	Failures int
	Since    time.Time
}

// IsBehind reports whether an attempt failed or left something out since one last did not.
// One that was interrupted is continued, and says nothing.
func (f Follow) IsBehind() bool { return f.Failures > 0 }

// Follows sums up the entries of a ledger by kind, in the order of the names.
func Follows(entries []Run) []Follow {
	byKind := map[string]Follow{}
	var kinds []string
	for _, r := range entries {
		if !r.IsFollow() {
			continue
		}
		f, known := byKind[r.Kind]
		if !known {
			kinds = append(kinds, r.Kind)
		}
		switch f.Last = r; r.Outcome {
		case Complete:
			f.Succeeded, f.Failures, f.Since = r.EndedAt, 0, time.Time{}
		case Interrupted:
		default:
			if f.Failures++; f.Failures == 1 {
				f.Since = r.StartedAt
			}
		}
		byKind[r.Kind] = f
	}
	slices.SortFunc(kinds, strings.Compare)
	all := make([]Follow, len(kinds))
	for i, kind := range kinds {
		all[i] = byKind[kind]
	}
	return all
}
