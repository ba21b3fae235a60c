package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"placementsync/internal/warehouse"
)

// feedRows is the size from which a batch shows that a table gets many rows. It then has
// a feed, whose rows are written once: those of a statement for each batch are copied
// into the transaction, and at its end once more into the table.
const feedRows = 1_024

// feed is one INSERT that reads batch after batch until it is closed, on a connection of
// its own.
type feed struct {
	in chan arrow.RecordBatch
	// last is closed when no more batches come, done when the INSERT has ended.
	last, done chan struct{}
	// err is how the INSERT ended; it may be read once done is closed.
	err error
}

// feedTarget names what a feed fills.
type feedTarget struct{ stream, table string }

// feeds are the open feeds.
type feeds struct {
	adoption
	mu   sync.Mutex
	open map[feedTarget]*feed
	made int
	// broken is the first INSERT that failed: its rows are lost, so that nothing that was
	// staged may be used.
	broken error
}

// find finds or opens the feed for some rows; nil when they are too few for one and
// there is none.
func (f *feeds) find(ctx context.Context, st, table string, rows int64, first arrow.RecordBatch) (*feed, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil {
		return nil, f.broken
	}
	if one := f.open[feedTarget{st, table}]; one != nil {
		return one, nil
	}
	if err := f.adopt(ctx, st, rows); err != nil {
		return nil, err
	}
	if rows < feedRows && !f.adopted.has(table) {
		return nil, nil
	}
	if err := f.remakeAdopted(ctx, table, first); err != nil {
		return nil, err
	}
	one, err := f.openFeed(ctx, st, table, f.batchSchema(table, first.Schema()))
	if err == nil {
		f.open[feedTarget{st, table}] = one
	}
	return one, err
}

// openFeed starts the INSERT. It outlives the batch that it was opened for.
func (f *feeds) openFeed(ctx context.Context, st, table string, schema *arrow.Schema) (*feed, error) {
	ctx = context.WithoutCancel(ctx)
	f.made++
	catalog := stageName
	if f.adopted.has(table) {
		catalog = catalogName
	}
	l, err := newLane(ctx, f.draft, fmt.Sprintf("feed%d", f.made), catalog)
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
	drop := stageSQL.Render("drop_view", values{"view": warehouse.Name(l.view)})
	go func() {
		defer close(one.done)
		err := l.execute(ctx, insert)
		release()
		one.err = errors.Join(err, l.execute(ctx, drop), l.close())
		reader.dropBatch()
	}()
	return one, nil
}

// send passes a batch of a table to its INSERT. It waits while the INSERT is busy.
func (f *feeds) send(ctx context.Context, one *feed, table string, rows arrow.RecordBatch) error {
	rows = f.shapeBatch(table, rows)
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

// errEnded says that an INSERT ended before its rows did.
var errEnded = errors.New("the INSERT has ended already")

// closeSome ends feeds, all at once, and waits until their rows are in their tables.
func (f *feeds) closeSome(which func(feedTarget) bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for of, one := range f.open {
		if which(of) {
			close(one.last)
		}
	}
	for of, one := range f.open {
		if !which(of) {
			continue
		}
		<-one.done
		if one.err != nil {
			f.broken = errors.Join(f.broken, fmt.Errorf("stage rows of %s.%s: %w", of.stream, of.table, one.err))
		}
		delete(f.open, of)
	}
	return f.broken
}

// feedReader is what DuckDB reads the batches of a feed from.
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

// Next waits for a batch. DuckDB calls it for one thread at a time.
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
