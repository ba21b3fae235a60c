package load

import (
	"context"
	"fmt"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// WriteDay writes the Parquet file of a table again as it was in an earlier snapshot,
// from the history that the draft has, under the draft's folder. The draft is not to
// be published after it. It is an error when history has not as many rows as the file
// had.
func WriteDay(ctx context.Context, d *warehouse.Draft, t stream.Table, one warehouse.Mending) error {
	cols := warehouse.Columns("", d.Definition(t.Name)) + ", valid_from, row_hash"
	name, now := warehouse.Quote(t.Name), `"newest `+t.Name+`"`
	at := d.StampOf(one.Day.SnapshotAt)
	err := d.Atomically(ctx, []string{
		fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s AS SELECT * FROM main.%s", now, name),
		"DELETE FROM main." + name,
		fmt.Sprintf(`INSERT INTO main.%[1]s (%[2]s) SELECT %[2]s FROM %[3]s WHERE valid_from <= %[4]s
			UNION ALL SELECT %[2]s FROM past.%[1]s WHERE valid_from <= %[4]s AND valid_to > %[4]s`, name, cols, now, at),
	})
	if err != nil {
		return err
	}
	rows, err := rowsIn(ctx, d, t.Name)
	if err != nil {
		return err
	}
	if int64(rows) != one.Table.Rows {
		return fmt.Errorf("write %s of %s again: history has %d rows of it, the manifest %d", t.Name, one.Day.SnapshotAt.Format("2006-01-02"), rows, one.Table.Rows)
	}
	d.Run, d.At = one.Day.SourceRun(), one.Day.SnapshotAt
	_, err = WriteParquet(ctx, d, map[string]stream.Definition{t.Name: d.Definition(t.Name)}, []stream.Table{t}, nil)
	return err
}
