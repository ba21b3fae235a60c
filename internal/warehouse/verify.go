package warehouse

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"placementsync/internal/sqltext"
)

// VerifyError means that a draft does not match its manifest. The draft was not published.
type VerifyError struct{ Run, Table, Problem string }

func (e *VerifyError) Error() string {
	return fmt.Sprintf("verify version %s: table %s: %s; nothing was published; readers keep the last snapshot: check the disk, then run placementsync replay %[1]s",
		e.Run, e.Table, e.Problem)
}

// verify opens the closed catalog of the draft read-only, as readers do. It compares the row counts
// in the catalog and in the Parquet files with the manifest, and checks that keys are unique.
func (d *Draft) verify(ctx context.Context, m Manifest) (err error) {
	reader, err := d.w.openMemory(ctx)
	if err != nil {
		return d.unpublishedErr("verify", err)
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	if err := reader.LimitMemory(ctx, true); err != nil {
		return d.unpublishedErr("verify", err)
	}
	if err := reader.attachReadOnly(ctx, filepath.Join(d.Dir, CatalogFile)); err != nil {
		return d.unpublishedErr("verify", err)
	}
	err = d.compareRows(ctx, reader, m)
	if err != nil && !errors.As(err, new(*VerifyError)) {
		err = &VerifyError{m.RunID, "(any)", err.Error()}
	}
	return err
}

func (d *Draft) compareRows(ctx context.Context, reader *Instance, m Manifest) error {
	parquetRows, err := d.countParquetRows(ctx, reader, m)
	if err != nil {
		return err
	}
	var queries []sqltext.SQL
	for i, t := range m.Tables {
		queries = append(queries, verifySQL.Render("count_rows", sqltext.Values{"index": i, "key": sqltext.Names(d.w.Schema.tableKey(t.Name)), "table": sqltext.Name(t.Name)}))
	}
	return reader.EachRow(ctx, queries, func(scan func(...any) error) error {
		var i int
		var rows, keys int64
		if err := scan(&i, &rows, &keys); err != nil {
			return err
		}
		t := m.Tables[i]
		if rows != t.Rows {
			return &VerifyError{m.RunID, t.Name, fmt.Sprintf("%d rows in the catalog, %d in the manifest", rows, t.Rows)}
		}
		if fileRows := parquetRows[filepath.Join(d.Dir, t.File)]; fileRows != t.Rows {
			return &VerifyError{m.RunID, t.Name, fmt.Sprintf("%d rows in Parquet, %d in the manifest", fileRows, t.Rows)}
		}
		if keys != rows {
			return &VerifyError{m.RunID, t.Name, fmt.Sprintf("%d rows repeat the key of an earlier row", rows-keys)}
		}
		return nil
	})
}

// countParquetRows returns the number of rows in the footer of each Parquet file, by path.
func (d *Draft) countParquetRows(ctx context.Context, reader *Instance, m Manifest) (map[string]int64, error) {
	files := make([]string, len(m.Tables))
	for i, t := range m.Tables {
		files[i] = filepath.Join(d.Dir, t.File)
	}
	if len(files) == 0 {
		return nil, nil
	}
	rowsOf := map[string]int64{}
	count := verifySQL.Render("count_parquet_rows", sqltext.Values{"files": files})
	return rowsOf, reader.EachRow(ctx, []sqltext.SQL{count}, func(scan func(...any) error) error {
		var file string
		var rows int64
		err := scan(&file, &rows)
		rowsOf[file] = rows
		return err
	})
}
