package load

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// What a version changed in the tables of meta stands in one file beside it: the rows that
// it added and those that it removed, all values as text, so that the file says the same
// to every program that has these columns. The meta of a version is what all files of its
// line added, less what they removed.

// WriteMeta writes into the draft's folder what differs between its meta and that of the
// version that it started from. It knows the tables by their definitions alone.
func WriteMeta(ctx context.Context, d *warehouse.Draft, metas []stream.Definition) error {
	base := d.MetaBase()
	if err := writeMetaFile(ctx, d, base, metas); err != nil {
		return fmt.Errorf("write what changed in meta: %w", err)
	}
	d.SetMetaBase(base)
	return nil
}

func writeMetaFile(ctx context.Context, d *warehouse.Draft, base string, metas []stream.Definition) (failed error) {
	before := map[string][]string{}
	if base != "" {
		detach, err := attachCatalog(ctx, d, "before", d.Catalog(base))
		if err != nil {
			return err
		}
		defer func() { failed = errors.Join(failed, detach()) }()
		if before, err = columnsBefore(ctx, d, metas); err != nil {
			return err
		}
	}
	var parts []sqlText
	for _, def := range metas {
		// A table without columns in the base is new.
		columns, table := allColumns(def), metaTable(def.Name)
		rows := []sqlText{metaFileSQL.Render("counted_rows", values{"columns": columns, "side": 1, "table": table})}
		if old := before[def.Name]; len(old) > 0 {
			rows = append(rows, metaFileSQL.Render("counted_rows",
				values{"columns": columnsOrNull(def, old), "side": -1, "table": "before." + table}))
		}
		parts = append(parts, metaFileSQL.Render("changed_rows", values{"name": def.Name, "texts": columnEach(def, ", ", valueAsText),
			"columns": columns, "rows": unionAll(rows)}))
	}
	return execute(ctx, d, metaFileSQL.Render("write_meta_file",
		values{"rows": joinSQL(parts, " UNION ALL BY NAME "), "file": filepath.Join(d.Dir, warehouse.MetaFile)}))
}

// columnsBefore are the columns of the tables of meta in the version that the draft
// started from.
func columnsBefore(ctx context.Context, d *warehouse.Draft, metas []stream.Definition) (map[string][]string, error) {
	before := map[string][]string{}
	if d.HasTablesOfBase() {
		for _, def := range metas {
			for _, c := range def.Columns {
				before[def.Name] = append(before[def.Name], c.Name)
			}
		}
		return before, nil
	}
	return before, eachRow(ctx, d, []sqlText{metaFileSQL.Render("meta_columns", nil)}, func(scan func(...any) error) error {
		var table, column string
		err := scan(&table, &column)
		before[table] = append(before[table], column)
		return err
	})
}

// attachCatalog attaches the file of a catalog to be read, until detach.
func attachCatalog(ctx context.Context, d *warehouse.Draft, name warehouse.Name, file string) (detach func() error, err error) {
	return func() error {
		return execute(context.WithoutCancel(ctx), d, stageSQL.Render("detach", values{"catalog": name}))
	}, execute(ctx, d, stageSQL.Render("attach_read_only", values{"file": file, "catalog": name}))
}

func valueAsText(c stream.Column) sqlText {
	return metaFileSQL.Render("value_as_text", values{"column": warehouse.Name(c.Name)})
}

// columnsOrNull lists the columns of a definition; those that a file or table does not
// have are NULL.
func columnsOrNull(def stream.Definition, have []string) sqlText {
	return columnEach(def, ", ", func(c stream.Column) sqlText {
		if slices.Contains(have, c.Name) {
			return sqlText(warehouse.Quote(c.Name))
		}
		return metaFileSQL.Render("missing_column", values{"column": warehouse.Name(c.Name)})
	})
}

// RestoreMeta fills the tables of meta from what a line of versions changed in them.
func RestoreMeta(ctx context.Context, d *warehouse.Draft, metas []stream.Definition, files []string) error {
	if len(files) == 0 {
		return nil
	}
	source := rebuildSQL.Render("meta_files", values{"files": files})
	have, err := columnsOf(ctx, d, source)
	if err != nil {
		return fmt.Errorf("restore meta: %w", err)
	}
	var statements []sqlText
	for _, def := range metas {
		def.Columns = slices.DeleteFunc(slices.Clone(def.Columns), func(c stream.Column) bool { return !slices.Contains(have, c.Name) })
		typed := columnEach(def, ", ", func(c stream.Column) sqlText {
			return rebuildSQL.Render("typed_value", values{"column": warehouse.Name(c.Name), "type": sqlText(c.Type)})
		})
		statements = append(statements, rebuildSQL.Render("restore_meta", values{"table": metaTable(def.Name),
			"columns": allColumns(def), "values": typed, "files": source, "name": def.Name}))
	}
	if err := executeAll(ctx, d, statements); err != nil {
		return fmt.Errorf("restore meta: %w", err)
	}
	return nil
}

// AdoptMeta copies what another catalog has in meta: its runs, grades, findings and what
// is known of details. A table or column that one of the two lacks is left out.
func AdoptMeta(ctx context.Context, d *warehouse.Draft, catalog string, metas []stream.Definition) (err error) {
	detach, err := attachCatalog(ctx, d, "other", catalog)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, detach()) }()
	for _, def := range metas {
		common, err := queryTexts(ctx, d, rebuildSQL.Render("common_columns", values{"table": def.Name}))
		if err == nil && len(common) > 0 {
			err = execute(ctx, d, rebuildSQL.Render("adopt_meta", values{"table": metaTable(def.Name),
				"columns": columnList("", common), "other": "other." + metaTable(def.Name)}))
		}
		if err != nil {
			return fmt.Errorf("adopt meta.%s: %w", def.Name, err)
		}
	}
	return nil
}
