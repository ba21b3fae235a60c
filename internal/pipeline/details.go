package pipeline

import (
	"context"
	"fmt"
	"slices"

	"placementsync/internal/fetch"
	"placementsync/internal/humanize"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/stream"
)

// readDetails reads the planned ids of a stream, until the time of the night ends.
func (d *reading) readDetails(ctx context.Context, s stream.Stream) error {
	run, reason := d.begin(s)
	if reason != "" {
		return d.finishUnread(ctx, run)
	}
	sink, err := d.openSink(ctx, s)
	if err != nil {
		return err
	}
	return d.finish(ctx, run, sink, d.requestDetails(ctx, run, sink))
}

// requestDetails requests the planned ids. An error marked by markStageErr ends the night. Any other error fails only
// this stream.
func (d *reading) requestDetails(ctx context.Context, run *streamRun, sink *sink) error {
	s := run.stream
	plan, err := d.planDetails(ctx, s)
	if err != nil {
		return markStageErr(err)
	}
	d.cfg.Progress.setPlanned(s, plan.ToRequest)
	plannedIDs, err := d.stage.IDsToRequest(ctx, s)
	if err != nil {
		return markStageErr(err)
	}
	var requestedIDs []string // the ids that the night had time to request
	ids := func(yield func(string) bool) {
		for _, id := range plannedIDs {
			if !d.canRead(s, id) {
				continue
			}
			requestedIDs = append(requestedIDs, id)
			if !yield(id) {
				return
			}
		}
	}
	details, err := d.client.Details(ctx, s, ids, sink.readResponse)
	if err == nil {
		err = d.doubtEmptyResponses(ctx, s, &details)
	}
	run.evidence = details.Evidence
	run.evidence.Distinct = details.Found // the ledger counts the found ids, and run.distinct their records
	run.requested, run.found, run.missed = int64(details.RequestedIDs), int64(details.Found), int64(details.Failed)
	run.distinct = int64(details.Distinct)
	run.carried, run.rechecked = plan.Carried, plan.ToRecheck
	if err != nil {
		return err
	}
	if err := d.stageOutcomes(ctx, s, requestedIDs, details); err != nil {
		return markStageErr(err)
	}
	if run.notFound, err = d.stage.KeepListed(ctx, s, d.streams.wasRead); err != nil {
		return markStageErr(err)
	}
	run.coverage, run.ids = load.ByID, plan.ToRequest+plan.Carried+plan.Unread
	if !d.mode.isRefresh() { // a refresh keeps the grade of the last night
		run.gradeCarried(details, plan, int64(d.cfg.Recheck))
	}
	d.streams.gradeDetails(run, details)
	if run.requested < plan.ToRequest {
		if err := d.gradeUnread(ctx, run); err != nil {
			return markStageErr(err)
		}
	}
	run.gradeNotFound(int64(d.cfg.Recheck))
	return nil
}

func (d *reading) planDetails(ctx context.Context, s stream.Stream) (load.Plan, error) {
	if d.mode.isRefresh() {
		var ids []string
		for _, id := range d.mode.targetIDs(s) {
			ids = append(ids, d.idCase.Unify(id))
		}
		return d.stage.PlanIDs(ctx, s, ids)
	}
	rereading := load.Rereading{All: d.cfg.Details != ChangedDetails, LiveDays: d.cfg.LiveDays, RecheckNights: d.cfg.Recheck}
	return d.stage.PlanDetails(ctx, s, rereading, d.streams.wasRead)
}

// stageOutcomes stages the outcome of each requested id.
func (d *reading) stageOutcomes(ctx context.Context, s stream.Stream, requestedIDs []string, details fetch.Details) error {
	hasOtherOutcome := map[string]bool{} // another outcome than load.Answered
	for _, id := range slices.Concat(details.Unproven, details.Gone) {
		hasOtherOutcome[id] = true
	}
	answeredIDs := slices.DeleteFunc(requestedIDs, func(id string) bool { return hasOtherOutcome[id] })
	for _, o := range []struct {
		ids     []string
		outcome load.Outcome
	}{{answeredIDs, load.Answered}, {details.Gone, load.NotFound}, {details.Unproven, load.Missed}} {
		if err := d.stage.AddOutcomes(ctx, s.Name, o.ids, o.outcome); err != nil {
			return err
		}
	}
	return nil
}

// doubtEmptyResponses adds an id to details.Unproven and to the failed ids if its response was an empty object or an
// empty body although the id is known to have records. Its stored rows are kept. If no id of the stream has or had any
// records, it is unknown whether an empty body means an empty list: the ids are then unproven, without a failure.
func (d *reading) doubtEmptyResponses(ctx context.Context, s stream.Stream, details *fetch.Details) error {
	if len(details.Doubtful) == 0 {
		return nil
	}
	known, err := d.stage.KnownIDs(ctx, s)
	if err != nil {
		return markStageErr(err)
	}
	hasNoRecords := len(known) == 0 && details.Distinct == 0
	mayBeEmptyList := s.Envelope != stream.StatusCounts // its doubtful responses are empty objects
	if hasNoRecords && mayBeEmptyList {
		details.Unproven = append(details.Unproven, details.Doubtful...)
		details.Grade = stream.WorseGrade(details.Grade, stream.BestEffort)
		details.Reason = fmt.Sprintf("the responses for %s have no body, and no other response contains records", humanize.Count(len(details.Doubtful), "id"))
		return nil
	}
	doubtfulIDs := slices.DeleteFunc(details.Doubtful, func(id string) bool { return !known[id] })
	if len(doubtfulIDs) > 0 {
		details.Unproven = append(details.Unproven, doubtfulIDs...)
		details.Grade = stream.WorseGrade(details.Grade, stream.BestEffort)
		details.Found -= len(doubtfulIDs)
		details.Failed += len(doubtfulIDs)
		if details.FirstFailure == nil {
			details.FirstFailure = fmt.Errorf("the service returned nothing for %q, which has known records", doubtfulIDs[0])
		}
	}
	return nil
}

func (d *reading) gradeUnread(ctx context.Context, run *streamRun) error {
	plan, err := d.stage.MarkUnread(ctx, run.stream)
	if err != nil {
		return err
	}
	run.unread, run.carried, run.rechecked = plan.Unread, plan.Carried, plan.ToRecheck
	if run.unread == 0 {
		return nil
	}
	unreadErr := d.unreadErr(plan.Unread, plan.ToRequest+plan.Unread)
	reason := unreadErr.Error()
	if run.failure != nil {
		reason = ledger.Summarize(run.failure) + "; " + reason
	} else {
		run.failure = unreadErr
	}
	run.evidence.Grade, run.evidence.Reason = stream.BestEffort, reason
	return nil
}
