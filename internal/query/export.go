package query

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"placementsync/internal/bucket"
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
	queries, err := db.listExportQueries(ctx, e)
	if err != nil {
		return 0, err
	}
	if len(queries) != 1 {
		return 0, &UsageError{Problem: fmt.Sprintf("a file contains one table, but %d were chosen: name one, or export into a folder with --to", len(queries))}
	}
	return db.Save(ctx, queries[0], e.Values, Output{Format: e.Format, Defuse: e.Defuse}, file)
}

// listExportQueries returns e.Query, or a query for each table that matches a pattern. The query of a table
// has its name. It selects all columns except row_hash, which has no meaning outside the catalog.
func (db *DB) listExportQueries(ctx context.Context, e Export) ([]Query, error) {
	if e.Query != nil {
		return []Query{*e.Query}, nil
	}
	selects := map[string]sqltext.SQL{} // of the tables of the schema main or, with patterns, of all schemas
	var schema, name string
	var columns sqltext.SQL
	err := db.scanRows(ctx, catalogSQL.Render("exported_columns", sqltext.Values{"database": catalogDB}), []any{&schema, &name, &columns}, func() {
		if schema != "main" && len(e.Tables) == 0 {
			return
		}
		table := storedTable{database: catalogDB, schema: schema, name: name}
		if schema != "main" {
			name = schema + "." + name
		}
		selects[name] = sqltext.Fill("SELECT {columns} FROM {table}", sqltext.Values{"columns": columns, "table": table.qualifiedName(schema)})
	})
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	chosen, err := matchPatterns(slices.Sorted(maps.Keys(selects)), e.Tables)
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
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("export to %q: %w", dir, err)
	}
	dir = absolute
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	if parent, err := os.Stat(filepath.Dir(dir)); err != nil || !parent.IsDir() {
		return "", &UsageError{Problem: fmt.Sprintf("%q is not a folder: create it first", filepath.Dir(dir))}
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", &UsageError{Problem: fmt.Sprintf("export to %q: %v", dir, err)}
	}
	if len(entries) == 0 {
		return dir, nil
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
	return dir, filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err == nil && !exported[name] {
			err = &UsageError{Problem: fmt.Sprintf("%q contains %q, which no export wrote: name a new or empty folder", dir, name)}
		}
		return err
	})
}

func (db *DB) exportQuery(ctx context.Context, e Export, dir, name string, q Query) ([]ExportFile, error) {
	target := filepath.Join(dir, name+"."+string(e.Format))
	if e.PartitionBy != "" {
		target = filepath.Join(dir, name)
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
			file.Rows, err = writeCSV(rows, target, e.Defuse)
			return err
		}
		if e.PartitionBy != "" && !slices.Contains(names, e.PartitionBy) {
			return &UsageError{Problem: fmt.Sprintf("there is no column %q to partition by; columns: %s", e.PartitionBy, strings.Join(names, ", "))}
		}
		file.Rows, err = db.writeParquet(ctx, rows, target, parquetOptions{partitionBy: e.PartitionBy, plainJSON: true})
		return err
	})
	if err != nil {
		return nil, err
	}
	var files []ExportFile
	err = filepath.WalkDir(target, func(walked string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, walked)
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

// BucketManifest is the manifest of an export in a bucket. Each export has its own folder. Readers
// find the folder through the manifest.
type BucketManifest struct {
	ExportManifest
	// Folder contains the files. Its path is relative to the manifest.
	Folder string `json:"folder"`
	// Previous is the export before this one. Its files are kept until the next export, for readers
	// that have already read its manifest.
	Previous *PreviousExport `json:"before,omitempty"`
}

// PreviousExport lists the files of a replaced export.
type PreviousExport struct {
	Folder string   `json:"folder"`
	Files  []string `json:"files"`
}

// exportFolderLayout is the layout of folder names, which are the times of the exports.
const exportFolderLayout = "20060102T150405.000000000Z"

const maxManifestBytes = 16 << 20

// ExportToBucket writes an export into a temporary folder and uploads its files, and then the
// manifest. Until the manifest is uploaded, readers find the previous export. If the bucket contains
// a manifest of another program, ExportToBucket keeps it and returns a *UsageError.
func (db *DB) ExportToBucket(ctx context.Context, b *bucket.Bucket, e Export, now time.Time, log *slog.Logger) (m ExportManifest, err error) {
	previous, err := readBucketManifest(ctx, b)
	if err != nil {
		return m, err
	}
	temp, err := durable.MakeTempFolder("placementsync-export-")
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, temp.Remove()) }()
	dir := filepath.Join(temp.Dir, "files")
	if m, err = db.Export(ctx, dir, e); err != nil {
		return m, err
	}
	manifest := BucketManifest{ExportManifest: m, Folder: now.UTC().Format(exportFolderLayout)}
	if previous.Folder != "" {
		manifest.Previous = &PreviousExport{Folder: previous.Folder, Files: []string{}}
		for _, f := range previous.Files {
			manifest.Previous.Files = append(manifest.Previous.Files, f.File)
		}
	}
	if err := uploadFiles(ctx, b, dir, manifest); err != nil {
		return m, fmt.Errorf("%w; readers of %s keep the previous export", err, b.Address(""))
	}
	text, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		return m, err
	}
	// The server may have stored the manifest although the request failed. The uploaded files are
	// kept, because readers then need them.
	if err := b.PutBytes(ctx, exportManifestFile, append(text, '\n')); err != nil {
		return m, fmt.Errorf("%w; the files of the export are kept in %s", err, b.Address(manifest.Folder))
	}
	if err := removeOldExports(ctx, b, manifest, previous.Previous); err != nil {
		log.Warn("files of old exports not removed", "error", err)
	}
	return m, nil
}

// readBucketManifest returns the current manifest, or an empty one before the first export.
func readBucketManifest(ctx context.Context, b *bucket.Bucket) (m BucketManifest, err error) {
	text, err := b.Read(ctx, exportManifestFile, maxManifestBytes)
	if errors.Is(err, bucket.ErrMissing) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	if json.Unmarshal(text, &m) != nil || m.Kind != exportKind || m.Folder == "" {
		return m, &UsageError{Problem: b.Address(exportManifestFile) + " was not written by an export: name another prefix"}
	}
	return m, nil
}

// uploadFiles uploads the files of m. After an error it removes them, because no manifest lists them.
func uploadFiles(ctx context.Context, b *bucket.Bucket, dir string, m BucketManifest) error {
	upload := func(f ExportFile) (err error) {
		file, err := os.Open(filepath.Join(dir, f.File))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		return b.Put(ctx, path.Join(m.Folder, f.File), file, checksum.FileSum{Bytes: f.Bytes, SHA256: f.SHA256})
	}
	var names []string
	for _, f := range m.Files {
		names = append(names, path.Join(m.Folder, f.File))
		err := upload(f)
		if err == nil {
			continue
		}
		// The files are removed even if ctx is cancelled.
		const timeout = 3 * time.Second
		cleanupCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		defer cancel()
		if removeErr := b.Delete(cleanupCtx, names...); removeErr != nil {
			err = errors.Join(err, fmt.Errorf("remove the uploaded files of the export from %s, which still contains them: %w", b.Address(m.Folder), removeErr))
		}
		return err
	}
	return nil
}

// removeOldExports removes the files of old, which is the export before the previous one. It also
// removes files of interrupted exports, which are in folders that m does not name. Such a folder may
// belong to a running export, so a file is removed only if it is a day older than the files of m, by
// the clock of the server.
func removeOldExports(ctx context.Context, b *bucket.Bucket, m BucketManifest, old *PreviousExport) error {
	const folderPrefix, minAge = "2", 24 * time.Hour // folder names begin with a year
	objects, err := b.List(ctx, folderPrefix)
	if err != nil {
		return err
	}
	namedFolders := []string{m.Folder}
	if m.Previous != nil {
		namedFolders = append(namedFolders, m.Previous.Folder)
	}
	var newestUpload time.Time
	for _, o := range objects {
		if strings.HasPrefix(o.Name, m.Folder+"/") && o.StoredAt.After(newestUpload) {
			newestUpload = o.StoredAt
		}
	}
	var obsolete []string
	for _, o := range objects {
		folder, _, _ := strings.Cut(o.Name, "/")
		_, err := time.Parse(exportFolderLayout, folder)
		if err != nil || slices.Contains(namedFolders, folder) {
			continue
		}
		isOld := old != nil && folder == old.Folder
		isStale := !o.StoredAt.IsZero() && o.StoredAt.Before(newestUpload.Add(-minAge))
		if isOld || isStale {
			obsolete = append(obsolete, o.Name)
		}
	}
	return b.Delete(ctx, obsolete...)
}
