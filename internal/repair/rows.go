package repair

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
	"placementsync/schema"
)

//go:embed sql/repair.sql
var repairSQL sqltext.File

// checkRows reads every row of the visible catalog, and compares the schema main with the Parquet files.
func (c *checker) checkRows(ctx context.Context) (err error) {
	m, _ := c.manifest(c.visible)
	version, err := c.w.OpenUnchecked(ctx, c.visible)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, version.Close()) }()
	for _, t := range c.w.Schema.StoredTables() {
		stored, columns, err := sumTable(ctx, version, t)
		if err != nil {
			return err
		}
		table := t.Definition.Name
		file := m.Table(table).File
		if t.Schema != "main" || file == "" || len(columns) == 0 {
			continue
		}
		path := filepath.Join(version.Dir, file)
		source := repairSQL.Render("parquet_file", sqltext.Values{"file": path})
		exported, err := sumRows(ctx, version.Instance, source, columns)
		switch {
		case err != nil: // it is the problem of the file
		case exported.rows != stored.rows:
			err = fmt.Errorf("it has %s rows, but the catalog has %s", exported.rows, stored.rows)
		case exported.sum != stored.sum:
			err = errors.New("its rows have other values than the catalog")
		}
		if err != nil {
			c.addPath(path, err.Error(), "catalog and Parquet disagree on table "+table, RebuildSeries)
		}
	}
	return nil
}

// CompareVersions compares a version of a restored warehouse with a version of the original. It reads all
// rows of the schemas main and past, and returns a sentence for each table that differs. An earlier release may have
// written the original, so only the columns of the original are compared. A table that the original lacks must be empty
// in the restored warehouse. CompareVersions does not read the schema meta, whose rows differ with each run.
func CompareVersions(ctx context.Context, restored *warehouse.Warehouse, restoredRun string, original *warehouse.Warehouse, originalRun string) (differences []string, err error) {
	restoredVersion, err := restored.OpenVerified(ctx, restoredRun)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, restoredVersion.Close()) }()
	originalVersion, err := original.OpenVerified(ctx, originalRun)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, originalVersion.Close()) }()
	for _, t := range restored.Schema.StoredTables() {
		if t.Schema == "meta" {
			continue
		}
		originalSum, columns, err := sumTable(ctx, originalVersion, t)
		if err != nil {
			return nil, err
		}
		if len(columns) > 0 {
			t.Columns = columns
		}
		restoredSum, _, err := sumTable(ctx, restoredVersion, t)
		if err != nil {
			return nil, err
		}
		switch {
		case len(columns) == 0 && restoredSum.rows == "0": // no difference
		case restoredSum.rows != originalSum.rows:
			differences = append(differences, fmt.Sprintf("%s has %s rows in the restored warehouse, but %s in the original", t.QualifiedName(), cmp.Or(restoredSum.rows, "no"), cmp.Or(originalSum.rows, "no")))
		case restoredSum != originalSum:
			differences = append(differences, t.QualifiedName()+" has rows with other values in the restored warehouse than in the original")
		}
	}
	return differences, nil
}

// rowSum is the number of rows, and a checksum that does not depend on the order of the rows.
type rowSum struct{ rows, sum string }

// sumTable returns the sum of a table in a version, and the columns that it read. Both are empty if the
// version, which an earlier release may have written, lacks the table.
func sumTable(ctx context.Context, v *warehouse.PublishedVersion, t warehouse.StoredTable) (s rowSum, columns []stream.Column, err error) {
	columns = v.PresentColumns(t.Schema, t.Definition.Name, t.Columns)
	if len(columns) == 0 {
		return s, nil, nil
	}
	s, err = sumRows(ctx, v.Instance, sqltext.SQL("version."+sqltext.Quote(t.Schema)+"."+sqltext.Quote(t.Definition.Name)), columns)
	if err != nil {
		err = fmt.Errorf("read %s: %w", t.QualifiedName(), err)
	}
	return s, columns, err
}

func sumRows(ctx context.Context, in *warehouse.Instance, source sqltext.SQL, columns []stream.Column) (s rowSum, err error) {
	values := sqltext.Join(columns, ", ", func(c stream.Column) string {
		switch {
		case c.Type == stream.JSON:
			return sqltext.Quote(c.Name) + "::VARCHAR"
		case c.Name == stream.RowHash: // signed in Parquet, unsigned in the catalog
			return string(schema.UnsignedHash())
		}
		return sqltext.Quote(c.Name)
	})
	query := repairSQL.Render("sum_rows", sqltext.Values{"columns": values, "source": source})
	err = in.DB.QueryRowContext(ctx, string(query)).Scan(&s.rows, &s.sum)
	return s, err
}
