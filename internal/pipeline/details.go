package pipeline

import (
	"context"
	"fmt"
	"slices"

	"placementsync/internal/fetch"
	"placementsync/internal/humanize"
	"placementsync/internal/load"
	"placementsync/internal/stream"
)

// readDetails reads the planned ids of a stream, until the time of the night ends.
func (r *reader) readDetails(ctx context.Context, result *unfinishedResult) error {
	s, n, stage := result.stream, r.night, r.night.stage
	var plan load.Plan
	var err error
	if n.mode.isRefresh() {
		plan, err = stage.PlanIDs(ctx, s, n.unifyIDs(n.mode.targetIDs(s)))
	} else {
		rereading := load.Rereading{All: n.cfg.Details != ChangedDetails, LiveDays: n.cfg.LiveDays, RecheckNights: n.cfg.Recheck}
		plan, err = stage.PlanDetails(ctx, s, rereading, r.finished.wasRead)
	}
	if err != nil {
		return markStageErr(err)
	}
	n.cfg.Progress.setPlanned(s, plan.ToRequest)
	plannedIDs, err := stage.IDsToRequest(ctx, s)
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
	details, err := r.client.Details(ctx, s, ids, result.sink.readBody)
	if err == nil {
		err = r.doubtEmptyResponses(ctx, s, &details)
	}
	result.evidence, result.evidence.Distinct = details.Evidence, details.Found
	result.requested, result.found, result.missed = int64(details.RequestedIDs), int64(details.Found), int64(details.Failed)
	result.distinct = int64(details.Distinct)
	result.carried, result.rechecked = plan.Carried, plan.ToRecheck
	if err != nil {
		return err
	}
	hasOtherOutcome := map[string]bool{} // another outcome than load.Answered
	for _, id := range slices.Concat(details.Unproven, details.Gone) {
		hasOtherOutcome[id] = true
	}
	answeredIDs := slices.DeleteFunc(requestedIDs, func(id string) bool { return hasOtherOutcome[id] })
	err = inOrder(
		func() error { return stage.AddOutcomes(ctx, s.Name, answeredIDs, load.Answered) },
		func() error { return stage.AddOutcomes(ctx, s.Name, details.Gone, load.NotFound) },
		func() error { return stage.AddOutcomes(ctx, s.Name, details.Unproven, load.Missed) },
		func() (err error) {
			result.notFound, err = stage.KeepListed(ctx, s, r.finished.wasRead)
			return err
		})
	if err != nil {
		return markStageErr(err)
	}
	result.coverage, result.ids = load.ByID, plan.ToRequest+plan.Carried+plan.Unread
	if !n.mode.isRefresh() { // a refresh keeps the grade of the last night
		result.gradeCarried(details, plan, int64(n.cfg.Recheck))
	}
	r.finished.gradeDetails(&result.streamResult, details)
	if result.requested < plan.ToRequest {
		err = r.gradeUnread(ctx, &result.streamResult)
	}
	result.gradeNotFound(int64(n.cfg.Recheck))
	return markStageErr(err)
}

// doubtEmptyResponses adds an id to d.Unproven and to the failed ids if its response was an empty object or an empty body
// although the id is known to have records. Its stored rows are kept. If no id of the stream has or had any records,
// nothing shows that an empty body is an empty list: the ids are then unproven, without a failure.
func (r *reader) doubtEmptyResponses(ctx context.Context, s stream.Stream, d *fetch.Details) error {
	if len(d.Doubtful) == 0 {
		return nil
	}
	known, err := r.night.stage.KnownIDs(ctx, s)
	if err != nil {
		return markStageErr(err)
	}
	if len(known) == 0 && d.Distinct == 0 && s.Envelope != stream.StatusCounts {
		d.Unproven = append(d.Unproven, d.Doubtful...)
		d.Grade = stream.WorseGrade(d.Grade, stream.BestEffort)
		d.Reason = fmt.Sprintf("the responses for %s have no body, and no other response contains records", humanize.Count(len(d.Doubtful), "id"))
		return nil
	}
	doubtfulIDs := slices.DeleteFunc(d.Doubtful, func(id string) bool { return !known[id] })
	if len(doubtfulIDs) > 0 {
		d.Unproven = append(d.Unproven, doubtfulIDs...)
		d.Grade = stream.WorseGrade(d.Grade, stream.BestEffort)
		d.Found -= len(doubtfulIDs)
		d.Failed += len(doubtfulIDs)
		if d.FirstFailure == nil {
			d.FirstFailure = fmt.Errorf("the service returned nothing for %q, which has known records", doubtfulIDs[0])
		}
	}
	return nil
}
