package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
	"placementsync/schema"
)

// ApplySnapshot replaces the rows of main by the rows in the Parquet files of a later snapshot, and
// moves changed and deleted rows to past. A table without a file keeps its rows. A new version of a row
// begins at its valid_from in the file, and the previous version ends at this time. So the times of
// changed rows are exact even if the files of the nights between the two snapshots were not kept.
func ApplySnapshot(ctx context.Context, d *warehouse.Draft, tables []stream.Table, snap warehouse.Snapshot) error {
	for _, t := range tables {
		if snap.Files[t.Name] == "" {
			continue
		}
		source := rebuildSQL.Render("snapshot_file", values{"file": snap.Files[t.Name]})
		existingColumns, err := columnsOf(ctx, d, source)
		if err == nil {
			def := d.Schema.Definitions[t.Name]
			main, columns, key := mainTable(t.Name), allColumns(def), sqltext.Names(t.Key)
			err = d.Atomically(ctx, []sqlText{
				rebuildSQL.Render("read_snapshot", values{"columns": columnsOrNull(def, existingColumns), "row_hash": schema.UnsignedHash(), "source": source}),
				rebuildSQL.Render("find_ending_rows", values{"stored_key": prefixed("m.", t.Key), "now": snap.SnapshotAt, "main": main,
					"same_key": joinOn("m.", "s.", t.Key)}),
				rebuildSQL.Render("end_rows", values{"past": pastTable(t.Name), "columns": columns, "run": snap.SourceRun(), "main": main, "key": key}),
				stageSQL.Render("delete_all", values{"table": main}),
				rebuildSQL.Render("begin_rows", values{"main": main, "columns": columns}),
				rebuildSQL.Render("drop_snapshot", nil),
			})
		}
		if err != nil {
			return fmt.Errorf("apply table %s of the snapshot of %s: %w", t.Name, snap.SnapshotAt.Format(time.DateOnly), err)
		}
	}
	return nil
}

func columnsOf(ctx context.Context, d *warehouse.Draft, source sqlText) ([]string, error) {
	rows, err := d.DB.QueryContext(ctx, string(rebuildSQL.Render("columns_of", values{"source": source})))
	if err != nil {
		return nil, err
	}
	columns, err := rows.Columns()
	return columns, errors.Join(err, rows.Close())
}

// CorrectClosingRuns sets the run that closed each row of past: the run in meta whose snapshot time is
// the end of the row. ApplySnapshot sets the run of the next file, but the row may have been closed by an
// earlier run whose files were not kept.
func CorrectClosingRuns(ctx context.Context, d *warehouse.Draft, tables []stream.Table) error {
	var statements []sqlText
	for _, t := range tables {
		statements = append(statements, rebuildSQL.Render("set_closing_run", values{"past": pastTable(t.Name)}))
	}
	return d.Atomically(ctx, statements)
}

// CarryStreams lowers the grades of streams in a run to carried_forward, because their tables were
// rebuilt from the rows of an earlier snapshot. since is the time of the earlier snapshot.
func CarryStreams(ctx context.Context, d *warehouse.Draft, run string, streams []string, since time.Time, reason string) error {
	err := d.Exec(ctx, rebuildSQL.Render("carry_streams", values{"run": run, "streams": streams, "since": since, "reason": reason}))
	if err != nil {
		return fmt.Errorf("lower the grades of %v: %w", streams, err)
	}
	return nil
}

// ForgetDetails makes the next night request the details of streams again that were read after a time, because
// the rows of these responses are lost. A zero time means all details.
func ForgetDetails(ctx context.Context, d *warehouse.Draft, streams []string, readAfter time.Time) error {
	err := d.Exec(ctx, rebuildSQL.Render("forget_details", values{"streams": streams, "after": readAfter}))
	if err != nil {
		return fmt.Errorf("forget the details of %v: %w", streams, err)
	}
	return nil
}

// WriteDay writes the Parquet file of a table in an earlier snapshot again. It computes the rows from the
// history in the draft, and writes the file into the draft's folder. It replaces the rows of main, and the
// run and the time of the draft, so the draft must not be published. A row count that differs from the
// manifest is an error. A negative row count in the manifest means unknown.
func WriteDay(ctx context.Context, d *warehouse.Draft, t stream.Table, file warehouse.SeriesFile) error {
	def := d.Schema.Definitions[t.Name]
	main, newest := mainTable(t.Name), sqltext.Name("newest "+t.Name)
	err := d.Atomically(ctx, []sqlText{
		rebuildSQL.Render("keep_newest", values{"newest": newest, "main": main}),
		stageSQL.Render("delete_all", values{"table": main}),
		rebuildSQL.Render("fill_from_history", values{"main": main, "columns": allColumns(def), "newest": newest,
			"past": pastTable(t.Name), "at": file.DayManifest.SnapshotAt}),
	})
	if err != nil {
		return err
	}
	rows, err := countTables(ctx, d, t)
	if err != nil {
		return err
	}
	if file.Table.Rows >= 0 && rows[t.Name] != file.Table.Rows {
		return fmt.Errorf("restore table %s of %s: the history has %d rows, and the manifest has %d", t.Name, file.DayManifest.SnapshotAt.Format(time.DateOnly), rows[t.Name], file.Table.Rows)
	}
	d.Run, d.At = file.DayManifest.SourceRun(), file.DayManifest.SnapshotAt
	return writeTables(ctx, d, []stream.Table{t})
}

// DropClosed deletes the rows of these tables of main that are also in past.
func DropClosed(ctx context.Context, d *warehouse.Draft, tables []string) error {
	var statements []sqlText
	for _, t := range d.Schema.Tables {
		if slices.Contains(tables, t.Name) {
			statements = append(statements, rebuildSQL.Render("drop_closed", values{"main": mainTable(t.Name), "past": pastTable(t.Name),
				"same_version": joinOn("m.", "p.", append([]string{stream.ValidFrom}, t.Key...))}))
		}
	}
	return d.Atomically(ctx, statements)
}

// LastSnapshotsOfDays returns the time of the last snapshot of each day, by run. Snapshots
// later than until are omitted.
func LastSnapshotsOfDays(ctx context.Context, d *warehouse.Draft, until time.Time) (map[string]time.Time, error) {
	return queryMap[time.Time](ctx, d, rebuildSQL.Render("last_snapshots", values{"until": until}))
}

// RowCounts returns the number of rows of each table in the snapshot of a run, from meta.tables.
func RowCounts(ctx context.Context, d *warehouse.Draft, run string) (map[string]int64, error) {
	return queryMap[int64](ctx, d, rebuildSQL.Render("row_counts", values{"run": run}))
}

// Grades returns the grades of the streams of a run and their reasons, by stream, from meta.streams.
func Grades(ctx context.Context, d *warehouse.Draft, run string) (map[string]stream.GradeReason, error) {
	grades := map[string]stream.GradeReason{}
	err := d.EachRow(ctx, []sqlText{rebuildSQL.Render("grades", values{"run": run})}, func(scan func(...any) error) error {
		var name string
		var g stream.GradeReason
		err := scan(&name, &g.Grade, &g.Reason)
		grades[name] = g
		return err
	})
	return grades, err
}
