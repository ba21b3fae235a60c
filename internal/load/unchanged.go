package load

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/duckdb/duckdb-go/v2"
	"github.com/zeebo/xxh3"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// From the second night on, most records of a list are unchanged. Their rows are decoded and compared with
// the fingerprints in main, and are not staged. Staging and merging them would take most of the time of
// such a night.

// Stored contains the fingerprints of the records of one list, as they are in main.
type Stored struct {
	indexes map[uint64]int // in records, by the hash of the key

	mu      sync.Mutex // guards the numbers of copies in records
	records []storedRecord
}

type storedRecord struct {
	rowID int64
	sum   uint64 // of stream.RowSum over the rows of the record
	// unchangedSeq and changedSeq are the highest seq of the copies with these rows, and of the copies
	// with other rows. They are 0 without such a copy.
	unchangedSeq, changedSeq uint64
}

// canSkip reports whether unchanged records of a stream need not be staged. The key of a record must be one
// column, and the first column of the key of its child rows. A changed value of an untracked column does
// not change the fingerprint, but must be stored.
func (s *staging) canSkip(st stream.Stream) bool {
	if st.IsEvents() || !FillsAlone(s.streams, st) || len(st.Root().Key) != 1 || len(st.Root().Const) > 0 {
		return false
	}
	for i, t := range st.Tables {
		isChild := i > 0 && t.Name != st.Root().Name && st.EnclosingTable(t) == 0 && len(t.Parents) == 1 && t.Key[0] == t.Parents[0]
		if i > 0 && !isChild {
			return false
		}
		columns := s.draft.Schema.Definitions[t.Name].Columns
		if slices.ContainsFunc(columns, func(c stream.Column) bool { return c.Untracked }) {
			return false
		}
	}
	return true
}

// Stored reads the fingerprints of the records of a list from main. It returns nil if every record of
// the list must be staged.
func (r *Rows) Stored(ctx context.Context, st stream.Stream) (*Stored, error) {
	if !r.canSkip(st) {
		return nil, nil
	}
	stored := &Stored{indexes: map[uint64]int{}}
	for i, t := range st.Tables {
		position := sqlText("0::BIGINT")
		if hasPosition(t) {
			position = stream.Position
		}
		query := unchangedSQL.Render("stored_hashes", values{"record_key": recordKey(st, t), "position": position,
			"main": catalogName + "." + mainTable(t.Name)})
		if err := r.addHashes(ctx, stored, i, query); err != nil {
			return nil, fmt.Errorf("read the fingerprints of %s: %w", t.Name, err)
		}
		if len(stored.records) == 0 {
			return nil, nil
		}
	}
	if len(stored.indexes) < len(stored.records) { // two keys have the same hash
		return nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stored[st.Name] = stored
	return stored, nil
}

func (r *Rows) addHashes(ctx context.Context, stored *Stored, table int, query sqlText) (err error) {
	conn, err := r.draft.Connect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	arrow, err := duckdb.NewArrowFromConn(conn)
	if err != nil {
		return err
	}
	reader, err := arrow.QueryContext(ctx, string(query))
	if err != nil {
		return err
	}
	defer reader.Release()
	for reader.Next() {
		batch := reader.RecordBatch()
		stored.addRows(table, batch.Column(0).(*array.Int64), batch.Column(1).(*array.String), batch.Column(2).(*array.Uint64),
			batch.Column(3).(*array.Int64))
	}
	return reader.Err()
}

// addRows adds rows of one table. The records must be added before their child rows. The position of an item is
// removed from its hash, so that a list in another order is unchanged. A row without a position has position 0.
func (s *Stored) addRows(table int, rowIDs *array.Int64, keys *array.String, hashes *array.Uint64, positions *array.Int64) {
	record, isStored := 0, false
	for i := range hashes.Len() {
		if table == 0 {
			s.indexes[xxh3.HashString(keys.Value(i))] = len(s.records)
			s.records = append(s.records, storedRecord{rowID: rowIDs.Value(i), sum: stream.RowSum(0, hashes.Value(i))})
			continue
		}
		// The child rows of a record mostly follow one another.
		if i == 0 || keys.Value(i) != keys.Value(i-1) {
			record, isStored = s.indexes[xxh3.HashString(keys.Value(i))]
		}
		if !isStored {
			continue
		}
		hash := hashes.Value(i)
		if position := positions.Value(i); position > 0 {
			hash -= stream.PositionHash(position)
		}
		s.records[record].sum += stream.RowSum(table, hash)
	}
}

// Find implements transform.Stored.
func (s *Stored) Find(key []byte, sum uint64) (record int, isUnchanged bool) {
	i, ok := s.indexes[xxh3.Hash(key)]
	if !ok {
		return -1, false
	}
	return i, s.records[i].sum == sum
}

// AddCopies implements transform.Stored.
func (s *Stored) AddCopies(copies []stream.RecordCopy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range copies {
		r := &s.records[c.Record]
		if c.IsUnchanged {
			r.unchangedSeq = max(r.unchangedSeq, c.Seq)
		} else {
			r.changedSeq = max(r.changedSeq, c.Seq)
		}
	}
}

// isUnchanged reports whether the last copy of the record was not staged. All records after the first million
// of a response have the same seq. If both copies have the same seq, the staged copy counts.
func (r storedRecord) isUnchanged() bool { return r.unchangedSeq > r.changedSeq }

// takeStored ends the use of the fingerprints, which need much memory.
func (r *Rows) takeStored(streamName string) *Stored {
	r.mu.Lock()
	defer r.mu.Unlock()
	stored := r.stored[streamName]
	delete(r.stored, streamName)
	return stored
}

// addStoredRows makes the stored rows of unchanged records visible as rows of the staging tables. It deletes
// staged copies that are older than the last, unchanged copy of their record.
func (r *Rows) addStoredRows(ctx context.Context, st stream.Stream, stored *Stored) error {
	listed := slices.DeleteFunc(stored.records, func(s storedRecord) bool { return s.isUnchanged() && s.changedSeq == 0 })
	if len(listed) == len(stored.indexes) {
		return nil // all records were staged or were not read
	}
	if err := appendRows(ctx, r.staging, st.Name, listedName, listed, func(s storedRecord) []driver.Value {
		return []driver.Value{s.rowID, s.isUnchanged()}
	}); err != nil {
		return err
	}
	if err := r.shared.commit(ctx); err != nil {
		return err
	}
	statements := []sqlText{unchangedSQL.Render("find_records", values{
		"maybe_changed": maybeChangedTable(st.Name), "outdated": outdatedTable(st.Name), "unchanged": unchangedTable(st.Name),
		"listed": stagedTable(st.Name, listedName), "key": sqltext.Name(st.Root().Key[0]), "main": catalogName + "." + mainTable(st.Root().Name)})}
	for _, t := range tablesOf(st) {
		columns := sqltext.Join(r.draft.Schema.Definitions[t.Name].Columns, ", ", func(c stream.Column) sqlText {
			name := sqlText("m." + sqltext.Quote(c.Name))
			if c.Type == stream.JSON {
				name += "::VARCHAR"
			}
			return name
		})
		statements = append(statements, unchangedSQL.Render("add_stored_rows", values{
			"staged": stagedTable(st.Name, t.Name), "outdated": outdatedTable(st.Name), "unchanged": unchangedTable(st.Name),
			"decoded_rows_name": sqltext.Name(t.Name + decodedRowsSuffix), "decoded_rows": decodedRowsTable(st.Name, t.Name),
			"columns": columns, "main": catalogName + "." + mainTable(t.Name), "record_key": recordKey(st, t)}),
			unchangedSQL.Render("keep_maybe_changed", values{"stored": maybeChangedRowsTable(st.Name, t.Name), "columns": r.comparedColumns(t),
				"main": catalogName + "." + mainTable(t.Name), "maybe_changed": maybeChangedTable(st.Name), "record_key": recordKey(st, t)}))
	}
	if err := r.draft.Exec(ctx, statements...); err != nil {
		return err
	}
	r.withStoredRows.add(st.Name)
	return nil
}

// comparedColumns returns the columns with which stored rows are compared with staged rows.
func (s *staging) comparedColumns(t stream.Table) sqlText {
	names := append(slices.Clone(t.Key), stream.RowHash)
	def := s.draft.Schema.Definitions[t.Name]
	for _, key := range def.ItemKeys {
		names = append(names, key...)
	}
	for _, c := range s.looseColumns(t) {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return sqltext.Names(slices.Compact(names))
}
