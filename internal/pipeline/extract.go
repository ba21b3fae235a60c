package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/load"
	"placementsync/internal/stream"
)

// streamResult is what one stream came to tonight.
type streamResult struct {
	stream   stream.Stream
	cover    load.Coverage
	evidence fetch.Evidence
	// asked, missed and gone count the ids of a stream of details.
	asked, missed, gone int64
	// kept counts the ids whose rows are carried by the plan, rechecked those
	// that were read again although settled.
	kept, rechecked int64
	// distinct counts the records by their ids; 0 where they have none.
	distinct int64
	// rejects counts values and records that did not fit.
	rows, rejects int64
	// failed is why a stream that should have been read was not.
	failed error
	// since is when the rows of a carried stream were last proven.
	since time.Time
}

// extract reads the streams one after the other, lists before details, each
// with all workers at once: the shorter a walk, the less can change under it,
// and the governor is fully used either way. Only what makes the rest
// pointless is an error; a stream that fails is a result.
func (n *night) extract(ctx context.Context) error {
	for _, s := range n.cfg.Streams {
		r, err := n.read(ctx, s)
		err = cmp.Or(err, n.opened(ctx))
		if err == nil {
			err = n.stage.Finish(ctx, s, r.cover)
		}
		if err != nil {
			return err
		}
		n.done = append(n.done, r)
		n.cfg.Watch.read(r)
		if err := n.step("stream staged"); err != nil {
			return err
		}
		n.cfg.Log.Info("stream read", "stream", s.Name, "grade", r.evidence.Grade, "reason", r.evidence.Reason,
			"rows", r.rows)
	}
	return n.requireSome()
}

// requireSome ends a night in which nothing could be read. What the token says
// of itself is nothing of the service.
func (n *night) requireSome() error {
	var reasons []string
	for _, r := range n.done {
		told := r.stream.Path != tokenPath || len(n.cfg.Chosen) == 1
		if r.cover != load.Carried && !r.stream.IsEvents() && (!r.stream.IsDetail() || r.asked > 0) && told {
			return nil
		}
		reasons = append(reasons, fmt.Sprintf("%s: %s", r.stream.Name, r.evidence.Reason))
	}
	return &NothingError{reasons}
}

// read takes one stream as far as it can be taken.
func (n *night) read(ctx context.Context, s stream.Stream) (streamResult, error) {
	r := streamResult{stream: s, evidence: fetch.Evidence{Stream: s.Name, Grade: fetch.Skipped, TotalFirst: -1, TotalLast: -1}}
	reason := n.cfg.skipReason(n.token, s)
	if n.only != nil && !s.IsEvents() && (reason != "" || len(n.only.of(s)) == 0) {
		return r, n.leave(ctx, &r)
	}
	if reason != "" {
		r.evidence.Reason = reason
		return r, n.carry(ctx, &r)
	}
	n.cfg.Watch.reading(s)
	sink, err := n.newSink(s)
	if err != nil {
		return r, err
	}
	if s.IsEvents() || s.IsDetail() {
		if err := n.opened(ctx); err != nil {
			return r, err
		}
	}
	switch {
	case s.IsEvents():
		err = n.readEvents(ctx, s, sink, &r)
	case s.IsDetail():
		err = n.readDetails(ctx, s, sink, &r)
	default:
		err = n.readList(ctx, s, sink, &r)
	}
	if err == nil || sink.broken != nil {
		err = errors.Join(err, sink.flushAll(ctx))
	}
	// Passes over a list overlap; its records are those it has ids for.
	r.rows, r.rejects = sink.records(), sink.rejects.Load()
	if r.distinct > 0 {
		r.rows = r.distinct
	}
	if err := n.judge(ctx, &r, err); err != nil || n.only == nil || r.cover != load.ByID {
		return r, err
	}
	return r, n.lessen(ctx, &r)
}

func (n *night) readList(ctx context.Context, s stream.Stream, sink *sink, r *streamResult) (err error) {
	param := ""
	if strings.Contains(s.Path, "{team_id}") {
		param = n.token.TeamID
	}
	r.evidence, err = n.client.Walk(ctx, s, param, sink.read)
	r.distinct = int64(r.evidence.Distinct)
	r.cover = load.Whole
	if r.evidence.Grade == fetch.BestEffort {
		r.cover = load.Unproven
	}
	return err
}

// judge decides what an error means for the night: an end for all, a skipped
// stream, or one whose last rows are carried. A disk that could not take an
// answer ends it, even if only for a moment: the service is not to blame, and
// the next run resumes.
func (n *night) judge(ctx context.Context, r *streamResult, err error) error {
	var auth *fetch.AuthError
	var scope *fetch.ScopeError
	var disk *fetch.LandingError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil || errors.As(err, &auth) || errors.As(err, &disk) || errors.Is(err, errStage):
		return err
	case errors.As(err, &scope):
		r.evidence.Grade, r.evidence.Reason = fetch.Skipped, "403: "+err.Error()
		if n.token.shows(r.stream) {
			r.failed = err
		}
	default:
		r.evidence.Grade, r.evidence.Reason, r.failed = fetch.Skipped, err.Error(), err
	}
	return n.carry(ctx, r)
}

// carry keeps the last rows of a stream that was not read. Without any it is
// skipped: nothing missing is passed off as empty.
func (n *night) carry(ctx context.Context, r *streamResult) error {
	if err := n.opened(ctx); err != nil {
		return err
	}
	since, ok, err := n.draft.LastProven(ctx, r.stream.Name)
	if err != nil {
		return err
	}
	r.cover = load.Carried
	if r.stream.Over != "" {
		// The list goes on without its details: the plan tells which of them
		// still describe their record.
		if _, err := n.stage.Plan(ctx, r.stream, load.Rereading{LiveDays: n.cfg.LiveDays}, n.wasRead); err != nil {
			return err
		}
	}
	if ok {
		r.since, r.evidence.Grade = since, fetch.CarriedForward
	}
	return nil
}
