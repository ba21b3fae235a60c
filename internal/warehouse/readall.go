package warehouse

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"placementsync/internal/dictionary"
	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// readAll reads every table of a version's catalog, and calls differs for the tables of
// main whose rows are not those of their Parquet files.
func (v *verifier) readAll(ctx context.Context, run string, m Manifest, differs func(table string, err error)) (err error) {
	in, err := v.engine.openMemory(ctx, v.folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	if err := in.attachSealed(ctx, v.folder.VersionCatalog(run)); err != nil {
		return err
	}
	have, err := readColumns(ctx, in, "sealed")
	if err != nil {
		return err
	}
	for _, t := range v.catalog.storedTables() {
		columns := slices.DeleteFunc(slices.Clone(t.columns), func(c stream.Column) bool { _, ok := have[t.qualifiedName()][c.Name]; return !ok })
		if len(columns) == 0 {
			continue // the catalog is of an earlier program
		}
		sum, err := in.sumContent(ctx, "sealed."+sqltext.Quote(t.schema)+"."+sqltext.Quote(t.def.Name), columns)
		if err != nil {
			return fmt.Errorf("read %s: %w", t.qualifiedName(), err)
		}
		if of := m.tableNamed(t.def.Name); t.schema == "main" && of.File != "" {
			file := "read_parquet(" + sqltext.Literal(filepath.Join(v.folder.VersionPath(run), of.File)) + ", hive_partitioning = false)"
			other, err := in.sumContent(ctx, file, columns)
			if err == nil && other != sum {
				err = fmt.Errorf("its rows are not those of the catalog (%s rows, catalog %s rows)", other.rows, sum.rows)
			}
			if err != nil {
				differs(t.def.Name, err)
			}
		}
	}
	return nil
}

// contentSum is a checksum of rows in any order.
type contentSum struct{ rows, sum string }

// sumContent reads all values of a table or file.
func (in *Instance) sumContent(ctx context.Context, source string, columns []stream.Column) (f contentSum, err error) {
	texts := sqltext.Join(columns, ", ", func(c stream.Column) string {
		switch {
		case c.Type == stream.JSON:
			return sqltext.Quote(c.Name) + "::VARCHAR"
		case c.Name == stream.RowHash:
			return string(dictionary.StoredHash())
		}
		return sqltext.Quote(c.Name)
	})
	query := verifySQL.Render("sum_content", sqltext.Values{"columns": texts, "source": sqltext.SQL(source)})
	err = in.DB.QueryRowContext(ctx, string(query)).Scan(&f.rows, &f.sum)
	return f, err
}
