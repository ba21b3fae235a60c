package load

import (
	"context"
	"fmt"
	"slices"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// If the decoder recognizes a record as unchanged, only the key of the record is staged. After the list was
// read, views add the stored rows of these records, so that other queries of the stage see all rows.

// FillsAlone reports whether a stream is a list, and no other stream fills or completes its tables. The
// unchanged records of such a list can be skipped.
func FillsAlone(streams []stream.Stream, st stream.Stream) bool {
	isCompleted := slices.ContainsFunc(streams, func(o stream.Stream) bool { return o.Completes == st.Name })
	isShared := slices.ContainsFunc(tablesOf(st), func(t stream.Table) bool { return len(stream.FilledBy(streams, t.Name)) > 1 })
	return !isCompleted && !isShared && st.Completes == "" && !st.IsDetail()
}

// addStoredRows adds the stored rows of unchanged records to the staged rows. If a record was read several
// times, the last copy counts.
func (r *Rows) addStoredRows(ctx context.Context, st stream.Stream) error {
	stagedUnchanged := stagedTable(st.Name, stream.UnchangedTable)
	if hasUnchanged, err := hasRows(ctx, r.draft, stagedUnchanged); err != nil || !hasUnchanged {
		return err
	}
	root, unchanged, maybeChanged := stagedTable(st.Name, st.Root().Name), unchangedTable(st.Name), maybeChangedTable(st.Name)
	main := catalogName + "." + mainTable(st.Root().Name)
	key := sqltext.Name(st.Root().Key[0])
	statements := []sqlText{
		storedRowsSQL.Render("create_unchanged", values{"unchanged": unchanged, "staged_unchanged": stagedUnchanged}),
		storedRowsSQL.Render("find_outdated", values{"root": root, "unchanged": unchanged, "key": key}),
	}
	for _, t := range tablesOf(st) {
		statements = append(statements, storedRowsSQL.Render("drop_outdated", values{"staged": stagedTable(st.Name, t.Name)}))
	}
	statements = append(statements, storedRowsSQL.Render("drop_changed", values{"unchanged": unchanged, "key": key, "root": root}))
	statements = append(statements, storedRowsSQL.Render("find_maybe_changed", values{"maybe_changed": maybeChanged, "key": key, "main": main, "unchanged": unchanged}))
	for _, t := range tablesOf(st) {
		columns := sqltext.Join(r.draft.Schema.Definitions[t.Name].Columns, ", ", func(c stream.Column) sqlText {
			name := sqlText("m." + sqltext.Quote(c.Name))
			if c.Type == stream.JSON {
				name += "::VARCHAR"
			}
			return name
		})
		statements = append(statements, storedRowsSQL.Render("add_stored_rows", values{
			"staged": stagedTable(st.Name, t.Name), "decoded_rows_name": sqltext.Name(t.Name + decodedRowsSuffix), "decoded_rows": decodedRowsTable(st.Name, t.Name),
			"columns": columns, "main": catalogName + "." + mainTable(t.Name), "unchanged": unchanged, "record_key": recordKey(st, t)}))
	}
	if err := r.draft.Exec(ctx, statements...); err != nil {
		return err
	}
	r.withStoredRows.add(st.Name)
	var missing int64
	err := queryRow(ctx, r.draft, storedRowsSQL.Render("missing_records", values{"unchanged": unchanged, "maybe_changed": maybeChanged, "main": main})).Scan(&missing)
	if err == nil && missing != 0 {
		err = fmt.Errorf("unchanged records are missing from the warehouse (%d); nothing was published; readers keep the last snapshot: remove the folder state/seen of the warehouse, then run again", missing)
	}
	return err
}
