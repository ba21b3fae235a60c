package load

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"placementsync/internal/stream"
)

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
	switch {
	case err != nil:
	case tableFeed == nil:
		err = s.shared.insert(ctx, s.insertBatchSQL(target, s.shared.view), batches, count)
	default:
		err = tableFeed.send(ctx, batches)
	}
	if err != nil {
		return fmt.Errorf("stage %d rows of %s.%s: %w", count, streamName, table, err)
	}
	return nil
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
	var err error
	stored := s.takeStored(st.Name)
	if coverage == Carried {
		var deletes []sqlText
		for _, t := range tablesOf(st) {
			deletes = append(deletes, duplicatesSQL.Render("delete_all", values{"table": s.tableWithRows(st.Name, t.Name)}))
		}
		err = s.draft.Atomically(ctx, deletes)
	} else {
		err = s.deduplicate(ctx, st)
		if err == nil && stored != nil {
			err = s.addStoredRows(ctx, st, stored)
		}
		if err == nil {
			err = s.keepPositions(ctx, st)
		}
	}
	if err != nil {
		return fmt.Errorf("finish the staged rows of %s: %w", st.Name, err)
	}
	return nil
}

// takeStored ends the use of the fingerprints, which need much memory.
func (s *Stage) takeStored(streamName string) *Stored {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored := s.stored[streamName]
	delete(s.stored, streamName)
	return stored
}
