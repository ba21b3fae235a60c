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
	if err = reader.LimitMemory(ctx, true); err == nil {
		err = reader.attachReadOnly(ctx, filepath.Join(d.Dir, CatalogFile))
	}
	if err != nil {
		return d.unpublishedErr("verify", err)
	}
	var queries []sqltext.SQL
	var withEqualHashes []ManifestTable // a repeated key has equal hashes, and so, rarely, have two keys
	for i, t := range m.Tables {
		queries = append(queries, verifySQL.Render("count_rows", sqltext.Values{"index": i, "table": sqltext.Name(t.Name),
			"key": sqltext.Names(d.Schema.tableKey(t.Name)), "file": filepath.Join(d.Dir, t.File)}))
	}
	err = reader.EachRow(ctx, queries, func(scan func(...any) error) error {
		var i int
		var rows, hashes, fileRows int64 // hashes counts the different hashes of keys
		if err := scan(&i, &rows, &hashes, &fileRows); err != nil {
			return err
		}
		t := m.Tables[i]
		switch {
		case rows != t.Rows:
			return &VerifyError{m.RunID, t.Name, fmt.Sprintf("%d rows in the catalog, %d in the manifest", rows, t.Rows)}
		case fileRows != t.Rows:
			return &VerifyError{m.RunID, t.Name, fmt.Sprintf("%d rows in Parquet, %d in the manifest", fileRows, t.Rows)}
		case hashes != rows:
			withEqualHashes = append(withEqualHashes, t)
		}
		return nil
	})
	for _, t := range withEqualHashes {
		var keys int64
		if err == nil {
			count := verifySQL.Render("count_keys", sqltext.Values{"table": sqltext.Name(t.Name), "key": sqltext.Names(d.Schema.tableKey(t.Name))})
			err = reader.DB.QueryRowContext(ctx, string(count)).Scan(&keys)
		}
		if err == nil && keys != t.Rows {
			problem := "%d rows repeat the key of an earlier row: the merge stored them twice, which is a fault of this program, or the disk is damaged"
			err = &VerifyError{m.RunID, t.Name, fmt.Sprintf(problem, t.Rows-keys)}
		}
	}
	if err != nil && !errors.As(err, new(*VerifyError)) {
		err = &VerifyError{m.RunID, "(any)", err.Error()}
	}
	return err
}
