package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// feedRows is the size from which a batch shows that a table gets many rows. It
// then has a feed, whose rows are written once: those of a statement per batch
// are copied into the transaction, and at its end once more into the table.
const feedRows = 1_024

// feed is one INSERT that takes batch after batch until it is closed, on a
// connection of its own.
type feed struct {
	in chan arrow.RecordBatch
	// last is closed when no more batches come, done when the INSERT has ended.
	last, done chan struct{}
	// err is how the INSERT ended; it is there when done is closed.
	err error
}

// feeding names what a feed fills.
type feeding struct{ stream, table string }

// feeds are the open feeds.
type feeds struct {
	mu   sync.Mutex
	open map[feeding]*feed
	made int
	// adopted are the tables of main that are filled at once, without a stage;
	// unfit the streams for which that is not possible any more.
	adopted, unfit names
	// broken is the first INSERT that failed: its rows are lost, so that
	// nothing that was staged may be used.
	broken error
}

// names is a set of names that may be used from many goroutines.
type names struct{ set sync.Map }

func (n *names) add(name string) { n.set.Store(name, true) }

func (n *names) has(name string) bool {
	_, ok := n.set.Load(name)
	return ok
}

// feed finds or opens the feed for some rows; nil when they are too few for one
// and there is none.
func (s *Stage) feed(ctx context.Context, st, table string, rows int64, schema *arrow.Schema) (*feed, error) {
	s.feeds.mu.Lock()
	defer s.feeds.mu.Unlock()
	if s.feeds.broken != nil {
		return nil, s.feeds.broken
	}
	if f := s.feeds.open[feeding{st, table}]; f != nil {
		return f, nil
	}
	if err := s.adopt(ctx, st, rows); err != nil {
		return nil, err
	}
	if rows < feedRows && !s.feeds.adopted.has(table) {
		return nil, nil
	}
	f, err := s.openFeed(ctx, st, table, s.shaped(table, schema))
	if err == nil {
		s.feeds.open[feeding{st, table}] = f
	}
	return f, err
}

// openFeed starts the INSERT. It outlives the batch that it was opened for.
func (s *Stage) openFeed(ctx context.Context, st, table string, schema *arrow.Schema) (*feed, error) {
	ctx = context.WithoutCancel(ctx)
	s.feeds.made++
	l, err := newLane(ctx, s.draft, fmt.Sprintf("feed%d", s.feeds.made), s.catalogOf(table))
	if err != nil {
		return nil, err
	}
	f := &feed{in: make(chan arrow.RecordBatch), last: make(chan struct{}), done: make(chan struct{})}
	reader := &arrivals{schema: schema, from: f}
	release, err := l.arrow.RegisterView(reader, l.view)
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	go func() {
		defer close(f.done)
		err := l.exec(ctx, "INSERT INTO "+s.home(st, table)+" SELECT * FROM "+l.view)
		release()
		f.err = errors.Join(err, l.exec(ctx, "DROP VIEW "+l.view), l.close())
		reader.drop()
	}()
	return f, nil
}

// send hands a batch to the INSERT, which has it from then on. It waits while
// the INSERT is busy.
func (f *feed) send(ctx context.Context, rows arrow.RecordBatch) error {
	rows.Retain()
	select {
	case f.in <- rows:
		return nil
	case <-f.done:
		rows.Release()
		return cmp.Or(f.err, errEnded)
	case <-ctx.Done():
		rows.Release()
		return context.Cause(ctx)
	}
}

// errEnded says that an INSERT ended before its rows did.
var errEnded = errors.New("the INSERT has ended already")

// closeFeeds ends feeds, all at once, and waits until their rows are in their
// tables.
func (s *Stage) closeFeeds(which func(feeding) bool) error {
	s.feeds.mu.Lock()
	defer s.feeds.mu.Unlock()
	for of, f := range s.feeds.open {
		if which(of) {
			close(f.last)
		}
	}
	for of, f := range s.feeds.open {
		if !which(of) {
			continue
		}
		<-f.done
		if f.err != nil {
			s.feeds.broken = errors.Join(s.feeds.broken, fmt.Errorf("stage rows of %s.%s: %w", of.stream, of.table, f.err))
		}
		delete(s.feeds.open, of)
	}
	return s.feeds.broken
}

// arrivals is what DuckDB pulls the batches of a feed from.
type arrivals struct {
	schema *arrow.Schema
	from   *feed
	now    arrow.RecordBatch
}

func (a *arrivals) Retain()                        {}
func (a *arrivals) Release()                       {}
func (a *arrivals) Schema() *arrow.Schema          { return a.schema }
func (a *arrivals) Err() error                     { return nil }
func (a *arrivals) RecordBatch() arrow.RecordBatch { return a.now }
func (a *arrivals) Record() arrow.RecordBatch      { return a.now }

// Next waits for a batch. DuckDB calls it for one thread at a time.
func (a *arrivals) Next() bool {
	a.drop()
	select {
	case a.now = <-a.from.in:
		return true
	case <-a.from.last:
		return false
	}
}

func (a *arrivals) drop() {
	if a.now != nil {
		a.now.Release()
		a.now = nil
	}
}

// adopt lets a stream that brings many rows fill the tables of main themselves,
// where these are empty and nobody else has a say in them: what is written to
// the stage first is written twice. Until the merge the tables have the column
// seq besides their own, which tells copies of a record apart.
func (s *Stage) adopt(ctx context.Context, name string, rows int64) error {
	if s.feeds.unfit.has(name) {
		return nil
	}
	s.feeds.unfit.add(name) // decided by its first batch
	st, _ := stream.Find(s.streams, name)
	if rows < feedRows || !s.alone(st) {
		return nil
	}
	tables := tablesOf(st)
	for _, t := range tables {
		var there bool
		err := s.draft.DB.QueryRowContext(ctx, "SELECT EXISTS (FROM main."+warehouse.Quote(t.Name)+")").Scan(&there)
		if err != nil || there {
			return err
		}
	}
	statements := compression(smallCatalog)
	for _, t := range tables {
		statements = append(statements, "ALTER TABLE main."+warehouse.Quote(t.Name)+" ADD COLUMN seq UBIGINT",
			"DROP TABLE "+staged(name, t.Name), s.shownAs(name, t.Name, "seq"))
		s.feeds.adopted.add(t.Name)
	}
	return s.draft.Exec(ctx, statements...)
}

// alone reports whether no other stream fills or completes the tables of a list.
func (s *Stage) alone(st stream.Stream) bool {
	over := slices.ContainsFunc(s.streams, func(o stream.Stream) bool { return o.Over == st.Name })
	shared := slices.ContainsFunc(tablesOf(st), func(t stream.Table) bool { return len(stream.Feeding(s.streams, t.Name)) > 1 })
	return !over && !shared && st.Over == "" && !st.IsDetail()
}

// shownAs lets the rest of the stage read an adopted table as if it were staged.
func (s *Stage) shownAs(st, table, seq string) string {
	return fmt.Sprintf("CREATE OR REPLACE VIEW %s AS SELECT %s, row_hash, %s FROM %s.main.%s", staged(st, table),
		warehouse.Columns("", s.defs[table]), seq, catalogName, warehouse.Quote(table))
}

// catalogName is DuckDB's name for the draft's own file.
const catalogName = "catalog"

// catalogOf is the file that a table of the stage lies in.
func (s *Stage) catalogOf(table string) string {
	if s.feeds.adopted.has(table) {
		return catalogName
	}
	return "stage"
}

// home is where the rows of a staged table are, to insert or delete some.
func (s *Stage) home(st, table string) string {
	if s.feeds.adopted.has(table) {
		return catalogName + ".main." + warehouse.Quote(table)
	}
	return staged(st, table)
}

// shaped is the schema that a table's batches have when they are inserted: that
// of an adopted one has valid_from before row_hash.
func (s *Stage) shaped(table string, have *arrow.Schema) *arrow.Schema {
	if !s.feeds.adopted.has(table) {
		return have
	}
	n := have.NumFields() - 2
	stamp := arrow.Field{Name: "valid_from", Type: arrow.FixedWidthTypes.Timestamp_us}
	return arrow.NewSchema(slices.Insert(slices.Clone(have.Fields()), n, stamp), nil)
}

// shape puts valid_from into a batch for an adopted table.
func (s *Stage) shape(table string, rows arrow.RecordBatch) arrow.RecordBatch {
	if !s.feeds.adopted.has(table) {
		rows.Retain()
		return rows
	}
	b := array.NewTimestampBuilder(memory.DefaultAllocator, arrow.FixedWidthTypes.Timestamp_us.(*arrow.TimestampType))
	defer b.Release()
	at := arrow.Timestamp(s.draft.At.UnixMicro())
	b.Reserve(int(rows.NumRows()))
	for range rows.NumRows() {
		b.UnsafeAppend(at)
	}
	stamps := b.NewArray()
	defer stamps.Release()
	n := int(rows.NumCols()) - 2
	return array.NewRecordBatch(s.shaped(table, rows.Schema()), slices.Insert(slices.Clone(rows.Columns()), n, stamps), rows.NumRows())
}

// release takes the column seq from the adopted tables again; what is left is
// as if their rows had been merged.
func (s *Stage) release(ctx context.Context) error {
	var statements []string
	for _, st := range s.streams {
		for _, t := range tablesOf(st) {
			if s.feeds.adopted.has(t.Name) {
				statements = append(statements, "ALTER TABLE main."+warehouse.Quote(t.Name)+" DROP COLUMN seq",
					s.shownAs(st.Name, t.Name, "NULL::UBIGINT AS seq"))
			}
		}
	}
	return s.draft.Exec(ctx, statements...)
}
