package load

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"placementsync/internal/stream"
)

// Rows stages decoded rows. Add may be called from many goroutines.
type Rows struct {
	staging *staging
	// withStoredRows contains the lists with unchanged records.
	withStoredRows nameSet
}

// Add stages the batches of one table and releases them. It waits while DuckDB is busy, so that decoders
// do not fill the memory.
func (r *Rows) Add(ctx context.Context, streamName, table string, batches ...arrow.RecordBatch) error {
	defer ReleaseBatches(batches)
	return r.staging.insert(ctx, streamTable{streamName, table}, batches)
}

// ReleaseBatches releases the memory of batches.
func ReleaseBatches(batches []arrow.RecordBatch) {
	for _, b := range batches {
		b.Release()
	}
}

// Finish makes the staged rows of a stream visible to queries. It keeps only the latest copy of each
// record. It deletes all staged rows of a carried stream.
func (r *Rows) Finish(ctx context.Context, st stream.Stream, coverage Coverage) error {
	if err := r.staging.flush(ctx, st.Name); err != nil {
		return err
	}
	var err error
	if coverage == Carried {
		var deletes []sqlText
		for _, t := range tablesOf(st) {
			deletes = append(deletes, duplicatesSQL.Render("delete_all", values{"table": r.staging.tableWithRows(st.Name, t.Name)}))
		}
		err = r.staging.draft.Atomically(ctx, deletes)
	} else {
		err = r.staging.deduplicate(ctx, st)
		if err == nil && FillsAlone(r.staging.streams, st) {
			err = r.addStoredRows(ctx, st)
		}
	}
	if err != nil {
		return fmt.Errorf("finish the staged rows of %s: %w", st.Name, err)
	}
	return nil
}

// storedAndDesired returns SQL for the stored and the desired rows of a table, without the rows of records
// that are known to be unchanged.
func (r *Rows) storedAndDesired(t stream.Table) (stored, desired sqlText) {
	streams := stream.FilledBy(r.staging.streams, t.Name)
	if len(streams) != 1 || !r.withStoredRows.has(streams[0]) {
		return mainTable(t.Name), desiredTable(t.Name)
	}
	st, _ := stream.Find(r.staging.streams, streams[0])
	return storedRowsSQL.Render("candidate_rows", values{"main": mainTable(t.Name),
		"candidates": candidatesTable(st.Name), "record_key": recordKey(st, t)}), readRowsTable(st.Name, t.Name)
}
