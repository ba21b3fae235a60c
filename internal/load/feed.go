package load

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"placementsync/internal/sqltext"
)

// feed inserts the batches of one table with a single INSERT, which reads them from a channel. DuckDB
// then writes each row once. With an INSERT for each batch, DuckDB would write each row twice: into the
// transaction, and into the table at the commit.
type feed struct {
	batches chan arrow.RecordBatch
	closing sync.RWMutex // held for reading while a batch is sent
	closed  bool         // guarded by closing
	sent    atomic.Int64 // number of rows
	// insertEnded is closed after the INSERT. Then inserted, the number of inserted rows, and err may be read.
	insertEnded chan struct{}
	inserted    int64
	err         error
}

// bufferedBatches is the number of batches that wait for DuckDB. It lets the decoders work while DuckDB
// compresses a row group, which shortens a first night by a tenth.
const bufferedBatches = 8

// openFeed starts the INSERT of a table on a connection of its own. The INSERT also reads the batches
// of later calls of Rows.Add, so the end of ctx must not cancel it.
func (s *staging) openFeed(ctx context.Context, target streamTable, schema *arrow.Schema) (*feed, error) {
	ctx = context.WithoutCancel(ctx)
	database := stageName
	if s.direct.has(target.table) {
		database = catalogName
	}
	ins, err := newInserter(ctx, s.draft, target.stream+"."+target.table, database)
	if err != nil {
		return nil, err
	}
	f := &feed{batches: make(chan arrow.RecordBatch, bufferedBatches), insertEnded: make(chan struct{})}
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
	f.closing.RLock()
	defer f.closing.RUnlock()
	if f.closed {
		return errors.New("the INSERT was ended before its last batch")
	}
	for _, batch := range batches {
		batch.Retain() // feedReader releases it
		select {
		case f.batches <- batch:
			f.sent.Add(batch.NumRows())
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

// close ends the INSERT after the last batch that was sent.
func (f *feed) close() {
	f.closing.Lock()
	defer f.closing.Unlock()
	f.closed = true
	close(f.batches)
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
	batch, ok := <-r.feed.batches
	r.batch = batch
	return ok
}

func (r *feedReader) releaseBatch() {
	if r.batch != nil {
		r.batch.Release()
		r.batch = nil
	}
}
