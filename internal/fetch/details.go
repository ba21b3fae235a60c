package fetch

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"placementsync/internal/plural"
	"placementsync/internal/stream"
)

const (
	// failuresKept bounds the failures that are reported one by one.
	failuresKept = 100
	// failuresInARow is how many ids may fail one after the other before the
	// endpoint counts as down: a dead one costs a bounded wait.
	failuresInARow = 5
)

// Details sums up the requests for the ids of a stream.
type Details struct {
	Stream string
	// Asked counts the ids.
	Asked int
	// Found counts those that were answered.
	Found int
	// Gone are the ids answered 404, sorted: evidence that they were deleted.
	Gone []string
	// Failed counts those that failed for good.
	Failed int
	// Failures are the first of them.
	Failures []Failure
	// Unproven are all ids whose records are not known whole: those that
	// failed, and answers that prove nothing or were refused.
	Unproven []string
	// Bare are the ids answered by an empty object in which entries are expected:
	// there are none, or it is no answer.
	Bare []string
	// Refused counts the records that were refused in all answers.
	Refused int
	// Grade is the worst of all ids; one that failed counts as best_effort.
	Grade Grade
	// Reason says in words why the grade is what it is.
	Reason string
	// Distinct counts the records of all answers, a copy on another page or in
	// another pass not again.
	Distinct int
	// Requests counts the answers used, landed ones included.
	Requests int
	// Repeated counts ids that a pass over a list read more than once.
	Repeated int
}

// Failure is one id that failed for good.
type Failure struct {
	ID  string
	Err error
}

// Details asks a stream once per id: one request where the answer is one
// object, a walk where it is a list. A 404 is a finding. An id that fails for
// good is reported and the others go on, until several fail in a row. The
// stream ends with an error on that, on a 401 or 403, when the landing or the
// reader fails, when ids yields an error, and when ctx ends; the Details so far
// come with it.
func (c *Client) Details(ctx context.Context, s stream.Stream, ids iter.Seq2[string, error], read Reader) (Details, error) {
	d := &detailWalk{c: c, stream: s, read: read, result: Details{Stream: s.Name}}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(c.cfg.Concurrency)
	for id, err := range ids {
		if err != nil {
			err = fmt.Errorf("list the ids of stream %q: %w", s.Name, err)
			group.Go(func() error { return err })
		}
		if err != nil || inner.Err() != nil {
			break
		}
		group.Go(func() error { return d.askOne(inner, id) })
	}
	err := group.Wait()
	if err == nil && ctx.Err() != nil {
		err = stoppedErr(ctx, s.Name)
	}
	r := d.result
	slices.Sort(r.Gone)
	switch {
	case err != nil:
		r.Grade, r.Reason = BestEffort, "the stream ended early"
	case r.Failed > 0:
		r.Grade, r.Reason = BestEffort, fmt.Sprintf("%d of %s failed", r.Failed, plural.Count(r.Asked, "id"))
	case r.Refused > 0:
		r.Grade, r.Reason = BestEffort, fmt.Sprintf("%s of %s refused (meta.rejects)", plural.Count(r.Refused, "record"), plural.Count(r.Found, "answer"))
	case r.Grade == "" || r.Grade == Exact:
		r.Grade = Exact
		r.Reason = r.DescribeAnswers(r.Asked)
	}
	return r, err
}

// DescribeAnswers counts what became of so many ids, those asked for among them.
func (d Details) DescribeAnswers(all int) string {
	text := fmt.Sprintf("%d of %s were answered whole", d.Found, plural.Count(all, "id"))
	switch {
	case all == 0:
		return "there was no id to ask for"
	case d.Found == all:
		return "every id was answered whole"
	case len(d.Gone) > 0:
		text += fmt.Sprintf("; %d were answered 404", len(d.Gone))
	}
	return text
}

// detailWalk collects the outcomes.
type detailWalk struct {
	c      *Client
	stream stream.Stream
	read   Reader

	mu     sync.Mutex
	result Details
	inARow int
}

// askOne asks for one id. Its error ends the stream.
func (d *detailWalk) askOne(ctx context.Context, id string) error {
	evidence, err := d.c.Walk(ctx, d.stream, id, d.read)
	if err != nil && endsStream(err) {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	r := &d.result
	r.Asked++
	r.Requests += max(evidence.Requests, 1)
	r.Repeated += evidence.Repeated
	r.Distinct += evidence.Distinct
	_, gone := errors.AsType[*GoneError](err)
	if err != nil && !gone {
		return d.addFailure(id, err)
	}
	d.inARow = 0
	if gone {
		r.Gone = append(r.Gone, id)
		return nil
	}
	r.Found++
	r.Refused += evidence.Refused
	switch {
	case evidence.Grade == BestEffort:
		r.Unproven = append(r.Unproven, id)
	case evidence.Bare:
		r.Bare = append(r.Bare, id)
	}
	if worse := r.Grade.Worse(evidence.Grade); worse != r.Grade {
		r.Grade, r.Reason = worse, fmt.Sprintf("id %q: %s", id, evidence.Reason)
	}
	return nil
}

func (d *detailWalk) addFailure(id string, err error) error {
	r := &d.result
	r.Failed++
	r.Unproven = append(r.Unproven, id)
	if len(r.Failures) < failuresKept {
		r.Failures = append(r.Failures, Failure{id, err})
	}
	// An id that could not even be asked for says nothing about the endpoint.
	if failed, ok := errors.AsType[*StatusError](err); ok && failed.Attempts == 0 {
		return nil
	}
	if d.inARow++; d.inARow >= failuresInARow {
		return fmt.Errorf("give up stream %q: %d ids failed in a row, the last one: %w", r.Stream, d.inARow, err)
	}
	return nil
}
