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

// feedRows is the batch size from which a table is expected to get many rows, and gets a feed.
// Rows of a feed are written once. Rows of an INSERT per batch are written into the transaction
// and, at its end, again into the table.
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
	// made counts the feeds so far. It makes their view names unique.
	made int
	// broken is the error of the first INSERT that failed. Its rows are lost, so the stage
	// must not be used.
	broken error
}

// find finds or opens the feed of a table. It returns nil if the table has no feed and the
// batch has too few rows to open one.
func (f *feeds) find(ctx context.Context, st, table string, rows int64, first arrow.RecordBatch) (*feed, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil {
		return nil, f.broken
	}
	if open := f.open[feedTarget{st, table}]; open != nil {
		return open, nil
	}
	// This decides which table the feed fills.
	if err := f.chooseDirect(ctx, st, rows); err != nil {
		return nil, err
	}
	if rows < feedRows && !f.direct.has(table) {
		return nil, nil
	}
	one, err := f.openFeed(ctx, st, table, f.batchSchema(table, first.Schema()))
	if err == nil {
		f.open[feedTarget{st, table}] = one
	}
	return one, err
}

// openFeed starts the INSERT, which continues after the first batch.
func (f *feeds) openFeed(ctx context.Context, st, table string, schema *arrow.Schema) (*feed, error) {
	ctx = context.WithoutCancel(ctx)
	f.made++
	catalog := stageName
	if f.direct.has(table) {
		catalog = catalogName
	}
	l, err := newInserter(ctx, f.draft, fmt.Sprintf("feed%d", f.made), catalog)
	if err != nil {
		return nil, err
	}
	one := &feed{in: make(chan arrow.RecordBatch), last: make(chan struct{}), done: make(chan struct{})}
	reader := &feedReader{schema: schema, from: one}
	release, err := l.arrow.RegisterView(reader, l.view)
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	insert := l.insertView(f.tableOf(st, table))
	drop := stageSQL.Render("drop_view", values{"view": sqltext.Name(l.view)})
	go func() {
		defer close(one.done)
		err := l.execute(ctx, insert)
		release()
		one.err = errors.Join(err, l.execute(ctx, drop), l.close())
		reader.dropBatch()
	}()
	return one, nil
}

// send passes a batch to the INSERT of its table, and waits while the INSERT is busy.
func (f *feeds) send(ctx context.Context, one *feed, table string, rows arrow.RecordBatch) error {
	rows = f.addValidFrom(table, rows)
	select {
	case one.in <- rows: // the INSERT releases it
		return nil
	case <-one.done:
		rows.Release()
		return cmp.Or(one.err, errEnded)
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
	for of, one := range f.open {
		if st == allStreams || st == of.stream {
			closing[of] = one
			close(one.last)
		}
	}
	for of, one := range closing {
		<-one.done
		if one.err != nil {
			f.broken = errors.Join(f.broken, fmt.Errorf("stage rows of %s.%s: %w", of.stream, of.table, one.err))
		}
		delete(f.open, of)
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
