package pipeline

import (
	"context"
	"errors"

	"placementsync/internal/load"
	"placementsync/internal/warehouse"
)

// opening makes the draft and its stage while the first list is being asked
// for. Copying a catalog takes a second a gigabyte, and making one anew as long:
// time in which the allowed requests would lie idle.
type opening struct {
	done chan struct{}
	// err is there when done is closed.
	err error
}

// open starts the opening. The context that it gives ends when the opening
// fails: what is fetched then could not be staged. closeAll waits for the opening,
// takes all down again, and leaves out of the error what only followed from it.
func (n *night) open(parent context.Context) (ctx context.Context, closeAll func(err error) error) {
	o := &opening{done: make(chan struct{})}
	n.opening, n.draft, n.stage = o, nil, nil
	ctx, cancel := context.WithCancelCause(parent)
	go func() {
		defer close(o.done)
		if o.err = n.openStage(parent); o.err != nil {
			cancel(o.err)
		}
	}()
	return ctx, func(err error) error {
		<-o.done
		defer cancel(nil)
		if n.stage != nil {
			err = errors.Join(err, n.stage.Close(context.WithoutCancel(parent)))
		}
		if n.draft != nil {
			// Publish empties the draft; on every other path it is dropped.
			err = errors.Join(err, n.draft.Discard())
		}
		if o.err != nil && errors.Is(err, o.err) {
			return o.err
		}
		return errors.Join(o.err, err)
	}
}

func (n *night) openStage(ctx context.Context) (err error) {
	if n.draft, err = n.beginDraft(ctx); err != nil {
		return err
	}
	n.draft.Kind = n.run.Kind
	n.stage, err = load.Open(ctx, n.draft, n.wh.Catalog.Definitions(), n.cfg.Streams)
	return err
}

func (n *night) beginDraft(ctx context.Context) (*warehouse.Draft, error) {
	if n.cfg.Fetch.Offline {
		return n.wh.BeginFrom(ctx, n.run.ID, n.run.SnapshotAt, n.base)
	}
	return n.wh.Begin(ctx, n.run.ID, n.run.SnapshotAt)
}

// opened waits until draft and stage are there to be used.
func (n *night) opened(ctx context.Context) error {
	select {
	case <-n.opening.done:
		return n.opening.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
