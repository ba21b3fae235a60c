package load

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"placementsync/internal/sqltext"
)

// feed inserts the batches of one table with a single INSERT, which reads them from a channel. DuckDB
// then writes each row once. With an INSERT for each batch, DuckDB would write each row twice: into the
// transaction, and into the table at the commit.
type feed struct {
	batches chan arrow.RecordBatch
	// noMoreBatches is closed after the last batch, and insertEnded after the INSERT.
	noMoreBatches, insertEnded chan struct{}
	sent                       atomic.Int64 // number of rows
	// err is the error of the INSERT, and inserted its number of rows. They may be read once insertEnded is closed.
	err      error
	inserted int64
}

// openFeed starts the INSERT of a table on a connection of its own. The INSERT also reads the batches
// of later calls of AddRows, so the end of ctx must not cancel it.
func (s *Stage) openFeed(ctx context.Context, target streamTable, schema *arrow.Schema) (*feed, error) {
	ctx = context.WithoutCancel(ctx)
	database := stageName
	if s.direct.has(target.table) {
		database = catalogName
	}
	ins, err := newInserter(ctx, s.draft, target.stream+"."+target.table, database)
	if err != nil {
		return nil, err
	}
	f := &feed{batches: make(chan arrow.RecordBatch), noMoreBatches: make(chan struct{}), insertEnded: make(chan struct{})}
	reader := &feedReader{feed: f, schema: schema}
	release, err := ins.arrow.RegisterView(reader, ins.view)
	if err != nil {
		return nil, errors.Join(err, ins.conn.Close())
	}
	go func() {
		defer close(f.insertEnded)
		var err error
		f.inserted, err = ins.executeAndCount(ctx, s.insertBatchSQL(target, ins.view))
		release()
		reader.releaseBatch()
		dropView := stageSQL.Render("drop_view", values{"view": sqltext.Name(ins.view)})
		f.err = errors.Join(err, ins.execute(ctx, dropView), ins.conn.Close())
	}()
	return f, nil
}

func (f *feed) send(ctx context.Context, batches []arrow.RecordBatch) error {
	for _, batch := range batches {
		batch.Retain() // feedReader releases it
		f.sent.Add(batch.NumRows())
		select {
		case f.batches <- batch:
		case <-f.insertEnded:
			batch.Release()
			return errors.Join(errors.New("the INSERT ended before its last batch"), f.err)
		case <-ctx.Done():
			batch.Release()
			return context.Cause(ctx)
		}
	}
	return nil
}

// wait waits for the end of the INSERT and checks that it inserted all rows.
func (f *feed) wait() error {
	<-f.insertEnded
	if f.err != nil {
		return f.err
	}
	return checkInserted(f.inserted, f.sent.Load())
}

// feedReader implements array.RecordReader.
type feedReader struct {
	feed   *feed
	schema *arrow.Schema
	batch  arrow.RecordBatch
}

func (r *feedReader) Retain()                        {}
func (r *feedReader) Release()                       {}
func (r *feedReader) Schema() *arrow.Schema          { return r.schema }
func (r *feedReader) Err() error                     { return nil }
func (r *feedReader) RecordBatch() arrow.RecordBatch { return r.batch }
func (r *feedReader) Record() arrow.RecordBatch      { return r.batch }

// Next waits for a batch. DuckDB calls it from one thread at a time.
func (r *feedReader) Next() bool {
	r.releaseBatch()
	select {
	case r.batch = <-r.feed.batches:
		return true
	case <-r.feed.noMoreBatches:
		return false
	}
}

func (r *feedReader) releaseBatch() {
	if r.batch != nil {
		r.batch.Release()
		r.batch = nil
	}
}
