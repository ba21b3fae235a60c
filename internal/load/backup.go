package load

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// What a version changed in the tables of meta stands in one file beside it: the rows
// that it added and those that it took away, all values as text, so that a file says
// the same to every program that has these columns. The meta of a version is what all
// files of its line added, less what they took away.
const (
	metaTable = "meta_table"
	metaGone  = "meta_gone"
	// before is the catalog that a draft is compared with.
	before = "before"
)

// WriteMeta tells into the draft's folder what differs between its meta and that of
// the version that it started from. It knows the tables by their definitions alone.
func WriteMeta(ctx context.Context, d *warehouse.Draft, metas []stream.Definition) error {
	base := d.MetaBase()
	if err := writeMeta(ctx, d, base, metas); err != nil {
		return fmt.Errorf("tell what changed in meta: %w", err)
	}
	d.SetMetaBase(base)
	return nil
}

func writeMeta(ctx context.Context, d *warehouse.Draft, base string, metas []stream.Definition) (err error) {
	had := map[string][]string{}
	if base != "" {
		if err := d.Exec(ctx, "ATTACH "+warehouse.Literal(d.Catalog(base))+" AS "+before+" (READ_ONLY)"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.Exec(context.WithoutCancel(ctx), "DETACH "+before)) }()
		if had, err = metaColumns(ctx, d, before); err != nil {
			return err
		}
	}
	var parts []string
	for _, def := range metas {
		parts = append(parts, changedRows(def, had[def.Name]))
	}
	return d.Exec(ctx, fmt.Sprintf("COPY (%s) TO %s (FORMAT parquet, COMPRESSION zstd)", strings.Join(parts, " UNION ALL BY NAME "),
		warehouse.Literal(filepath.Join(d.Dir, warehouse.MetaFile))))
}

// metaColumns are the columns of meta in an attached catalog, by table.
func metaColumns(ctx context.Context, d *warehouse.Draft, database string) (map[string][]string, error) {
	found := map[string][]string{}
	query := "SELECT table_name, column_name FROM duckdb_columns() WHERE schema_name = 'meta' AND database_name = " + warehouse.Literal(database)
	return found, d.EachRow(ctx, []string{query}, func(scan func(...any) error) error {
		var table, column string
		err := scan(&table, &column)
		found[table] = append(found[table], column)
		return err
	})
}

// changedRows selects the rows that a table of meta gained and lost; had are the
// columns that it had before, none when it is new. Rows are counted, those of before
// against those of now: EXCEPT ALL would take five times as long.
func changedRows(def stream.Definition, had []string) string {
	now, then, texts := make([]string, len(def.Columns)), make([]string, len(def.Columns)), make([]string, len(def.Columns))
	for i, c := range def.Columns {
		name := warehouse.Quote(c.Name)
		now[i], then[i], texts[i] = name, name, name+"::VARCHAR AS "+name
		if !slices.Contains(had, c.Name) {
			then[i] = "NULL AS " + name
		}
	}
	table := "meta." + warehouse.Quote(def.Name)
	all := "SELECT " + strings.Join(now, ", ") + ", 1 AS meta_side FROM " + table
	if len(had) > 0 {
		all += " UNION ALL SELECT " + strings.Join(then, ", ") + ", -1 FROM " + before + "." + table
	}
	counted := fmt.Sprintf("SELECT %s, sum(meta_side)::BIGINT AS meta_count FROM (%s) GROUP BY ALL", strings.Join(now, ", "), all)
	return fmt.Sprintf("SELECT %s AS %s, meta_count < 0 AS %s, %s FROM (SELECT *, unnest(range(abs(meta_count))) AS meta_copy FROM (%s) WHERE meta_count <> 0)",
		warehouse.Literal(def.Name), metaTable, metaGone, strings.Join(texts, ", "), counted)
}

// RestoreMeta fills the tables of meta from what a line of versions changed in them.
func RestoreMeta(ctx context.Context, d *warehouse.Draft, metas []stream.Definition, files []string) error {
	if len(files) == 0 {
		return nil
	}
	quoted := make([]string, len(files))
	for i, f := range files {
		quoted[i] = warehouse.Literal(f)
	}
	source := "read_parquet([" + strings.Join(quoted, ", ") + "], union_by_name = true, hive_partitioning = false)"
	have, err := columnsOf(ctx, d, source)
	if err != nil {
		return fmt.Errorf("restore meta: %w", err)
	}
	var statements []string
	for _, def := range metas {
		statements = append(statements, restoreTable(def, source, have))
	}
	if err := d.Atomically(ctx, statements); err != nil {
		return fmt.Errorf("restore meta: %w", err)
	}
	return nil
}

func restoreTable(def stream.Definition, source string, have []string) string {
	var names, values []string
	for _, c := range def.Columns {
		if slices.Contains(have, c.Name) {
			names = append(names, warehouse.Quote(c.Name))
			values = append(values, fmt.Sprintf("CAST(%s AS %s)", warehouse.Quote(c.Name), c.Type))
		}
	}
	rows := func(condition string) string {
		return fmt.Sprintf("SELECT %s FROM %s WHERE %s = %s AND %s", strings.Join(values, ", "), source, metaTable, warehouse.Literal(def.Name), condition)
	}
	return fmt.Sprintf("INSERT INTO meta.%s (%s) %s EXCEPT ALL %s", warehouse.Quote(def.Name), strings.Join(names, ", "),
		rows("NOT "+metaGone), rows(metaGone))
}

// AdoptMeta copies what another catalogue has in meta: its runs, grades,
// findings and what is known of details. A table or column that one of the two
// lacks is left out.
func AdoptMeta(ctx context.Context, d *warehouse.Draft, catalog string, metas []stream.Definition) error {
	if err := d.Exec(ctx, "ATTACH "+warehouse.Literal(catalog)+" AS other (READ_ONLY)"); err != nil {
		return err
	}
	var err error
	for _, def := range metas {
		if err = adopt(ctx, d, def.Name); err != nil {
			err = fmt.Errorf("adopt meta.%s: %w", def.Name, err)
			break
		}
	}
	return errors.Join(err, d.Exec(ctx, "DETACH other"))
}

func adopt(ctx context.Context, d *warehouse.Draft, table string) error {
	var common string
	err := d.DB.QueryRowContext(ctx, `SELECT coalesce(string_agg('"' || a.column_name || '"', ', '), '')
		FROM duckdb_columns() a JOIN duckdb_columns() b USING (schema_name, table_name, column_name)
		WHERE a.schema_name = 'meta' AND a.table_name = ? AND a.database_name = current_database()
		AND b.database_name = 'other'`, table).Scan(&common)
	if err != nil || common == "" {
		return err
	}
	name := "meta." + warehouse.Quote(table)
	return d.Exec(ctx, fmt.Sprintf("INSERT INTO %s (%s) SELECT %[2]s FROM other.%[1]s", name, common))
}
