package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

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
	tableFeed, err := s.chooseFeed(ctx, target, batches[0], count)
	if err == nil && tableFeed != nil {
		err = tableFeed.send(ctx, batches)
	} else if err == nil {
		err = s.shared.insert(ctx, s.insertBatchSQL(target, s.shared.view), batches, count)
	}
	if err != nil {
		return fmt.Errorf("stage %d rows of %s.%s: %w", count, streamName, table, err)
	}
	return nil
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
			deletes = append(deletes, duplicatesSQL.Render("delete_all", values{"table": s.tableWithRows(st.Name, t.Name)}))
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
		err := queryRow(ctx, s.draft, duplicatesSQL.Render("has_duplicates", values{"key": key, "table": table})).Scan(&hasDuplicates)
		if err != nil {
			return err
		}
		if !hasDuplicates {
			continue
		}
		statements := []sqlText{duplicatesSQL.Render("find_duplicates", values{"key": key, "table": table})}
		statements = append(statements, s.dropInnerRows(st, t)...)
		statements = append(statements, duplicatesSQL.Render("drop_duplicates", values{"table": table}))
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
			statements = append(statements, duplicatesSQL.Render("drop_deeper_rows", values{"table": innerTable}))
			continue
		}
		args := values{"table": innerTable, "parent_key": sqltext.Names(inner.Parents), "key": sqltext.Names(t.Key)}
		statements = append(statements, duplicatesSQL.Render("drop_child_rows", args))
		if hasPosition(inner) { // an item can occur twice in one record
			statements = append(statements, duplicatesSQL.Render("drop_repeated_child_rows", args))
		}
	}
	return statements
}
