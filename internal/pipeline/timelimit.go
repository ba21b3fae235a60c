package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"placementsync/internal/humanize"
	"placementsync/internal/ledger"
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
	return fmt.Errorf("%s of %s %s were not read %s", humanize.Number(unread), humanize.Number(planned), humanize.Noun(planned, "id"), when)
}

// formatDuration formats a duration without zero minutes and seconds: 6h, not 6h0m0s.
func formatDuration(d time.Duration) string {
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(d.String())
}

// isTimeOver reports whether the time for new lists and ids is over. A replay sends no requests, so its time is
// always over.
func (r *reader) isTimeOver() bool {
	limit := r.night.cfg.MaxDuration
	return !r.night.mode.usesNetwork() || limit > 0 && time.Since(r.began) >= limit
}

// A list or id whose response was landed in an earlier attempt needs no time.
func (r *reader) canRead(s stream.Stream, param string) bool {
	return !r.isTimeOver() || r.client.HasLanded(s, param)
}

// unreadListsFirst puts the lists first that the last night had no time for. The order of details and events does
// not change: the streams with the most ids, which are those of the catalog, are last.
func unreadListsFirst(streams []stream.Stream, lastNight ledger.Run) []stream.Stream {
	rank := func(s stream.Stream) int {
		wasUnread := slices.ContainsFunc(lastNight.Streams, func(l ledger.Stream) bool {
			return l.Stream == s.Name && l.Incomplete && l.Grade.IsUnread()
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
	plan, err := r.night.stage.MarkUnread(ctx, result.stream)
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
		reason = ledger.Summarize(result.failure) + "; " + reason
	} else {
		result.failure = unreadErr
	}
	result.evidence.Grade, result.evidence.Reason = stream.BestEffort, reason
	return nil
}
