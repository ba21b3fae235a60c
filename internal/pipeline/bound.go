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

// Config.MaxDuration limits the time in which a night reads. After this time, no new list or id
// is requested. Requests in progress end normally, and the night merges and publishes the records
// read so far. Unread lists and ids keep their rows, and the next night plans them again.

// UnreadError means that the time of a night ended before a stream was read completely. The unread
// records keep their last rows.
type UnreadError struct {
	Stream string
	// Unread of Planned ids were not read. Both are 0 for a list.
	Unread, Planned int64
	// Bound is the time limit of the night. It is 0 for a replay, which reads only the
	// answers of an earlier run.
	Bound time.Duration
}

func (e *UnreadError) Error() string {
	when := "within run.max_duration (" + formatDuration(e.Bound) + ")"
	if e.Bound == 0 {
		when = "by the run that is replayed"
	}
	if e.Planned == 0 {
		return "the list was not read " + when + ": it was not begun, its last rows are kept"
	}
	return fmt.Sprintf("%s of %s %s were not read %s", plural.Number(e.Unread), plural.Number(e.Planned), plural.Noun(e.Planned, "id"), when)
}

// formatDuration formats a duration without zero minutes and seconds: 6h, not 6h0m0s.
func formatDuration(d time.Duration) string {
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(d.String())
}

// If the night before left details unread, a quarter of the time (1/detailShare) is reserved for
// details. Otherwise slow lists would leave the same ids unread each night.
const detailShare = 4

// timeLeft returns how long a night may still request lists or, if detail is set, details. bound is
// Config.MaxDuration. elapsed and listsEnded are times since the start. listsEnded is 0 until all
// lists are read. If reserve is set, a share of the time is reserved for details. hasEnd is false if
// bound is 0.
func timeLeft(bound, elapsed, listsEnded time.Duration, detail, reserve bool) (left time.Duration, hasEnd bool) {
	share := bound / detailShare
	switch {
	case bound == 0:
		return 0, false
	case reserve && !detail:
		bound -= share
	case reserve && listsEnded > bound-share:
		bound = listsEnded + share // a list that was started in time ended late
	}
	return bound - elapsed, true
}

// isOver reports whether the time for new lists or, if detail is set, for new details is over. For a
// replay, which sends no requests, it returns true.
func (r *reader) isOver(detail bool) bool {
	elapsed := time.Since(r.began)
	left, hasEnd := timeLeft(r.night.cfg.MaxDuration, elapsed, r.listsEnded, detail, r.lastWasShort)
	return !r.night.mode.asksService() || hasEnd && left <= 0 || detail && r.streamLimit > 0 && elapsed >= r.streamLimit
}

// mayRead reports whether the night may read a list, or one id of a stream. Answers that
// landed in an earlier attempt need no request, and are always read.
func (r *reader) mayRead(s stream.Stream, param string) bool {
	return !r.isOver(s.IsDetail()) || r.client.HasLanded(s, param)
}

// readLastNight sets last, hasLast and lastWasShort. If the time was too short for the last night,
// this night reserves time for details and starts with the unread lists.
func (r *reader) readLastNight() error {
	if r.night.cfg.MaxDuration == 0 || r.night.mode.kind != ledger.Night {
		return nil
	}
	runs, err := r.night.wh.Ledger.Runs()
	if err != nil {
		return err
	}
	r.last, r.hasLast = lastSnapshot(runs)
	unread, _ := r.last.Unread()
	r.lastWasShort = unread > 0
	return nil
}

// orderStreams moves the unread lists of the last run to the front, followed by the other lists.
// Details and events follow in their given order.
func orderStreams(streams []stream.Stream, last ledger.Run) []stream.Stream {
	rank := func(s stream.Stream) int {
		wasUnread := slices.ContainsFunc(last.Streams, func(was ledger.Stream) bool {
			return was.Stream == s.Name && was.Incomplete && !ledger.WasRead(was.Grade)
		})
		switch {
		case s.IsEvents() || s.IsDetail():
			return 2
		case wasUnread:
			return 0
		}
		return 1
	}
	ordered := slices.Clone(streams)
	slices.SortStableFunc(ordered, func(a, b stream.Stream) int { return rank(a) - rank(b) })
	return ordered
}

// unreadErr returns the error for a list, or for ids of a stream, that this night had no time for.
func (r *reader) unreadErr(s stream.Stream, unread, planned int64) *UnreadError {
	e := &UnreadError{Stream: s.Name, Unread: unread, Planned: planned, Bound: r.night.cfg.MaxDuration}
	if !r.night.mode.asksService() {
		e.Bound = 0
	}
	return e
}

// gradeUnread grades a stream of details if the night did not request all ids.
func (r *reader) gradeUnread(ctx context.Context, result *streamResult) error {
	plan, err := r.night.stage.Details.MarkUnread(ctx, result.stream)
	if err != nil {
		return err
	}
	result.unread, result.carried, result.rechecked = plan.Unread, plan.Carried, plan.Recheck
	if result.unread == 0 {
		return nil
	}
	unread := r.unreadErr(result.stream, plan.Unread, plan.Fetch+plan.Unread)
	reason := unread.Error()
	if result.failed != nil {
		reason = result.failed.Error() + "; " + reason
	} else {
		result.failed = unread
	}
	result.evidence.Grade, result.evidence.Reason = fetch.BestEffort, reason
	return nil
}

// forecastNights estimates in how many nights the unread ids will be read, at the pace of this
// night. The pace does not count ids that every night requests.
func (r *reader) forecastNights(ctx context.Context) error {
	if !slices.ContainsFunc(r.done, func(result streamResult) bool { return result.unread > 0 }) {
		return nil
	}
	pace, err := r.night.stage.Details.CountCaughtUp(ctx)
	if err != nil {
		return err
	}
	r.night.run.NightsLeft = r.done.forecast(pace)
	return nil
}

// forecast adds the number of further nights to the reason of each stream with unread ids, and
// returns the highest number. pace is in ids per night. A stream waits for the unread ids of the
// streams before it.
func (done results) forecast(pace int64) (nights int64) {
	unread := int64(0)
	for i := range done {
		result := &done[i]
		if result.unread == 0 || pace == 0 {
			continue
		}
		unread += result.unread
		nights = (unread + pace - 1) / pace
		result.evidence.Reason += "; about " + plural.Number(nights) + " more " + plural.Noun(nights, "night")
	}
	return nights
}

// firstRounds returns the priorities of the first rounds. A first round reads the details of one
// priority for all streams, before any stream is read completely. firstRounds returns nil if the last
// night had enough time, unless all details are wanted. Otherwise the rounds are changed details, and
// then new ones. If the last night made no progress (NightsLeft is 0), two rounds come before them:
// ids that were never read, and the ids that were read longest ago.
func firstRounds(last ledger.Run, hasLast bool, details Details) []load.Priority {
	unread, _ := last.Unread()
	switch {
	case hasLast && unread == 0 && details != AllDetails:
		return nil // each round would plan every stream again
	case unread > 0 && last.NightsLeft == 0:
		return []load.Priority{load.NeverRead, load.OldestFirst, load.PriorityChanged, load.PriorityNew}
	}
	return []load.Priority{load.PriorityChanged, load.PriorityNew}
}

// readFirstRounds reads the details of the first rounds. With NeverRead and OldestFirst each stream has
// an equal share of the remaining time. readFirstRounds returns the streams that it started to read.
func (r *reader) readFirstRounds(ctx context.Context) (map[string]*received, error) {
	n, begun := r.night, map[string]*received{}
	if n.cfg.MaxDuration == 0 || n.mode.kind != ledger.Night {
		return begun, nil
	}
	for _, upTo := range firstRounds(r.last, r.hasLast, n.cfg.Details) {
		for i, s := range n.cfg.Streams {
			if r.isOver(true) || !s.IsDetail() || upTo == load.PriorityChanged && s.Life == 0 {
				continue
			}
			if begun[s.Name] == nil {
				begun[s.Name] = newReceived(s)
			}
			result := begun[s.Name]
			if result.err != nil || !r.isWanted(&result.streamResult) {
				continue
			}
			if upTo == load.NeverRead || upTo == load.OldestFirst {
				elapsed := time.Since(r.began)
				left, _ := timeLeft(n.cfg.MaxDuration, elapsed, r.listsEnded, true, r.lastWasShort)
				r.streamLimit = elapsed + left/time.Duration(len(n.cfg.Streams)-i)
			}
			err := r.readStream(ctx, result, upTo)
			r.streamLimit = 0
			if err != nil {
				return nil, err
			}
			if result.err != nil {
				continue
			}
			n.cfg.Watch.update(s.Name, func(p *ledger.StreamProgress) { p.State = ledger.Waiting })
			// Staged rows can contain the ids of other streams.
			if err := result.sink.flushAll(ctx); err != nil {
				return nil, err
			}
		}
	}
	return begun, nil
}
