package load

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"placementsync/internal/stream"
)

// Rows stages what the decoders read of the streams. Add may be called from many
// goroutines.
type Rows struct {
	staging *staging
	// skipped are the streams whose unchanged records are not staged, and completed those
	// to which a view adds the stored rows of these records.
	skipped, completed names
}

// Add stages rows of one table and releases them. It waits while DuckDB is busy, so that
// whoever decodes does not fill the memory.
func (r *Rows) Add(ctx context.Context, st, table string, rows ...arrow.RecordBatch) error {
	defer ReleaseBatches(rows)
	var count int64
	for _, b := range rows {
		count += b.NumRows()
	}
	r.staging.added.Add(count)
	f, err := r.staging.feeds.find(ctx, st, table, count, rows[0])
	switch {
	case err != nil:
	case f == nil:
		err = r.staging.insert(ctx, stagedTable(st, table), rows...)
	default:
		for i := 0; i < len(rows) && err == nil; i++ {
			err = r.staging.feeds.send(ctx, f, table, rows[i])
		}
	}
	if err != nil {
		return fmt.Errorf("stage %d rows of %s.%s: %w", count, st, table, err)
	}
	return nil
}

// ReleaseBatches releases batches that are not staged.
func ReleaseBatches(rows []arrow.RecordBatch) {
	for _, b := range rows {
		b.Release()
	}
}

// Finish ends the staging of a stream: its rows become visible to queries, the latest
// copy of each record stays, and the rows of a carried stream are removed. Where the
// reader knows that no record came twice, distinct avoids a search for copies: with a
// million listings that takes longer than all else here.
func (r *Rows) Finish(ctx context.Context, st stream.Stream, c Coverage, distinct bool) error {
	if err := r.staging.settleSome(ctx, func(f feedTarget) bool { return f.stream == st.Name }); err != nil {
		return err
	}
	var err error
	if c == Carried {
		var deletes []sqlText
		for _, t := range tablesOf(st) {
			deletes = append(deletes, copiesSQL.Render("delete_all", values{"table": r.staging.feeds.tableOf(st.Name, t.Name)}))
		}
		err = executeAll(ctx, r.staging.draft, deletes)
	} else {
		err = r.staging.keepLatest(ctx, st, distinct)
		if err == nil && r.skipped.has(st.Name) {
			err = r.addStoredRows(ctx, st, distinct)
		}
	}
	if err != nil {
		return fmt.Errorf("keep the latest copies of %s: %w", st.Name, err)
	}
	return nil
}

// compared are the two sides that a merge compares: what main has of a table and what it
// shall have, both without what is known to be unchanged.
func (r *Rows) compared(t stream.Table) (stored, seen sqlText) {
	feeders := stream.Feeding(r.staging.streams, t.Name)
	if len(feeders) != 1 || !r.completed.has(feeders[0]) {
		return mainTable(t.Name), freshTable(t.Name)
	}
	st, _ := stream.Find(r.staging.streams, feeders[0])
	return storedRowsSQL.Render("doubtful_rows", values{"main": mainTable(t.Name),
		"doubtful": doubtfulTable(st.Name), "record_key": recordKey(st, t)}), readTable(st.Name, t.Name)
}
