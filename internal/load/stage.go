// Package load takes Arrow record batches into a draft of the warehouse:
// staged beside it as they come, gated when all are there, merged into main
// and past, and copied to Parquet.
//
// It must not know how records were fetched or decoded; what it is told of a
// stream is which rows it staged and what their absence proves.
package load

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/duckdb/duckdb-go/v2"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// stageFile holds the staged rows during a night, inside the draft's folder,
// so that the catalogue itself never grows by rows that are then deleted.
const stageFile = "stage.duckdb"

// lanes is how many connections insert at once. One INSERT compresses mostly
// on one thread; a second lane takes the night from 11.5 to 8 s per million
// records on two cores, a third gains nothing there.
const lanes = 2

// Stage collects the rows of a night. Add may be called from many goroutines.
type Stage struct {
	draft   *warehouse.Draft
	defs    map[string]stream.Definition
	streams []stream.Stream
	free    chan *lane
	settle  sync.Mutex
	feeds   feeds
	// threads are those that DuckDB had before.
	threads int
	// left are the streams whose unchanged records are left out, and beside
	// those where the rows of main have been put in their place.
	left, beside names
}

// Open attaches the stage to a draft, with one table per stream and table:
// the columns of schema/ in order, then row_hash and seq.
func Open(ctx context.Context, d *warehouse.Draft, defs map[string]stream.Definition, streams []stream.Stream) (*Stage, error) {
	s := &Stage{draft: d, defs: defs, streams: streams, free: make(chan *lane, lanes),
		feeds: feeds{open: map[feeding]*feed{}}}
	err := s.create(ctx)
	if err == nil {
		s.threads, err = setThreads(ctx, d, 1)
	}
	if err != nil {
		return nil, fmt.Errorf("open the stage: %w", err)
	}
	for i := range lanes {
		l, err := newLane(ctx, d, fmt.Sprintf("batch%d", i), "stage")
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open the stage: %w", err), s.closeLanes())
		}
		s.free <- l
	}
	return s, nil
}

func (s *Stage) create(ctx context.Context) error {
	path := filepath.Join(s.draft.Dir, stageFile)
	// Staged rows are read once: compressing them costs more than it saves.
	// Merge switches back, since it writes what stays. And nobody recovers a
	// stage, so that a log of it would be time and syncs for nothing.
	if err := s.draft.Exec(ctx, "ATTACH "+warehouse.Literal(path)+" AS stage (RECOVERY_MODE NO_WAL_WRITES)", "SET GLOBAL force_compression = 'uncompressed'"); err != nil {
		return err
	}
	statements := []string{"CREATE SCHEMA stage.fresh", "CREATE SCHEMA stage.closing", createTable("stage.rejects", rejectColumns),
		createTable("stage.drift", driftColumns), createTable("stage.drift_sets", driftSetColumns),
		createTable("stage.drift_carriers", driftCarrierColumns), createTable("stage.event_ids", eventIDColumns), createTable("stage.events", eventColumns)}
	for _, st := range s.streams {
		statements = append(statements,
			"CREATE SCHEMA stage."+warehouse.Quote(st.Name),
			createTable(asked(st.Name), askedColumns),
			"CREATE TABLE "+planned(st.Name)+" (id VARCHAR, fingerprint VARCHAR, why VARCHAR, turn INTEGER, overdue BOOLEAN, unread BOOLEAN, stays BOOLEAN)")
		for _, t := range tablesOf(st) {
			statements = append(statements, createStaged(staged(st.Name, t.Name), s.defs[t.Name]))
		}
	}
	return s.draft.Atomically(ctx, statements)
}

// tablesOf are the tables of one stream, each once: a record and the items in
// it may be rows of the same.
func tablesOf(st stream.Stream) []stream.Table { return stream.Tables([]stream.Stream{st}) }

// createStaged makes a table of the columns that the decoder's batches have.
// JSON arrives as text and becomes JSON when it is merged.
func createStaged(name string, def stream.Definition) string {
	var cols []string
	for _, c := range def.Columns {
		kind := string(c.Type)
		if c.Type == stream.JSON {
			kind = "VARCHAR"
		}
		cols = append(cols, warehouse.Quote(c.Name)+" "+kind)
	}
	return fmt.Sprintf("CREATE TABLE %s (%s, row_hash UBIGINT, seq UBIGINT)", name, strings.Join(cols, ", "))
}

// staged names a table that a stream filled.
func staged(st, table string) string {
	return "stage." + warehouse.Quote(st) + "." + warehouse.Quote(table)
}

// asked names the list of ids that a stream of details asked for. A table of
// main cannot collide with it: "$" is in no schema file.
func asked(st string) string { return staged(st, "$asked") }

// fresh names the rows that a table of main shall have, from all streams.
func fresh(table string) string { return staged("fresh", table) }

// Add stages rows of one table and releases them. It blocks while DuckDB is
// busy, which is what keeps memory flat: whoever decodes waits.
func (s *Stage) Add(ctx context.Context, st, table string, rows ...arrow.RecordBatch) error {
	defer Drop(rows)
	var count int64
	for _, b := range rows {
		count += b.NumRows()
	}
	f, err := s.feed(ctx, st, table, count, rows[0].Schema())
	switch {
	case err != nil:
	case f == nil:
		err = s.addSmall(ctx, st, table, rows)
	default:
		for _, b := range rows {
			err = errors.Join(err, s.send(ctx, f, table, b))
		}
	}
	if err != nil {
		return fmt.Errorf("stage %d rows of %s.%s: %w", count, st, table, err)
	}
	return nil
}

// Drop releases batches that nobody will stage.
func Drop(rows []arrow.RecordBatch) {
	for _, b := range rows {
		b.Release()
	}
}

func (s *Stage) send(ctx context.Context, f *feed, table string, rows arrow.RecordBatch) error {
	shaped := s.shape(table, rows)
	defer shaped.Release()
	return f.send(ctx, shaped)
}

// addSmall stages batches by a statement of their own.
func (s *Stage) addSmall(ctx context.Context, st, table string, rows []arrow.RecordBatch) error {
	l, err := s.take(ctx)
	if err != nil {
		return err
	}
	defer s.give(l)
	return l.insert(ctx, staged(st, table), rows...)
}

func (s *Stage) take(ctx context.Context) (*lane, error) {
	select {
	case l := <-s.free:
		return l, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *Stage) give(l *lane) { s.free <- l }

// Settle makes all rows added so far visible to queries.
func (s *Stage) Settle(ctx context.Context) error {
	return s.settleFeeds(ctx, func(feeding) bool { return true })
}

// settleStream makes the rows of one stream visible; rows of others may be added
// meanwhile.
func (s *Stage) settleStream(ctx context.Context, st stream.Stream) error {
	return s.settleFeeds(ctx, func(f feeding) bool { return f.stream == st.Name })
}

func (s *Stage) settleFeeds(ctx context.Context, which func(feeding) bool) error {
	s.settle.Lock()
	defer s.settle.Unlock()
	err := s.closeFeeds(which)
	held := make([]*lane, 0, lanes)
	for range lanes {
		l, takeErr := s.take(ctx)
		if takeErr != nil {
			err = errors.Join(err, takeErr)
			break
		}
		held = append(held, l)
		err = errors.Join(err, l.commit(ctx))
	}
	for _, l := range held {
		s.give(l)
	}
	if err != nil {
		return fmt.Errorf("settle the stage: %w", err)
	}
	return nil
}

// Close ends the stage and removes its file; the draft stays open.
func (s *Stage) Close(ctx context.Context) error {
	// A feed that failed has said so to whom it concerned.
	_ = s.closeFeeds(func(feeding) bool { return true })
	err := s.closeLanes()
	if s.draft.Instance != nil {
		err = errors.Join(err, s.draft.Exec(ctx, "DETACH stage"))
	}
	path := filepath.Join(s.draft.Dir, stageFile)
	return errors.Join(err, os.RemoveAll(path), os.RemoveAll(path+".wal"))
}

func (s *Stage) closeLanes() error {
	var err error
	for len(s.free) > 0 {
		err = errors.Join(err, (<-s.free).close())
	}
	return err
}

// lane is one connection with at most one open transaction. Rows of many
// batches go into one transaction: a commit per batch takes five times as long.
type lane struct {
	conn  driver.Conn
	arrow *duckdb.Arrow
	view  string
	open  bool
	// broken is the first statement that failed. It took the rows of the
	// whole transaction with it, and DuckDB ends such a one by COMMIT without
	// a word, so the lane takes and commits nothing more.
	broken error
}

func newLane(ctx context.Context, d *warehouse.Draft, view, catalog string) (*lane, error) {
	conn, err := d.Connect(ctx)
	if err != nil {
		return nil, err
	}
	a, err := duckdb.NewArrowFromConn(conn)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	l := &lane{conn: conn, arrow: a, view: view}
	// The view of a batch is made in the current catalogue. A transaction
	// writes to one file only, so that has to be the one of the table; and two
	// of them must not make the same view, hence a name per lane.
	if err := l.exec(ctx, "USE "+catalog); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return l, nil
}

// insert registers batches as a view and copies them as they stand. Only this
// form of statement is safe on such a view: a projection gives wrong columns
// and a filter is ignored.
func (l *lane) insert(ctx context.Context, table string, rows ...arrow.RecordBatch) (err error) {
	if l.broken != nil {
		return l.broken
	}
	defer func() { l.broken = err }()
	if !l.open {
		if err := l.exec(ctx, "BEGIN"); err != nil {
			return err
		}
		l.open = true
	}
	reader, err := array.NewRecordReader(rows[0].Schema(), rows)
	if err != nil {
		return err
	}
	defer reader.Release()
	release, err := l.arrow.RegisterView(reader, l.view)
	if err != nil {
		return err
	}
	defer release()
	return l.exec(ctx, "INSERT INTO "+table+" SELECT * FROM "+l.view)
}

func (l *lane) exec(ctx context.Context, statement string) error {
	_, err := l.conn.(driver.ExecerContext).ExecContext(ctx, statement, nil)
	return err
}

func (l *lane) commit(ctx context.Context) error {
	if l.broken != nil || !l.open {
		return l.broken
	}
	l.open = false
	l.broken = l.exec(ctx, "COMMIT")
	return l.broken
}

func (l *lane) close() error { return l.conn.Close() }
