package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// Replay brings main to what the Parquet files of one snapshot hold, by table;
// a table without a file keeps its rows. The versions that it opens and closes
// bear the time and the run of that snapshot.
func (s *Stage) Replay(ctx context.Context, snap warehouse.Snapshot) error {
	s.draft.Run, s.draft.At = snap.Run, snap.At
	var tables []stream.Table
	for _, t := range stream.Tables(s.streams) {
		if snap.Files[t.Name] != "" {
			tables = append(tables, t)
		}
	}
	if err := s.draft.Exec(ctx, "SET GLOBAL force_compression = 'auto'"); err != nil {
		return err
	}
	for _, t := range tables {
		if err := s.replayTable(ctx, t, snap.Files[t.Name]); err != nil {
			return fmt.Errorf("replay table %s of %s: %w", t.Name, snap.At.Format(time.DateOnly), err)
		}
	}
	return nil
}

func (s *Stage) replayTable(ctx context.Context, t stream.Table, file string) error {
	view, err := s.viewOf(ctx, t, file)
	if err != nil {
		return err
	}
	if err := s.draft.Exec(ctx, view); err != nil {
		return err
	}
	changes, err := s.compare(ctx, []stream.Table{t}, func(stream.Table) string { return "TRUE" })
	if err != nil {
		return err
	}
	tx, err := s.draft.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := s.apply(ctx, tx, t, &changes[0]); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	return s.draft.Exec(ctx, "DROP VIEW "+fresh(t.Name), "DROP TABLE "+closing(t.Name))
}

// viewOf is a file as the fresh rows of its table. A column that is newer than
// the file is NULL in it.
func (s *Stage) viewOf(ctx context.Context, t stream.Table, file string) (string, error) {
	source := "read_parquet(" + warehouse.Literal(file) + ")"
	rows, err := s.draft.DB.QueryContext(ctx, "SELECT * FROM "+source+" LIMIT 0")
	if err != nil {
		return "", err
	}
	have, err := rows.Columns()
	if err = errors.Join(err, rows.Close()); err != nil {
		return "", err
	}
	cols := []string{"row_hash"}
	for _, c := range s.defs[t.Name].Columns {
		name := warehouse.Quote(c.Name)
		if !slices.Contains(have, c.Name) {
			name = "NULL AS " + name
		}
		cols = append(cols, name)
	}
	return "CREATE VIEW " + fresh(t.Name) + " AS SELECT " + strings.Join(cols, ", ") + " FROM " + source, nil
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
