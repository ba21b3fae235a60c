package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/plural"
	"placementsync/internal/stream"
)

// A night reads for a time, which Config.MaxDuration bounds. When it is over
// nothing more is begun; what is on its way comes to its end, and the night
// merges and publishes what it has. What was not read keeps its rows, and since
// nothing is noted of it, the next night plans to read it again.

// UnreadError says that the time of a night was over before a stream was read
// whole, so that the rest keeps its last rows.
type UnreadError struct {
	Stream string
	// Unread of Planned ids were left; both are 0 for a list, which was not begun.
	Unread, Planned int64
	// Bound is the time that the night had; 0: it asked for nothing, since it
	// replays what an earlier one had read.
	Bound time.Duration
}

func (e *UnreadError) Error() string {
	when := "within run.max_duration (" + formatDuration(e.Bound) + ")"
	if e.Bound == 0 {
		when = "by the run that is replayed"
	}
	if e.Planned == 0 {
		return "the list was not read " + when + ": it was not begun, its last rows stay"
	}
	return fmt.Sprintf("%s of %s %s were not read %s", groupDigits(e.Unread), groupDigits(e.Planned), plural.Noun(e.Planned, "id"), when)
}

// formatDuration writes a time without its zeros: 6h, not 6h0m0s.
func formatDuration(d time.Duration) string {
	text := d.String()
	if before, zero := strings.CutSuffix(text, "m0s"); zero {
		text = before + "m"
	}
	if before, zero := strings.CutSuffix(text, "h0m"); zero {
		text = before + "h"
	}
	return text
}

// groupDigits writes a count with commas: 1,234.
func groupDigits(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// isOver reports whether the time to read is over. Without the network there
// never was any.
func (r *reader) isOver() bool {
	bound := r.night.cfg.MaxDuration
	return !r.night.mode.asksService() || bound > 0 && time.Since(r.began) >= bound
}

// mayRead reports whether the night may read a list, or one id of a stream.
// What has landed in an earlier attempt costs no time, and is read at any time.
func (r *reader) mayRead(s stream.Stream, param string) bool {
	return !r.isOver() || r.client.HasLanded(s, param)
}

// unreadErr is why the night leaves ids of a stream, or a list, for a later one.
func (r *reader) unreadErr(s stream.Stream, unread, planned int64) *UnreadError {
	e := &UnreadError{Stream: s.Name, Unread: unread, Planned: planned, Bound: r.night.cfg.MaxDuration}
	if !r.night.mode.asksService() {
		e.Bound = 0
	}
	return e
}

// gradeUnread grades a stream of details of which the night did not ask for all ids.
func (r *reader) gradeUnread(ctx context.Context, one *streamResult) error {
	plan, err := r.night.stage.Details.MarkUnread(ctx, one.stream)
	if err != nil {
		return err
	}
	one.unread, one.carried, one.rechecked = plan.Unread, plan.Carried, plan.Recheck
	if one.unread == 0 {
		return nil
	}
	unread := r.unreadErr(one.stream, plan.Unread, plan.Fetch+plan.Unread)
	reason := unread.Error()
	if one.failed != nil {
		reason = one.failed.Error() + "; " + reason
	} else {
		one.failed = unread
	}
	one.evidence.Grade, one.evidence.Reason = fetch.BestEffort, reason
	return nil
}

// forecastNights says how many more nights what is unread will take: one night
// reads as much as this one did of what is not asked for again each night.
func (r *reader) forecastNights(ctx context.Context) error {
	if !slices.ContainsFunc(r.done, func(one streamResult) bool { return one.unread > 0 }) {
		return nil
	}
	pace, err := r.night.stage.Details.CountCaughtUp(ctx)
	if err != nil || pace == 0 {
		return err
	}
	unread := int64(0)
	for i := range r.done {
		one := &r.done[i]
		if one.unread == 0 {
			continue
		}
		unread += one.unread
		nights := (unread + pace - 1) / pace
		one.evidence.Reason += "; about " + groupDigits(nights) + " more " + plural.Noun(nights, "night")
		r.night.run.NightsLeft = nights
	}
	return nil
}

// readAhead reads what may not wait until all streams before it have been read:
// while time may be short, what is being worked on comes before all else, and
// what was never read comes before what is only read again. Time may be short when
// it was for the last night, or no night has shown yet that it is enough; otherwise a
// night need not plan every stream three times. The streams that it returns were begun,
// and are read to their end in their turn.
func (r *reader) readAhead(ctx context.Context) (map[string]*received, error) {
	n, begun := r.night, map[string]*received{}
	if n.cfg.MaxDuration == 0 || n.mode.kind != ledger.Night {
		return begun, nil
	}
	runs, err := n.wh.Ledger.Runs()
	if err != nil {
		return nil, err
	}
	newest, ok := lastSnapshot(runs)
	if unread, _ := newest.Unread(); ok && unread == 0 && n.mode.details != AllDetails {
		return begun, nil
	}
	for _, last := range []load.Turn{load.TurnChanged, load.TurnNew} {
		for _, s := range n.cfg.Streams {
			if r.isOver() || !s.IsDetail() || last == load.TurnChanged && s.Life == 0 {
				continue
			}
			if begun[s.Name] == nil {
				begun[s.Name] = newReceived(s)
			}
			one := begun[s.Name]
			if one.err != nil || !r.isWanted(&one.streamResult) {
				continue
			}
			if err := r.readStream(ctx, one, last); err != nil {
				return nil, err
			}
			if one.err != nil {
				continue
			}
			n.cfg.Watch.update(s.Name, func(p *ledger.StreamProgress) { p.State = ledger.Waiting })
			// Others can be asked for by the ids in what is staged.
			if err := one.sink.flushAll(ctx); err != nil {
				return nil, err
			}
		}
	}
	return begun, nil
}
