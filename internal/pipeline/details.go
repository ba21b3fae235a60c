package pipeline

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"placementsync/internal/fetch"
	"placementsync/internal/load"
	"placementsync/internal/stream"
)

// readDetails asks for every id that the plan of the night wants read, up to a
// turn, except for those that it asked for before.
func (n *night) readDetails(ctx context.Context, one *received, last load.Turn) error {
	s, r := one.stream, &one.streamResult
	plan, err := n.plan(ctx, s, one.details.Stream != "")
	if err != nil {
		return err
	}
	n.cfg.Watch.asking(s, plan.Fetch)
	var ids []string
	part, err := n.client.Details(ctx, s, noted(n.inTime(s, n.stage.Details.IDsToAsk(ctx, s, last)), &ids), one.sink.read)
	if err == nil {
		err = n.doubtBare(ctx, s, &part)
	}
	d := joined(one.details, part)
	one.details = d
	r.evidence = fetch.Evidence{Stream: s.Name, Grade: d.Grade, Reason: d.Reason, Requests: d.Requests,
		Distinct: d.Found, Repeated: d.Repeated, TotalFirst: -1, TotalLast: -1}
	r.asked, r.missed, r.gone = int64(d.Asked), int64(d.Failed), int64(len(d.Gone))
	r.distinct = int64(d.Distinct)
	r.kept, r.rechecked = plan.Carried, plan.Recheck
	if err != nil {
		return err
	}
	n.grade(s, r, d, plan)
	r.cover = load.ByID
	if err := n.noteAsked(ctx, s, ids, part); err != nil {
		return fmt.Errorf("%w: %w", errStage, err)
	}
	if last < load.TurnSettled {
		return nil
	}
	return n.noteUnread(ctx, r, plan.Fetch)
}

// inTime are the ids that the night may ask for.
func (n *night) inTime(s stream.Stream, ids iter.Seq2[string, error]) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for id, err := range ids {
			if (err != nil || n.mayBegin(s, id)) && !yield(id, err) {
				return
			}
		}
	}
}

// plan decides which details are asked for tonight, or decides so again.
func (n *night) plan(ctx context.Context, s stream.Stream, again bool) (load.Plan, error) {
	if n.only != nil {
		return n.planRefresh(ctx, s)
	}
	rereading := load.Rereading{All: n.cfg.Details != "changed", LiveDays: n.cfg.LiveDays, Recheck: n.cfg.Recheck}
	decide := n.stage.Details.Plan
	if again {
		decide = n.stage.Details.PlanAgain
	}
	plan, err := decide(ctx, s, rereading, n.wasRead)
	if err != nil {
		return plan, fmt.Errorf("%w: %w", errStage, err)
	}
	return plan, nil
}

// wasRead reports whether a stream was read tonight.
func (n *night) wasRead(name string) bool {
	return slices.ContainsFunc(n.done, func(r streamResult) bool { return r.stream.Name == name && r.cover != load.Carried })
}

// PartError says that some ids of a stream could not be read, so that their
// last rows stay.
type PartError struct {
	Stream        string
	Failed, Asked int
	First         error
}

func (e *PartError) Error() string {
	return fmt.Sprintf("read %s: %d of %d ids failed, their last rows stay; first: %v", e.Stream, e.Failed, e.Asked, e.First)
}

// Unwrap returns why the first id failed.
func (e *PartError) Unwrap() error { return e.First }

// noteAsked tells the stage what each id's absence proves.
func (n *night) noteAsked(ctx context.Context, s stream.Stream, ids []string, d fetch.Details) error {
	other := map[string]bool{}
	for _, id := range slices.Concat(d.Unproven, d.Gone) {
		other[id] = true
	}
	answered := slices.DeleteFunc(ids, func(id string) bool { return other[id] })
	return errors.Join(n.stage.Details.AddAsked(ctx, s.Name, answered, load.Answered),
		n.stage.Details.AddAsked(ctx, s.Name, d.Gone, load.Gone), n.stage.Details.AddAsked(ctx, s.Name, d.Unproven, load.Missed))
}

// noted keeps the ids that pass.
func noted(ids iter.Seq2[string, error], into *[]string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for id, err := range ids {
			if err == nil {
				*into = append(*into, id)
			}
			if !yield(id, err) {
				return
			}
		}
	}
}
