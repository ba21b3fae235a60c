package pipeline

import (
	"context"
	"fmt"
	"slices"
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
	return fmt.Sprintf("%s of %s %s were not read %s", plural.Number(e.Unread), plural.Number(e.Planned), plural.Noun(e.Planned, "id"), when)
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

// detailShare is the part of the time that is reserved for details when the night before
// left some unread: a quarter. Lists alone would leave the same ids unread each night.
const detailShare = 4

// timeLeft is how long a night may go on to begin lists, or details. hasEnd is false where
// it may go on for ever. listsEnded is when the last list was read, and 0 before.
func timeLeft(bound, elapsed, listsEnded time.Duration, detail, reserve bool) (left time.Duration, hasEnd bool) {
	share := bound / detailShare
	switch {
	case bound == 0:
		return 0, false
	case reserve && !detail:
		bound -= share
	case reserve && listsEnded > bound-share:
		bound = listsEnded + share // a list that was begun in time ended late
	}
	return bound - elapsed, true
}

// isOver reports whether the time to begin lists, or details, is over. A replay has none.
func (r *reader) isOver(detail bool) bool {
	elapsed := time.Since(r.began)
	left, hasEnd := timeLeft(r.night.cfg.MaxDuration, elapsed, r.listsEnded, detail, r.isShort)
	return !r.night.mode.asksService() || hasEnd && left <= 0 || detail && r.until > 0 && elapsed >= r.until
}

// mayRead reports whether the night may read a list, or one id of a stream.
// What has landed in an earlier attempt costs no time, and is read at any time.
func (r *reader) mayRead(s stream.Stream, param string) bool {
	return !r.isOver(s.IsDetail()) || r.client.HasLanded(s, param)
}

// lookBack finds out whether time was short for the last night, so that this one reserves
// some for details and begins with the lists that were left.
func (r *reader) lookBack() error {
	if r.night.cfg.MaxDuration == 0 || r.night.mode.kind != ledger.Night {
		return nil
	}
	runs, err := r.night.wh.Ledger.Runs()
	if err != nil {
		return err
	}
	r.last, r.hasLast = lastSnapshot(runs)
	unread, _ := r.last.Unread()
	r.isShort = unread > 0
	return nil
}

// listsFirst orders streams: the lists that a run could not read, the other lists, and then
// the rest as it was.
func listsFirst(streams []stream.Stream, last ledger.Run) []stream.Stream {
	rank := func(s stream.Stream) int {
		left := slices.ContainsFunc(last.Streams, func(was ledger.Stream) bool {
			return was.Stream == s.Name && was.Lacking && !ledger.WasRead(was.Grade)
		})
		switch {
		case s.IsEvents() || s.IsDetail():
			return 2
		case left:
			return 0
		}
		return 1
	}
	ordered := slices.Clone(streams)
	slices.SortStableFunc(ordered, func(a, b stream.Stream) int { return rank(a) - rank(b) })
	return ordered
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
	if err != nil {
		return err
	}
	r.night.run.NightsLeft = r.done.forecast(pace)
	return nil
}

// forecast enters how many more nights each stream takes, at so many ids a night, and
// returns the highest number. The streams are read one after the other.
func (done results) forecast(pace int64) (nights int64) {
	unread := int64(0)
	for i := range done {
		one := &done[i]
		if one.unread == 0 || pace == 0 {
			continue
		}
		unread += one.unread
		nights = (unread + pace - 1) / pace
		one.evidence.Reason += "; about " + plural.Number(nights) + " more " + plural.Noun(nights, "night")
	}
	return nights
}

// turnsAhead are the turns whose details are read, of all streams, before any stream is read
// to its end. Time may be short when it was for the last night, or no night has shown yet
// that it is enough: then what is being worked on comes before all else, and what was never
// read before what is only read again. A night that could not read anything else is
// followed by one that begins with what was never read, and then reads the oldest first.
func turnsAhead(last ledger.Run, hasLast bool, details Details) []load.Priority {
	unread, _ := last.Unread()
	switch {
	case hasLast && unread == 0 && details != AllDetails:
		return nil // a night need not plan every stream three times
	case unread > 0 && last.NightsLeft == 0:
		return []load.Priority{load.NeverRead, load.OldestFirst, load.PriorityChanged, load.PriorityNew}
	}
	return []load.Priority{load.PriorityChanged, load.PriorityNew}
}

// readAhead reads the turns ahead. With NeverRead and OldestFirst each stream has an equal
// share of the time that is left. The streams that it returns were begun, and are read to their end in
// their turn.
func (r *reader) readAhead(ctx context.Context) (map[string]*received, error) {
	n, begun := r.night, map[string]*received{}
	if n.cfg.MaxDuration == 0 || n.mode.kind != ledger.Night {
		return begun, nil
	}
	for _, last := range turnsAhead(r.last, r.hasLast, n.mode.details) {
		for i, s := range n.cfg.Streams {
			if r.isOver(true) || !s.IsDetail() || last == load.PriorityChanged && s.Life == 0 {
				continue
			}
			if begun[s.Name] == nil {
				begun[s.Name] = newReceived(s)
			}
			one := begun[s.Name]
			if one.err != nil || !r.isWanted(&one.streamResult) {
				continue
			}
			if last == load.NeverRead || last == load.OldestFirst {
				elapsed := time.Since(r.began)
				left, _ := timeLeft(n.cfg.MaxDuration, elapsed, r.listsEnded, true, r.isShort)
				r.until = elapsed + left/time.Duration(len(n.cfg.Streams)-i)
			}
			err := r.readStream(ctx, one, last)
			r.until = 0
			if err != nil {
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
