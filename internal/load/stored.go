package load

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/array"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// On most nights most records of a list did not change. A decoder that knows what main
// holds stages the key of such a record alone. When the list has been read, views add the
// stored rows to the staged ones, so that nothing else that reads the stage knows of this.

// Stored are some rows of main as the fingerprint of a record needs them: the keys of the
// records that they belong to, and their hashes. They are valid during the call that
// passes them.
type Stored struct {
	Table     string
	Keys      *array.String
	RowHashes *array.Uint64
}

// storedRows is how many rows are read at once: as many as some row groups, since DuckDB
// holds an answer in memory, and outside of its limit.
const storedRows = 4 * rowGroup

// CountStored counts the records of a list that main holds: 0 when there are fewer than
// least, or when other streams fill the same tables and none can be left out.
func (r *Rows) CountStored(ctx context.Context, st stream.Stream, least int) (int, error) {
	if r.staging.draft.Previous == "" || !r.staging.fillsAlone(st) {
		return 0, nil
	}
	n, err := countRows(ctx, r.staging.draft, st.Root().Name)
	if err != nil || n < least {
		return 0, err
	}
	return n, nil
}

// StreamStoredKeys passes the keys and hashes of every row that main holds of a list, and
// prepares the stage for the keys of records that are left out because of them.
func (r *Rows) StreamStoredKeys(ctx context.Context, st stream.Stream, pass func(Stored)) error {
	l, err := newLane(ctx, r.staging.draft, "", catalogName)
	if err == nil {
		for _, t := range tablesOf(st) {
			if err = r.streamTable(ctx, l, t.Name, recordKey(st, t), pass); err != nil {
				break
			}
		}
		err = errors.Join(err, l.close())
	}
	if err != nil {
		return fmt.Errorf("read the stored rows of %s: %w", st.Name, err)
	}
	r.skipped.add(st.Name)
	return execute(ctx, r.staging.draft, stageSQL.Render("create_table", values{"table": stagedTable(st.Name, stream.SameTable),
		"columns": sqlText("id VARCHAR, " + stream.RowHash + " UBIGINT, " + stream.Seq + " UBIGINT")}))
}

// streamTable reads a table in ranges of rows.
func (r *Rows) streamTable(ctx context.Context, l *lane, table string, key warehouse.Name, pass func(Stored)) error {
	var end int64
	if err := queryRow(ctx, r.staging.draft, storedRowsSQL.Render("stored_end", values{"table": mainTable(table)})).Scan(&end); err != nil {
		return err
	}
	for first := int64(0); first < end; first += storedRows {
		rows, err := l.arrow.QueryContext(ctx, string(storedRowsSQL.Render("stored_keys",
			values{"key": key, "table": mainTable(table), "first": first, "end": first + storedRows})))
		if err != nil {
			return err
		}
		for rows.Next() {
			b := rows.RecordBatch()
			pass(Stored{table, b.Column(0).(*array.String), b.Column(1).(*array.Uint64)})
		}
		err = rows.Err()
		rows.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// addStoredRows decides which copy of a record is the last one, and adds the rows of main
// that were left out to the staged ones.
func (r *Rows) addStoredRows(ctx context.Context, st stream.Stream) error {
	root, unchanged := stagedTable(st.Name, st.Root().Name), unchangedTable(st.Name)
	key := warehouse.Name(st.Root().Key[0])
	statements := []sqlText{
		storedRowsSQL.Render("create_unchanged", values{"unchanged": unchanged, "same": stagedTable(st.Name, stream.SameTable)}),
		storedRowsSQL.Render("find_outdated", values{"root": root, "unchanged": unchanged, "key": key}),
	}
	for _, t := range tablesOf(st) {
		statements = append(statements, storedRowsSQL.Render("drop_outdated", values{"staged": stagedTable(st.Name, t.Name)}))
	}
	statements = append(statements, storedRowsSQL.Render("drop_changed", values{"unchanged": unchanged, "key": key, "root": root}))
	for _, t := range tablesOf(st) {
		columns := columnEach(r.staging.defs[t.Name], ", ", func(c stream.Column) sqlText {
			name := sqlText("m." + warehouse.Quote(c.Name))
			if c.Type == stream.JSON {
				name += "::VARCHAR"
			}
			return name
		})
		statements = append(statements, storedRowsSQL.Render("add_stored_rows", values{
			"staged": stagedTable(st.Name, t.Name), "read_name": warehouse.Name(t.Name + readSuffix), "read": readTable(st.Name, t.Name),
			"columns": columns, "main": catalogName + "." + mainTable(t.Name), "unchanged": unchanged, "record_key": recordKey(st, t)}))
	}
	r.completed.add(st.Name)
	return execute(ctx, r.staging.draft, statements...)
}
