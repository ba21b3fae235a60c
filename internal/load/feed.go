package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"placementsync/internal/sqltext"
)

// feedRows is the size of a batch from which its table gets a feed, because more large batches are
// expected. A feed writes each row once. Without a feed, each batch has its own INSERT, and its rows
// are written twice: into the transaction, and into the table when the transaction is committed.
const feedRows = 1_024

// feed is an INSERT on its own connection. It reads batches until the feed is closed.
type feed struct {
	in chan arrow.RecordBatch
	// last is closed after the last batch, and done after the INSERT has ended.
	last, done chan struct{}
	// err is the error of the INSERT. It may be read once done is closed.
	err error
}

// feedTarget is the stream and the table of a feed.
type feedTarget struct{ stream, table string }

// feeds contains the open feeds.
type feeds struct {
	directLoad
	mu   sync.Mutex
	open map[feedTarget]*feed
	// made counts the feeds so far. The name of a view contains it and is therefore unique.
	made int
	// broken contains the errors of failed INSERTs. Their rows are lost, so the stage must not
	// be used.
	broken error
}

// find finds or opens the feed of a table. It returns nil if the table has no feed and the
// batch has too few rows to open a feed.
func (f *feeds) find(ctx context.Context, st, table string, rows int64, first arrow.RecordBatch) (*feed, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil {
		return nil, f.broken
	}
	if open := f.open[feedTarget{st, table}]; open != nil {
		return open, nil
	}
	// chooseDirect decides whether the feed fills the staging table or the table in main.
	if err := f.chooseDirect(ctx, st, rows); err != nil {
		return nil, err
	}
	if rows < feedRows && !f.direct.has(table) {
		return nil, nil
	}
	tableFeed, err := f.openFeed(ctx, st, table, f.batchSchema(table, first.Schema()))
	if err == nil {
		f.open[feedTarget{st, table}] = tableFeed
	}
	return tableFeed, err
}

// openFeed starts the INSERT of a feed. The INSERT reads batches of later calls, so the end of ctx must
// not cancel it.
func (f *feeds) openFeed(ctx context.Context, st, table string, schema *arrow.Schema) (*feed, error) {
	ctx = context.WithoutCancel(ctx)
	f.made++
	catalog := stageName
	if f.direct.has(table) {
		catalog = catalogName
	}
	ins, err := newInserter(ctx, f.draft, fmt.Sprintf("feed%d", f.made), catalog)
	if err != nil {
		return nil, err
	}
	tableFeed := &feed{in: make(chan arrow.RecordBatch), last: make(chan struct{}), done: make(chan struct{})}
	reader := &feedReader{schema: schema, from: tableFeed}
	release, err := ins.arrow.RegisterView(reader, ins.view)
	if err != nil {
		return nil, errors.Join(err, ins.close())
	}
	insert := ins.insertView(f.tableOf(st, table))
	drop := stageSQL.Render("drop_view", values{"view": sqltext.Name(ins.view)})
	go func() {
		defer close(tableFeed.done)
		err := ins.execute(ctx, insert)
		release()
		tableFeed.err = errors.Join(err, ins.execute(ctx, drop), ins.close())
		reader.dropBatch()
	}()
	return tableFeed, nil
}

// send passes a batch to the INSERT of its table, and waits while the INSERT is busy.
func (f *feeds) send(ctx context.Context, tableFeed *feed, table string, rows arrow.RecordBatch) error {
	rows = f.addValidFrom(table, rows)
	select {
	case tableFeed.in <- rows: // the INSERT releases it
		return nil
	case <-tableFeed.done:
		rows.Release()
		return cmp.Or(tableFeed.err, errEnded)
	case <-ctx.Done():
		rows.Release()
		return context.Cause(ctx)
	}
}

var errEnded = errors.New("the INSERT ended before its last batch")

// allStreams is the argument of closeFeeds for the feeds of all streams.
const allStreams = ""

// closeFeeds ends the feeds of a stream at the same time, and waits until their rows are inserted.
func (f *feeds) closeFeeds(st string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	closing := map[feedTarget]*feed{}
	for target, tableFeed := range f.open {
		if st == allStreams || st == target.stream {
			closing[target] = tableFeed
			close(tableFeed.last)
		}
	}
	for target, tableFeed := range closing {
		<-tableFeed.done
		if tableFeed.err != nil {
			f.broken = errors.Join(f.broken, fmt.Errorf("stage rows of %s.%s: %w", target.stream, target.table, tableFeed.err))
		}
		delete(f.open, target)
	}
	return f.broken
}

// feedReader passes the batches of a feed to DuckDB.
type feedReader struct {
	schema *arrow.Schema
	from   *feed
	batch  arrow.RecordBatch
}

// Retain implements array.RecordReader, as the other methods do.
func (r *feedReader) Retain()                        {}
func (r *feedReader) Release()                       {}
func (r *feedReader) Schema() *arrow.Schema          { return r.schema }
func (r *feedReader) Err() error                     { return nil }
func (r *feedReader) RecordBatch() arrow.RecordBatch { return r.batch }
func (r *feedReader) Record() arrow.RecordBatch      { return r.batch }

// Next waits for a batch. DuckDB calls it from one thread at a time.
func (r *feedReader) Next() bool {
	r.dropBatch()
	select {
	case r.batch = <-r.from.in:
		return true
	case <-r.from.last:
		return false
	}
}

func (r *feedReader) dropBatch() {
	if r.batch != nil {
		r.batch.Release()
		r.batch = nil
	}
}
