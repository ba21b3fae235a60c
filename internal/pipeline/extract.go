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
	// unread counts the ids that the night had no time for.
	unread int64
	// distinct counts the records by their ids; 0 where they have none.
	distinct int64
	// rejects counts values and records that did not fit.
	rows, rejects int64
	// failed is why a stream that should have been read was not.
	failed error
	// since is when the rows of a carried stream were last proven.
	since time.Time
	// held is what the snapshot holds of the stream; known after the merge.
	held load.Held
}

// extract reads the streams one after the other, lists before details, each
// with all workers at once: the shorter a walk, the less can change under it,
// and the governor is fully used either way. Only what makes the rest
// pointless is an error; a stream that fails is a result.
func (n *night) extract(parent context.Context) error {
	ctx, end := context.WithCancelCause(parent)
	defer end(nil)
	behind := n.finishBehind(ctx, end)
	err := n.readAll(ctx, behind)
	if err = cmp.Or(behind.close(), err, n.requireSome()); err != nil {
		return err
	}
	return n.foretell(ctx)
}

func (n *night) readAll(ctx context.Context, behind *finisher) error {
	var begun map[string]*received
	for _, s := range n.cfg.Streams {
		// What details are asked for is known when the lists are finished.
		if s.IsEvents() || s.IsDetail() || n.only != nil {
			if err := cmp.Or(behind.wait(), n.opened(ctx)); err != nil {
				return err
			}
		}
		if s.IsDetail() && begun == nil {
			var err error
			if begun, err = n.readAhead(ctx); err != nil {
				return err
			}
		}
		one := begun[s.Name]
		if one == nil {
			one = n.receive(s)
		}
		if one.err == nil && n.wants(&one.streamResult) {
			if err := n.read(ctx, one, load.TurnSettled); err != nil {
				return err
			}
		}
		behind.take(*one)
	}
	return nil
}

// receive begins a stream: nothing is known of it yet.
func (n *night) receive(s stream.Stream) *received {
	return &received{streamResult: streamResult{stream: s, evidence: fetch.Evidence{Stream: s.Name, Grade: fetch.Skipped, TotalFirst: -1, TotalLast: -1}}}
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

// wants reports whether a stream is to be read tonight, and enters why not.
func (n *night) wants(r *streamResult) bool {
	reason := n.cfg.skipReason(n.token, r.stream)
	if n.only != nil && !r.stream.IsEvents() {
		return reason == "" && len(n.only.of(r.stream)) > 0
	}
	r.evidence.Reason = reason
	if reason == "" && !r.stream.IsDetail() && !r.stream.IsEvents() && !n.mayBegin(r.stream, n.listParam(r.stream)) {
		r.failed = n.unread(r.stream, 0, 0)
		r.evidence.Reason = r.failed.Error()
		return false
	}
	return reason == ""
}

// read asks one stream for all it has, details up to a turn. The error is one
// that ends the night; any other stays with the stream.
func (n *night) read(ctx context.Context, one *received, last load.Turn) (err error) {
	r, s := &one.streamResult, one.stream
	n.cfg.Watch.reading(s)
	if one.sink = cmp.Or(one.sink, n.eventSinks[s.Name]); one.sink == nil {
		if one.sink, err = n.newSink(s); err != nil {
			return err
		}
	}
	switch {
	case s.IsEvents():
		one.err = n.readEvents(ctx, s, one.sink, r)
	case s.IsDetail():
		one.err = n.readDetails(ctx, one, last)
	default:
		one.err = n.readList(ctx, s, one.sink, r)
	}
	if endsNight(ctx, one.err) {
		return errors.Join(one.err, one.sink.broken)
	}
	return nil
}

func (n *night) readList(ctx context.Context, s stream.Stream, sink *sink, r *streamResult) (err error) {
	r.evidence, err = n.client.Walk(ctx, s, n.listParam(s), sink.read)
	r.distinct = int64(r.evidence.Distinct)
	r.cover = load.Whole
	if r.evidence.Grade == fetch.BestEffort {
		r.cover = load.Unproven
	}
	return err
}

// listParam fills the path of a list; most have no parameter.
func (n *night) listParam(s stream.Stream) string {
	if strings.Contains(s.Path, "{team_id}") {
		return n.token.TeamID
	}
	return ""
}

// endsNight tells the errors that no other stream would be spared. A disk that
// could not take an answer is one, even if only for a moment: the service is not
// to blame, and the next run resumes.
func endsNight(ctx context.Context, err error) bool {
	var auth *fetch.AuthError
	var disk *fetch.LandingError
	return err != nil && (ctx.Err() != nil || errors.As(err, &auth) || errors.As(err, &disk) || errors.Is(err, errStage))
}

// judge decides what an error means for the night: an end for all, a skipped
// stream, or one whose last rows are carried.
func (n *night) judge(ctx context.Context, r *streamResult, err error) error {
	var scope *fetch.ScopeError
	switch {
	case err == nil:
		return nil
	case endsNight(ctx, err):
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
	since, ok, err := n.draft.LastProven(ctx, r.stream.Name)
	if err != nil {
		return err
	}
	r.cover = load.Carried
	if r.stream.Over != "" {
		// The list goes on without its details: the plan tells which of them
		// still describe their record.
		if _, err := n.stage.Details.Plan(ctx, r.stream, load.Rereading{LiveDays: n.cfg.LiveDays}, n.wasRead); err != nil {
			return err
		}
	}
	if ok {
		r.since, r.evidence.Grade = since, fetch.CarriedForward
	}
	return nil
}
