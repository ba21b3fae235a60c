package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// stageFile contains the staged rows during a night. It is a separate file in the draft's folder,
// because staged rows, which are deleted after the merge, would leave unused blocks in the catalog.
const stageFile = "stage.duckdb"

type streamTable struct{ stream, table string }

func (s *Stage) create(ctx context.Context) error {
	path := filepath.Join(s.draft.Dir, stageFile)
	if err := s.draft.Exec(ctx, stageSQL.Render("attach", values{"file": path})); err != nil {
		return err
	}
	statements := []sqlText{createSchemaSQL(desiredSchema), createSchemaSQL(changedKeysSchema), stageSQL.Render("create_findings", nil)}
	for _, st := range s.streams {
		statements = append(statements, createSchemaSQL(st.Name))
		if st.IsDetail() {
			statements = append(statements, stageSQL.Render("create_details", values{"requested": requestedTable(st.Name), "plan": planTable(st.Name)}))
		}
		if s.canSkip(st) {
			statements = append(statements, stageSQL.Render("create_table", values{"table": stagedTable(st.Name, listedName), "columns": sqlText("row_id BIGINT, is_unchanged BOOLEAN")}))
		}
		for _, t := range tablesOf(st) {
			columns := sqltext.Join(s.draft.Schema.Definitions[t.Name].Columns, ", ", func(c stream.Column) sqlText {
				if c.Type == stream.JSON { // JSON is staged as text, and the merge converts it
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

func createSchemaSQL(name string) sqlText {
	return stageSQL.Render("create_schema", values{"schema": sqlText(stageName + "." + sqltext.Quote(name))})
}

// A table gets a feed when at least largeBatchRows rows are inserted at a time, because more such inserts
// are expected. A directly filled table always has a feed. With feeds, the tables of a large list are filled
// at the same time.
const largeBatchRows = 1_024

// chooseFeed returns the feed of a table, and opens it if the table needs one. nil means that the rows are
// inserted without a feed.
func (s *Stage) chooseFeed(ctx context.Context, target streamTable, first arrow.RecordBatch, rowCount int64) (*feed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if existing := s.feeds[target]; existing != nil || s.feedErr != nil {
		return existing, s.feedErr
	}
	if err := s.chooseDirect(ctx, target.stream, rowCount); err != nil {
		return nil, err
	}
	if rowCount < largeBatchRows && !s.direct.has(target.table) {
		return nil, nil
	}
	if s.direct.has(target.table) {
		if err := s.draft.RecreateTable(ctx, target.table, stream.Column{Name: stream.Seq, Type: "UBIGINT"}, chooseCompression(first)); err != nil {
			return nil, err
		}
	}
	opened, err := s.openFeed(ctx, target, first.Schema())
	if err == nil {
		s.feeds[target] = opened
	}
	return opened, err
}

const allStreams = "" // an argument of flush

// flush makes the added rows of a stream, or of allStreams, visible to queries. Concurrent calls of AddRows
// wait until flush ends.
func (s *Stage) flush(ctx context.Context, streamName string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := errors.Join(s.closeFeeds(streamName), s.shared.commit(ctx))
	if err != nil {
		return fmt.Errorf("commit the staged rows: %w", err)
	}
	return nil
}

func (s *Stage) closeFeeds(streamName string) error {
	closing := map[streamTable]*feed{}
	for target, f := range s.feeds {
		if streamName == allStreams || streamName == target.stream {
			closing[target] = f
			close(f.noMoreBatches)
		}
	}
	for target, f := range closing {
		if err := f.wait(); err != nil {
			s.feedErr = errors.Join(s.feedErr, fmt.Errorf("stage rows of %s.%s: %w", target.stream, target.table, err))
		}
		delete(s.feeds, target)
	}
	return s.feedErr
}

// Close closes the stage and removes its file. The draft stays open.
func (s *Stage) Close(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.closeFeeds(allStreams) // flush or insert has reported the error
	err := s.shared.conn.Close()
	if s.draft.Instance != nil {
		err = errors.Join(err, s.draft.Exec(ctx, stageSQL.Render("detach", values{"catalog": sqltext.Name(stageName)})))
	}
	path := filepath.Join(s.draft.Dir, stageFile)
	return errors.Join(err, os.RemoveAll(path), os.RemoveAll(path+".wal"))
}

func setThreads(ctx context.Context, d *warehouse.Draft, threads int) error {
	return d.Exec(ctx, stageSQL.Render("set_threads", values{"threads": threads}))
}
