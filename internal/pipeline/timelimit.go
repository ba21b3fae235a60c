package pipeline

import (
	"context"
	"errors"
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

// Config.MaxDuration limits the time in which a night reads. After this time, no new list or id is
// requested. Requests in progress end normally, and the night merges and publishes the records that were
// read. Unread lists and ids keep their rows, and the next night plans to read them.

// unreadErr returns the error for a stream that this run had no time to read completely. For a list,
// unread and planned are 0. Otherwise they are numbers of ids.
func (r *reader) unreadErr(unread, planned int64) error {
	when := "within run.max_duration (" + formatDuration(r.night.cfg.MaxDuration) + ")"
	if !r.night.mode.usesNetwork() {
		when = "by the run that is replayed"
	}
	if planned == 0 {
		return errors.New("the list was not read " + when + "; rows of earlier nights are kept")
	}
	return fmt.Errorf("%s of %s %s were not read %s", plural.Number(unread), plural.Number(planned), plural.Noun(planned, "id"), when)
}

// formatDuration formats a duration without zero minutes and seconds: 6h, not 6h0m0s.
func formatDuration(d time.Duration) string {
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(d.String())
}

// If the last night left details unread, a quarter of the time (1/detailDivisor) is reserved for details.
// Otherwise slow lists could leave the same ids unread each night.
const detailDivisor = 4

// timeLeft returns the time in which a night can still request lists or, if isDetail is set, details.
// elapsed is the time since the start of the night. listsEnded is the time from the start until all lists
// were read, or 0 before that. If hasReserve is set, a part of the limit is reserved for details.
func timeLeft(limit, elapsed, listsEnded time.Duration, isDetail, hasReserve bool) (left time.Duration, hasLimit bool) {
	reserved := limit / detailDivisor
	switch {
	case limit == 0:
		return 0, false
	case hasReserve && !isDetail:
		limit -= reserved
	case hasReserve && listsEnded > limit-reserved:
		limit = listsEnded + reserved // a list that was started in time ended late
	}
	return limit - elapsed, true
}

// isTimeOver reports whether the time for new lists is over or, if isDetail is set, for new details of
// the current stream. A replay sends no requests, so its time is always over.
func (r *reader) isTimeOver(isDetail bool) bool {
	elapsed := time.Since(r.began)
	left, hasLimit := timeLeft(r.night.cfg.MaxDuration, elapsed, r.listsEnded, isDetail, r.lastLeftUnread())
	return !r.night.mode.usesNetwork() || hasLimit && left <= 0 || isDetail && r.streamLimit > 0 && elapsed >= r.streamLimit
}

// A list or id whose response was landed in an earlier attempt needs no time.
func (r *reader) canRead(s stream.Stream, param string) bool {
	return !r.isTimeOver(s.IsDetail()) || r.client.HasLanded(s, param)
}

// readLastNight does nothing without a time limit, and for runs that are not nights.
func (r *reader) readLastNight() error {
	if r.night.cfg.MaxDuration == 0 || r.night.mode.kind != ledger.Night {
		return nil
	}
	runs, err := r.night.wh.Ledger.Runs()
	if err != nil {
		return err
	}
	r.lastNight = lastPublishedNight(runs)
	return nil
}

func (r *reader) lastLeftUnread() bool {
	unread, _ := r.lastNight.Unread()
	return unread > 0
}

// The order of details and events does not change.
func unreadListsFirst(streams []stream.Stream, lastNight ledger.Run) []stream.Stream {
	rank := func(s stream.Stream) int {
		wasUnread := slices.ContainsFunc(lastNight.Streams, func(l ledger.Stream) bool {
			return l.Stream == s.Name && l.Incomplete && !ledger.WasRead(l.Grade)
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

func (r *reader) gradeUnread(ctx context.Context, result *streamResult) error {
	plan, err := r.night.stage.Details.MarkUnread(ctx, result.stream)
	if err != nil {
		return err
	}
	result.unread, result.carried, result.rechecked = plan.Unread, plan.Carried, plan.ToRecheck
	if result.unread == 0 {
		return nil
	}
	unreadErr := r.unreadErr(plan.Unread, plan.ToRequest+plan.Unread)
	reason := unreadErr.Error()
	if result.failure != nil {
		reason = result.failure.Error() + "; " + reason
	} else {
		result.failure = unreadErr
	}
	result.evidence.Grade, result.evidence.Reason = fetch.BestEffort, reason
	return nil
}

// Ids that every night requests do not count for the pace.
func (r *reader) forecastNights(ctx context.Context) error {
	if !slices.ContainsFunc(r.finished, func(result streamResult) bool { return result.unread > 0 }) {
		return nil
	}
	pace, err := r.night.stage.Details.CountCaughtUp(ctx)
	if err != nil {
		return err
	}
	r.night.run.NightsLeft = r.finished.forecast(pace)
	return nil
}

// forecast adds the estimated number of nights to the reasons, and returns the highest number. pace is in
// ids per night. The ids of a stream are read after the unread ids of the earlier streams.
func (finished results) forecast(pace int64) (nights int64) {
	unread := int64(0)
	for i := range finished {
		result := &finished[i]
		if result.unread == 0 || pace == 0 {
			continue
		}
		unread += result.unread
		nights = (unread + pace - 1) / pace
		result.evidence.Reason += "; about " + plural.Number(nights) + " more " + plural.Noun(nights, "night")
	}
	return nights
}

// firstRounds returns the priorities of the first rounds. A first round reads the details up to a priority
// for all streams, before any stream is read completely.
func firstRounds(lastNight ledger.Run, details Details) []load.Priority {
	unread, _ := lastNight.Unread()
	switch {
	case lastNight.ID != "" && unread == 0 && details != AllDetails:
		return nil // each round would plan every stream again
	case unread > 0 && lastNight.NightsLeft == 0: // the last night made no progress
		return []load.Priority{load.NeverRead, load.OldestFirst, load.PriorityChanged, load.PriorityNew}
	}
	return []load.Priority{load.PriorityChanged, load.PriorityNew}
}

// In the rounds NeverRead and OldestFirst, each stream gets an equal share of the remaining time.
// readFirstRounds returns the streams that it started to read.
func (r *reader) readFirstRounds(ctx context.Context) (map[string]*unfinishedResult, error) {
	n, partlyRead := r.night, map[string]*unfinishedResult{}
	if n.cfg.MaxDuration == 0 || n.mode.kind != ledger.Night {
		return partlyRead, nil
	}
	for _, upTo := range firstRounds(r.lastNight, n.cfg.Details) {
		for i, s := range n.cfg.Streams {
			isNeverLive := s.LiveWith == 0 // the round of changed details omits these streams
			if !s.IsDetail() || r.isTimeOver(true) || upTo == load.PriorityChanged && isNeverLive {
				continue
			}
			if partlyRead[s.Name] == nil {
				partlyRead[s.Name] = newUnfinishedResult(s)
			}
			result := partlyRead[s.Name]
			if result.err != nil || !r.isWanted(&result.streamResult) {
				continue
			}
			if upTo == load.NeverRead || upTo == load.OldestFirst {
				elapsed := time.Since(r.began)
				left, _ := timeLeft(n.cfg.MaxDuration, elapsed, r.listsEnded, true, r.lastLeftUnread())
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
			n.cfg.Progress.update(s.Name, func(p *ledger.StreamProgress) { p.State = ledger.Waiting })
			// Staged rows can contain the ids of other streams.
			if err := result.sink.flushAll(ctx); err != nil {
				return nil, err
			}
		}
	}
	return partlyRead, nil
}
