package lake

import (
	"context"
	_ "embed" // for the statements
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
	"placementsync/schema"
)

//go:embed sql/version.sql
var versionSQL sqltext.File

// Version is a published version of the warehouse, opened for the lake.
type Version struct {
	*warehouse.PublishedVersion
	// Run and At are the run and the time of the warehouse snapshot.
	Run string
	At  time.Time

	// knownRuns are the runs in the ledger and in meta.runs of the version.
	knownRuns map[string]bool
	sources   []source
	// maxGroupBytes limits the row groups of the files that writeFile writes.
	maxGroupBytes int64
}

// source is a table of a version.
type source struct {
	name   tableName
	schema string // in DuckDB
	// def contains the wanted columns of the table in the lake.
	def stream.Definition
	// presentColumns are the columns that the version has.
	presentColumns []stream.Column
	// file is the published Parquet file. It is empty for tables of the schemas past and meta.
	file warehouse.ManifestTable
}

// OpenVersion opens a published version.
func OpenVersion(ctx context.Context, wh *warehouse.Warehouse, run string) (*Version, error) {
	publishedVersion, err := wh.OpenVerified(ctx, run)
	if err != nil {
		return nil, err
	}
	v := &Version{PublishedVersion: publishedVersion, Run: run, At: publishedVersion.Manifest.SnapshotAt.UTC(), knownRuns: map[string]bool{}}
	for _, t := range publishedVersion.Manifest.Tables {
		def := wh.Schema.Definitions[t.Name]
		def.Columns = slices.Concat(def.Columns, stream.SystemColumns())
		v.add(source{name: tableName{current, t.Name}, schema: "main", file: t, def: def})
		def.Columns, def.Comment = slices.Concat(def.Columns, stream.ClosedColumns()), "Closed rows. "+def.Comment
		v.add(source{name: tableName{past, t.Name}, schema: past, def: def})
	}
	for _, def := range wh.Schema.MetaDefinitions {
		v.add(source{name: tableName{meta, def.Name}, schema: meta, def: def})
	}
	runs, err := wh.RunLog.AllRuns()
	for _, r := range runs {
		v.knownRuns[r.ID] = true
	}
	if err == nil {
		err = v.DB.QueryRowContext(ctx, string(versionSQL.Render("max_group_bytes", nil))).Scan(&v.maxGroupBytes)
	}
	if err == nil {
		err = v.EachRow(ctx, []sqltext.SQL{versionSQL.Render("published_runs", nil)}, func(scan func(...any) error) error {
			var run string
			err := scan(&run)
			v.knownRuns[run] = true
			return err
		})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open version %s: %w", run, err), v.Close())
	}
	return v, nil
}

func (v *Version) add(s source) {
	s.presentColumns = v.PresentColumns(s.schema, s.name.table, s.def.Columns)
	if len(s.presentColumns) > 0 {
		v.sources = append(v.sources, s)
	}
}

// measure contains counts and checksums for a table of the schema past or meta. If the lake was published
// from the same history, the lake already has the rows that inLakeCondition selects.
type measure struct {
	// checksum and rows are the checksum and the number of all rows.
	checksum string
	rows     int64
	// inLakeChecksum is the checksum of the rows that inLakeCondition selects. addedRows is the number
	// of the other rows.
	inLakeChecksum string
	addedRows      int64
}

func (v *Version) measureTables(ctx context.Context, states map[tableName]publishedState) (map[tableName]measure, error) {
	var parts []sqltext.SQL
	for i, s := range v.sources {
		if s.name.part == current {
			continue
		}
		inLake := s.inLakeCondition(states[s.name])
		parts = append(parts, versionSQL.Render("measure_table", sqltext.Values{"index": i, "checksum": s.checksum("true"),
			"in_lake_checksum": s.checksum(inLake), "in_lake": inLake, "schema": sqltext.Name(s.schema), "table": sqltext.Name(s.name.table)}))
	}
	measures := map[tableName]measure{}
	err := v.EachRow(ctx, parts, func(scan func(...any) error) error {
		var i int
		var m measure
		err := scan(&i, &m.checksum, &m.inLakeChecksum, &m.rows, &m.addedRows)
		measures[v.sources[i].name] = m
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read version %s: %w", v.Run, err)
	}
	return measures, nil
}

// checksum returns an expression for the checksum of the rows that a condition selects. The table must be
// in the schema past or meta.
func (s source) checksum(condition sqltext.SQL) sqltext.SQL {
	if s.name.part == past {
		return versionSQL.Render("checksum_of_closed", sqltext.Values{"rows": condition})
	}
	return versionSQL.Render("checksum_of_meta", sqltext.Values{"rows": condition, "columns": columnNames(s.presentColumns)})
}

// inLakeCondition returns the condition for the rows that the lake already has if it was published
// from the history of this version. If the checksum of these rows equals state.checksum, the lake has
// exactly these rows.
func (s source) inLakeCondition(state publishedState) sqltext.SQL {
	_, hasRun := stream.Definition{Columns: s.presentColumns}.Column("run_id")
	switch {
	case state.run == "":
		return "false"
	case s.name.part == past:
		return versionSQL.Render("closed_until", sqltext.Values{"at": state.at})
	case hasRun:
		return versionSQL.Render("written_until", sqltext.Values{"run": state.run})
	}
	return "false"
}

// writeFile writes the rows of a table that a condition selects into a Parquet file with field ids.
func (v *Version) writeFile(ctx context.Context, s source, condition sqltext.SQL) (file string, err error) {
	file = filepath.Join(v.Scratch, s.name.String()+".parquet")
	err = v.Exec(ctx, versionSQL.Render("copy_rows", sqltext.Values{"columns": columnValues(s.presentColumns), "rows": condition,
		"schema": sqltext.Name(s.schema), "table": sqltext.Name(s.name.table), "file": file,
		"ids": schema.FieldIDs(s.presentColumns), "bytes": v.maxGroupBytes}))
	return file, err
}

func columnNames(columns []stream.Column) sqltext.SQL {
	return sqltext.Join(columns, ", ", func(c stream.Column) string { return sqltext.Quote(c.Name) })
}

// columnValues returns a list of columns with the values that the published Parquet files
// contain: JSON is text, and row_hash is a signed number.
func columnValues(columns []stream.Column) sqltext.SQL {
	return sqltext.Join(columns, ", ", func(c stream.Column) string {
		switch {
		case c.Type == stream.JSON:
			return sqltext.Quote(c.Name) + "::VARCHAR AS " + sqltext.Quote(c.Name)
		case c.Name == stream.RowHash:
			return string(schema.SignedHash()) + " AS " + sqltext.Quote(c.Name)
		}
		return sqltext.Quote(c.Name)
	})
}
