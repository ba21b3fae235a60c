package pipeline

import (
	"context"
	"fmt"
	"slices"

	"placementsync/internal/fetch"
	"placementsync/internal/load"
	"placementsync/internal/stream"
)

// A stream of details is graded by what its answers prove, by what the plan left
// unread, and by the streams that named its ids. No grade says more than all
// three.

// grade gives a stream of details the worst of these.
func (n *night) grade(s stream.Stream, r *streamResult, d fetch.Details, plan load.Plan) {
	n.gradeCarried(r, d, plan)
	for _, p := range n.done {
		if !feeds(p.stream, s) {
			continue
		}
		from := p.evidence.Grade
		if from == fetch.CarriedForward || from == fetch.Skipped {
			from = fetch.BestEffort
		}
		if worse := r.evidence.Grade.Worse(from); worse != r.evidence.Grade {
			r.evidence.Grade = worse
			r.evidence.Reason = fmt.Sprintf("ids come from %s, which is %s", p.stream.Name, p.evidence.Grade)
		}
	}
	if d.Asked == 0 && r.kept == 0 && r.evidence.Grade == fetch.BestEffort {
		r.evidence.Grade = fetch.Skipped
	}
	if d.Failed > 0 {
		r.failed = &PartError{Stream: s.Name, Failed: d.Failed, Asked: d.Asked, First: d.Failures[0].Err}
		r.evidence.Reason = r.failed.Error()
	}
}

// gradeCarried lowers a stream of whose ids some were not read tonight. What their
// own row in a list vouches for is proven; of the others it is known how long ago
// they were read. A refresh leaves what it carries the grade of the last night.
func (n *night) gradeCarried(r *streamResult, d fetch.Details, plan load.Plan) {
	if n.only != nil || plan.Carried == 0 || r.evidence.Grade.Worse(fetch.Bounded) != fetch.Bounded {
		return
	}
	all := plan.Fetch + plan.Carried
	r.evidence.Reason = fmt.Sprintf("%d of %d ids were answered whole", d.Found, all)
	if plan.Vouched > 0 {
		r.evidence.Reason += fmt.Sprintf("; the rows of %d show that they did not change", plan.Vouched)
	}
	open := plan.Carried - plan.Vouched
	switch recheck := int64(n.cfg.Recheck); {
	case open == 0:
	case recheck == 0:
		r.evidence.Grade = fetch.BestEffort
		r.evidence.Reason += fmt.Sprintf("; %d settled ones are not read again (streams.recheck is 0)", open)
	case plan.Nights > recheck:
		r.evidence.Grade = fetch.BestEffort
		r.evidence.Reason += fmt.Sprintf("; %d were last read up to %d nights ago (streams.recheck: %d)", open, plan.Nights, recheck)
	default:
		r.evidence.Grade = fetch.Bounded
		r.evidence.Reason += fmt.Sprintf("; %d settled ones were last read at most %d nights ago", open, plan.Nights)
	}
}

// tableGrade is the worst grade of the streams that fill a table. Where the token
// may read a list and not its details, the list grades its own table, with a note
// of what it lacks; what stands inside the records may be left out of a list, so
// that nothing is proven about it.
func (n *night) tableGrade(table string) (grade fetch.Grade, note string) {
	for _, r := range n.done {
		s := r.stream
		switch {
		case !slices.ContainsFunc(s.Tables, func(t stream.Table) bool { return t.Name == table }):
		case s.Over == "" || r.evidence.Grade != fetch.Skipped || !n.wasRead(s.Over):
			grade = grade.Worse(r.evidence.Grade)
		default:
			note = fmt.Sprintf("without what %s would add: %s", s.Name, r.evidence.Reason)
			if table != s.Root().Name {
				grade = grade.Worse(fetch.BestEffort)
			}
		}
	}
	return grade, note
}

// feeds reports whether a stream fills a table that names ids of another.
func feeds(parent, s stream.Stream) bool {
	for _, ref := range s.Parents {
		for _, t := range parent.Tables {
			if t.Name == ref.Table {
				return true
			}
		}
	}
	return false
}

// doubtBare decides about ids that were answered by an empty object: where entries
// are known, or other rows show that there are some, it proves nothing.
func (n *night) doubtBare(ctx context.Context, s stream.Stream, d *fetch.Details) error {
	if len(d.Bare) == 0 {
		return nil
	}
	known, err := n.stage.Details.KnownParams(ctx, s)
	if err != nil {
		return fmt.Errorf("%w: %w", errStage, err)
	}
	doubted := slices.DeleteFunc(d.Bare, func(id string) bool { return !known[id] })
	if len(doubted) > 0 {
		d.Unproven = append(d.Unproven, doubted...)
		d.Grade = d.Grade.Worse(fetch.BestEffort)
		d.Reason = fmt.Sprintf("%d ids were answered by an empty object although they have entries; what is known of them stays", len(doubted))
	}
	return nil
}

// findAges says of every stream how many rows the snapshot holds of it and how
// old the oldest are, after the merge.
func (n *night) findAges(ctx context.Context) error {
	held, err := n.stage.CountHeld(ctx, n.coverage())
	if err != nil {
		return err
	}
	for i := range n.done {
		r := &n.done[i]
		r.held = held[r.stream.Name]
		if r.held.Old == 0 && r.cover != load.Carried || !r.held.Since.IsZero() {
			continue
		}
		if r.held.Since = r.since; r.since.IsZero() {
			if r.held.Since, _, err = n.draft.LastProven(ctx, r.stream.Name); err != nil {
				return err
			}
		}
	}
	return nil
}
