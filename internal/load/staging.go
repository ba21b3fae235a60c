package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// stageFile holds the staged rows during a night, inside the draft's folder, so that the
// catalog itself never grows by rows that are then deleted.
const stageFile = "stage.duckdb"

// lanes is how many connections insert at once. One INSERT compresses mostly on one
// thread; a second lane takes the night from 11.5 to 8 s per million records on two
// cores, a third gains nothing there.
const lanes = 2

// staging is the file of the stage and the connections that fill it.
type staging struct {
	streamSet
	draft *warehouse.Draft
	free  chan *lane
	feeds feeds
	// settling is held while lanes are committed.
	settling sync.Mutex
	// threads is how many DuckDB had before the stage set it to 1.
	threads int
	// added counts the rows that were staged.
	added atomic.Int64
}

// restoreThreads lets DuckDB have the threads of before, unless there is little to do.
func (s *staging) restoreThreads(ctx context.Context) error {
	if s.draft.EndAlone(s.added.Load()) {
		return nil
	}
	_, err := setThreads(ctx, s.draft, s.threads)
	return err
}

// openStaging attaches the file to a draft, with one table for each stream and table: the
// columns of schema/ in order, then row_hash and seq.
func openStaging(ctx context.Context, d *warehouse.Draft, of streamSet) (*staging, error) {
	s := &staging{streamSet: of, draft: d, free: make(chan *lane, lanes),
		feeds: feeds{adoption: adoption{streamSet: of, draft: d}, open: map[feedTarget]*feed{}}}
	err := s.create(ctx)
	if err == nil {
		err = d.LimitMemory(ctx, true)
	}
	if err == nil {
		s.threads, err = setThreads(ctx, d, 1)
	}
	if err != nil {
		return nil, err
	}
	for i := range lanes {
		l, err := newLane(ctx, d, fmt.Sprintf("batch%d", i), stageName)
		if err != nil {
			return nil, errors.Join(err, s.closeLanes())
		}
		s.free <- l
	}
	return s, nil
}

func (s *staging) create(ctx context.Context) error {
	path := filepath.Join(s.draft.Dir, stageFile)
	if err := execute(ctx, s.draft, stageSQL.Render("attach", values{"file": path})); err != nil {
		return err
	}
	statements := []sqlText{createSchema(freshSchema), createSchema(closingSchema),
		createTable(rejectTable, rejectColumns), createTable(eventTable, eventColumns),
		createTable(driftTable, driftColumns), createTable(driftSetTable, driftSetColumns), createTable(driftCarrierTable, driftCarrierColumns)}
	for _, st := range s.streams {
		statements = append(statements, createSchema(st.Name))
		if st.IsDetail() {
			statements = append(statements, createTable(askedTable(st.Name), askedColumns),
				stageSQL.Render("create_table", values{"table": planTable(st.Name), "columns": planColumns}))
		}
		if s.fillsAlone(st) {
			statements = append(statements, stageSQL.Render("create_table", values{"table": stagedTable(st.Name, stream.SameTable), "columns": sameColumns}))
		}
		for _, t := range tablesOf(st) {
			columns := columnEach(s.defs[t.Name], ", ", func(c stream.Column) sqlText {
				if c.Type == stream.JSON { // it arrives as text, and becomes JSON when it is merged
					c.Type = stream.Text
				}
				return sqlText(warehouse.Quote(c.Name) + " " + string(c.Type))
			})
			statements = append(statements, stageSQL.Render("create_table", values{"table": stagedTable(st.Name, t.Name),
				"columns": columns + ", " + stream.RowHash + " UBIGINT, " + stream.Seq + " UBIGINT"}))
		}
	}
	return executeAll(ctx, s.draft, statements)
}

func createSchema(name string) sqlText {
	return stageSQL.Render("create_schema", values{"schema": sqlText(stageName + "." + warehouse.Quote(name))})
}

// insert stages batches by a statement of their own.
func (s *staging) insert(ctx context.Context, table sqlText, rows ...arrow.RecordBatch) error {
	l, err := s.takeLane(ctx)
	if err != nil {
		return err
	}
	defer func() { s.free <- l }()
	return l.insert(ctx, table, rows...)
}

func (s *staging) takeLane(ctx context.Context) (*lane, error) {
	select {
	case l := <-s.free:
		return l, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// settle makes all rows added so far visible to queries.
func (s *staging) settle(ctx context.Context) error {
	return s.settleSome(ctx, func(feedTarget) bool { return true })
}

// settleSome makes the rows of some feeds visible; rows of others may be added meanwhile.
func (s *staging) settleSome(ctx context.Context, which func(feedTarget) bool) error {
	s.settling.Lock()
	defer s.settling.Unlock()
	err := s.feeds.closeSome(which)
	held := make([]*lane, 0, lanes)
	for range lanes {
		l, laneErr := s.takeLane(ctx)
		if laneErr != nil {
			err = errors.Join(err, laneErr)
			break
		}
		held = append(held, l)
		err = errors.Join(err, l.commit(ctx))
	}
	for _, l := range held {
		s.free <- l
	}
	if err != nil {
		return fmt.Errorf("settle the stage: %w", err)
	}
	return nil
}

// close ends the stage and removes its file; the draft stays open.
func (s *staging) close(ctx context.Context) error {
	// A feed that failed was reported by settle or Add.
	_ = s.feeds.closeSome(func(feedTarget) bool { return true })
	err := s.closeLanes()
	if s.draft.Instance != nil {
		err = errors.Join(err, execute(ctx, s.draft, stageSQL.Render("detach", values{"catalog": warehouse.Name(stageName)})))
	}
	path := filepath.Join(s.draft.Dir, stageFile)
	return errors.Join(err, os.RemoveAll(path), os.RemoveAll(path+".wal"))
}

func (s *staging) closeLanes() error {
	var err error
	for len(s.free) > 0 {
		err = errors.Join(err, (<-s.free).close())
	}
	return err
}

// setThreads sets the number of DuckDB's threads and returns how many it had. A statement
// always has the thread of its caller, so that with one each the feeds of a night use all
// cores; a second thread in an INSERT leaves a row group begun in the midst of the table,
// and to mend that a later checkpoint writes a quarter of the table again.
func setThreads(ctx context.Context, d *warehouse.Draft, threads int) (before int, err error) {
	err = queryRow(ctx, d, stageSQL.Render("thread_count", nil)).Scan(&before)
	if err != nil || before == threads {
		return before, err
	}
	return before, execute(ctx, d, stageSQL.Render("set_threads", values{"threads": threads}))
}
