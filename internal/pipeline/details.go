package pipeline

import (
	"context"
	"fmt"
	"slices"

	"placementsync/internal/fetch"
	"placementsync/internal/load"
	"placementsync/internal/plural"
	"placementsync/internal/stream"
)

// readDetails reads the planned ids of a stream. upTo is the last priority to read. If readDetails is called
// in several rounds, it omits the ids of earlier rounds.
func (r *reader) readDetails(ctx context.Context, result *unfinishedResult, upTo load.Priority) error {
	s, n, stage := result.stream, r.night, r.night.stage
	// Each round plans again, because the records of the previous round may contain new ids.
	var plan load.Plan
	var err error
	if n.mode.isRefresh() {
		plan, err = stage.Details.PlanOnly(ctx, s, n.mode.targetIDs(s))
	} else {
		rereading := load.Rereading{All: n.cfg.Details != ChangedDetails, LiveDays: n.cfg.LiveDays, RecheckNights: n.cfg.Recheck}
		plan, err = stage.Details.Plan(ctx, s, rereading, r.finished.wasRead)
	}
	if err != nil {
		return markStageErr(err)
	}
	n.cfg.Progress.setPlanned(s, plan.ToRequest)
	plannedIDs, err := stage.Details.IDsToRequest(ctx, s, upTo)
	if err != nil {
		return markStageErr(err)
	}
	var requestedIDs []string // the ids that the night had time to request
	ids := func(yield func(string) bool) {
		for _, id := range plannedIDs {
			if !r.canRead(s, id) {
				continue
			}
			requestedIDs = append(requestedIDs, id)
			if !yield(id) {
				return
			}
		}
	}
	earlier := result.details
	allRounds, err := r.client.Details(ctx, s, ids, result.sink.readBody, earlier)
	if err == nil {
		err = r.doubtEmptyObjects(ctx, s, &allRounds)
	}
	result.details = allRounds
	result.evidence, result.evidence.Distinct = allRounds.Evidence, allRounds.Found
	result.requested, result.found, result.missed = int64(allRounds.RequestedIDs), int64(allRounds.Found), int64(allRounds.Failed)
	result.distinct = int64(allRounds.Distinct)
	result.carried, result.rechecked = plan.Carried, plan.ToRecheck
	if err != nil {
		return err
	}
	gone, unproven := allRounds.Gone[len(earlier.Gone):], allRounds.Unproven[len(earlier.Unproven):]
	hasOtherOutcome := map[string]bool{} // another outcome than load.Answered
	for _, id := range slices.Concat(unproven, gone) {
		hasOtherOutcome[id] = true
	}
	answeredIDs := slices.DeleteFunc(requestedIDs, func(id string) bool { return hasOtherOutcome[id] })
	err = inOrder(
		func() error { return stage.Details.AddOutcomes(ctx, s.Name, answeredIDs, load.Answered) },
		func() error { return stage.Details.AddOutcomes(ctx, s.Name, gone, load.NotFound) },
		func() error { return stage.Details.AddOutcomes(ctx, s.Name, unproven, load.Missed) },
		func() (err error) {
			if upTo == load.PrioritySettled { // all lists that may contain an id have been read
				result.notFound, err = stage.Details.KeepListed(ctx, s, r.finished.wasRead)
			}
			return err
		})
	if err != nil {
		return markStageErr(err)
	}
	result.coverage, result.ids = load.ByID, plan.ToRequest+plan.Carried+plan.Unread
	if !n.mode.isRefresh() { // a refresh keeps the grade of the last night
		result.gradeCarried(allRounds, plan, int64(n.cfg.Recheck))
	}
	r.finished.gradeDetails(&result.streamResult, allRounds)
	if upTo == load.PrioritySettled && result.requested < plan.ToRequest {
		err = r.gradeUnread(ctx, &result.streamResult)
	}
	result.gradeNotFound(int64(n.cfg.Recheck))
	return markStageErr(err)
}

// doubtEmptyObjects adds an id to d.Unproven if its response was an empty object although the id is known to
// have records. Its stored rows are kept.
func (r *reader) doubtEmptyObjects(ctx context.Context, s stream.Stream, d *fetch.Details) error {
	if len(d.EmptyObjects) == 0 {
		return nil
	}
	known, err := r.night.stage.Details.KnownIDs(ctx, s)
	if err != nil {
		return markStageErr(err)
	}
	doubtfulIDs := slices.DeleteFunc(d.EmptyObjects, func(id string) bool { return !known[id] })
	d.EmptyObjects = nil // the next round doubts only its own
	if len(doubtfulIDs) > 0 {
		d.Unproven = append(d.Unproven, doubtfulIDs...)
		d.Grade = fetch.WorseGrade(d.Grade, fetch.BestEffort)
		d.Reason = fmt.Sprintf("the service returned an empty object for %s with known records; rows of earlier nights are kept", plural.Count(len(doubtfulIDs), "id"))
	}
	return nil
}
