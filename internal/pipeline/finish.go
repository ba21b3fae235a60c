package pipeline

import (
	"context"
	"errors"
	"sync"

	"placementsync/internal/fetch"
	"placementsync/internal/load"
)

// received is a stream that was asked for all it has, with the rows that its
// decoders still hold and the error that ended it, if one did.
type received struct {
	streamResult
	sink *sink
	// details adds up what became of the ids of a stream that is read in parts.
	details fetch.Details
	err     error
}

// finisher finishes streams in the order in which they were read, while the next
// lists are being asked for: DuckDB sorts out copies of records meanwhile, time in
// which the allowed requests would lie idle.
type finisher struct {
	queue chan received
	ended chan struct{}
	open  sync.WaitGroup
	// err is what ended the night; it may be read after wait.
	err error
}

// finishBehind starts a finisher. It calls end when what it met ends the night.
func (n *night) finishBehind(ctx context.Context, end context.CancelCauseFunc) *finisher {
	f := &finisher{queue: make(chan received, len(n.cfg.Streams)), ended: make(chan struct{})}
	go func() {
		defer close(f.ended)
		for one := range f.queue {
			if f.err == nil {
				if f.err = n.finish(ctx, one); f.err != nil {
					end(f.err)
				}
			}
			f.open.Done()
		}
	}()
	return f
}

// take hands over a stream that was read.
func (f *finisher) take(one received) {
	f.open.Add(1)
	f.queue <- one
}

// wait returns when all streams that were read are finished.
func (f *finisher) wait() error {
	f.open.Wait()
	return f.err
}

func (f *finisher) close() error {
	close(f.queue)
	<-f.ended
	return f.err
}

// finish stages what is left of a stream and decides what it proves.
func (n *night) finish(ctx context.Context, one received) error {
	r := one.streamResult
	err := n.opened(ctx)
	if err == nil {
		err = n.stageRest(ctx, one, &r)
	}
	if err == nil {
		distinct := !r.stream.IsDetail() && r.distinct > 0 && r.distinct == one.sink.records()
		err = n.stage.Rows.Finish(ctx, r.stream, r.cover, distinct)
	}
	if err != nil {
		return err
	}
	n.done = append(n.done, r)
	n.cfg.Watch.read(r)
	if err := n.step("stream staged"); err != nil {
		return err
	}
	n.cfg.Log.Info("stream read", "stream", r.stream.Name, "grade", r.evidence.Grade, "reason", r.evidence.Reason, "rows", r.rows)
	return nil
}

func (n *night) stageRest(ctx context.Context, one received, r *streamResult) error {
	switch {
	case one.sink != nil:
	case n.only != nil && !r.stream.IsEvents():
		return n.leave(ctx, r)
	default:
		return n.carry(ctx, r)
	}
	err := one.err
	if err == nil || one.sink.broken != nil {
		err = errors.Join(err, one.sink.flushAll(ctx))
	}
	// Passes over a list overlap; its records are those it has ids for.
	r.rows, r.rejects = one.sink.records(), one.sink.rejects.Load()
	if r.distinct > 0 {
		r.rows = r.distinct
	}
	if err := n.judge(ctx, r, err); err != nil || n.only == nil || r.cover != load.ByID {
		return err
	}
	return n.lessen(ctx, r)
}
