package warehouse

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"placementsync/internal/durable"
	"placementsync/internal/stream"
)

// readAll reads every table of a version's catalog, and tells of the tables of main
// whose rows are not those of their Parquet files.
func (v *verifier) readAll(ctx context.Context, run string, m Manifest, differs func(table string, err error)) (err error) {
	scratch := v.folder.path(versionsDir, durable.ProcessPrefix(".verify.")+"spill")
	in, err := v.engine.open(ctx, "", scratch)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close(), os.RemoveAll(scratch)) }()
	if err := in.Exec(ctx, "ATTACH "+Literal(v.folder.VersionCatalog(run))+" AS sealed (READ_ONLY)"); err != nil {
		return err
	}
	have, err := readColumnsOf(ctx, in, "sealed")
	if err != nil {
		return err
	}
	for _, t := range v.catalog.storedTables() {
		columns := slices.DeleteFunc(slices.Clone(t.columns), func(c stream.Column) bool { _, ok := have[t.qualifiedName()][c.Name]; return !ok })
		if len(columns) == 0 {
			continue // the catalog is of an earlier program
		}
		sum, err := in.sumContent(ctx, "sealed."+Quote(t.schema)+"."+Quote(t.def.Name), columns)
		if err != nil {
			return fmt.Errorf("read %s: %w", t.qualifiedName(), err)
		}
		if of := m.tableNamed(t.def.Name); t.schema == "main" && of.File != "" {
			file := "read_parquet(" + Literal(filepath.Join(v.folder.VersionPath(run), of.File)) + ", hive_partitioning = false)"
			other, err := in.sumContent(ctx, file, columns)
			if err == nil && other != sum {
				err = fmt.Errorf("its rows are not those of the catalog (%s, catalog %s)", other.describeRows(), sum.describeRows())
			}
			if err != nil {
				differs(t.def.Name, err)
			}
		}
	}
	return nil
}

// contentSum is what rows come to, in whatever order.
type contentSum struct{ rows, sum string }

func (f contentSum) describeRows() string { return f.rows + " rows" }

// sumContent reads all values of a table or file.
func (in *Instance) sumContent(ctx context.Context, source string, columns []stream.Column) (f contentSum, err error) {
	texts := make([]string, len(columns))
	for i, c := range columns {
		texts[i] = Quote(c.Name)
		if c.Type == stream.JSON {
			texts[i] += "::VARCHAR"
		}
	}
	err = in.DB.QueryRowContext(ctx, fmt.Sprintf("SELECT count(*)::VARCHAR, coalesce(sum(hash(%s)::HUGEINT), 0)::VARCHAR FROM %s",
		strings.Join(texts, ", "), source)).Scan(&f.rows, &f.sum)
	return f, err
}
