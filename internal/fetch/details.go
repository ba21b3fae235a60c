package fetch

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"placementsync/internal/humanize"
	"placementsync/internal/stream"
)

// maxFailuresInARow bounds the time that a broken endpoint costs.
const maxFailuresInARow = 5

// Details is the result of requesting the ids of a stream.
type Details struct {
	// Evidence contains the worst grade of all ids, and the sums of Repeated, Distinct and Rejected. A
	// failed id counts as best_effort.
	Evidence
	RequestedIDs int
	// Found counts the ids whose response was a record or a list, even if the list is not proven to be
	// complete.
	Found int
	// Gone are the ids with a 404 or 410, sorted. It is evidence that the record was deleted.
	Gone []string
	// Refused are the ids with a 403 although other ids were answered. They also count as failed.
	Refused      []string
	Failed       int   // number of ids that failed after all retries
	FirstFailure error // error of the first failed id
	// Unproven are the ids whose records may be incomplete: the request failed, the walk
	// did not prove completeness, or records were rejected.
	Unproven []string
	// Doubtful are the ids for which PageFacts.IsDoubtful is set: either they have no records, or the
	// response is invalid.
	Doubtful []string
}

// scopeSample is the number of ids whose 403s show that the token lacks the scope of the endpoint. A 403 for fewer
// ids can mean that these records are private.
const scopeSample = 5

// Details reads a stream for each id: an object with one request, a list with a walk. A 404
// is a result, not an error. A failed id is reported, and reading continues.
// Details ends with an error if several ids fail in a row, if the first ids all get a 403, after a 401, if the
// store or the reader fails, and if ctx is cancelled. The result so far is returned with the error.
func (c *Client) Details(ctx context.Context, s stream.Stream, ids iter.Seq[string], read Reader) (Details, error) {
	d := &detailCollector{c: c, stream: s, read: read}
	nextID, stop := iter.Pull(ids)
	defer stop()
	err := d.requestIDs(ctx, nextID, scopeSample)
	if err == nil {
		err = d.missingScopeErr()
	}
	if err == nil {
		err = d.requestIDs(ctx, nextID, math.MaxInt)
	}
	if err == nil && ctx.Err() != nil {
		err = stoppedErr(ctx, s.Name)
	}
	r := d.result
	r.TotalFirst, r.TotalLast = -1, -1 // single records have no totals
	slices.Sort(r.Gone)
	slices.Sort(r.Refused)
	switch {
	case err != nil:
		r.setGrade(stream.BestEffort, "reading stopped early")
	case r.Failed > 0:
		r.setGrade(stream.BestEffort, "%d of %s failed", r.Failed, humanize.Count(r.RequestedIDs, "id"))
	case r.Rejected > 0:
		r.setGrade(stream.BestEffort, "%s of %s rejected (meta.rejects)", humanize.Count(r.Rejected, "record"), humanize.Count(r.Found, "response"))
	case r.Grade == "" || r.Grade == stream.Exact:
		r.setGrade(stream.Exact, "%s", r.DescribeResponses(r.RequestedIDs))
	}
	return r, err
}

// DescribeResponses describes the results for idCount ids, including ids that were not requested.
func (d Details) DescribeResponses(idCount int) string {
	switch idCount {
	case 0:
		return "there was no id to request"
	case d.Found:
		return "every id was read completely"
	}
	text := fmt.Sprintf("%d of %s were read completely", d.Found, humanize.Count(idCount, "id"))
	if len(d.Gone) > 0 {
		text += fmt.Sprintf("; %d returned 404", len(d.Gone))
	}
	return text
}

type detailCollector struct {
	c      *Client
	stream stream.Stream
	read   Reader

	mu             sync.Mutex
	result         Details
	failuresInARow int
}

// requestIDs requests at most n ids and waits for the results.
func (d *detailCollector) requestIDs(ctx context.Context, nextID func() (string, bool), n int) error {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(d.c.cfg.Concurrency)
	for range n {
		if inner.Err() != nil {
			break
		}
		id, ok := nextID()
		if !ok {
			break
		}
		group.Go(func() error { return d.requestOne(inner, id) })
	}
	return group.Wait()
}

// missingScopeErr returns an error if all requested ids got a 403. The ids then do not count as requested.
func (d *detailCollector) missingScopeErr() error {
	first, ok := errors.AsType[*StatusError](d.result.FirstFailure)
	if !ok || len(d.result.Refused) < d.result.RequestedIDs {
		return nil
	}
	d.result = Details{}
	endpointErr := *first
	endpointErr.isPart = false // its advice is about the endpoint, not about one record
	return &endpointErr
}

// requestOne requests one id. It returns an error only if no further id should be requested.
func (d *detailCollector) requestOne(ctx context.Context, id string) error {
	evidence, err := d.c.Walk(ctx, d.stream, id, d.read)
	if err != nil && endsStream(err) {
		return err
	}
	if err == nil {
		err = evidence.Failure
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	r := &d.result
	r.RequestedIDs++
	r.Repeated += evidence.Repeated
	r.Distinct += evidence.Distinct
	failed, _ := errors.AsType[*StatusError](err)
	gone := failed != nil && isGone(failed.Code)
	if err != nil && !gone {
		return d.addFailure(id, err)
	}
	d.failuresInARow = 0
	if gone {
		r.Gone = append(r.Gone, id)
		return nil
	}
	r.Found++
	r.Rejected += evidence.Rejected
	switch {
	case evidence.Grade == stream.BestEffort:
		r.Unproven = append(r.Unproven, id)
	case evidence.IsDoubtful:
		r.Doubtful = append(r.Doubtful, id)
	}
	if worse := stream.WorseGrade(r.Grade, evidence.Grade); worse != r.Grade {
		r.setGrade(worse, "id %q: %s", id, evidence.Reason)
	}
	return nil
}

// addFailure returns an error only if no further id should be requested.
func (d *detailCollector) addFailure(id string, err error) error {
	r := &d.result
	r.Failed++
	r.Unproven = append(r.Unproven, id)
	if r.FirstFailure == nil {
		r.FirstFailure = err
	}
	failed, isStatus := errors.AsType[*StatusError](err)
	if isStatus && failed.Is(ErrScope) {
		r.Refused = append(r.Refused, id)
		return nil
	}
	// An id that was not even requested proves nothing about the endpoint.
	if isStatus && failed.Attempts == 0 {
		return nil
	}
	d.failuresInARow++
	if d.failuresInARow >= maxFailuresInARow {
		return fmt.Errorf("read stream %q: stopped after %d failed ids in a row, the last one: %w", d.stream.Name, d.failuresInARow, err)
	}
	return nil
}
