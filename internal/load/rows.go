package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

type streamTable struct{ stream, table string }

// AddRows stages the batches of one table and releases them. It waits while DuckDB is busy, so that decoders
// do not fill the memory. It may be called from many goroutines.
func (s *Stage) AddRows(ctx context.Context, streamName, table string, batches ...arrow.RecordBatch) error {
	defer ReleaseBatches(batches)
	target := streamTable{streamName, table}
	var count int64
	for _, b := range batches {
		count += b.NumRows()
	}
	if err := s.insertBatches(ctx, target, batches, count); err != nil {
		return fmt.Errorf("stage %d rows of %s.%s: %w", count, streamName, table, err)
	}
	return nil
}

func (s *Stage) insertBatches(ctx context.Context, target streamTable, batches []arrow.RecordBatch, rowCount int64) error {
	tableFeed, err := s.chooseFeed(ctx, target, batches[0], rowCount)
	if err != nil {
		return err
	}
	if tableFeed != nil {
		return tableFeed.send(ctx, batches)
	}
	return s.shared.insert(ctx, s.insertBatchSQL(target, s.shared.view), batches, rowCount)
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

// ReleaseBatches releases the memory of batches.
func ReleaseBatches(batches []arrow.RecordBatch) {
	for _, b := range batches {
		b.Release()
	}
}

// FinishStream makes the staged rows of a stream visible to queries. It keeps only the latest copy of each
// record, and gives the items of its lists the positions that they have in main. It deletes all staged rows of
// a carried stream.
func (s *Stage) FinishStream(ctx context.Context, st stream.Stream, coverage Coverage) error {
	if err := s.flush(ctx, st.Name); err != nil {
		return err
	}
	if err := s.finishRows(ctx, st, coverage, s.takeStored(st.Name)); err != nil {
		return fmt.Errorf("finish the staged rows of %s: %w", st.Name, err)
	}
	return nil
}

func (s *Stage) finishRows(ctx context.Context, st stream.Stream, coverage Coverage, stored *Stored) error {
	if coverage == Carried {
		var deletes []sqlText
		for _, t := range tablesOf(st) {
			deletes = append(deletes, stageSQL.Render("delete_all", values{"table": s.tableWithRows(st.Name, t.Name)}))
		}
		return s.draft.Atomically(ctx, deletes)
	}
	if err := s.deduplicate(ctx, st); err != nil {
		return err
	}
	if stored != nil {
		if err := s.addStoredRows(ctx, st, stored); err != nil {
			return err
		}
	}
	return s.keepPositions(ctx, st)
}

// takeStored returns the fingerprints of a stream, or nil. The stage forgets them, because they need much memory.
func (s *Stage) takeStored(streamName string) *Stored {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored := s.stored[streamName]
	delete(s.stored, streamName)
	return stored
}

// deduplicate keeps, for each key, the row with the highest seq. It deletes the other rows and
// their child rows.
func (s *Stage) deduplicate(ctx context.Context, st stream.Stream) error {
	for _, t := range tablesOf(st) {
		if len(t.Parents) > 0 && slices.Equal(t.Key[:len(t.Parents)], t.Parents) {
			// The key contains the key of the parent, so a row is a duplicate only if its parent is a
			// duplicate. Duplicate parents are deleted with their child rows.
			continue
		}
		table, key := s.tableWithRows(st.Name, t.Name), sqltext.Names(t.Key)
		var hasDuplicates bool
		err := queryRow(ctx, s.draft, stageSQL.Render("has_duplicates", values{"key": key, "table": table})).Scan(&hasDuplicates)
		if err != nil {
			return err
		}
		if !hasDuplicates {
			continue
		}
		statements := []sqlText{stageSQL.Render("find_duplicates", values{"key": key, "table": table})}
		statements = append(statements, s.dropInnerRows(st, t)...)
		statements = append(statements, stageSQL.Render("drop_duplicates", values{"table": table}))
		if err := s.draft.Exec(ctx, statements...); err != nil {
			return err
		}
	}
	return nil
}

// dropInnerRows returns the statements that delete the rows inside duplicates of t.
func (s *Stage) dropInnerRows(st stream.Stream, t stream.Table) (statements []sqlText) {
	for _, inner := range tablesOf(st) {
		isInside := t.At == "" || strings.HasPrefix(inner.At, t.At+".")
		if inner.Name == t.Name || !isInside {
			continue
		}
		innerTable := s.tableWithRows(st.Name, inner.Name)
		if st.Tables[st.EnclosingTable(inner)].Name != t.Name {
			statements = append(statements, stageSQL.Render("drop_deeper_rows", values{"table": innerTable}))
			continue
		}
		args := values{"table": innerTable, "parent_key": sqltext.Names(inner.Parents), "key": sqltext.Names(t.Key)}
		statements = append(statements, stageSQL.Render("drop_child_rows", args))
		if hasPosition(inner) { // an item can occur twice in one record
			statements = append(statements, stageSQL.Render("drop_repeated_child_rows", args))
		}
	}
	return statements
}

// The rows of a large list are inserted into main without staging tables if the tables of the list are
// empty in main, and no other stream fills them or completes the list. With staging tables, all rows would
// be written twice. Until the end of the merge, a directly filled table has the additional column seq.

// chooseDirect decides whether the tables of a stream are filled directly. It decides at its first call for
// the stream, by the number of rows that are inserted first.
func (s *Stage) chooseDirect(ctx context.Context, streamName string, rowCount int64) error {
	if s.directDecided[streamName] {
		return nil
	}
	s.directDecided[streamName] = true
	st, _ := stream.Find(s.streams, streamName)
	if rowCount < largeBatchRows || !fillsAlone(s.streams, st) {
		return nil
	}
	tables := tablesOf(st)
	for _, t := range tables {
		if filled, err := hasRows(ctx, s.draft, mainTable(t.Name)); err != nil || filled {
			return err
		}
	}
	statements := []sqlText{mergeSQL.Render("set_compression", nil)}
	for _, t := range tables {
		statements = append(statements, stageSQL.Render("begin_direct", values{"table": mainTable(t.Name), "staged": stagedTable(streamName, t.Name)}),
			s.createViewSQL(streamName, t.Name, stream.Seq))
		s.direct.add(t.Name)
	}
	return s.draft.Exec(ctx, statements...)
}

// createViewSQL returns SQL that creates a view of a directly filled table, with the name and the columns of
// the staging table that it replaces.
func (s *Stage) createViewSQL(streamName, table string, seq sqlText) sqlText {
	return stageSQL.Render("direct_view", values{"staged": stagedTable(streamName, table), "columns": allColumns(s.draft.Schema.Definitions[table]),
		"seq": seq, "table": catalogName + "." + mainTable(table)})
}

// chooseCompression returns the compression methods for text columns whose values in the first rows are mostly
// different or mostly equal. DuckDB would try each method on each row group, which takes a tenth of the time to
// load a large table. If later values are of another kind, the column only takes more space.
func chooseCompression(first arrow.RecordBatch) map[string]string {
	methods := map[string]string{}
	for i, c := range first.Columns() {
		texts, ok := c.(*array.String)
		if !ok {
			continue
		}
		count, different := 0, map[string]bool{}
		for j := range texts.Len() {
			if texts.IsValid(j) {
				count++
				different[texts.Value(j)] = true
			}
		}
		switch {
		case count < 1_000:
		case 10*len(different) > 9*count:
			methods[first.ColumnName(i)] = "fsst"
		case 50*len(different) < count:
			methods[first.ColumnName(i)] = "dictionary"
		}
	}
	return methods
}

func (s *Stage) tableWithRows(streamName, table string) sqlText {
	if s.direct.has(table) {
		return catalogName + "." + mainTable(table)
	}
	return stagedTable(streamName, table)
}

func (s *Stage) insertBatchSQL(target streamTable, view string) sqlText {
	args := values{"table": s.tableWithRows(target.stream, target.table), "view": sqltext.Name(view)}
	if !s.direct.has(target.table) {
		return stageSQL.Render("insert_batch", args)
	}
	args["now"] = s.draft.At
	return stageSQL.Render("insert_direct", args)
}

func (s *Stage) endDirect(ctx context.Context) error {
	var statements []sqlText
	for _, st := range s.streams {
		for _, t := range tablesOf(st) {
			if s.direct.has(t.Name) {
				statements = append(statements, stageSQL.Render("end_direct", values{"table": mainTable(t.Name)}),
					s.createViewSQL(st.Name, t.Name, "NULL::UBIGINT AS "+stream.Seq))
			}
		}
	}
	return s.draft.Exec(ctx, statements...)
}
