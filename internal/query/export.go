package query

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"placementsync/internal/durable"
	"placementsync/internal/sqltext"
	"placementsync/internal/warehouse"
)

// Export says what goes into a folder, and how.
type Export struct {
	// Tables are patterns of table names, of main or with a schema before a
	// dot. None, and no Query: all tables of main.
	Tables []string
	// Query is exported instead of tables, with the values of its parameters.
	Query  *Query
	Values map[string]string
	// Format is Parquet or CSV.
	Format Format
	// PartitionBy is a column; each of its values gets a folder of its own
	// (Parquet only).
	PartitionBy string
	// Raw leaves CSV cells that a spreadsheet would run as formulas.
	Raw bool
	// Program is the version that the manifest names.
	Program string
}

// ExportManifest is what an exported folder says about itself.
type ExportManifest struct {
	// Kind marks a folder that an export may replace.
	Kind       string       `json:"kind"`
	RunID      string       `json:"run_id"`
	SnapshotAt time.Time    `json:"snapshot_at"`
	Program    string       `json:"program_version"`
	Format     Format       `json:"format"`
	Partition  string       `json:"partition_by,omitempty"`
	Files      []ExportFile `json:"files"`
}

// IsExport reports whether an export wrote the manifest.
func (m ExportManifest) IsExport() bool { return m.Kind == exportKind }

// ExportFile is one file of an exported folder.
type ExportFile struct {
	// Source is the table or query that the file holds, or a part of which.
	Source string `json:"source"`
	// File is its path within the folder, with slashes.
	File string `json:"file"`
	// Rows are those of the source: of all its files together.
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	// Columns have the types of the catalog. JSON is text in both formats.
	Columns []Column `json:"columns"`
}

const exportKind = "placementsync export"

// source is one answer of an export.
type source struct {
	name  string
	query Query
}

// Export writes tables or the answer of a query into a folder, atomically: an
// earlier export there is replaced in one step, anything else is refused with a
// *UsageError.
func (db *DB) Export(ctx context.Context, dir string, e Export) (ExportManifest, error) {
	m := ExportManifest{Kind: exportKind, Program: e.Program, Format: e.Format, Partition: e.PartitionBy}
	sources, err := db.findSources(ctx, e)
	if err != nil {
		return m, err
	}
	dir, err = exportTarget(dir)
	if err != nil {
		return m, err
	}
	s, err := db.ReadSnapshot(ctx)
	if err != nil {
		return m, err
	}
	m.RunID, m.SnapshotAt = s.Run, s.At
	err = durable.WriteFolder(dir, func(next string) error {
		for _, src := range sources {
			files, err := db.writeSource(ctx, e, next, src)
			if err != nil {
				return fmt.Errorf("export %s: %w", src.name, err)
			}
			m.Files = append(m.Files, files...)
		}
		data, err := json.MarshalIndent(m, "", "  ")
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(next, warehouse.ManifestFile), append(data, '\n'), 0o644)
	})
	return m, err
}

func (db *DB) findSources(ctx context.Context, e Export) ([]source, error) {
	switch {
	case e.Format != Parquet && e.Format != CSV:
		return nil, &UsageError{Problem: fmt.Sprintf("export writes parquet or csv, not %q", e.Format)}
	case e.Format == CSV && e.PartitionBy != "":
		return nil, &UsageError{Problem: "only parquet can be partitioned: leave out --format or --partition-by"}
	case e.Query != nil:
		return []source{{cmp.Or(e.Query.Name, "answer"), *e.Query}}, nil
	}
	return db.findTables(ctx, e.Tables)
}

// findTables selects whole tables without the fingerprint, which means
// nothing elsewhere.
func (db *DB) findTables(ctx context.Context, patterns []string) ([]source, error) {
	all := map[string]source{}
	var names []string // those of main, or all where patterns choose
	var schema, table, columns string
	var stored bool
	err := db.scanRows(ctx, `SELECT c.schema_name, c.table_name, bool_or(t.table_oid IS NOT NULL),
			string_agg(`+sqltext.QuoteSQL("column_name")+`, ', ' ORDER BY column_index)
		FROM duckdb_columns() c LEFT JOIN duckdb_tables() t USING (database_name, schema_name, table_name)
		WHERE database_name = ? AND NOT c.internal AND column_name <> 'row_hash' GROUP BY ALL ORDER BY ALL`,
		[]any{home}, []any{&schema, &table, &stored, &columns}, func() {
			name := schema + "." + table
			if schema == "main" {
				name = table
				names = append(names, table)
			}
			text := fmt.Sprintf("SELECT %s FROM %s.%s.%s", columns, home, sqltext.Quote(schema), sqltext.Quote(table))
			all[name] = source{name, Query{SQL: text, long: true, stored: stored}}
		})
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	if len(patterns) > 0 {
		names = slices.Collect(maps.Keys(all))
	}
	slices.Sort(names)
	picked, err := matchPatterns(names, patterns)
	if err != nil {
		return nil, err
	}
	sources := make([]source, len(picked))
	for i, name := range picked {
		sources[i] = all[name]
	}
	return sources, nil
}

// exportTarget follows links, so that what they point at is replaced and not
// they, and refuses a folder that would lose something.
func exportTarget(dir string) (string, error) {
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
	data, err := os.ReadFile(filepath.Join(dir, warehouse.ManifestFile))
	if err != nil || json.Unmarshal(data, &m) != nil || !m.IsExport() {
		return "", &UsageError{Problem: fmt.Sprintf("%q contains files that no export wrote: name a new or empty folder", dir)}
	}
	listed := map[string]bool{warehouse.ManifestFile: true}
	for _, f := range m.Files {
		listed[f.File] = true
	}
	return dir, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err == nil && !listed[filepath.ToSlash(name)] {
			err = &UsageError{Problem: fmt.Sprintf("%q contains %q, which no export wrote: name a new or empty folder", dir, name)}
		}
		return err
	})
}

// writeSource writes one source into the folder and measures its files.
func (db *DB) writeSource(ctx context.Context, e Export, dir string, src source) ([]ExportFile, error) {
	place := filepath.Join(dir, src.name+"."+string(e.Format))
	if e.PartitionBy != "" {
		place = filepath.Join(dir, src.name)
	}
	about := ExportFile{Source: src.name}
	err := db.readAnswer(ctx, src.query.ofAnyLength(true), e.Values, func(answer array.RecordReader) error {
		about.Columns = columnsOf(answer.Schema())
		var names []string
		for _, c := range about.Columns {
			names = append(names, c.Name)
		}
		var err error
		if e.Format == CSV {
			about.Rows, err = writeCSV(answer, place, !e.Raw)
			return err
		}
		if e.PartitionBy != "" && !slices.Contains(names, e.PartitionBy) {
			return &UsageError{Problem: fmt.Sprintf("there is no column %q to partition by; columns: %s", e.PartitionBy, strings.Join(names, ", "))}
		}
		about.Rows, err = db.writeParquet(ctx, answer, place, parquetOptions{partitionBy: e.PartitionBy, plainJSON: true})
		return err
	})
	if err != nil {
		return nil, err
	}
	// What was written is one file, or a folder.
	var files []ExportFile
	err = filepath.WalkDir(place, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		one := about
		if one.Bytes, one.SHA256, err = sumFile(path); err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		one.File = filepath.ToSlash(name)
		files = append(files, one)
		return err
	})
	return files, err
}

func writeCSV(answer array.RecordReader, file string, defuse bool) (rows int64, err error) {
	f, err := os.Create(file)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return copyRows(answer, &csvWriter{out: bufio.NewWriter(f), defuse: defuse})
}

func sumFile(path string) (n int64, digest string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	n, err = io.Copy(h, f)
	return n, hex.EncodeToString(h.Sum(nil)), err
}
