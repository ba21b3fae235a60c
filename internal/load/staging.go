package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// stageFile contains the staged rows during a night. It is a separate file in the draft's folder,
// because deleted rows would leave unused blocks in the catalog.
const stageFile = "stage.duckdb"

// staging is the file of the stage and the connections that fill it.
type staging struct {
	streamSet
	draft *warehouse.Draft
	feeds feeds
	// inserter inserts the batches of tables without a feed.
	inserter *inserter
	// threads is the number of DuckDB threads before the stage set it to 1.
	threads int
}

// openStaging attaches the file to a draft and creates a staging table for each stream and
// table, with the columns of schema/, row_hash and seq.
func openStaging(ctx context.Context, d *warehouse.Draft, of streamSet) (*staging, error) {
	s := &staging{streamSet: of, draft: d,
		feeds: feeds{directLoad: directLoad{streamSet: of, draft: d}, open: map[feedTarget]*feed{}}}
	err := s.create(ctx)
	if err == nil {
		err = d.LimitMemory(ctx, true)
	}
	if err == nil {
		s.threads, err = setThreads(ctx, d, 1)
	}
	if err == nil {
		s.inserter, err = newInserter(ctx, d, "batch", stageName)
	}
	return s, err
}

func (s *staging) create(ctx context.Context) error {
	path := filepath.Join(s.draft.Dir, stageFile)
	if err := s.draft.Exec(ctx, stageSQL.Render("attach", values{"file": path})); err != nil {
		return err
	}
	statements := []sqlText{createSchema(desiredSchema), createSchema(changedKeysSchema),
		createTable(rejectTable, rejectColumns), createTable(eventTable, eventColumns),
		createTable(driftTable, driftColumns), createTable(driftRecordTable, driftRecordColumns)}
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
			columns := sqltext.Join(s.defs[t.Name].Columns, ", ", func(c stream.Column) sqlText {
				if c.Type == stream.JSON { // it arrives as text, and becomes JSON when it is merged
					c.Type = stream.Text
				}
				return sqlText(sqltext.Quote(c.Name) + " " + string(c.Type))
			})
			statements = append(statements, stageSQL.Render("create_table", values{"table": stagedTable(st.Name, t.Name),
				"columns": columns + ", " + stream.RowHash + " UBIGINT, " + stream.Seq + " UBIGINT"}))
		}
	}
	return s.draft.Atomically(ctx, statements)
}

func createSchema(name string) sqlText {
	return stageSQL.Render("create_schema", values{"schema": sqlText(stageName + "." + sqltext.Quote(name))})
}

// flush makes all added rows visible to queries.
func (s *staging) flush(ctx context.Context) error {
	return s.flushStream(ctx, allStreams)
}

// flushStream makes the rows of a stream visible. Rows of other streams may be added meanwhile.
func (s *staging) flushStream(ctx context.Context, st string) error {
	if err := errors.Join(s.feeds.closeFeeds(st), s.inserter.commit(ctx)); err != nil {
		return fmt.Errorf("commit the staged rows: %w", err)
	}
	return nil
}

func (s *staging) close(ctx context.Context) error {
	// Errors of feeds were reported by flush or Add.
	_ = s.feeds.closeFeeds(allStreams)
	err := s.inserter.close()
	if s.draft.Instance != nil {
		err = errors.Join(err, s.draft.Exec(ctx, stageSQL.Render("detach", values{"catalog": sqltext.Name(stageName)})))
	}
	path := filepath.Join(s.draft.Dir, stageFile)
	return errors.Join(err, os.RemoveAll(path), os.RemoveAll(path+".wal"))
}

// setThreads sets the number of DuckDB's threads and returns the number before. Rows are loaded
// with one thread. Each statement also runs on the thread of its caller, so several feeds use all
// cores. With a second thread an INSERT leaves unfinished row groups inside the table, and a later
// checkpoint writes a quarter of the table again to fill them.
func setThreads(ctx context.Context, d *warehouse.Draft, threads int) (before int, err error) {
	err = queryRow(ctx, d, stageSQL.Render("thread_count", nil)).Scan(&before)
	if err != nil || before == threads {
		return before, err
	}
	return before, d.Exec(ctx, stageSQL.Render("set_threads", values{"threads": threads}))
}
