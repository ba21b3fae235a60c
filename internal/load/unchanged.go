package load

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/zeebo/xxh3"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// From the second night on, most records of a list are unchanged. Their rows are decoded and compared with the
// fingerprints in main, and are not staged. Staging and merging them would take most of the time of such a night.

// Stored contains the fingerprints of the records of one list, as they are in main.
type Stored struct {
	records []storedRecord
	indexes map[uint64]int // of records, by the hash of the key
	mu      sync.Mutex     // guards unchangedSeq and changedSeq of the records
}

type storedRecord struct {
	rowID    int64
	key, sum uint64 // the hash of the key, and the sum of stream.RowSum over the rows of the record
	// The service can return a record several times, as copies with different seqs. unchangedSeq is the highest seq of the
	// copies that equal the stored record, and changedSeq of those that differ. 0 means no such copy.
	unchangedSeq, changedSeq uint64
}

// canSkip reports whether unchanged records of a stream need not be staged. The key of a record must be one
// column, and the first column of the key of its child rows.
func (s *Stage) canSkip(st stream.Stream) bool {
	if st.IsEvents() || !fillsAlone(s.streams, st) {
		return false
	}
	if len(st.Root().Key) != 1 {
		return false
	}
	for _, t := range st.Tables[1:] {
		// Items in the table of the records are records themselves.
		isPartOfRecord := t.Name != st.Root().Name && st.EnclosingTable(t) == 0
		if !isPartOfRecord {
			return false
		}
		beginsWithRecordKey := len(t.Parents) == 1 && t.Key[0] == t.Parents[0]
		if !beginsWithRecordKey {
			return false
		}
	}
	return true
}

// StoredRecords reads the fingerprints of the records of a list from main. It returns nil if every record of
// the list must be staged.
func (s *Stage) StoredRecords(ctx context.Context, st stream.Stream) (*Stored, error) {
	if !s.canSkip(st) {
		return nil, nil
	}
	stored := &Stored{}
	for i, t := range st.Tables {
		position := sqlText("0::BIGINT")
		if hasPosition(t) {
			position = stream.Position
		}
		query := stageSQL.Render("stored_hashes", values{"record_key": recordKey(st, t), "position": position,
			"main": catalogName + "." + mainTable(t.Name)})
		if err := queryBatches(ctx, s.draft, query, func(b arrow.RecordBatch) { stored.addRows(i, b) }); err != nil {
			return nil, fmt.Errorf("read the fingerprints of %s: %w", t.Name, err)
		}
		if i == 0 && !stored.fillIndexes() {
			return nil, nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored[st.Name] = stored
	return stored, nil
}

// fillIndexes reports whether records can be found: there are some, and their keys have different hashes.
func (s *Stored) fillIndexes() (canFind bool) {
	s.indexes = make(map[uint64]int, len(s.records))
	for i, record := range s.records {
		s.indexes[record.key] = i
	}
	return len(s.records) > 0 && len(s.indexes) == len(s.records)
}

// addRows adds rows of one table. The records must be added before their child rows. The position of an item is
// removed from its hash, so that a list in another order is unchanged. A row without a position has position 0.
func (s *Stored) addRows(table int, batch arrow.RecordBatch) {
	rowIDs, keys := batch.Column(0).(*array.Int64), batch.Column(1).(*array.String)
	hashes, positions := batch.Column(2).(*array.Uint64), batch.Column(3).(*array.Int64)
	record, previous := -1, -1
	for i := range hashes.Len() {
		if table == 0 {
			s.records = append(s.records, storedRecord{key: xxh3.HashString(keys.Value(i)), rowID: rowIDs.Value(i),
				sum: stream.RowSum(0, hashes.Value(i))})
			continue
		}
		// The child rows of a record mostly follow one another.
		if i == 0 || keys.Value(i) != keys.Value(i-1) {
			record = s.find(xxh3.HashString(keys.Value(i)), previous)
		}
		if record < 0 {
			continue
		}
		previous = record
		hash := hashes.Value(i)
		if position := positions.Value(i); position > 0 {
			hash -= stream.PositionHash(position)
		}
		s.records[record].sum += stream.RowSum(table, hash)
	}
}

// find returns the index of a record, or -1. It first compares the records after the previous one, because lists and
// tables mostly have the same order. Reading the map takes several times as long.
func (s *Stored) find(key uint64, previous int) int {
	for i := previous + 1; i < min(previous+8, len(s.records)); i++ {
		if s.records[i].key == key {
			return i
		}
	}
	if i, ok := s.indexes[key]; ok {
		return i
	}
	return -1
}

// Find implements transform.Stored.
func (s *Stored) Find(key []byte, sum uint64, previous int) (record int, isUnchanged bool) {
	i := s.find(xxh3.Hash(key), previous)
	return i, i >= 0 && s.records[i].sum == sum
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

// lastCopyIsUnchanged reports whether the newest copy equals the stored record, so that it was not staged. All
// records after the first million of a response have the same seq. If both copies have the same seq, the staged
// copy counts.
func (r storedRecord) lastCopyIsUnchanged() bool { return r.unchangedSeq > r.changedSeq }

func (r storedRecord) hasOnlyUnchangedCopies() bool { return r.unchangedSeq > 0 && r.changedSeq == 0 }

// addStoredRows makes the stored rows of unchanged records visible as rows of the staging tables. It deletes
// staged copies that are older than the last, unchanged copy of their record.
func (s *Stage) addStoredRows(ctx context.Context, st stream.Stream, stored *Stored) error {
	numUnchanged := 0
	for _, r := range stored.records {
		if r.hasOnlyUnchangedCopies() {
			numUnchanged++
		}
	}
	if numUnchanged == 0 {
		return nil // all records were staged or were not read
	}
	// Most records are unchanged, so only the others are appended.
	exceptions := make([]storedRecord, 0, len(stored.records)-numUnchanged)
	for _, r := range stored.records {
		if !r.hasOnlyUnchangedCopies() {
			exceptions = append(exceptions, r)
		}
	}
	err := appendRows(ctx, s, st.Name, exceptionsName, exceptions, func(r storedRecord) []driver.Value {
		return []driver.Value{r.rowID, r.lastCopyIsUnchanged()}
	})
	if err != nil {
		return err
	}
	if err := s.shared.commit(ctx); err != nil {
		return err
	}
	statements := []sqlText{stageSQL.Render("find_records", values{
		"maybe_changed": maybeChangedTable(st.Name), "outdated": outdatedTable(st.Name), "unchanged": unchangedTable(st.Name),
		"exceptions": stagedTable(st.Name, exceptionsName), "key": sqltext.Name(st.Root().Key[0]), "main": catalogName + "." + mainTable(st.Root().Name)})}
	for _, t := range tablesOf(st) {
		columns := sqltext.Join(s.draft.Schema.Definitions[t.Name].Columns, ", ", func(c stream.Column) sqlText {
			name := sqlText("m." + sqltext.Quote(c.Name))
			if c.Type == stream.JSON {
				name += "::VARCHAR"
			}
			return name
		})
		statements = append(statements, stageSQL.Render("add_stored_rows", values{
			"staged": stagedTable(st.Name, t.Name), "outdated": outdatedTable(st.Name), "unchanged": unchangedTable(st.Name),
			"decoded_rows_name": sqltext.Name(t.Name + decodedRowsSuffix), "decoded_rows": decodedRowsTable(st.Name, t.Name),
			"columns": columns, "main": catalogName + "." + mainTable(t.Name), "record_key": recordKey(st, t),
			"maybe_changed": maybeChangedTable(st.Name), "maybe_changed_rows": maybeChangedRowsTable(st.Name, t.Name), "compared_columns": s.comparedColumns(t)}))
	}
	if err := s.draft.Exec(ctx, statements...); err != nil {
		return err
	}
	s.withStoredRows.add(st.Name)
	return nil
}

func recordKey(st stream.Stream, t stream.Table) sqltext.Name {
	if t.Name == st.Root().Name {
		return sqltext.Name(t.Key[0])
	}
	return sqltext.Name(t.Parents[0])
}

// fillsAlone reports whether a stream is a list or contains events, and no other stream fills its tables. A detail
// stream that completes a list fills its tables.
func fillsAlone(streams []stream.Stream, st stream.Stream) bool {
	isShared := slices.ContainsFunc(tablesOf(st), func(t stream.Table) bool { return len(stream.FilledBy(streams, t.Name)) > 1 })
	return !st.IsDetail() && !isShared
}
