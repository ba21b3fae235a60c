package load

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// Replay brings main to what the Parquet files of one snapshot hold, by table;
// a table without a file keeps its rows. A row is valid from the time that its
// file names, and the version that it follows until then, so that both are right
// though nights between two snapshots are not kept.
func Replay(ctx context.Context, d *warehouse.Draft, tables []stream.Table, snap warehouse.Snapshot) error {
	r := replay{d, snap, warehouse.Literal(snap.Run)}
	for _, t := range tables {
		if snap.Files[t.Name] == "" {
			continue
		}
		if err := r.table(ctx, t); err != nil {
			return fmt.Errorf("replay table %s of %s: %w", t.Name, snap.At.Format(time.DateOnly), err)
		}
	}
	return nil
}

// replay is the replaying of one snapshot.
type replay struct {
	draft *warehouse.Draft
	snap  warehouse.Snapshot
	run   string
}

// What one table of a snapshot comes to, while it is replayed.
const (
	replayed = "replayed" // the rows of the file
	ending   = "ending"   // the keys of rows that end with it, and when
)

func (r replay) table(ctx context.Context, t stream.Table) error {
	view, err := r.view(ctx, t)
	if err != nil {
		return err
	}
	def := r.draft.Definition(t.Name)
	cols := warehouse.Columns("", def) + ", valid_from, row_hash"
	name, keys := warehouse.Quote(t.Name), columns("", t.Key)
	ends := make([]string, len(t.Key))
	for i, k := range t.Key {
		ends[i] = "m." + warehouse.Quote(k)
	}
	return r.draft.Atomically(ctx, []string{
		view,
		fmt.Sprintf(`CREATE TEMP TABLE %s AS SELECT %s, coalesce(f.valid_from, %s) AS valid_to FROM main.%s m LEFT JOIN %s f ON %s
			WHERE f.row_hash IS NULL OR f.row_hash <> m.row_hash OR f.valid_from <> m.valid_from`,
			ending, strings.Join(ends, ", "), r.draft.StampOf(r.snap.At), name, replayed, equal("m.", "f.", t.Key)),
		fmt.Sprintf("INSERT INTO past.%s (%s, valid_to, run_id) SELECT %[2]s, valid_to, %[3]s FROM main.%[1]s JOIN %[4]s USING (%[5]s)",
			name, cols, r.run, ending, keys),
		fmt.Sprintf("DELETE FROM main.%s m USING %s c WHERE %s", name, ending, equal("m.", "c.", t.Key)),
		fmt.Sprintf("INSERT INTO main.%s (%s) SELECT %[2]s FROM %[3]s ANTI JOIN main.%[1]s USING (%[4]s)", name, cols, replayed, keys),
		"DROP VIEW " + replayed, "DROP TABLE " + ending,
	})
}

// view is the statement that gives the rows of the table's file. A column that is
// newer than the file is NULL in it.
func (r replay) view(ctx context.Context, t stream.Table) (string, error) {
	source := "read_parquet(" + warehouse.Literal(r.snap.Files[t.Name]) + ", hive_partitioning = false)"
	have, err := columnsOf(ctx, r.draft, source)
	if err != nil {
		return "", err
	}
	var cols []string
	for _, c := range r.draft.Definition(t.Name).Columns {
		name := warehouse.Quote(c.Name)
		if !slices.Contains(have, c.Name) {
			name = "NULL AS " + name
		}
		cols = append(cols, name)
	}
	return fmt.Sprintf("CREATE TEMP VIEW %s AS SELECT %s, valid_from, row_hash FROM %s", replayed, strings.Join(cols, ", "), source), nil
}

// columnsOf are the names of the columns of a table or a file.
func columnsOf(ctx context.Context, d *warehouse.Draft, source string) ([]string, error) {
	rows, err := d.DB.QueryContext(ctx, "SELECT * FROM "+source+" LIMIT 0")
	if err != nil {
		return nil, err
	}
	have, err := rows.Columns()
	return have, errors.Join(err, rows.Close())
}

// NameClosing names in past the runs that closed its rows, by the times of the
// snapshots that meta knows: of nights between two days of the series, too.
func NameClosing(ctx context.Context, d *warehouse.Draft, tables []stream.Table) error {
	var statements []string
	for _, t := range tables {
		statements = append(statements, fmt.Sprintf("UPDATE past.%s p SET run_id = r.run_id FROM meta.runs r WHERE r.snapshot_at = p.valid_to AND r.run_id <> p.run_id",
			warehouse.Quote(t.Name)))
	}
	return d.Atomically(ctx, statements)
}

// NoteRun enters a run into meta.runs.
func NoteRun(ctx context.Context, d *warehouse.Draft, r warehouse.Run) error {
	return inTransaction(ctx, d, func(tx *sql.Tx) error { return noteRun(ctx, tx, r) })
}

func inTransaction(ctx context.Context, d *warehouse.Draft, do func(tx *sql.Tx) error) error {
	tx, err := d.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, warehouse.Undo(tx))
	}
	return tx.Commit()
}
