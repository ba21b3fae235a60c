package query

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"placementsync/internal/checksum"
	"placementsync/internal/durable"
	"placementsync/internal/sqltext"
)

// Export specifies the content and the format of an exported folder.
type Export struct {
	// Tables are patterns of table names, such as order* in the schema main, or mart.* in another
	// schema. Without patterns and without a Query, all tables of the schema main are exported.
	Tables []string
	// Query is exported in place of tables. Values are the values of its parameters.
	Query  *Query
	Values map[string]string
	Format Format // Parquet or CSV
	// PartitionBy is a column. The rows of each of its values are written to a separate folder.
	// Only Parquet can be partitioned.
	PartitionBy string
	Defuse      bool   // see Output
	Program     string // the program version in the manifest
}

const exportManifestFile = "manifest.json"

// ExportManifest is the content of exportManifestFile.
type ExportManifest struct {
	Kind       string       `json:"kind"`
	RunID      string       `json:"run_id"`
	SnapshotAt time.Time    `json:"snapshot_at"`
	Program    string       `json:"program_version"`
	Format     Format       `json:"format"`
	Partition  string       `json:"partition_by,omitempty"`
	Files      []ExportFile `json:"files"`
}

// ExportFile is one file of an exported folder. Its columns have the types of the query's result, but
// JSON is written as text.
type ExportFile struct {
	// Source is the table or query. With PartitionBy, its rows are in several files.
	Source string `json:"source"`
	File   string `json:"file"` // the path within the folder
	// Rows is the total number of rows in all files of Source.
	Rows    int64    `json:"rows"`
	Bytes   int64    `json:"bytes"`
	SHA256  string   `json:"sha256"`
	Columns []Column `json:"columns"`
}

// An export replaces the files of a folder only if the folder has a manifest of this kind.
const exportKind = "placementsync export"

// Export writes tables or the result of a query into a folder. It replaces an earlier export
// atomically. If the folder contains other files, Export returns a *UsageError and does not
// change the folder.
func (db *DB) Export(ctx context.Context, dir string, e Export) (ExportManifest, error) {
	m := ExportManifest{Kind: exportKind, Program: e.Program, Format: e.Format, Partition: e.PartitionBy}
	switch {
	case e.Format != Parquet && e.Format != CSV:
		return m, &UsageError{Problem: fmt.Sprintf("export writes parquet or csv, not %q", e.Format)}
	case e.Format == CSV && e.PartitionBy != "":
		return m, &UsageError{Problem: "only parquet can be partitioned: leave out --format or --partition-by"}
	}
	queries, err := db.listExportQueries(ctx, e)
	if err != nil {
		return m, err
	}
	dir, err = checkExportDir(dir)
	if err != nil {
		return m, err
	}
	s, err := db.SelectedSnapshot(ctx)
	if err != nil {
		return m, err
	}
	m.RunID, m.SnapshotAt = s.Run, s.At
	err = durable.WriteFolder(dir, func(newDir string) error {
		for _, q := range queries {
			name := cmp.Or(q.Name, "answer")
			files, err := db.exportQuery(ctx, e, newDir, name, q)
			if err != nil {
				return fmt.Errorf("export %s: %w", name, err)
			}
			m.Files = append(m.Files, files...)
		}
		data, err := json.MarshalIndent(m, "", "  ")
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(newDir, exportManifestFile), append(data, '\n'), 0o644)
	})
	return m, err
}

// SaveExport writes one table, or the result of e.Query, to a file of any format, and returns
// the number of rows. It ignores PartitionBy and Program of e.
func (db *DB) SaveExport(ctx context.Context, e Export, file string) (rows int64, err error) {
	o := Output{Format: e.Format, Defuse: e.Defuse}
	queries, err := db.listExportQueries(ctx, e)
	if err != nil {
		return 0, err
	}
	if len(queries) != 1 {
		return 0, &UsageError{Problem: fmt.Sprintf("a file contains one table, but %d were chosen: name one, or export into a folder with --to", len(queries))}
	}
	return db.Save(ctx, queries[0], e.Values, o, file)
}

// listExportQueries returns e.Query, or a query for each table that matches a pattern. The query of a table
// has its name. It selects all columns except row_hash, which has no meaning outside the catalog.
func (db *DB) listExportQueries(ctx context.Context, e Export) ([]Query, error) {
	if e.Query != nil {
		return []Query{*e.Query}, nil
	}
	selects := map[string]sqltext.SQL{}
	var names []string // the tables of the schema main or, with patterns, of all schemas
	var schema, name string
	var columns sqltext.SQL
	err := db.scanRows(ctx, catalogSQL.Render("exported_columns", sqltext.Values{"database": catalogDB}), []any{&schema, &name, &columns}, func() {
		table := storedTable{database: catalogDB, schema: schema, name: name}
		if schema != "main" {
			name = schema + "." + name
		}
		selects[name] = sqltext.Fill("SELECT {columns} FROM {table}", sqltext.Values{"columns": columns, "table": table.qualifiedName(schema)})
		if schema == "main" || len(e.Tables) > 0 {
			names = append(names, name)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	slices.Sort(names)
	chosen, err := matchPatterns(names, e.Tables)
	if err != nil {
		return nil, err
	}
	queries := make([]Query, len(chosen))
	for i, name := range chosen {
		queries[i] = Query{Name: name, SQL: string(selects[name])}
	}
	return queries, nil
}

// checkExportDir returns the folder to write, with symbolic links resolved, so that an export
// replaces the folder and not the link. If the folder cannot be read or contains a file that no export
// wrote, or if its parent folder does not exist, checkExportDir returns a *UsageError.
func checkExportDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("export to %q: %w", dir, err)
	}
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	if parent, err := os.Stat(filepath.Dir(dir)); err != nil || !parent.IsDir() {
		return "", &UsageError{Problem: fmt.Sprintf("%q is not a folder: create it first", filepath.Dir(dir))}
	}
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0:
		return dir, nil
	case err != nil:
		return "", &UsageError{Problem: fmt.Sprintf("export to %q: %v", dir, err)}
	}
	var m ExportManifest
	data, err := os.ReadFile(filepath.Join(dir, exportManifestFile))
	if err != nil || json.Unmarshal(data, &m) != nil || m.Kind != exportKind {
		return "", &UsageError{Problem: fmt.Sprintf("%q contains files that no export wrote: name a new or empty folder", dir)}
	}
	exported := map[string]bool{exportManifestFile: true}
	for _, f := range m.Files {
		exported[f.File] = true
	}
	return dir, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err == nil && !exported[name] {
			err = &UsageError{Problem: fmt.Sprintf("%q contains %q, which no export wrote: name a new or empty folder", dir, name)}
		}
		return err
	})
}

func (db *DB) exportQuery(ctx context.Context, e Export, dir, name string, q Query) ([]ExportFile, error) {
	path := filepath.Join(dir, name+"."+string(e.Format))
	if e.PartitionBy != "" {
		path = filepath.Join(dir, name)
	}
	file := ExportFile{Source: name}
	a, err := db.Admit(ctx, q, e.Values)
	if err != nil {
		return nil, err
	}
	err = a.readResult(ctx, true, func(rows array.RecordReader) error {
		file.Columns = columnsOf(rows.Schema())
		var names []string
		for _, c := range file.Columns {
			names = append(names, c.Name)
		}
		var err error
		if e.Format == CSV {
			file.Rows, err = writeCSV(rows, path, e.Defuse)
			return err
		}
		if e.PartitionBy != "" && !slices.Contains(names, e.PartitionBy) {
			return &UsageError{Problem: fmt.Sprintf("there is no column %q to partition by; columns: %s", e.PartitionBy, strings.Join(names, ", "))}
		}
		file.Rows, err = db.writeParquet(ctx, rows, path, parquetOptions{partitionBy: e.PartitionBy, plainJSON: true})
		return err
	})
	if err != nil {
		return nil, err
	}
	var files []ExportFile
	err = filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		sum, err := checksum.SumFile(ctx, dir, name)
		file.File, file.Bytes, file.SHA256 = name, sum.Bytes, sum.SHA256
		files = append(files, file)
		return err
	})
	return files, err
}

func writeCSV(rows array.RecordReader, file string, defuse bool) (n int64, err error) {
	f, err := os.Create(file)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return copyRows(rows, &csvWriter{out: bufio.NewWriter(f), defuse: defuse})
}
