package warehouse

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"placementsync/internal/sqltext"
)

// verifier reads whole versions in a DuckDB of its own and compares them with their
// manifests.
type verifier struct {
	folder  *Folder
	catalog *Catalog
	engine  engine
}

// verifyVersion opens a sealed version as a reader would, read only, and compares it
// with its manifest: rows in the catalog, rows in Parquet, and no key twice.
func (v *verifier) verifyVersion(ctx context.Context, reader *Instance, dir string, m Manifest) error {
	if err := reader.attachSealed(ctx, filepath.Join(dir, CatalogFile)); err != nil {
		return err
	}
	err := v.compareRows(ctx, reader, dir, m)
	var failed *VerifyError
	if err != nil && !errors.As(err, &failed) {
		err = &VerifyError{m.RunID, "(any)", err.Error()}
	}
	return errors.Join(err, reader.Exec(ctx, "DETACH sealed"))
}

func (v *verifier) compareRows(ctx context.Context, reader *Instance, dir string, m Manifest) error {
	parquet, err := parquetRows(ctx, reader, dir, m)
	if err != nil {
		return err
	}
	var suspects []ManifestTable
	var parts []string
	for i, t := range m.Tables {
		parts = append(parts, string(verifySQL.Render("count_rows", sqltext.Values{"index": i, "key": sqltext.Names(v.catalog.tableKey(t.Name)), "table": sqltext.Name(t.Name)})))
	}
	err = reader.EachRow(ctx, parts, func(scan func(...any) error) error {
		var i int
		var rows, keys int64
		if err := scan(&i, &rows, &keys); err != nil {
			return err
		}
		if keys != rows {
			suspects = append(suspects, m.Tables[i])
		}
		t := m.Tables[i]
		if rows != t.Rows {
			return &VerifyError{m.RunID, t.Name, fmt.Sprintf("%d rows in the catalog, %d in the manifest", rows, t.Rows)}
		}
		if inParquet := parquet[filepath.Join(dir, t.File)]; inParquet != t.Rows {
			return &VerifyError{m.RunID, t.Name, fmt.Sprintf("%d rows in Parquet, %d in the manifest", inParquet, t.Rows)}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, t := range suspects {
		var keys int64
		count := verifySQL.Render("count_keys", sqltext.Values{"key": sqltext.Names(v.catalog.tableKey(t.Name)), "table": sqltext.Name(t.Name)})
		if err := reader.DB.QueryRowContext(ctx, string(count)).Scan(&keys); err != nil {
			return err
		}
		if keys != t.Rows {
			return &VerifyError{m.RunID, t.Name, fmt.Sprintf("%d rows share a key with another", t.Rows-keys)}
		}
	}
	return nil
}

// parquetRows returns the number of rows of each Parquet file by path, from the
// footers of the files.
func parquetRows(ctx context.Context, in *Instance, dir string, m Manifest) (map[string]int64, error) {
	files := make([]string, len(m.Tables))
	for i, t := range m.Tables {
		files[i] = filepath.Join(dir, t.File)
	}
	if len(files) == 0 {
		return nil, nil
	}
	counts := map[string]int64{}
	count := verifySQL.Render("count_parquet_rows", sqltext.Values{"files": files})
	return counts, in.EachRow(ctx, []string{string(count)}, func(scan func(...any) error) error {
		var file string
		var rows int64
		err := scan(&file, &rows)
		counts[file] = rows
		return err
	})
}
