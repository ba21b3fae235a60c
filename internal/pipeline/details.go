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

// readDetails reads the planned ids of a stream up to a priority, without the ids that were
// read in an earlier round.
func (r *reader) readDetails(ctx context.Context, result *received, upTo load.Priority) error {
	s, stage := result.stream, r.night.stage
	plan, err := r.planDetails(ctx, s)
	if err != nil {
		return stageErr(err)
	}
	r.night.cfg.Watch.setPlanned(s, plan.Fetch)
	var asked []string // the ids that the night had time to request
	ids := func(yield func(string, error) bool) {
		for id, err := range stage.Details.IDsToAsk(ctx, s, upTo) {
			if err == nil {
				if !r.mayRead(s, id) {
					continue
				}
				asked = append(asked, id)
			}
			if !yield(id, err) {
				return
			}
		}
	}
	part, err := r.client.Details(ctx, s, ids, result.sink.readBody)
	if err == nil {
		err = r.judgeEmptyAnswers(ctx, s, &part)
	}
	d := addDetails(result.details, part)
	result.details = d
	result.evidence = fetch.Evidence{Stream: s.Name, Grade: d.Grade, Reason: d.Reason, Requests: d.Requests,
		Distinct: d.Found, Repeated: d.Repeated, TotalFirst: -1, TotalLast: -1}
	result.asked, result.found, result.missed = int64(d.Asked), int64(d.Found), int64(d.Failed)
	result.distinct = int64(d.Distinct)
	result.carried, result.rechecked = plan.Carried, plan.Recheck
	if err != nil {
		return err
	}
	withoutRecord := map[string]bool{}
	for _, id := range slices.Concat(part.Unproven, part.Gone) {
		withoutRecord[id] = true
	}
	answered := slices.DeleteFunc(asked, func(id string) bool { return withoutRecord[id] })
	err = inOrder(
		func() error { return stage.Details.AddAsked(ctx, s.Name, answered, load.Answered) },
		func() error { return stage.Details.AddAsked(ctx, s.Name, part.Gone, load.Gone) },
		func() error { return stage.Details.AddAsked(ctx, s.Name, part.Unproven, load.Missed) },
		func() (err error) {
			if upTo == load.PrioritySettled { // all lists that may contain an id have been read
				result.kept, err = stage.Details.KeepListed(ctx, s, r.done.wasRead)
			}
			return err
		})
	if err != nil {
		return stageErr(err)
	}
	result.cover, result.ids = load.ByID, plan.Fetch+plan.Carried+plan.Unread
	if !r.night.mode.isRefresh() { // a refresh keeps the grade of the last night
		result.gradeCarried(d, plan, int64(r.night.cfg.Recheck))
	}
	r.done.gradeDetails(&result.streamResult, d)
	if upTo == load.PrioritySettled && result.asked < plan.Fetch {
		err = r.gradeUnread(ctx, &result.streamResult)
	}
	result.gradeKept()
	return stageErr(err)
}

// planDetails decides which details are read in this run. Each round plans again, because the records
// of the last round may contain new ids.
func (r *reader) planDetails(ctx context.Context, s stream.Stream) (load.Plan, error) {
	n := r.night
	if n.mode.isRefresh() {
		return n.stage.Details.PlanOnly(ctx, s, n.mode.targetIDs(s))
	}
	rereading := load.Rereading{All: n.cfg.Details != ChangedDetails, LiveDays: n.cfg.LiveDays, Recheck: n.cfg.Recheck}
	return n.stage.Details.Plan(ctx, s, rereading, r.done.wasRead)
}

// judgeEmptyAnswers rejects an empty object as the answer for an id that is known to have records. The
// stored rows of such an id are kept.
func (r *reader) judgeEmptyAnswers(ctx context.Context, s stream.Stream, d *fetch.Details) error {
	if len(d.EmptyObjects) == 0 {
		return nil
	}
	known, err := r.night.stage.Details.KnownIDs(ctx, s)
	if err != nil {
		return stageErr(err)
	}
	doubted := slices.DeleteFunc(d.EmptyObjects, func(id string) bool { return !known[id] })
	if len(doubted) > 0 {
		d.Unproven = append(d.Unproven, doubted...)
		d.Grade = d.Grade.Worse(fetch.BestEffort)
		d.Reason = fmt.Sprintf("%d ids were answered by an empty object although they have entries; their stored rows are kept", len(doubted))
	}
	return nil
}

// addDetails adds up the results of two rounds of a stream. a is the earlier round.
func addDetails(a, b fetch.Details) fetch.Details {
	if worse := b.Grade.Worse(a.Grade); worse != b.Grade {
		b.Grade, b.Reason = a.Grade, a.Reason
	}
	b.Asked += a.Asked
	b.Found += a.Found
	b.Failed += a.Failed
	b.Distinct += a.Distinct
	b.Requests += a.Requests
	b.Repeated += a.Repeated
	b.Rejected += a.Rejected
	b.Gone = append(a.Gone, b.Gone...)
	if a.FirstFailure != nil {
		b.FirstFailure = a.FirstFailure
	}
	b.Unproven = append(a.Unproven, b.Unproven...)
	if b.Grade == fetch.Exact {
		b.Reason = b.DescribeAnswers(b.Asked)
	}
	return b
}

// PartError means that some ids of a stream could not be read. Their last rows are kept.
type PartError struct {
	Stream        string
	Failed, Asked int
	First         error
}

func (e *PartError) Error() string {
	return fmt.Sprintf("read %s: %d of %s failed, their last rows are kept; first: %v", e.Stream, e.Failed, plural.Count(e.Asked, "id"), e.First)
}

// Unwrap returns the error of the first failed id.
func (e *PartError) Unwrap() error { return e.First }

// NotFoundError means that many ids of a list were answered 404. They are more than can have been
// deleted since the list was read. Their rows are kept.
type NotFoundError struct {
	Stream      string
	Kept, Asked int64
}

func (e *NotFoundError) Error() string { return "read " + e.Stream + ": " + e.describe() }

func (e *NotFoundError) describe() string {
	return fmt.Sprintf("%d of %s were answered 404 although a list contains them; their rows are kept", e.Kept, plural.Count(e.Asked, "id"))
}
