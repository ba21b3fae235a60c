package load

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// Each version contains a file of changes, with the rows added to meta, the rows removed from meta, and
// the rows added to past. All values are stored as text, so that later programs can read them. The files
// of changes of a version and of the versions before it form a chain. The first file of a chain contains
// all rows. meta and past of a version are the sum of the changes in all files of its chain.

const pastPrefix = "past." // marks rows of past in the column meta_table

// WriteMeta writes a file with the changes of meta and past into the draft's folder. These are the
// changes since the version on which the draft is based.
func WriteMeta(ctx context.Context, d *warehouse.Draft, metaDefs []stream.Definition, tables []stream.Table) error {
	base := d.MetaBase()
	if err := writeMetaFile(ctx, d, base, metaDefs, tables); err != nil {
		return fmt.Errorf("write the changes of meta and past: %w", err)
	}
	d.RecordMetaBase(base)
	return nil
}

// writeMetaFile writes all rows if base is empty.
func writeMetaFile(ctx context.Context, d *warehouse.Draft, base string, metaDefs []stream.Definition, tables []stream.Table) (writeErr error) {
	oldColumns, pastCondition := map[sqlText][]string{}, sqlText("TRUE")
	if base != "" {
		detach, err := attachCatalog(ctx, d, "before", d.VersionCatalog(base))
		if err != nil {
			return err
		}
		defer func() { writeErr = errors.Join(writeErr, detach()) }()
		if oldColumns, err = queryColumnNames(ctx, d, filesSQL.Render("columns_before", nil)); err != nil {
			return err
		}
		pastCondition = filesSQL.Render("closed_by_run", values{"run": d.Run}) // rows of past are never removed
	}
	var parts []sqlText
	for _, def := range metaDefs {
		columns, table := allColumns(def), metaTable(def.Name)
		rows := []sqlText{filesSQL.Render("counted_rows", values{"columns": columns, "side": 1, "table": table})}
		if existingColumns := oldColumns[table]; len(existingColumns) > 0 { // otherwise the table is new
			rows = append(rows, filesSQL.Render("counted_rows",
				values{"columns": columnsOrNull(def, existingColumns), "side": -1, "table": "before." + table}))
		}
		parts = append(parts, filesSQL.Render("changed_rows", values{"name": def.Name, "texts": sqltext.Join(def.Columns, ", ", valueAsText),
			"columns": columns, "rows": unionAll(rows)}))
	}
	counts := make([]sqlText, len(tables))
	for i, t := range tables {
		counts[i] = filesSQL.Render("count_past", values{"name": t.Name, "past": pastTable(t.Name), "condition": pastCondition})
	}
	added, err := queryMap[int64](ctx, d, counts...)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if added[t.Name] == 0 {
			continue
		}
		def := pastDefinition(d, t)
		var names []string
		for _, c := range def.Columns {
			names = append(names, c.Name)
		}
		parts = append(parts, filesSQL.Render("past_rows", values{"name": pastPrefix + t.Name, "past": pastTable(t.Name), "condition": pastCondition,
			"names":  names,
			"values": sqltext.Join(names, ", ", valueText)}))
	}
	return d.Exec(ctx, filesSQL.Render("write_meta_file",
		values{"rows": sqltext.JoinSQL(parts, " UNION ALL BY NAME "), "file": filepath.Join(d.Dir, warehouse.MetaFile)}))
}

func pastDefinition(d *warehouse.Draft, t stream.Table) stream.Definition {
	def := d.Schema.Definitions[t.Name]
	def.Columns = slices.Concat(def.Columns, stream.SystemColumns(), stream.ClosedColumns())
	return def
}

// queryColumnNames returns the columns of each table. The query returns schema, table and column.
func queryColumnNames(ctx context.Context, d *warehouse.Draft, query sqlText) (map[sqlText][]string, error) {
	columnsByTable := map[sqlText][]string{}
	err := d.EachRow(ctx, []sqlText{query}, func(scan func(...any) error) error {
		var schema, table, column string
		err := scan(&schema, &table, &column)
		name := sqlText(schema + "." + sqltext.Quote(table))
		columnsByTable[name] = append(columnsByTable[name], column)
		return err
	})
	return columnsByTable, err
}

func attachCatalog(ctx context.Context, d *warehouse.Draft, name sqltext.Name, file string) (detach func() error, err error) {
	if err := d.Exec(ctx, stageSQL.Render("attach_read_only", values{"file": file, "catalog": name})); err != nil {
		return nil, err
	}
	return func() error {
		return d.Exec(context.WithoutCancel(ctx), stageSQL.Render("detach", values{"catalog": name}))
	}, nil
}

func valueAsText(c stream.Column) sqlText {
	return filesSQL.Render("value_as_text", values{"column": sqltext.Name(c.Name)})
}

func columnsOrNull(def stream.Definition, existingColumns []string) sqlText {
	return sqltext.Join(def.Columns, ", ", func(c stream.Column) sqlText {
		if slices.Contains(existingColumns, c.Name) {
			return sqlText(sqltext.Quote(c.Name))
		}
		return filesSQL.Render("missing_column", values{"column": sqltext.Name(c.Name)})
	})
}

// RestoreMeta fills the tables of meta from the files of a chain. A table or column that is newer than the files
// stays empty.
func RestoreMeta(ctx context.Context, d *warehouse.Draft, metaDefs []stream.Definition, files []string) error {
	source := rebuildSQL.Render("meta_files", values{"files": files})
	existingColumns, err := columnsOf(ctx, d, source)
	if err != nil {
		return fmt.Errorf("restore meta: %w", err)
	}
	var statements []sqlText
	for _, def := range metaDefs {
		def.Columns = slices.DeleteFunc(slices.Clone(def.Columns), func(c stream.Column) bool { return !slices.Contains(existingColumns, c.Name) })
		if len(def.Columns) == 0 {
			continue
		}
		typed := sqltext.Join(def.Columns, ", ", func(c stream.Column) sqlText {
			return rebuildSQL.Render("typed_value", values{"column": sqltext.Name(c.Name), "type": sqlText(c.Type)})
		})
		statements = append(statements, rebuildSQL.Render("restore_meta", values{"table": metaTable(def.Name),
			"columns": allColumns(def), "values": typed, "files": source, "name": def.Name}))
	}
	if err := d.Atomically(ctx, statements); err != nil {
		return fmt.Errorf("restore meta: %w", err)
	}
	return nil
}

// RestorePast fills the tables of past from the files of a complete chain. until is the time of the
// snapshot in main. Rows that were closed after this time are omitted, because main contains them.
func RestorePast(ctx context.Context, d *warehouse.Draft, tables []stream.Table, files []string, until time.Time) error {
	return restoreRows(ctx, d, tables, files, until, false)
}

// MergePast adds the remaining files of an incomplete chain to a past that was built by comparing
// snapshots. until is as in RestorePast. A row of a file replaces the same row version in past, because the end of
// the row in the file is exact. If two row versions of a key would overlap, the earlier one ends when the later one
// begins.
func MergePast(ctx context.Context, d *warehouse.Draft, tables []stream.Table, files []string, until time.Time) error {
	return restoreRows(ctx, d, tables, files, until, true)
}

// restoreRows inserts the rows of each table of past from files. isComputed means that past contains rows with
// computed ends.
func restoreRows(ctx context.Context, d *warehouse.Draft, tables []stream.Table, files []string, until time.Time, isComputed bool) error {
	if len(files) == 0 {
		return nil
	}
	source := rebuildSQL.Render("meta_files", values{"files": files})
	tablesInFiles, err := queryTextSet(ctx, d, rebuildSQL.Render("past_tables", values{"files": source, "prefix": pastPrefix}))
	if err != nil {
		return fmt.Errorf("restore past: %w", err)
	}
	for _, t := range tables {
		if !tablesInFiles[pastPrefix+t.Name] {
			continue
		}
		def := pastDefinition(d, t)
		typed := sqltext.Join(def.Columns, ", ", func(c stream.Column) sqlText {
			return rebuildSQL.Render("past_value", values{"column": c.Name, "type": sqlText(c.Type), "name": sqltext.Name(c.Name)})
		})
		past, rowVersionKey := pastTable(t.Name), append([]string{stream.ValidFrom}, t.Key...)
		statements := []sqlText{rebuildSQL.Render("create_past_from_files", values{"values": typed, "files": source, "name": pastPrefix + t.Name, "until": until})}
		if isComputed {
			statements = append(statements, rebuildSQL.Render("drop_known_past", values{"past": past, "same_version": joinOn("p.", "r.", rowVersionKey)}))
		}
		statements = append(statements, rebuildSQL.Render("insert_past", values{"past": past, "columns": allColumns(def)}))
		if isComputed {
			statements = append(statements, rebuildSQL.Render("end_at_next", values{"past": past, "main": mainTable(t.Name),
				"key": sqltext.Names(t.Key), "same_version": joinOn("p.", "n.", rowVersionKey)}))
		}
		if err := d.Atomically(ctx, append(statements, rebuildSQL.Render("drop_past_from_files", nil))); err != nil {
			return fmt.Errorf("restore past of %s: %w", t.Name, err)
		}
	}
	return nil
}

// CopyPast copies rows of past from another catalog: the rows that were closed no later than until.
func CopyPast(ctx context.Context, d *warehouse.Draft, catalog string, until time.Time) error {
	return copyTables(ctx, d, catalog, "past", rebuildSQL.Render("closed_until", values{"until": until}))
}

// CopyMeta copies the tables of meta from another catalog.
func CopyMeta(ctx context.Context, d *warehouse.Draft, catalog string) error {
	return copyTables(ctx, d, catalog, "meta", "TRUE")
}

// copyTables copies rows from another catalog: the rows that meet a condition. If the other catalog lacks
// a table, the table is not changed. If the other catalog lacks a column, the column is NULL.
func copyTables(ctx context.Context, d *warehouse.Draft, catalog, schema string, condition sqlText) (err error) {
	detach, err := attachCatalog(ctx, d, "other", catalog)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, detach()) }()
	commonColumns, err := queryColumnNames(ctx, d, rebuildSQL.Render("common_columns", values{"schema": schema}))
	if err != nil {
		return fmt.Errorf("copy %s: %w", schema, err)
	}
	var statements []sqlText
	for table, columns := range commonColumns {
		statements = append(statements, rebuildSQL.Render("copy_rows", values{"table": table, "columns": sqltext.Names(columns),
			"other": "other." + table, "condition": condition}))
	}
	if err := d.Atomically(ctx, statements); err != nil {
		return fmt.Errorf("copy %s: %w", schema, err)
	}
	return nil
}
