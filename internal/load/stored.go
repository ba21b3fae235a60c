package load

import (
	"context"
	"fmt"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// On most nights most records of a list did not change. A decoder that knows what the
// last night stored stages the key of such a record alone. When the list has been read, views add the
// stored rows to the staged ones, so that nothing else that reads the stage knows of this.

// FillsAlone reports whether no other stream fills or completes the tables of a list, so
// that its unchanged records can be left out.
func FillsAlone(streams []stream.Stream, st stream.Stream) bool {
	return streamSet{streams: streams}.fillsAlone(st)
}

// sameColumns are those of stream.SameTable.
const sameColumns sqlText = "id VARCHAR, " + stream.Seq + " UBIGINT"

// LeaveOut announces that records of a stream are left out.
func (r *Rows) LeaveOut(st stream.Stream) { r.skipped.add(st.Name) }

// addStoredRows decides which copy of a record is the last one, and adds the rows of main
// that were left out to the staged ones.
func (r *Rows) addStoredRows(ctx context.Context, st stream.Stream) error {
	root, unchanged, doubtful := stagedTable(st.Name, st.Root().Name), unchangedTable(st.Name), doubtfulTable(st.Name)
	main := catalogName + "." + mainTable(st.Root().Name)
	key := warehouse.Name(st.Root().Key[0])
	statements := []sqlText{
		storedRowsSQL.Render("create_unchanged", values{"unchanged": unchanged, "same": stagedTable(st.Name, stream.SameTable)}),
		storedRowsSQL.Render("find_outdated", values{"root": root, "unchanged": unchanged, "key": key}),
	}
	for _, t := range tablesOf(st) {
		statements = append(statements, storedRowsSQL.Render("drop_outdated", values{"staged": stagedTable(st.Name, t.Name)}))
	}
	statements = append(statements, storedRowsSQL.Render("drop_changed", values{"unchanged": unchanged, "key": key, "root": root}),
		storedRowsSQL.Render("create_doubtful", values{"doubtful": doubtful, "key": key, "main": main, "unchanged": unchanged}))
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
	if err := execute(ctx, r.staging.draft, statements...); err != nil {
		return err
	}
	r.completed.add(st.Name)
	var lost int64
	err := queryRow(ctx, r.staging.draft, storedRowsSQL.Render("lost_records", values{"unchanged": unchanged, "doubtful": doubtful, "main": main})).Scan(&lost)
	if err == nil && lost != 0 {
		err = fmt.Errorf("%d records that were seen to be unchanged are not stored; nothing was published: remove the folder state/seen of the warehouse and run again", lost)
	}
	return err
}
